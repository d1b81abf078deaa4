//! What libFuzzer drives: the reader that `VEILWALK_READER` names. One program serves all of them, because they
//! share nearly everything that has to be built; `scripts/fuzz` runs it.
#![no_main]

use std::sync::LazyLock;

use veilwalk_fuzz::Target;

static TARGET: LazyLock<&Target> = LazyLock::new(|| {
    let name = std::env::var("VEILWALK_READER").unwrap_or_default();
    Target::named(&name).unwrap_or_else(|| {
        let names: Vec<_> = Target::ALL.iter().map(|target| target.name).collect();
        eprintln!("set VEILWALK_READER to one of: {}", names.join(", "));
        std::process::exit(2)
    })
});

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let _ = TARGET.read(data);
});
