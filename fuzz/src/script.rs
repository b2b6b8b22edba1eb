//! Splits an input into the pieces that a connection delivers, and runs async code on a paused clock.

use std::future::Future;

pub use toolcrib_testkit::script::{Script, Seen};

use crate::random::Random;

/// Maximum bytes of an input that is also delivered byte by byte.
const SINGLE_BYTES_MAX: usize = 2_048;

/// Returns the input whole, in a few pieces that depend on its bytes only, and byte by byte if it is short.
#[must_use]
pub fn splits(input: &[u8]) -> Vec<Vec<Vec<u8>>> {
    let mut splits = vec![cut(input, usize::MAX, 0), cut(input, (input.len() / 8).max(2), checksum(input))];
    if input.len() <= SINGLE_BYTES_MAX {
        splits.push(cut(input, 1, 0));
    }
    splits
}

/// Cuts into pieces of random length up to `longest` bytes; with seed 0, of exactly `longest` bytes.
fn cut(input: &[u8], longest: usize, seed: u64) -> Vec<Vec<u8>> {
    let mut random = Random::from_seed(seed);
    let (mut rest, mut pieces) = (input, Vec::new());
    while !rest.is_empty() {
        let length = if seed == 0 { longest } else { random.below(longest) + 1 };
        let (piece, after) = rest.split_at(length.min(rest.len()));
        pieces.push(piece.to_vec());
        rest = after;
    }
    pieces
}

fn checksum(input: &[u8]) -> u64 {
    input.iter().fold(1, |sum: u64, byte| sum.wrapping_mul(31).wrapping_add(u64::from(*byte))) | 1
}

/// Runs a future to completion on this thread. The clock is paused and jumps to the next timer when every task waits,
/// so pauses and timeouts cost no time.
///
/// # Panics
/// Panics if no runtime can be created.
pub fn block_on<F: Future>(future: F) -> F::Output {
    thread_local! {
        static RUNTIME: tokio::runtime::Runtime = runtime();
    }
    RUNTIME.with(|runtime| runtime.block_on(future))
}

/// Returns a single-threaded runtime with a paused clock.
///
/// # Panics
/// Panics if no runtime can be created.
#[must_use]
pub fn runtime() -> tokio::runtime::Runtime {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    runtime.unwrap_or_else(|error| panic!("no runtime: {error}"))
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt as _;

    use super::*;

    #[test]
    fn every_split_is_the_whole_input() {
        let input: Vec<u8> = (0..=255).collect();
        let splits = splits(&input);
        assert_eq!(splits.iter().map(Vec::len).min(), Some(1));
        assert_eq!(splits.iter().map(Vec::len).max(), Some(256));
        for pieces in splits {
            let script = Script::new(pieces.clone());
            let seen = script.seen();
            assert_eq!((pieces.concat(), seen.unread()), (input.clone(), 256));
            let mut read = Vec::new();
            block_on(async { tokio::io::BufReader::new(script).read_to_end(&mut read).await }).unwrap();
            assert_eq!((read, seen.unread()), (input.clone(), 0));
        }
    }
}
