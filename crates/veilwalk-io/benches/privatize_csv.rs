//! `privatize` from CSV to CSV on the credit chain, beside a plain copy of the same file with the csv
//! crate, row by row on one thread, in one run.
//!
//! ```text
//! cargo bench -p veilwalk-io --bench privatize_csv -- [ROWS] [THREADS] [together|interleaved|single]
//! ```
//!
//! Each is done three times, and the shortest counts. Wall-clock times mean little on a busy machine:
//! CPU seconds are printed beside them, and what they come to if the threads share the work evenly.
//! Peak memory is that of the releases alone; with `single`, every row is a walk of its own, which
//! shows how much memory a walk takes.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use veilwalk::{Chain, Mechanism, Model, Preset, Promise, Source, Start, StateId};
use veilwalk_io::{
    AtomicFile, Compression, Grouping, Hashing, ReleaseOutput, UnknownStates, WalkFormat,
    WalkInput, WalkOptions, WalkRelease,
};

/// Each walk has this many states.
const STEPS: u64 = 100;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let number = |place: usize| words.get(place).and_then(|word| word.parse::<u64>().ok());
    let rows = number(0).unwrap_or(2_000_000);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = number(1).map_or(cores, |threads| threads as usize);
    let kind = words.get(2).map_or("together", String::as_str);

    let folder = tempfile::tempdir().expect("a temporary directory");
    let walks = folder.path().join("walks.csv");
    generate(&walks, rows, kind);
    let bytes = walks.metadata().expect("just written").len();
    println!("{rows} rows, {bytes} bytes, walks {kind}, {threads} threads");

    let copy = measured(|| copy(&walks, &folder.path().join("copy.csv")));
    let strings = measured(|| copy_strings(&walks, &folder.path().join("copy.csv")));
    reset_peak_memory();
    let before = peak_memory();
    let release = measured(|| release(&walks, &folder.path().join("released.csv"), threads));
    println!("{:<28} {:>8} {:>8} {:>10}", "", "wall s", "CPU s", "ns a row");
    for (name, cost) in [
        ("copy, one record reused", &copy),
        ("copy, a string record a row", &strings),
        ("privatize", &release),
    ] {
        let each = 1e9 * cost.wall / rows as f64;
        println!("{name:<28} {:>8.2} {:>8.2} {each:>10.0}", cost.wall, cost.cpu);
    }
    let shared = release.cpu / threads as f64;
    println!("privatize / copy, wall                     {:.2}", release.wall / copy.wall);
    println!("privatize / copy, CPU shared by threads    {:.2}", shared / copy.cpu);
    println!("privatize / copy of strings, CPU shared    {:.2}", shared / strings.cpu);
    println!("peak memory {} MiB (before it {} MiB)", peak_memory() >> 20, before >> 20);
}

struct Cost {
    wall: f64,
    cpu: f64,
}

/// The shortest of three times.
fn measured(work: impl Fn()) -> Cost {
    let once = || {
        let (cpu, wall) = (cpu_seconds(), Instant::now());
        work();
        Cost { wall: wall.elapsed().as_secs_f64(), cpu: cpu_seconds() - cpu }
    };
    let times = [once(), once(), once()];
    times.into_iter().min_by(|a, b| a.wall.total_cmp(&b.wall)).expect("three")
}

/// User and system time of this process; none where there is no `/proc`.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    let ticks = after_name.split_whitespace().skip(11).take(2);
    ticks.filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / 100.0
}

/// The most memory that was resident, in bytes; none where there is no `/proc`.
fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok()).unwrap_or(0) << 10
}

fn reset_peak_memory() {
    // Where it cannot be reset, the peak is that of the whole run.
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}

/// Walks drawn from the chain itself.
fn generate(path: &Path, rows: u64, kind: &str) {
    let chain = Chain::credit();
    let mut out = BufWriter::new(File::create(path).expect("a new file"));
    let mut random = 1_u64;
    let mut step = |from: StateId| {
        random =
            random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let mut uniform = (random >> 11) as f64 / (1_u64 << 53) as f64;
        for (&to, probability) in chain.successors(from).iter().zip(chain.probabilities(from)) {
            uniform -= probability;
            if uniform < 0.0 {
                return to;
            }
        }
        from
    };
    writeln!(out, "trajectory,state").expect("space on the disk");
    let walks = if kind == "single" { rows } else { rows.div_ceil(STEPS) };
    let mut states: Vec<StateId> =
        (0..walks).map(|walk| StateId::new((walk % chain.len() as u64) as usize)).collect();
    for row in 0..rows {
        let walk = if kind == "together" { row / STEPS } else { row % walks };
        let state = &mut states[walk as usize];
        *state = step(*state);
        writeln!(out, "w{walk},{}", chain.label(*state)).expect("space on the disk");
    }
    out.flush().expect("space on the disk");
}

fn copy(from: &Path, to: &Path) {
    let mut reader = csv::Reader::from_path(from).expect("the file");
    let mut writer = csv::Writer::from_path(to).expect("a new file");
    writer.write_byte_record(reader.byte_headers().expect("a header")).expect("space");
    let mut record = csv::ByteRecord::new();
    while reader.read_byte_record(&mut record).expect("a row") {
        writer.write_byte_record(&record).expect("space on the disk");
    }
    writer.flush().expect("space on the disk");
}

fn copy_strings(from: &Path, to: &Path) {
    let mut reader = csv::Reader::from_path(from).expect("the file");
    let mut writer = csv::Writer::from_path(to).expect("a new file");
    writer.write_record(reader.headers().expect("a header")).expect("space on the disk");
    for record in reader.records() {
        writer.write_record(&record.expect("a row")).expect("space on the disk");
    }
    writer.flush().expect("space on the disk");
}

fn release(from: &Path, to: &Path, threads: usize) {
    let model = Arc::new(Model::new(Chain::credit()).expect("the credit chain"));
    let promise = Promise::within_radius("1".parse().expect("one"), "3.5".parse().expect("3.5"));
    let mechanism = Mechanism::new(model, Preset::Cell.design(), promise).expect("a mechanism");
    let release = WalkRelease {
        mechanism: Arc::new(mechanism),
        source: &Source::system(),
        start: Start::Initial,
        unknown_states: UnknownStates::Refuse,
        grouping: Grouping::Alternating,
        charge: None,
        watch: &|_| ControlFlow::Continue(()),
    };
    let input = WalkInput::open(from, WalkOptions::default()).expect("the file");
    let file = Hashing::new(AtomicFile::create(to).expect("a new file"));
    let none = Compression::None;
    let output = ReleaseOutput::new(file, "released.csv", WalkFormat::Csv, none, &[]);
    let (_, file) =
        release.run(input, output.expect("no kept columns"), threads).expect("a release");
    file.finish().0.commit().expect("space on the disk");
}
