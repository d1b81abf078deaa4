//! What the tests of the command share: a folder of its own for every test, and refusals.
#![allow(dead_code, reason = "not every test needs all of it")]

pub(crate) mod browser;
pub(crate) mod released;
#[cfg(unix)]
pub(crate) mod running;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use assert_cmd::Command;
use assert_cmd::assert::Assert;
use serde_json::Value;
use tempfile::TempDir;

/// The command under test.
pub(crate) const VEILWALK: &str = env!("CARGO_BIN_EXE_veilwalk");

/// Flags that make a release on the credit chain.
pub(crate) const CREDIT: [&str; 6] = ["--chain", "credit", "--epsilon", "1", "--radius", "3.5"];

/// The same by a mechanism that draws moves, whatever `auto` would take.
pub(crate) const CELL: [&str; 8] =
    ["--chain", "credit", "--epsilon", "1", "--radius", "3.5", "--mechanism", "cell"];

/// Runs the command, away from any file of ours.
pub(crate) fn veilwalk<S: AsRef<str>>(args: impl IntoIterator<Item = S>) -> Assert {
    Folder::new().run(args)
}

/// A folder with files in it.
pub(crate) struct Folder(TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// A folder with one file.
    pub(crate) fn with(name: &str, text: impl AsRef<[u8]>) -> Self {
        let folder = Self::new();
        folder.write(name, text);
        folder
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn root(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        fs::write(self.path(name), text).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// Every file, with what is in it; temporary ones too.
    pub(crate) fn files(&self) -> BTreeMap<String, Vec<u8>> {
        let entries = fs::read_dir(self.0.path()).unwrap().map(Result::unwrap);
        let files = entries.filter(|entry| entry.path().is_file());
        files
            .map(|entry| {
                (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap())
            })
            .collect()
    }

    /// Runs the command in this folder.
    pub(crate) fn run<S: AsRef<str>>(&self, args: impl IntoIterator<Item = S>) -> Assert {
        self.run_with(args, "")
    }

    /// Runs the command in this folder with this on standard input.
    pub(crate) fn run_with<S: AsRef<str>>(
        &self,
        args: impl IntoIterator<Item = S>,
        input: &str,
    ) -> Assert {
        let mut command = Command::new(VEILWALK);
        command.current_dir(self.0.path()).timeout(Duration::from_secs(60));
        for arg in args {
            command.arg(arg.as_ref());
        }
        command.write_stdin(input).assert()
    }

    /// Runs the command, which has to refuse: status 2, a message with these words, nothing on
    /// standard output, and every file as it was.
    pub(crate) fn refuses<S: AsRef<str>>(
        &self,
        args: impl IntoIterator<Item = S>,
        words: &[&str],
    ) -> String {
        let before = self.files();
        let run = self.run(args);
        let message = stderr(&run);
        let run = run.code(2);
        assert_eq!(stdout(&run), "", "nothing on standard output with: {message}");
        for word in words {
            assert!(message.contains(word), "no {word:?} in: {message}");
        }
        assert_eq!(before, self.files(), "files are left as they were with: {message}");
        message
    }
}

pub(crate) fn stdout(run: &Assert) -> String {
    String::from_utf8(run.get_output().stdout.clone()).unwrap()
}

pub(crate) fn stderr(run: &Assert) -> String {
    String::from_utf8(run.get_output().stderr.clone()).unwrap()
}

pub(crate) fn json(run: &Assert) -> Value {
    serde_json::from_str(&stdout(run)).unwrap()
}

/// One list of arguments from two.
pub(crate) fn both(first: &[&str], second: &[&str]) -> Vec<String> {
    first.iter().chain(second).map(|&s| s.to_owned()).collect()
}
