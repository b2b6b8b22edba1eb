//! The binary `toolcrib`.

fn main() {}
