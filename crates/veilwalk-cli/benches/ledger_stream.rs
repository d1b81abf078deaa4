//! How many new walks a second a stream charges and releases when its lines are waiting, each on the disk
//! before it is released. Run with `cargo bench -p veilwalk-cli --bench ledger_stream`.

use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::time::Instant;

const WALKS: usize = 200_000;

fn main() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut text = String::from("trajectory,state\n");
    for walk in 0..WALKS {
        text += &format!("walk {walk},Baa\n");
    }
    for (name, budget) in [("without a budget", &[][..]), ("with a budget", &["--budget", "3"])] {
        let ledger = folder.path().join(name);
        let mut command = Command::new(env!("CARGO_BIN_EXE_veilwalk"));
        command.args(["privatize", "-", "--stream", "--chain", "credit", "--epsilon", "1"]);
        command.args(["--radius", "3.5", "--ledger"]).arg(&ledger).args(budget);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let started = Instant::now();
        let mut child = command.spawn().expect("the command");
        let mut input = child.stdin.take().expect("piped");
        let rows = text.clone();
        let writer = std::thread::spawn(move || input.write_all(rows.as_bytes()));
        let mut released = String::new();
        child.stdout.take().expect("piped").read_to_string(&mut released).expect("text");
        writer.join().expect("no panic").expect("all is read");
        assert!(child.wait().expect("it ends").success());
        assert_eq!(released.lines().count(), WALKS + 1);
        let rate = WALKS as f64 / started.elapsed().as_secs_f64();
        println!("{name}: {rate:.0} new walks a second");
    }
}
