//! Fuzz target for sealed state that a client returns.
//!
//! Properties: a text opens only if it is exactly a seal that was made for its binding; every seal opens to its
//! content, and only with its binding.

use std::time::Duration;

use toolcrib_engine::seal::Sealer;

use crate::mutation::tree::SEPARATOR;
use crate::target::{Memory, Shape, Target};

pub(super) const TARGET: Target = Target {
    name: "seal",
    seeds,
    heavy,
    dictionary: &["alice", "tools/call", "\u{1e}", "=", "-", "_", "+", "/", "A", "AA"],
    bytes_max: 32 * 1024,
    cpu_max: Duration::from_millis(500),
    memory_max: Memory { factor: 32, constant: 64 * 1024 },
    run,
};

const KEYS: [[u8; 32]; 2] = [[7; 32], [8; 32]];

/// Principal, method, and a seal made with [`KEYS`]. Stored, because a new seal would differ each time.
const MADE: [(&str, &str, &str); 2] = [
    ("alice", "tools/call", "lEm8vPLPtUHi4uaFfa46Eb0ACWwPPWcGdhO3D04UIF_I9pM-eIFKlkOadO6XprQb3-ECAwyQ"),
    ("", "", "Nx2tvRMm4LLrPSYHipGF-Baiw5aWh41Q56nzG-tXMzCSlfbNxl6WoQ"),
];

fn seeds() -> Vec<Vec<u8>> {
    let made =
        MADE.map(|(principal, method, seal)| format!("{principal}\u{1e}{method}\u{1e}{seal}").into_bytes());
    let [(_, _, one), (_, _, two)] = MADE;
    let other = format!("bob\u{1e}tools/call\u{1e}{one}").into_bytes();
    let padded = format!("\u{1e}\u{1e}{two}==").into_bytes();
    made.into_iter().chain([other, padded, b"\x1e\x1e".to_vec()]).collect()
}

fn heavy() -> Vec<Vec<u8>> {
    vec![[b"\x1e\x1e".to_vec(), vec![b'A'; 16_000]].concat()]
}

fn run(input: &[u8]) -> Shape {
    let Ok(text) = std::str::from_utf8(input) else { return Shape::of(&["no text"]) };
    let mut parts = text.splitn(3, char::from(SEPARATOR));
    let mut next = || parts.next().unwrap_or_default();
    let (principal, method, seal) = (next(), next(), next());
    let sealer = Sealer::with_keys(&KEYS);
    let opened = sealer.open(&[principal, method], seal);
    let is_made = MADE.contains(&(principal, method, seal));
    assert_eq!(opened.is_some(), is_made, "opened {opened:?}");
    let own = sealer.seal(&[principal, method], seal.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(sealer.open(&[principal, method], &own).as_deref(), Some(seal.as_bytes()), "lost its content");
    let joined = format!("{principal}{method}");
    assert_eq!(sealer.open(&[&joined, ""], &own).is_some(), method.is_empty(), "another binding opens it");
    assert_eq!(sealer.open(&[principal], &own), None, "a shorter binding opens it");
    let mut forged = own.clone().into_bytes();
    let at = input.len() % forged.len();
    if let Some(byte) = forged.get_mut(at) {
        *byte = if *byte == b'A' { b'B' } else { b'A' };
    }
    assert_eq!(sealer.open(&[principal, method], &String::from_utf8_lossy(&forged)), None, "a forgery opens");
    Shape::of(&[if is_made { "opened" } else { "shut" }, &seal.len().min(64).to_string()])
}
