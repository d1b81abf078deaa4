//! The arithmetic does not rely on a profile: `arithmetic.rs` passes in a build without overflow
//! checks and debug assertions too, as somebody else's release build is.

use std::process::Command;

/// Builds the library and the test that depends on it once more. Everything else is taken from the
/// build that is there.
#[test]
fn nothing_overflows_where_nothing_checks() {
    let off = |setting: &str| format!("profile.dev.package.veilwalk.{setting}=false");
    let output = Command::new(env!("CARGO"))
        .args(["test", "--offline", "--package", "veilwalk", "--test", "arithmetic"])
        .args(["--config", &off("overflow-checks"), "--config", &off("debug-assertions")])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .env("VEILWALK_UNCHECKED", "1")
        .output()
        .expect("cargo can be run");
    let said = format!(
        "{}\n{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(output.status.success(), "{said}");
    assert!(said.contains("the_build_is_the_one_that_was_asked_for ... ok"), "{said}");
}
