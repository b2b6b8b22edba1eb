//! Decompression of responses: gzip, deflate and brotli.
//!
//! Guarantees: output comes in pieces of at most `PIECE_BYTES`, however far the input expands, so the limits above
//! this layer count decompressed bytes. Refuses other codings by name, stacked codings, and truncated responses.

use compression_codecs::{BrotliDecoder, DecodeV2 as _, DeflateDecoder, GzipDecoder, ZlibDecoder};
use compression_core::util::{PartialBuffer, WriteBuffer};
use toolcrib_http1::ResponseHead;

use crate::error::Cause;
use crate::limits::UPSTREAM_COMPRESSED_BYTES_MAX;

/// Maximum bytes of one piece of output.
const PIECE_BYTES: usize = 32 * 1024;

/// Maximum bytes of an unknown coding's name in an error message.
const SHOWN_BYTES_MAX: usize = 40;

const BROKEN: Cause = Cause::Garbage("its compression is broken");

/// Decompressor of one response body.
pub(super) struct Inflater {
    codec: Codec,
    /// Compressed input; the bytes from `taken` on are not decompressed yet.
    input: Vec<u8>,
    taken: usize,
    output: Box<[u8]>,
    is_done: bool,
    /// Compressed bytes without output in proportion.
    idle_bytes: usize,
}

/// Compressed bytes that one byte of output accounts for; an event alone in its blocks takes fewer.
const INPUT_PER_OUTPUT: usize = 16;

enum Codec {
    Gzip(Box<GzipDecoder>),
    Zlib(ZlibDecoder),
    /// Raw deflate, which some servers send although the name means zlib.
    Deflate(DeflateDecoder),
    /// Decided by the first byte.
    EitherDeflate,
    Brotli(BrotliDecoder),
}

impl Inflater {
    /// Returns the decompressor for a response; `None` if it is not compressed.
    pub(super) fn of(head: &ResponseHead) -> Result<Option<Self>, Cause> {
        let mut codings = head.values("content-encoding").flat_map(|value| value.split(',')).map(str::trim);
        let Some(coding) = codings.next().filter(|coding| !coding.is_empty()) else { return Ok(None) };
        let is = |name: &str| coding.eq_ignore_ascii_case(name);
        let codec = match codings.next() {
            None if is("identity") => return Ok(None),
            None if is("gzip") || is("x-gzip") => Codec::Gzip(Box::default()),
            None if is("deflate") => Codec::EitherDeflate,
            None if is("br") => Codec::Brotli(BrotliDecoder::new()),
            None => {
                let coding: String = coding.chars().take(SHOWN_BYTES_MAX).collect();
                return Err(Cause::Coding { coding: coding.into() });
            }
            Some(_) => return Err(Cause::Coding { coding: "several codings".into() }),
        };
        let (input, output) = (Vec::new(), vec![0; PIECE_BYTES].into());
        Ok(Some(Self { codec, input, taken: 0, output, is_done: false, idle_bytes: 0 }))
    }

    /// Returns the size of the window that a brotli body needs, in KiB; `None` before the first input, and for codings
    /// with small windows.
    pub(super) fn window_kib(&self) -> Result<Option<u32>, Cause> {
        let first = self.input.first().filter(|_| matches!(self.codec, Codec::Brotli(_)));
        let bits = first.map(|first| window_bits(*first).ok_or(BROKEN)).transpose()?;
        Ok(bits.map(|bits| (1_u32 << bits).div_ceil(1024)))
    }

    /// Sets the next compressed input. The previous input must have been consumed.
    pub(super) fn add(&mut self, piece: &[u8]) -> Result<(), Cause> {
        self.idle_bytes += piece.len();
        if self.idle_bytes > UPSTREAM_COMPRESSED_BYTES_MAX {
            let (limit, max) = ("UPSTREAM_COMPRESSED_BYTES_MAX", UPSTREAM_COMPRESSED_BYTES_MAX);
            return Err(Cause::TooMuch { limit, max, what: "compressed bytes without content" });
        }
        self.input.clear();
        self.input.extend_from_slice(piece);
        self.taken = 0;
        Ok(())
    }

    /// Returns the next piece of output; empty if more input is needed.
    pub(super) fn next(&mut self) -> Result<&[u8], Cause> {
        let mut input = PartialBuffer::new(self.input.get(self.taken..).unwrap_or_default());
        if self.is_done {
            return if input.unwritten().is_empty() { Ok(&[]) } else { Err(BROKEN) };
        }
        if let (Codec::EitherDeflate, Some(first)) = (&self.codec, input.unwritten().first()) {
            // The low four bits of a zlib header are 8 ("deflate"). Raw deflate starts like this only with a stored
            // block whose padding is not zero.
            let is_zlib = first & 0x0f == 8;
            self.codec = match is_zlib {
                true => Codec::Zlib(ZlibDecoder::new()),
                false => Codec::Deflate(DeflateDecoder::new()),
            };
        }
        let mut output = WriteBuffer::new_initialized(&mut self.output);
        let mut decoded = |input: &mut PartialBuffer<&[u8]>, output: &mut WriteBuffer<'_>| {
            let has_input = !input.unwritten().is_empty();
            match &mut self.codec {
                Codec::EitherDeflate => Ok(false),
                Codec::Gzip(codec) if has_input => codec.decode(input, output),
                Codec::Zlib(codec) if has_input => codec.decode(input, output),
                Codec::Deflate(codec) if has_input => codec.decode(input, output),
                Codec::Brotli(codec) if has_input => codec.decode(input, output),
                // Output that did not fit before.
                Codec::Gzip(codec) => codec.flush(output).map(|_| false),
                Codec::Zlib(codec) => codec.flush(output).map(|_| false),
                Codec::Deflate(codec) => codec.flush(output).map(|_| false),
                Codec::Brotli(codec) => codec.flush(output).map(|_| false),
            }
        };
        let mut is_done = false;
        while output.written_len() == 0 && !is_done {
            let before = input.unwritten().len();
            is_done = decoded(&mut input, &mut output).map_err(|_| BROKEN)?;
            if output.written_len() == 0 && !is_done && (before == 0 || input.unwritten().len() == before) {
                break;
            }
        }
        let written = output.written_len();
        if is_done && written == 0 && !input.unwritten().is_empty() {
            return Err(BROKEN);
        }
        self.taken += input.written_len();
        self.idle_bytes = self.idle_bytes.saturating_sub(written * INPUT_PER_OUTPUT);
        self.is_done = is_done;
        Ok(self.output.get(..written).unwrap_or_default())
    }

    /// Ends the body; refuses one that is truncated.
    pub(super) fn end(&mut self) -> Result<(), Cause> {
        let mut output = WriteBuffer::new_initialized(&mut self.output);
        let is_done = self.is_done
            || match &mut self.codec {
                Codec::EitherDeflate => true,
                Codec::Gzip(codec) => codec.finish(&mut output).unwrap_or_default(),
                Codec::Zlib(codec) => codec.finish(&mut output).unwrap_or_default(),
                Codec::Deflate(codec) => codec.finish(&mut output).unwrap_or_default(),
                Codec::Brotli(codec) => codec.finish(&mut output).unwrap_or_default(),
            };
        if is_done && output.written_len() == 0 { Ok(()) } else { Err(Cause::Closed) }
    }
}

/// Reads the logarithm of the window size from the first byte of a brotli body (RFC 7932, 9.1). `None` for a "large
/// window" of up to 1 GiB, which is not part of the coding `br` but known to the decoder.
fn window_bits(first: u8) -> Option<u32> {
    let (middle, high) = (u32::from(first >> 1 & 7), u32::from(first >> 4 & 7));
    match (first & 1, middle, high) {
        (0, ..) => Some(16),
        (_, 0, 0) => Some(17),
        (_, 0, 1) => None,
        (_, 0, high) => Some(8 + high),
        (_, middle, _) => Some(17 + middle),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn head(coding: &str) -> ResponseHead {
        ResponseHead::assemble(200, [("content-encoding", coding.as_bytes())]).unwrap()
    }

    /// Decompresses a body that arrives in pieces of `size`; returns it and the size of its largest piece.
    fn decoded(coding: &str, body: &[u8], size: usize) -> Result<(Vec<u8>, usize), Cause> {
        let mut inflater = Inflater::of(&head(coding))?.unwrap();
        let (mut whole, mut largest) = (Vec::new(), 0);
        for piece in body.chunks(size) {
            inflater.add(piece)?;
            loop {
                let out = inflater.next()?;
                largest = largest.max(out.len());
                whole.extend_from_slice(out);
                if out.is_empty() {
                    break;
                }
            }
            assert_eq!(inflater.taken, inflater.input.len());
        }
        inflater.end().map(|()| (whole, largest))
    }

    fn bodies(text: &[u8]) -> Vec<(&'static str, Vec<u8>)> {
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
        let mut deflate = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::default());
        gzip.write_all(text).unwrap();
        zlib.write_all(text).unwrap();
        deflate.write_all(text).unwrap();
        let mut brotli = Vec::new();
        brotli::BrotliCompress(&mut &*text, &mut brotli, &brotli::enc::BrotliEncoderParams::default())
            .unwrap();
        let gzip = gzip.finish().unwrap();
        vec![
            ("gzip", gzip.clone()),
            ("X-GZip", gzip),
            ("deflate", zlib.finish().unwrap()),
            ("deflate", deflate.finish().unwrap()),
            ("br", brotli),
        ]
    }

    /// R14.1: responses in common codings are decompressed, however they are split.
    #[test]
    fn compressed_answers_are_decoded_in_pieces_that_are_bounded() {
        let text: Vec<u8> = (0..200_000_u32).flat_map(|number| (number % 977).to_le_bytes()).collect();
        for (coding, body) in bodies(&text) {
            for size in [1, 7, 4_096, body.len()] {
                let (whole, largest) = decoded(coding, &body, size).unwrap();
                assert!(whole == text, "{coding} in pieces of {size}: {} bytes", whole.len());
                assert!(largest <= PIECE_BYTES);
            }
        }
        for (coding, body) in bodies(b"") {
            assert_eq!(decoded(coding, &body, 1).unwrap().0, b"", "{coding}");
        }
    }

    #[test]
    fn an_answer_that_ends_in_the_middle_or_goes_on_is_refused() {
        for (coding, body) in bodies(&b"hello world ".repeat(100)) {
            let cut = body.get(..body.len() - 1).unwrap();
            assert!(decoded(coding, cut, 5).is_err(), "{coding}");
            let more = [body.as_slice(), b"more"].concat();
            assert!(decoded(coding, &more, 5).is_err(), "{coding}");
        }
        assert!(decoded("gzip", b"no gzip at all", 100).is_err());
    }

    /// R14.3: an unsupported coding is refused by name.
    #[test]
    fn other_codings_are_refused_by_their_name() {
        assert!(matches!(Inflater::of(&head("zstd")), Err(Cause::Coding { coding }) if &*coding == "zstd"));
        assert!(Inflater::of(&head("gzip, br")).is_err());
        assert!(Inflater::of(&head("identity")).unwrap().is_none());
        assert!(Inflater::of(&head("")).unwrap().is_none());
    }
}
