//! Every target under libFuzzer; `TOOLCRIB_FUZZ_TARGET` names the one to run.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use toolcrib_fuzz::target::Target;
use toolcrib_fuzz::targets;

static TARGET: LazyLock<&Target> = LazyLock::new(|| {
    let name = std::env::var("TOOLCRIB_FUZZ_TARGET").expect("TOOLCRIB_FUZZ_TARGET names a target");
    targets::named(&name).expect("TOOLCRIB_FUZZ_TARGET is a target")
});

fuzz_target!(|input: &[u8]| {
    (TARGET.run)(input);
});
