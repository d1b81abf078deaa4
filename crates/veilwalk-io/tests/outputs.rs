//! Releases and the files they go to.

use std::fs;
use std::io::Write;
use std::path::Path;

use veilwalk_io::{AtomicFile, HeldOutput, ReleaseWriter, WalkFormat, WriteErrorKind};

fn release(format: WalkFormat, kept: &[&str]) -> ReleaseWriter<Vec<u8>> {
    let kept: Vec<String> = kept.iter().map(|&c| c.to_owned()).collect();
    ReleaseWriter::new(Vec::new(), "out.csv", format, &kept).unwrap()
}

#[test]
fn a_release_as_csv() {
    let mut writer = release(WalkFormat::Csv, &["when"]);
    writer.write_row("ann", 0, "home", ["8:00"]).unwrap();
    writer.write_row("b,b", u64::MAX, "a \"b\"", [""]).unwrap();
    let text = String::from_utf8(writer.finish().unwrap()).unwrap();
    assert_eq!(
        text,
        "trajectory,step,state,when\nann,0,home,8:00\n\"b,b\",18446744073709551615,\"a \"\"b\"\"\",\n"
    );
    let empty = release(WalkFormat::Csv, &[]).finish().unwrap();
    assert_eq!(empty, b"trajectory,step,state\n");
}

#[test]
fn a_release_as_tsv() {
    let mut writer = release(WalkFormat::Tsv, &["when"]);
    writer.write_row("b,b", 0, "a\tb", ["8:00"]).unwrap();
    let text = String::from_utf8(writer.finish().unwrap()).unwrap();
    assert_eq!(text, "trajectory\tstep\tstate\twhen\nb,b\t0\t\"a\tb\"\t8:00\n");
}

#[test]
fn held_output_comes_whole() {
    let mut held = HeldOutput::new();
    held.write_all(b"one\n").unwrap();
    held.flush().unwrap();
    held.write_all(b"two\n").unwrap();
    let mut out = Vec::new();
    held.pass_on(&mut out).unwrap();
    assert_eq!(out, b"one\ntwo\n");
}

#[test]
fn a_release_as_ndjson() {
    let mut writer = release(WalkFormat::Ndjson, &["wh\"en"]);
    writer.write_row("ann", 0, "h\nome é", ["8:00"]).unwrap();
    let text = String::from_utf8(writer.finish().unwrap()).unwrap();
    assert_eq!(
        text,
        "{\"trajectory\":\"ann\",\"step\":0,\"state\":\"h\\nome é\",\"wh\\\"en\":\"8:00\"}\n"
    );
    assert!(release(WalkFormat::Ndjson, &[]).finish().unwrap().is_empty());
}

#[test]
fn a_flush_sends_every_row_written_so_far() {
    for format in [WalkFormat::Csv, WalkFormat::Ndjson] {
        let (mut out, into) = std::io::pipe().unwrap();
        let mut writer = ReleaseWriter::new(into, "-", format, &[]).unwrap();
        for step in 0..3 {
            writer.write_row("ann", step, "home", []).unwrap();
            writer.flush().unwrap();
            let mut bytes = [0; 1000];
            let read = std::io::Read::read(&mut out, &mut bytes).unwrap();
            assert!(bytes[..read].ends_with(b"\n"));
        }
        drop(out);
        let gone = writer.write_row("ann", 3, "home", []).and_then(|()| writer.flush());
        assert!(gone.unwrap_err().is_broken_pipe());
    }
}

#[test]
fn columns_that_cannot_be_kept() {
    for kept in [&["step"][..], &["state"], &["trajectory"], &["a", "a"]] {
        let kept: Vec<String> = kept.iter().map(|&c| c.to_owned()).collect();
        let error = ReleaseWriter::new(Vec::new(), "out.csv", WalkFormat::Csv, &kept).unwrap_err();
        assert!(error.to_string().starts_with("out.csv: the column"), "{error}");
        assert!(error.to_string().contains("::keep"), "{error}");
    }
    for format in [WalkFormat::Csv, WalkFormat::Ndjson] {
        let mut writer = release(format, &["a"]);
        let error = writer.write_row("ann", 0, "home", []).unwrap_err();
        assert!(error.to_string().contains("0 kept values for 1"), "{error}");
    }
}

fn entries(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_file_appears_only_when_it_is_committed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.csv");
    let mut file = AtomicFile::create(&path).unwrap();
    file.write_all(b"half").unwrap();
    file.flush().unwrap();
    assert!(!path.exists());
    drop(file);
    assert!(entries(folder.path()).is_empty(), "nothing is left behind");

    fs::write(&path, "old").unwrap();
    let mut file = AtomicFile::create(&path).unwrap();
    file.write_all(b"new").unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"old");
    file.commit().unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"new");
    assert_eq!(entries(folder.path()), ["out.csv"]);
}

#[test]
fn paths_that_cannot_be_written_to() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("no/out.csv");
    let error = AtomicFile::create(&path).unwrap_err();
    let message = error.to_string();
    assert!(message.starts_with(&path.display().to_string()), "{message}");
    assert!(message.contains("there is no directory"), "{message}");
    assert!(message.contains("create it"), "{message}");

    let error = AtomicFile::create(folder.path()).unwrap_err();
    assert!(matches!(error.kind(), WriteErrorKind::NotAFile), "{error}");

    let taken = folder.path().join("taken.csv");
    fs::write(&taken, "").unwrap();
    let error = AtomicFile::create(&taken.join("out.csv")).unwrap_err();
    assert!(matches!(error.kind(), WriteErrorKind::Directory { .. }), "{error}");

    let mut permissions = fs::metadata(&taken).unwrap().permissions();
    permissions.set_readonly(true);
    fs::set_permissions(&taken, permissions).unwrap();
    let error = AtomicFile::create(&taken).unwrap_err();
    assert!(error.to_string().contains("read-only"), "{error}");
}

#[cfg(unix)]
#[test]
fn permissions_are_those_of_an_ordinary_file() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let (plain, atomic) = (folder.path().join("plain"), folder.path().join("atomic"));
    fs::write(&plain, "").unwrap();
    AtomicFile::create(&atomic).unwrap().commit().unwrap();
    assert_eq!(mode(&atomic), mode(&plain));

    fs::set_permissions(&atomic, fs::Permissions::from_mode(0o600)).unwrap();
    AtomicFile::create(&atomic).unwrap().commit().unwrap();
    assert_eq!(mode(&atomic), 0o600, "a private file stays private");
}

#[cfg(unix)]
#[test]
fn a_link_is_followed() {
    let folder = tempfile::tempdir().unwrap();
    let (target, link) = (folder.path().join("target"), folder.path().join("link"));
    fs::write(&target, "old").unwrap();
    std::os::unix::fs::symlink(&target, &link).unwrap();
    let mut file = AtomicFile::create(&link).unwrap();
    file.write_all(b"new").unwrap();
    file.commit().unwrap();
    assert_eq!(fs::read(&target).unwrap(), b"new");
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
}

#[test]
fn a_reader_that_left_is_told_from_other_failures() {
    for format in [WalkFormat::Csv, WalkFormat::Tsv, WalkFormat::Ndjson] {
        let (reader, out) = std::io::pipe().unwrap();
        drop(reader);
        let mut writer = ReleaseWriter::new(out, "-", format, &[]).unwrap();
        // It shows when the buffer is full, in the middle of the rows.
        let mut rows = (0..100_000).map(|step| writer.write_row("ann", step, "home", []));
        let error = rows.find_map(Result::err).unwrap();
        assert!(error.is_broken_pipe(), "{format:?}: {error}");
    }
    let states: Vec<String> = (0..9000).map(|state| state.to_string()).collect();
    let mut table = String::from("from,to,count\n");
    for pair in states.windows(2) {
        table += &format!("{},{},1\n{},{},1\n", pair[0], pair[1], pair[1], pair[0]);
    }
    let (chain, _) =
        veilwalk_io::read_chain_from(table.as_bytes(), "c", Default::default()).unwrap();
    let (reader, out) = std::io::pipe().unwrap();
    drop(reader);
    assert!(veilwalk_io::write_chain(&chain, out).unwrap_err().is_broken_pipe());
}
