//! Modules use only those below them, in the order that CONTRIBUTING.md draws.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Files that still reach up, and the module that they reach for.
const EXCEPTIONS: &[(&str, &str)] = &[
    // Calibrated scales are kept with a model under the design and the promise they are for.
    ("model.rs", "mechanism"),
];

/// The place of each module of the core in the drawing, the lowest first.
fn drawn_order() -> BTreeMap<String, usize> {
    let guide = include_str!("../../../CONTRIBUTING.md");
    let lines = guide.lines().skip_while(|line| !line.starts_with("    crates/veilwalk "));
    let modules = lines.skip(1).take_while(|line| line.starts_with("      "));
    let names = modules.enumerate().flat_map(|(place, line)| {
        let names = line.trim().split("  ").next().expect("a split has a first part");
        names.split(", ").map(move |name| (name.to_owned(), place)).collect::<Vec<_>>()
    });
    names.collect()
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("the sources can be listed");
    let paths = entries.map(|entry| entry.expect("the sources can be listed").path());
    let files = paths.flat_map(|path| if path.is_dir() { rust_files(&path) } else { vec![path] });
    files.collect()
}

/// The names that follow `crate::` in code: not in comments, and not in the tests at the end.
fn names_used(source: &str) -> Vec<String> {
    let code = source.split("#[cfg(test)]\nmod ").next().expect("a split has a first part");
    let is_code = |line: &&str| !line.trim_start().starts_with("//");
    let code: String = code.lines().filter(is_code).flat_map(|line| [line, "\n"]).collect();
    let name = |text: &str| -> String {
        text.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
    };
    let names = code.split("crate::").skip(1).flat_map(|after| match after.strip_prefix('{') {
        Some(list) => {
            let list = list.split('}').next().expect("a split has a first part");
            list.split(',').map(name).filter(|name| !name.is_empty()).collect()
        }
        None => vec![name(after)],
    });
    names.collect()
}

#[test]
fn modules_use_only_those_below_them() {
    let order = drawn_order();
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let (mut wrong, mut compared, mut unused) = (Vec::new(), 0, EXCEPTIONS.to_vec());
    for file in rust_files(&sources) {
        let source = std::fs::read_to_string(&file).expect("the sources can be read");
        let path = file.strip_prefix(&sources).expect("it lies there").to_string_lossy();
        let path = path.replace('\\', "/");
        let own = path.split('/').next().expect("a split has a first part").trim_end_matches(".rs");
        if own == "lib" {
            continue;
        }
        let Some(place) = order.get(own) else {
            wrong.push(format!("{path}: CONTRIBUTING.md does not draw the module {own}"));
            continue;
        };
        for used in names_used(&source).into_iter().filter(|used| used != own) {
            compared += 1;
            match order.get(&used) {
                Some(below) if below < place => {}
                _ if EXCEPTIONS.contains(&(&path, &used)) => {
                    unused.retain(|exception| *exception != (&path, &used));
                }
                Some(_) => wrong.push(format!("{path}: uses {used}, which is not below it")),
                None => wrong.push(format!("{path}: uses crate::{used}; name its module")),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(unused.is_empty(), "exceptions that nothing needs any more: {unused:?}");
    assert!(compared > 100, "only {compared} uses were found");
}

#[test]
fn a_use_of_another_module_is_seen() {
    let source = "//! crate::session\nuse crate::{nats::Nats, chain};\nfn f() { crate::model::f() }\n\
        #[cfg(test)]\nmod tests { use crate::analysis::Plan; }";
    assert_eq!(names_used(source), ["nats", "chain", "model"]);
    let order = drawn_order();
    assert!(order["nats"] < order["chain"] && order["chain"] < order["mechanism"]);
}
