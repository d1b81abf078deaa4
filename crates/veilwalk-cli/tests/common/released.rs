//! A release with its manifest, to be changed.

use serde_json::Value;

use super::{Folder, both};

pub(crate) const MANIFEST: &str = "out.csv.manifest.json";

/// What checks the release.
pub(crate) const VERIFY: [&str; 4] = ["verify", "out.csv", "--chain", "credit"];

/// A folder with these walks in `walks.csv`, a release of them in `out.csv`, and its manifest.
pub(crate) fn released_of(walks: &str, promise: &[&str], more: &[&str]) -> Folder {
    let folder = Folder::with("walks.csv", walks);
    let args = both(&["privatize", "walks.csv", "-o", "out.csv"], promise);
    folder.run(args.iter().map(String::as_str).chain(more.iter().copied())).success();
    folder
}

pub(crate) fn change_manifest(folder: &Folder, change: impl Fn(&mut Value)) {
    let mut manifest = serde_json::from_str(&folder.read(MANIFEST)).unwrap();
    change(&mut manifest);
    folder.write(MANIFEST, manifest.to_string());
}

/// Puts another text in place of the release, and its hash into the manifest.
pub(crate) fn forge(folder: &Folder, text: &str) {
    folder.write("out.csv", text);
    let hash = veilwalk_io::hash_file(&folder.path("out.csv")).unwrap();
    change_manifest(folder, |manifest| manifest["release"]["hash"] = hash.as_str().into());
}
