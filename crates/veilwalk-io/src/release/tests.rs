//! The engine against the reader and writer that go row by row.

use std::ops::ControlFlow;
use std::sync::Mutex;

use proptest::collection::vec;
use proptest::prelude::*;
use veilwalk::mechanism::Tracking;
use veilwalk::random::{ReleaseId, Secret};
use veilwalk::{Chain, Design, Model, Preset, Promise, Rule, StateId};

use super::*;
use crate::compression::Compression;
use crate::own_columns::OwnColumns;
use crate::release_writer::ReleaseWriter;
use crate::walks::{WalkFormat, WalkOptions, WalkReader};

fn credit() -> Arc<Mechanism> {
    let model = Arc::new(Model::new(Chain::credit()).unwrap());
    let promise = Promise::within_radius("1".parse().unwrap(), "3.5".parse().unwrap());
    Arc::new(Mechanism::new(model, Preset::Cell.design(), promise).unwrap())
}

fn blocks(length: &str) -> Arc<Mechanism> {
    let model = Arc::new(Model::new(Chain::credit()).unwrap());
    let promise = Promise::within_radius("3.5".parse().unwrap(), "3.5".parse().unwrap());
    let design = Design { rule: Rule::Exponential, ..Preset::Sharp.design() };
    let length = length.parse().unwrap();
    Arc::new(Mechanism::in_blocks(model, design, promise, length).unwrap())
}

fn observing(preset: Preset, lag: u32) -> Arc<Mechanism> {
    let model = Arc::new(Model::new(Chain::credit()).unwrap());
    let promise = Promise::within_radius("2".parse().unwrap(), "3.5".parse().unwrap());
    let made = Mechanism::new(model, preset.design(), promise).unwrap();
    Arc::new(made.tracking(Tracking { lag, ..Tracking::default() }))
}

fn keyed() -> Source {
    Source::keyed(
        Secret::new(b"a secret of sixteen bytes").unwrap(),
        ReleaseId::from_bytes([1; 16]),
    )
}

/// How a test releases.
#[derive(Clone, Debug)]
struct Case {
    mechanism: Arc<Mechanism>,
    start: Start,
    seed: Option<u64>,
    options: WalkOptions,
    unknown_states: UnknownStates,
    grouping: Grouping,
    output: WalkFormat,
}

impl Default for Case {
    fn default() -> Self {
        Self {
            mechanism: credit(),
            start: Start::Initial,
            seed: None,
            options: WalkOptions::default(),
            unknown_states: UnknownStates::Refuse,
            grouping: Grouping::Alternating,
            output: WalkFormat::Csv,
        }
    }
}

type Outcome = Result<(Tally, String), String>;

impl Case {
    fn with<T>(&self, work: impl FnOnce(&WalkRelease<'_>) -> T) -> T {
        let seeded = |seed| Source::seeded_with_id(seed, ReleaseId::from_bytes([2; 16]));
        work(&WalkRelease {
            mechanism: self.mechanism.clone(),
            source: &self.seed.map_or_else(keyed, seeded),
            start: self.start,
            unknown_states: self.unknown_states,
            grouping: self.grouping,
            charge: None,
            watch: &|_| ControlFlow::Continue(()),
        })
    }

    fn one_by_one(&self, text: &[u8]) -> Outcome {
        self.with(|release| {
            let reader = WalkReader::new(text, "walks", self.options.clone())?;
            let (own, keep) = (OwnColumns::of(&self.mechanism), &self.options.keep);
            let writer = ReleaseWriter::with_columns(Vec::new(), "out", self.output, own, keep)?;
            release_rows(release, reader, writer)
        })
        .map(|(tally, out)| (tally, String::from_utf8(out).unwrap()))
        .map_err(|error| error.to_string())
    }

    fn engine(&self, text: &[u8], block: usize, threads: usize) -> Outcome {
        self.with(|release| {
            let (bytes, options) = (Box::new(std::io::Cursor::new(text.to_vec())), &self.options);
            let input =
                WalkInput::from_bytes(bytes, "walks", options.clone(), Compression::None, block)?;
            let keep = &self.options.keep;
            let output =
                ReleaseOutput::new(Vec::new(), "out", self.output, Compression::None, keep)?;
            release.run(input, output, threads)
        })
        .map(|(tally, out)| (tally, String::from_utf8(out).unwrap()))
        .map_err(|error| error.to_string())
    }
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => "[abc]",
        1 => Just("\"q\nq\"".to_owned()),
        1 => Just("\"a,\"\"b\"".to_owned()),
        1 => Just("d\"e".to_owned()),
        1 => Just("é".to_owned()),
    ]
}

/// A line of CSV with the columns trajectory, state and note, rarely one that is wrong.
fn line() -> impl Strategy<Value = String> {
    let state = prop_oneof![30 => "Aaa|Baa|B|Caa|Ca/C", 1 => "Zzz|"];
    let note = prop_oneof![6 => "[xy ]{0,4}", 1 => Just("\"1\r\n2\"".to_owned())];
    let row =
        (name(), state, note).prop_map(|(name, state, note)| format!("{name},{state},{note}"));
    prop_oneof![40 => row, 2 => " {0,2}", 1 => "a,B|,,|a,B,c,d|\"a,B,c"]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    /// The same release and the same errors, at any size of blocks and on any number of threads.
    #[test]
    fn csv_is_released_as_row_by_row(
        lines in vec(line(), 0..60),
        ending in prop_oneof![Just("\n"), Just("\r\n")],
        last in prop_oneof![Just(""), Just("\n")],
        bom in prop_oneof![Just(""), Just("\u{feff}")],
        unknown_states in prop_oneof![
            Just(UnknownStates::Refuse),
            Just(UnknownStates::Skip),
            Just(UnknownStates::Replace(StateId::new(4))),
        ],
        keep: bool,
        together: bool,
        mechanism in prop_oneof![
            Just(credit()),
            Just(blocks("1")),
            Just(blocks("3")),
            Just(blocks("all")),
            Just(observing(Preset::Tight, 0)),
            Just(observing(Preset::Tight, 3)),
            Just(observing(Preset::Believed, 0)),
            Just(observing(Preset::Believed, 3)),
        ],
        start in prop_oneof![
            3 => Just(Start::Private),
            1 => Just(Start::Initial),
            1 => Just(Start::First),
            1 => Just(Start::At(StateId::new(3))),
        ],
        seed in proptest::option::of(0_u64..4),
        block in 1_usize..200,
        threads in 1_usize..4,
        output in prop_oneof![Just(WalkFormat::Csv), Just(WalkFormat::Ndjson)],
    ) {
        let mut lines = lines;
        if together {
            // Most of them stand together then.
            lines.sort_by_key(|line| line.chars().next());
        }
        let lines: String = lines.iter().map(|line| format!("{ending}{line}")).collect();
        let text = format!("{bom}trajectory,state,note{lines}{last}");
        let case = Case {
            options: WalkOptions {
                keep: if keep { vec!["note".into()] } else { Vec::new() },
                ..Default::default()
            },
            unknown_states,
            mechanism,
            start,
            seed,
            grouping: if together { Grouping::Together } else { Grouping::Alternating },
            output,
        };
        let expected = case.one_by_one(text.as_bytes());
        let found = case.engine(text.as_bytes(), block, threads);
        match (&expected, &found) {
            // A row that is wrong in itself is reported before a walk that goes on.
            (Err(told), Err(_)) if told.contains("goes on") => {}
            _ => prop_assert_eq!(found, expected),
        }
    }

    /// The same for objects, and for bytes that are not text.
    #[test]
    fn ndjson_is_released_as_row_by_row(
        lines in vec(prop_oneof![
            20 => ("[ab]", "Aaa|Baa|B").prop_map(|(n, s)| {
                format!("{{\"trajectory\":\"{n}\",\"state\":\"{s}\"}}").into_bytes()
            }),
            1 => Just(b"{\"trajectory\":1}".to_vec()),
            1 => Just(b"\xff".to_vec()),
            1 => Just(b"".to_vec()),
        ], 0..40),
        block in 1_usize..200,
        threads in 1_usize..4,
    ) {
        let text = lines.join(&b'\n');
        let case = Case {
            options: WalkOptions { format: Some(WalkFormat::Ndjson), ..Default::default() },
            ..Default::default()
        };
        prop_assert_eq!(case.engine(&text, block, threads), case.one_by_one(&text));
    }
}

/// A few thousand rows, so that many parts are under way at a time.
#[test]
fn observations_and_first_blocks_do_not_depend_on_threads() {
    let text = interleaved(6_000);
    let sorted = {
        let (header, rows) = text.split_once('\n').unwrap();
        let mut rows: Vec<&str> = rows.lines().collect();
        rows.sort_by_key(|row| row.split(',').next());
        format!("{header}\n{}\n", rows.join("\n"))
    };
    let mechanisms = [
        observing(Preset::Tight, 0),
        observing(Preset::Tight, 3),
        observing(Preset::Believed, 0),
        observing(Preset::Believed, 3),
        blocks("3"),
        // Of most walks the first block never fills.
        blocks("400"),
        blocks("all"),
    ];
    for mechanism in mechanisms {
        let rows_per_walk = text.lines().count() as u64 - 1;
        for (text, grouping) in [(&text, Grouping::Alternating), (&sorted, Grouping::Together)] {
            let start = Start::Private;
            let case = Case { mechanism: mechanism.clone(), start, grouping, ..Case::default() };
            let expected = case.one_by_one(text.as_bytes()).unwrap();
            assert_eq!(expected.0.states, rows_per_walk);
            assert!(expected.0.infeasible > 0);
            for (threads, block) in [(1, 1 << 18), (2, 1 << 10), (3, 700)] {
                let found = case.engine(text.as_bytes(), block, threads).unwrap();
                assert_eq!(found, expected, "{threads} threads, parts of {block}");
            }
        }
    }
}

#[test]
fn infeasible_moves_are_counted_while_a_walk_waits() {
    // From Aaa the chain does not move to Def at once.
    let text = "trajectory,state\na,Aaa\nb,B\na,Def\nb,B\na,Aaa\n";
    for mechanism in [credit(), blocks("7"), blocks("all"), observing(Preset::Tight, 3)] {
        for start in [Start::Private, Start::Initial] {
            let case = Case { mechanism: mechanism.clone(), start, ..Case::default() };
            let chain = mechanism.model().chain();
            let [aaa, def] = ["Aaa", "Def"].map(|label| chain.require(label).unwrap());
            let expected = [(aaa, def), (def, aaa)];
            let expected = expected.iter().filter(|pair| !chain.allows(pair.0, pair.1)).count();
            assert!(expected > 0);
            for block in [1, 1 << 10] {
                let (tally, _) = case.engine(text.as_bytes(), block, 2).unwrap();
                assert_eq!((tally.infeasible, tally.states), (expected as u64, 5));
            }
        }
    }
}

#[test]
fn a_walk_that_goes_on_after_its_end_is_refused_though_it_waits() {
    let text = "trajectory,state\na,B\nb,B\na,B\n";
    for mechanism in [blocks("7"), blocks("all"), observing(Preset::Tight, 0)] {
        let grouping = Grouping::Together;
        let case = Case { mechanism, start: Start::Private, grouping, ..Case::default() };
        for found in [case.one_by_one(text.as_bytes()), case.engine(text.as_bytes(), 8, 2)] {
            let message = found.unwrap_err();
            assert!(message.contains("line 4") && message.contains("goes on"), "{message}");
        }
    }
}

#[test]
fn what_was_observed_has_a_column() {
    let text = "trajectory,state,observed\na,B,1\na,Caa,2\n";
    for (output, expected) in [
        (WalkFormat::Csv, "trajectory,step,state,observed\na,0,"),
        (WalkFormat::Tsv, "trajectory\tstep\tstate\tobserved\na\t0\t"),
        (WalkFormat::Ndjson, "{\"trajectory\":\"a\",\"step\":0,\"state\":\""),
    ] {
        let mechanism = observing(Preset::Tight, 0);
        let case = Case { mechanism, start: Start::Private, output, ..Case::default() };
        let (_, released) = case.engine(text.as_bytes(), 8, 2).unwrap();
        assert!(released.starts_with(expected), "{released}");
        assert!(output != WalkFormat::Ndjson || released.contains(",\"observed\":\""));
        // A column of that name cannot be kept, and can where moves are drawn.
        let options = WalkOptions { keep: vec!["observed".into()], ..WalkOptions::default() };
        let keeping = Case { options, ..case };
        for found in [keeping.one_by_one(text.as_bytes()), keeping.engine(text.as_bytes(), 8, 2)] {
            let message = found.unwrap_err();
            assert!(message.contains("\"observed\" cannot be kept"), "{message}");
        }
        let moves = Case { mechanism: credit(), ..keeping };
        moves.engine(text.as_bytes(), 8, 2).unwrap();
    }
}

#[test]
fn a_writer_of_other_columns_is_refused() {
    let case = Case { mechanism: observing(Preset::Tight, 0), ..Case::default() };
    let error = case.with(|release| {
        let reader = WalkReader::new(&b"trajectory,state\na,B\n"[..], "w", WalkOptions::default());
        let writer = ReleaseWriter::new(Vec::new(), "out", WalkFormat::Csv, &[]).unwrap();
        release_rows(release, reader.unwrap(), writer).map(drop).unwrap_err().to_string()
    });
    assert!(
        error.contains("trajectory, step, state") && error.contains("OwnColumns::of"),
        "{error}"
    );
}

/// Walks that alternate, some of them long.
fn interleaved(rows: usize) -> String {
    let chain = Chain::credit();
    let labels: Vec<&str> = chain.states().map(|s| chain.label(s)).collect();
    let mut text = String::from("trajectory,state\n");
    for row in 0..rows {
        let walk = (row * row + row / 7) % 97 % (1 + row % 50);
        text += &format!("w{walk},{}\n", labels[row * 31 % 17 % labels.len()]);
    }
    text
}

#[test]
fn the_number_of_threads_does_not_matter() {
    let text = interleaved(40_000);
    let case = Case::default();
    let expected = case.one_by_one(text.as_bytes()).unwrap();
    for threads in [1, 2, 7] {
        for block in [1 << 10, 1 << 18] {
            let found = case.engine(text.as_bytes(), block, threads).unwrap();
            assert_eq!(found, expected, "{threads} threads, blocks of {block}");
        }
    }
}

#[test]
fn every_name_is_charged_once_before_it_is_released() {
    let text = interleaved(5_000);
    let charged = Mutex::new(Vec::new());
    let charge = |new: &[NewWalk<'_>]| {
        charged.lock().unwrap().extend(new.iter().map(|walk| walk.name.to_owned()));
        Ok(())
    };
    let run = |charge: &Charge<'_>| {
        let release = WalkRelease {
            mechanism: credit(),
            source: &Source::system(),
            start: Start::Initial,
            unknown_states: UnknownStates::Refuse,
            grouping: Grouping::Alternating,
            charge: Some(charge),
            watch: &|_| ControlFlow::Continue(()),
        };
        let bytes = Box::new(std::io::Cursor::new(text.clone().into_bytes()));
        let none = Compression::None;
        let input = WalkInput::from_bytes(bytes, "w", WalkOptions::default(), none, 64).unwrap();
        let output = ReleaseOutput::new(Vec::new(), "out", WalkFormat::Csv, none, &[]).unwrap();
        release.run(input, output, 2)
    };
    let (tally, _) = run(&charge).unwrap();
    let mut names = charged.into_inner().unwrap();
    let all = names.len();
    names.sort();
    names.dedup();
    assert_eq!((all as u64, names.len() as u64), (tally.walks, tally.walks));
    let refused = run(&|_| Err("no more".into())).unwrap_err();
    assert!(matches!(refused, ReleaseError::Charge(_)), "{refused}");
}

#[test]
fn a_writer_that_fails_ends_the_release() {
    #[derive(Debug)]
    struct Full(usize);
    impl Write for Full {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 = self.0.checked_sub(bytes.len()).ok_or(std::io::ErrorKind::StorageFull)?;
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let text = interleaved(20_000);
    Case::default().with(|release| {
        let bytes = Box::new(std::io::Cursor::new(text.into_bytes()));
        let none = Compression::None;
        let input = WalkInput::from_bytes(bytes, "w", WalkOptions::default(), none, 512).unwrap();
        let full = ReleaseOutput::new(Full(1000), "out", WalkFormat::Csv, none, &[]).unwrap();
        let error = release.run(input, full, 2).unwrap_err();
        assert!(error.to_string().starts_with("out: writing failed"), "{error}");
    });
}

/// A release of walks that nothing is asked of but how far it is.
fn watched(
    mechanism: Arc<Mechanism>,
    input: WalkInput,
    threads: usize,
    watch: &ReleaseWatch<'_>,
) -> Result<Tally, ReleaseError> {
    let release = WalkRelease {
        mechanism,
        source: &keyed(),
        start: Start::Initial,
        unknown_states: UnknownStates::Refuse,
        grouping: Grouping::Alternating,
        charge: None,
        watch,
    };
    let out = ReleaseOutput::new(Vec::new(), "out", WalkFormat::Csv, Compression::None, &[]);
    release.run(input, out.unwrap(), threads).map(|(tally, _)| tally)
}

#[test]
fn the_watch_may_end_the_release() {
    let bytes = Box::new(std::io::Cursor::new(interleaved(20_000).into_bytes()));
    let none = Compression::None;
    let input = WalkInput::from_bytes(bytes, "w", WalkOptions::default(), none, 512).unwrap();
    let stopped = watched(credit(), input, 2, &|progress| match progress.states > 1000 {
        true => ControlFlow::Break(()),
        false => ControlFlow::Continue(()),
    });
    assert!(matches!(stopped, Err(ReleaseError::Stopped)));
}

/// What a release of two hundred walks that alternate is told to have come to, in this order.
fn told(mechanism: Arc<Mechanism>) -> (Vec<ReleaseProgress>, u64) {
    // Long names, so that what is read ahead is a small share of the whole.
    let row = |walk: usize| format!("{walk:0>200},{}\n", ["Baa", "B", "Caa"][walk % 3]);
    let rows: String = (0..40).flat_map(|_| (0..200).map(row)).collect();
    let text = format!("trajectory,state\n{rows}");
    let size = text.len() as u64;
    let told = Mutex::new(Vec::new());
    let (bytes, options) = (Box::new(std::io::Cursor::new(text)), WalkOptions::default());
    let input = WalkInput::from_bytes(bytes, "walks", options, Compression::None, 30_000).unwrap();
    let tally = watched(mechanism, input, 1, &|progress| {
        told.lock().unwrap().push(progress);
        ControlFlow::Continue(())
    })
    .unwrap();
    assert_eq!(tally.states, 8000);
    (told.into_inner().unwrap(), size)
}

#[test]
fn whole_walks_are_not_done_when_they_have_been_read() {
    let (told, size) = told(blocks("all"));
    // First all of it is read, and waits, but for the first state of each walk.
    let reading = told.partition_point(|progress| progress.stage == ReleaseStage::Reading);
    assert!(reading > 10, "{told:?}");
    assert!(told[..reading].is_sorted_by_key(|progress| progress.waiting));
    assert!(told[..reading].iter().all(|at| at.states <= 200 && at.share_of(size) < 0.15));
    // Then it comes out little by little.
    let rest = &told[reading..];
    assert!(rest.iter().all(|at| at.stage == ReleaseStage::Rest && at.bytes == size));
    assert!(rest.iter().all(|at| at.states + at.waiting == 8000));
    let shares: Vec<f64> = rest.iter().map(|progress| progress.share_of(size)).collect();
    assert!(shares.is_sorted(), "{shares:?}");
    let largest_leap = shares.windows(2).map(|pair| pair[1] - pair[0]).fold(0.0, f64::max);
    assert!(largest_leap < 0.05, "{largest_leap}");
    assert!(shares.last().is_some_and(|&share| share > 0.95));
}

#[test]
fn states_that_are_answered_at_once_never_wait() {
    let (steps, size) = told(credit());
    assert!(steps.iter().all(|at| at.waiting == 0));
    assert!(steps.iter().all(|at| at.share_of(size) == at.bytes as f64 / size as f64));
    let (observed, _) = told(observing(Preset::Tight, 0));
    assert!(observed.iter().all(|at| at.waiting == 0), "{observed:?}");
    // With a lag of three as many of each walk wait, and a part that was just read.
    let (lagged, _) = told(observing(Preset::Tight, 3));
    assert!(lagged.iter().any(|at| at.waiting > 0));
    assert!(lagged.iter().all(|at| at.waiting <= 5 * 200), "{lagged:?}");
    // Of blocks of five, at most four states of each walk wait, and a part that was just read.
    let (fives, _) = told(blocks("5"));
    assert!(fives.iter().any(|at| at.waiting > 0));
    assert!(fives.iter().all(|at| at.waiting <= 5 * 200), "{fives:?}");
}

#[test]
fn walks_that_wait_can_be_stopped_while_they_are_released() {
    let rows: String = (0..4000).map(|row| format!("w{},B\n", row % 100)).collect();
    let text = format!("trajectory,state\n{rows}");
    let most = Mutex::new(0);
    let bytes = Box::new(std::io::Cursor::new(text));
    let input = WalkInput::new(bytes, "walks", WalkOptions::default()).unwrap();
    let stopped = watched(blocks("all"), input, 1, &|progress| {
        *most.lock().unwrap() = progress.states;
        if progress.states > 500 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    assert!(matches!(stopped, Err(ReleaseError::Stopped)));
    assert!((501..700).contains(&*most.lock().unwrap()), "soon after");
}
