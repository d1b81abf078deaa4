//! Files that were damaged, and models that are overwritten while they are in use: one clear error,
//! status 2, and nothing wrong under its final name.

mod common;

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};

use common::{Folder, VEILWALK};

const PROMISE: [&str; 6] = ["--epsilon", "2", "--radius", "3.5", "--mechanism", "sharp"];

/// Damages a file in as many ways as asked for: flipped bits, cuts, pages of zeros.
fn damaged(good: &[u8], ways: u64) -> Vec<Vec<u8>> {
    let mut random = 5u64;
    let mut below = |bound: usize| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        ((random >> 33) as usize) % bound
    };
    let mut all = Vec::new();
    for way in 0..ways {
        let mut bytes = good.to_vec();
        match way % 4 {
            0 => bytes.truncate(below(good.len())),
            1 => {
                let start = below(good.len());
                let end = good.len().min(start + 4096);
                bytes[start..end].fill(0);
            }
            _ => bytes[below(good.len())] ^= 1 << below(8),
        }
        if bytes != good {
            all.push(bytes);
        }
    }
    all
}

/// Runs a command on each damaged file. All are refused, or what they say is the same as before:
/// blanks in a text file may change without any meaning changing.
fn refused(folder: &Folder, name: &str, args: &[&str], may_mean_the_same: bool) {
    let good = std::fs::read(folder.path(name)).unwrap();
    let run = || {
        let mut command = Command::new(VEILWALK);
        command.current_dir(folder.root()).args(args).output().unwrap()
    };
    let expected = run();
    assert!(expected.status.success(), "{}", String::from_utf8_lossy(&expected.stderr));
    let before: Vec<String> = folder.files().into_keys().collect();
    for (place, bytes) in damaged(&good, 60).into_iter().enumerate() {
        folder.write(name, &bytes);
        let done = run();
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        if may_mean_the_same && done.status.success() {
            assert_eq!(done.stdout, expected.stdout, "{place}: {said}");
            continue;
        }
        assert_eq!(done.status.code(), Some(2), "{place}: {said}");
        // What is wrong with a manifest is said of the release that it belongs to.
        let named = name.trim_end_matches(".manifest.json");
        assert!(said.contains(named) && said.starts_with("error: "), "{place}: {said}");
        assert!(!said.contains("panicked"), "{place}: {said}");
        assert_eq!(folder.files().into_keys().collect::<Vec<_>>(), before);
    }
    folder.write(name, &good);
}

#[test]
fn a_damaged_model_is_refused() {
    let folder = Folder::with("walks.csv", "trajectory,state\nn,Baa\nn,Ba\n");
    let compile = "chain compile credit --epsilon 2 --radius 3.5 --mechanism cell -o credit.model";
    folder.run(compile.split(' ')).success();
    folder.write("out.csv", "");
    let args = ["privatize", "walks.csv", "--chain", "credit.model", "-o", "out.csv"];
    refused(&folder, "credit.model", &[&args[..], &PROMISE].concat(), false);
}

/// Also one without scales to compare, where a flipped bit would make another promise.
#[test]
fn a_damaged_mechanism_file_is_refused() {
    let folder = Folder::new();
    let promise = ["--epsilon", "2", "--radius", "3.5"];
    folder
        .run([&["tune", "--chain", "credit", "-o", "best.json"][..], &promise].concat())
        .success();
    let kernel = |file: &'static str| {
        let args = ["kernel", "--chain", "credit", "--mechanism", file, "--format", "json"];
        [&args[..], &["--previous", "Baa", "--real", "Ba"]].concat()
    };
    refused(&folder, "best.json", &kernel("best.json"), true);
    let mut plain: serde_json::Value = serde_json::from_str(&folder.read("best.json")).unwrap();
    let fields = plain.as_object_mut().unwrap();
    fields.remove("scales");
    fields.remove("checksum");
    fields.insert("distance".into(), "symmetric".into());
    folder.write("by_hand.json", plain.to_string());
    folder.run(kernel("by_hand.json")).success();
    // The same with a checksum, as the program writes it.
    let model: veilwalk::Model = veilwalk::Model::new(veilwalk::Chain::credit()).unwrap();
    let file = veilwalk_io::MechanismFile::read(&folder.path("by_hand.json")).unwrap();
    let (design, promise, scale_from) = file.parts().unwrap();
    let made = veilwalk::Mechanism::new(model.into(), design, promise).unwrap();
    let file = veilwalk_io::MechanismFile::describing(&made, scale_from).unwrap();
    file.write(&folder.path("plain.json")).unwrap();
    let text = folder.read("plain.json");
    for (digit, other) in [("\"2\"", "\"6\""), ("3.5", "3.7"), ("symmetric", "directed")] {
        assert!(text.contains(digit), "{text}");
        folder.write("plain.json", text.replacen(digit, other, 1));
        folder.refuses(kernel("plain.json"), &["plain.json", "changed or damaged"]);
    }
    folder.write("plain.json", text);
    refused(&folder, "plain.json", &kernel("plain.json"), true);
}

#[test]
fn a_damaged_manifest_is_refused() {
    let folder = Folder::with("walks.csv", "trajectory,state\nn,Baa\nn,Ba\n");
    let args = ["privatize", "walks.csv", "--chain", "credit", "-o", "out.csv"];
    folder.run([&args[..], &PROMISE].concat()).success();
    let args = ["verify", "out.csv", "--chain", "credit"];
    refused(&folder, "out.csv.manifest.json", &args, true);
}

/// A model that is large enough to be mapped, and another of the same size.
#[cfg(unix)]
fn large_models(folder: &Folder) {
    for (name, seed) in [("used.model", "1"), ("other.model", "2")] {
        let size = ["--width", "40", "--height", "40", "--seed", seed];
        folder
            .run([&["chain", "generate", "grid", "-o", "grid.csv"][..], &size].concat())
            .success();
        folder.run(["chain", "compile", "grid.csv", "-o", name]).success();
        assert!(std::fs::metadata(folder.path(name)).unwrap().len() > 16 << 20);
    }
}

#[cfg(unix)]
fn stream(folder: &Folder) -> (Child, ChildStdin, impl Iterator<Item = String>, String) {
    let mut command = Command::new(VEILWALK);
    command.current_dir(folder.root()).stdin(Stdio::piped());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command.args(["privatize", "-", "--stream", "--chain", "used.model", "--start", "first"]);
    let mut child = command.args(PROMISE).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let grid = folder.read("grid.csv");
    let state = grid.lines().nth(1).unwrap().split(',').next().unwrap().to_owned();
    writeln!(input, "trajectory,state\na,{state}\na,{state}").unwrap();
    // The header and two states.
    assert_eq!(lines.by_ref().take(3).count(), 3);
    (child, input, lines, state)
}

/// `cp other.model used.model`, and bytes written into the middle.
#[test]
#[cfg(unix)]
fn a_model_that_is_overwritten_in_use_releases_nothing_more() {
    let folder = Folder::new();
    large_models(&folder);
    let good = std::fs::read(folder.path("used.model")).unwrap();
    let in_the_middle = |folder: &Folder| {
        let file = std::fs::File::options().write(true).open(folder.path("used.model")).unwrap();
        std::os::unix::fs::FileExt::write_all_at(&file, &[9; 4096], 9_000_000).unwrap();
    };
    let copied = |folder: &Folder| {
        std::fs::copy(folder.path("other.model"), folder.path("used.model")).unwrap();
    };
    let emptied = |folder: &Folder| folder.write("used.model", "");
    let ways: [&dyn Fn(&Folder); 3] = [&in_the_middle, &copied, &emptied];
    for (way, overwrite) in ways.into_iter().enumerate() {
        folder.write("used.model", &good);
        let (child, mut input, mut lines, state) = stream(&folder);
        overwrite(&folder);
        // It may be gone before all of this is written.
        let _ = writeln!(input, "a,{state}");
        assert_eq!(lines.next(), None, "{way}");
        drop(input);
        let done = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        assert_eq!(done.status.code(), Some(2), "{way}: {said}");
        assert!(said.contains("used.model: the model was changed in place"), "{way}: {said}");
    }
}

/// Figures, too, are for the model that was opened.
#[test]
#[cfg(target_os = "linux")]
fn a_model_that_is_overwritten_in_use_gives_no_figures() {
    let folder = Folder::new();
    large_models(&folder);
    let good = std::fs::read(folder.path("used.model")).unwrap();
    let longer = ["--draws", "2000000"];
    for (command, more) in [("audit", &longer[..]), ("guarantee", &["--all-pairs"])] {
        folder.write("used.model", &good);
        let mut child = Command::new(VEILWALK);
        child.current_dir(folder.root()).stdout(Stdio::piped()).stderr(Stdio::piped());
        child.args([command, "--chain", "used.model"]).args(PROMISE);
        let child = child.args(more).spawn().unwrap();
        // It is opened when it is mapped, and checked soon after.
        let maps = format!("/proc/{}/maps", child.id());
        let started = std::time::Instant::now();
        while !std::fs::read_to_string(&maps).unwrap_or_default().contains("used.model") {
            assert!(started.elapsed() < std::time::Duration::from_secs(30), "never mapped");
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        std::fs::copy(folder.path("other.model"), folder.path("used.model")).unwrap();
        let done = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        assert_eq!(done.status.code(), Some(2), "{command}: {said}");
        assert!(done.stdout.is_empty(), "{command}");
        assert!(said.contains("used.model"), "{command}: {said}");
    }
}

/// The model is written anew, as `chain compile` does: who uses it keeps the one it opened.
#[test]
#[cfg(unix)]
fn a_model_that_is_replaced_in_use_stays_what_it_was() {
    let folder = Folder::new();
    large_models(&folder);
    let (child, mut input, mut lines, state) = stream(&folder);
    std::fs::rename(folder.path("other.model"), folder.path("used.model")).unwrap();
    writeln!(input, "a,{state}").unwrap();
    assert!(lines.next().is_some());
    drop(input);
    assert!(child.wait_with_output().unwrap().status.success());
}
