//! Ways to split the bytes of a message into pieces.

/// Maximum bytes of an input that is cut at every byte.
const CUT_BYTES_MAX: usize = 400;

/// Returns the input whole, byte by byte, and cut in two at every byte; a long input is cut at a few places only.
pub(crate) fn arrivals(input: &[u8]) -> Vec<Vec<Vec<u8>>> {
    let two = |at: usize| vec![input[..at].to_vec(), input[at..].to_vec()];
    let mut all = vec![vec![input.to_vec()]];
    if input.len() <= CUT_BYTES_MAX {
        all.push(bytewise(input));
        all.extend((1..input.len()).map(two));
    } else {
        all.extend([1, input.len() / 3, input.len() / 2, input.len() - 1].map(two));
    }
    all
}

pub(crate) fn bytewise(input: &[u8]) -> Vec<Vec<u8>> {
    input.iter().map(|byte| vec![*byte]).collect()
}
