//! Every target under libFuzzer; `TOOLCRIB_FUZZ_TARGET` names the one to run.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use toolcrib_fuzz::target::Target;
use toolcrib_fuzz::{campaign, targets};

static TARGET: LazyLock<&Target> = LazyLock::new(|| {
    let name = std::env::var("TOOLCRIB_FUZZ_TARGET").expect("TOOLCRIB_FUZZ_TARGET names a target");
    targets::named(&name).expect("TOOLCRIB_FUZZ_TARGET is a target")
});

fuzz_target!(|input: &[u8]| {
    if input.len() > TARGET.bytes_max {
        return;
    }
    if let Err(broken) = campaign::execute(&TARGET, input) {
        panic!("{}", broken.why);
    }
});
