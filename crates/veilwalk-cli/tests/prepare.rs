//! `veilwalk prepare`: raw events of persons to walks.

mod common;

use std::path::{Path, PathBuf};

use common::{Folder, stderr, stdout};

fn words(line: &str) -> std::str::SplitWhitespace<'_> {
    line.split_whitespace()
}

/// Out of order, with one event twice.
const EVENTS: &str = "person,time,state,mood
bob,2024-03-01T09:00:00Z,office,good
ann,2024-03-01T10:00:00+01:00,office,bad
ann,2024-03-01T08:00:00Z,home,bad
bob,2024-03-01T09:00:00Z,office,bad
ann,2024-03-01T12:00:00Z,home,good
";

const WALKS: &str = "trajectory,step,state,person
bob,0,office,bob
ann,0,home,ann
ann,1,office,ann
ann,2,home,ann
";

#[test]
fn events_become_walks() {
    let folder = Folder::with("log.csv", EVENTS);
    let said = stderr(&folder.run(words("prepare log.csv -o walks.csv")).success());
    assert_eq!(folder.read("walks.csv"), WALKS);
    for words in [
        "walks.csv: 2 walks of 2 persons, with 4 states in all (2 different ones), from 5 events",
        "1 event left out",
        "1 walk of a single event",
        "not protected",
        "--end with --length",
    ] {
        assert!(said.contains(words), "no {words:?} in {said}");
    }
    let beside = folder.read("walks.csv.prepared.json");
    assert!(beside.contains("\"clock\": null"), "{beside}");
    let settings = beside.split("\"walks\"").next().unwrap();
    assert!(!beside.contains("ann") && !settings.contains('5'), "settings and a hash: {beside}");
}

#[test]
fn walks_are_split_and_filled_up() {
    let folder = Folder::with("log.csv", EVENTS);
    folder.run(words("prepare log.csv --gap 90m --end end --length 2 -o walks.csv")).success();
    let expected = "trajectory,step,state,person
bob/1,0,office,bob
bob/1,1,end,bob
ann/1,0,home,ann
ann/1,1,office,ann
ann/2,0,home,ann
ann/2,1,end,ann
";
    assert_eq!(folder.read("walks.csv"), expected);
    let run = folder.run(words("prepare log.csv --end end --length 2 -o cut.csv")).success();
    let said = stderr(&run);
    assert!(said.contains("1 walk cut at --length"), "{said}");
    assert!(said.contains("all have the same length"), "{said}");
    folder.write("stays.csv", "person,time,state\na,1,x\na,2,x\na,3,y\na,3.5,x\n");
    folder.run(words("prepare stays.csv --merge-stays -o merged.csv")).success();
    let expected = "trajectory,step,state,person\na,0,x,a\na,1,y,a\na,2,x,a\n";
    assert_eq!(folder.read("merged.csv"), expected);
}

/// The night in which Berlin has no time between two and three, and that in which it has it twice.
#[test]
fn days_with_a_change_of_clocks_have_as_many_ticks() {
    let log = "person,time,state
ann,2024-03-30 22:00,home
ann,2024-03-31 01:30,bar
ann,2024-03-31 04:30,home
ann,2024-10-27 00:30,home
ann,2024-10-27 03:30,bar
";
    let folder = Folder::with("log.csv", log);
    let line = "prepare log.csv --every 1h --window 00:00-06:00 --timezone Europe/Berlin --away out \
                --gap 4h -o walks.csv";
    folder.run(words(line)).success();
    let walks = folder.read("walks.csv");
    let states = |day: &str| {
        let rows = walks.lines().filter(|row| row.starts_with(&format!("ann/{day},")));
        rows.map(|row| row.split(',').nth(2).unwrap()).collect::<Vec<_>>()
    };
    // At 0, 1, 3, 4, 5 and 6 o'clock: two o'clock is left out.
    assert_eq!(states("2024-03-31"), ["home", "home", "bar", "bar", "home", "home"], "{walks}");
    // At 0, 1, 2, 2 again, 3 and 4 o'clock.
    assert_eq!(states("2024-10-27"), ["out", "home", "home", "home", "home", "bar"], "{walks}");
    assert_eq!(walks.lines().count(), 1 + 2 * 6, "{walks}");
}

#[test]
fn every_day_of_everybody() {
    let log = "person,time,state\nann,2024-03-01 08:00,a\nann,2024-03-03 08:00,b\nbob,2024-03-02 09:00,c\n";
    let folder = Folder::with("log.csv", log);
    folder.run(words("prepare log.csv --every 12h --away no --days all -o all.csv")).success();
    let expected = "trajectory,step,state,person
ann/2024-03-01,0,no,ann
ann/2024-03-01,1,a,ann
ann/2024-03-02,0,a,ann
ann/2024-03-02,1,a,ann
ann/2024-03-03,0,a,ann
ann/2024-03-03,1,b,ann
bob/2024-03-01,0,no,bob
bob/2024-03-01,1,no,bob
bob/2024-03-02,0,no,bob
bob/2024-03-02,1,c,bob
bob/2024-03-03,0,c,bob
bob/2024-03-03,1,c,bob
";
    assert_eq!(folder.read("all.csv"), expected);
    let line = "prepare log.csv --every 1h --window 09:00-10:00 -o seen.csv";
    let said = stderr(&folder.run(words(line)).success());
    assert_eq!(folder.read("seen.csv"), "trajectory,step,state,person\nbob/2024-03-02,0,c,bob\n");
    assert!(said.contains("2 events out of the window"), "{said}");
    assert!(said.contains("1 person without an event in the window"), "{said}");
}

#[test]
fn all_formats_are_read_and_written() {
    let folder = Folder::with("log.csv", EVENTS);
    folder.write("log.tsv", EVENTS.replace(',', "\t"));
    let object = |row: &str| {
        let cells: Vec<&str> = row.split(',').collect();
        let [person, time, state, _] = cells[..] else { panic!("{row}") };
        format!("{{\"time\":\"{time}\",\"state\":\"{state}\",\"person\":\"{person}\"}}\n")
    };
    let lines: String = EVENTS.lines().skip(1).map(object).collect();
    folder.write("log.ndjson", lines);
    for log in ["log.tsv", "log.ndjson"] {
        folder.run(["prepare", log, "-o", "walks.csv"]).success();
        assert_eq!(folder.read("walks.csv"), WALKS, "{log}");
    }
    let piped = folder.run_with(["prepare", "-", "-o", "-"], EVENTS).success();
    assert_eq!(stdout(&piped), WALKS);
    // What is written is read again as events, of which steps are the seconds.
    let again = "--person-column trajectory --time-column step -o again.csv";
    for name in ["w.csv.gz", "w.tsv.zst", "w.ndjson", "w.parquet", "w.arrow", "w.arrows"] {
        folder.run(["prepare", "log.csv", "-o", name]).success();
        folder.run(words(&format!("prepare {name} {again}"))).success();
        assert_eq!(folder.read("again.csv"), WALKS, "{name}");
    }
}

#[test]
fn numbers_of_json_may_have_fractions() {
    let text = "{\"who\":7,\"at\":1.5,\"lat\":48.8584,\"lon\":2.2945}\n{\"who\":7,\"at\":1,\"lat\":-33,\"lon\":151}\n";
    let folder = Folder::with("log.jsonl", text);
    let line = "prepare log.jsonl --person-column who --time-column at --cells h3:9 --latitude-column lat \
                --longitude-column lon -o walks.csv";
    folder.run(words(line)).success();
    let walks = folder.read("walks.csv");
    let rows: Vec<&str> = walks.lines().skip(1).collect();
    assert_eq!(rows.len(), 2, "{walks}");
    // The Eiffel Tower comes second.
    assert!(rows[1].starts_with("7,1,891fb4"), "{walks}");
    assert!(rows[1].ends_with("ffff,7"), "{walks}");
}

const XES: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<log xes.version="1.0">
  <global scope="event"><string key="concept:name" value="none"/></global>
  <trace>
    <string key="concept:name" value="case &amp; 1"/>
    <event>
      <string key="concept:name" value="check"><string key="concept:name" value="inner"/></string>
      <date key="time:timestamp" value="2024-03-01T09:00:00.000+01:00"/>
    </event>
    <event>
      <date key="time:timestamp" value="2024-03-01T08:00:00.000+01:00"/>
      <string key="concept:name" value="open"/>
      <string key="org:resource" value="Kim"/>
    </event>
  </trace>
</log>
"#;

#[test]
fn logs_of_cases_are_read() {
    let folder = Folder::with("log.xes", XES);
    folder.run(words("prepare log.xes -o walks.csv")).success();
    let expected =
        "trajectory,step,state,person\ncase & 1,0,open,case & 1\ncase & 1,1,check,case & 1\n";
    assert_eq!(folder.read("walks.csv"), expected);
    for (cut, line, words) in [
        ("</event>\n  </trace>", "line 14", "ends in the middle of an event"),
        ("</trace>", "line 15", "ends in the middle of a trace"),
        ("value=\"Kim\"", "line 13", "not a whole XES log"),
    ] {
        let end = XES.find(cut).unwrap();
        folder.write("cut.xes", &XES[..end]);
        folder.refuses(self::words("prepare cut.xes -o cut.csv"), &["cut.xes", line, words]);
    }
    folder.write("lost.xes", XES.replace("</event>\n    <event>", "</trace>\n    <event>"));
    folder.refuses(words("prepare lost.xes -o cut.csv"), &["lost.xes, line 9", "XES"]);
    folder.write("page.xes", "<html></html>");
    folder.refuses(words("prepare page.xes -o cut.csv"), &["page.xes", "no <log>"]);
    let line = "prepare log.xes --state-column org:resource -o cut.csv";
    folder.refuses(
        words(line),
        &["log.xes, line 6", "\"org:resource\" for the state", "\"case:concept:name\""],
    );
}

/// An input that is refused with these words, and nothing is written.
fn refused(text: &str, flags: &str, words: &[&str]) {
    let folder = Folder::with("log.csv", text);
    let line = format!("prepare log.csv -o walks.csv {flags}");
    folder.refuses(self::words(&line), words);
}

#[test]
fn events_that_cannot_be_taken() {
    let rows = |rows: &str| format!("person,time,state\n{rows}");
    let times = |first: &str, second: &str| rows(&format!("a,{first},x\na,{second},y\n"));
    let iso = "2024-03-01T08:00:00Z";
    refused(&times(iso, "noon"), "", &["log.csv, line 3", "\"noon\" is not a time", "ISO 8601"]);
    refused(&times(iso, "01/03/2024 9:00"), "", &["line 3", "is not a time"]);
    let mixed = ["log.csv, line 3", "without a zone, and those before it", "write all times alike"];
    refused(&times(iso, "2024-03-01 09:00"), "", &mixed);
    refused(&times("1709280000", iso), "", &["line 3", "those before it are seconds since 1970"]);
    refused(&times(iso, ""), "", &["line 3", "\"time\" is empty"]);
    refused(&times("1709280000000", iso), "", &["line 2", "milliseconds", "divide them by 1000"]);
    refused(&rows("a,1\n"), "", &["line 2", "2 fields"]);
    refused("who,time,state\na,1,x\n", "", &["no column \"person\"", "--person-column"]);
    refused("person,when,state\na,1,x\n", "", &["no column \"time\"", "--time-column"]);
    refused("person,time,what\na,1,x\n", "", &["no column \"state\"", "--state-column"]);
    refused(&times(iso, iso), "--every 1h", &["line 2", "--timezone", "Europe/Berlin"]);
    refused(&times(iso, iso), "--end y --length 9", &["line 3", "\"y\" is a state of an event"]);
    refused("", "", &["log.csv", "empty", "person,time,state"]);
}

#[test]
fn positions_that_cannot_be_taken() {
    let at = |latitude: &str, longitude: &str| {
        format!("person,time,latitude,longitude\na,1,52,13\na,2,{latitude},{longitude}\n")
    };
    for (latitude, longitude, words) in [
        ("121.5", "31.2", "swap --latitude-column and --longitude-column"),
        ("95", "100", "not between -90 and 90"),
        ("31", "-200", "not between -180 and 180"),
        ("31", "east", "the longitude \"east\" is not a number"),
    ] {
        refused(&at(latitude, longitude), "--cells h3:9", &["log.csv, line 3", words]);
    }
    refused(&at("1", "1"), "--cells h3:99", &["--cells", "h3:9"]);
    refused(&at("1", "1"), "--cells h3:9 --state-column x", &["cannot be used with"]);
    refused(&at("1", "1"), "", &["no column \"state\""]);
}

#[test]
fn more_states_than_make_sense() {
    let row = |n: u32| format!("p{},{n},\"{}.5,{}\"\n", n % 7, n % 1100, n);
    let text: String = (0..1100).map(row).collect();
    let text = format!("person,time,state\n{text}");
    let words = ["log.csv: 1100 different states in 1100 events", "--cells h3:9", "--max-states"];
    refused(&text, "", &words);
    refused(&text, "--max-states 20", &["log.csv, line 22", "more than 20 different states"]);
    let folder = Folder::with("log.csv", text);
    folder.run(self::words("prepare log.csv --max-states 1100 -o walks.csv")).success();
}

#[test]
fn flags_that_do_not_fit() {
    let rows = "person,time,state\na,1,x\n";
    for (flags, words) in [
        ("--every 7m", &["--every 7m", "not a whole number of ticks"][..]),
        ("--every 1h --gap 2h", &["--gap 2h", "--away STATE"]),
        ("--every soon", &["not a span of time", "such as 2h"]),
        ("--every 1h --window 6-22", &["06:00-22:00"]),
        ("--every 1h --timezone Mars/Base", &["\"Mars/Base\" is not a time zone"]),
        ("--every 1h --end x --length 3", &["cannot be used with"]),
        ("--window 06:00-22:00", &["--every"]),
        ("--away no", &["--every"]),
        ("--end x", &["--length"]),
        ("--length 3", &["--end"]),
        ("--end x --length 0", &["from 1 up"]),
        ("--latitude-column x", &["--cells"]),
    ] {
        refused(rows, flags, words);
    }
}

#[test]
fn outputs_that_must_not_be_replaced() {
    let folder = Folder::with("log.csv", EVENTS);
    folder.refuses(words("prepare log.csv -o log.csv"), &["would replace the events"]);
    folder.write("walks.csv.prepared.json", "my notes");
    let moved = ["walks.csv.prepared.json", "move it away"];
    folder.refuses(words("prepare log.csv -o walks.csv"), &moved);
    let own = folder.run(words("prepare log.csv -o other.csv")).success();
    assert!(!stderr(&own).contains("warning"));
    let again = folder.run(words("prepare log.csv -o other.csv")).success();
    assert!(stderr(&again).contains("warning: other.csv: this will replace the file"));
}

#[test]
fn an_empty_log_makes_no_walks() {
    let folder = Folder::with("log.csv", "person,time,state\n");
    let run = folder.run(words("prepare log.csv --every 1h --timezone UTC -o walks.csv")).success();
    assert!(stderr(&run).contains("warning: there are no events"));
    assert_eq!(folder.read("walks.csv"), "trajectory,step,state,person\n");
}

/// However little memory there is, the walks are the same.
#[test]
fn events_that_do_not_fit_in_memory_wait_in_a_file() {
    let mut text = String::from("person,time,state\n");
    let mut number = 1_u64;
    for _ in 0..150_000 {
        number =
            number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let (person, time, state) =
            (number >> 50 & 1023, number >> 30 & 0xf_ffff, number >> 20 & 31);
        text += &format!("p{person},{time},s{state}\n");
    }
    let folder = Folder::with("log.csv", text);
    let said = stderr(&folder.run(words("prepare log.csv --gap 1h -o all.csv")).success());
    assert!(!said.contains("temporary file"), "{said}");
    let line = "prepare log.csv --gap 1h --sort-memory 1 -o little.csv";
    let said = stderr(&folder.run(words(line)).success());
    assert!(said.contains("waited in a temporary file"), "{said}");
    assert!(folder.read("all.csv") == folder.read("little.csv"), "the same walks");
}

/// From events to a release that protects stays, for persons.
#[test]
fn what_is_prepared_is_released() {
    let folder = Folder::new();
    folder.run(words("chain sample credit --walks 6 --steps 30 --seed 1 -o made.csv")).success();
    let line = "prepare made.csv --person-column trajectory --time-column step --every 10s --window \
                00:00-00:01 --timezone UTC -o walks.csv";
    folder.run(words(line)).success();
    assert!(folder.read("walks.csv.prepared.json").contains("\"every\": \"10s\""));
    let release = "privatize walks.csv --chain credit --epsilon 1 --person-column person --seed 1 \
                   --mechanism chen -o out.csv";
    let said = stderr(&folder.run(words(&format!("{release} --visit 10s"))).success());
    assert!(said.contains("any one stay") || said.contains("Any one stay"), "{said}");
    let line = format!("{release} --visit 1m --every 1m");
    folder.refuses(words(&line), &["prepared.json", "state every 10s", "--every says 1m"]);
    std::fs::remove_file(folder.path("walks.csv.prepared.json")).unwrap();
    folder.refuses(words(&format!("{release} --visit 10s")), &["--visit 10s", "give --every"]);
}

/// What stands beside the walks is about others, which had ticks elsewhere.
#[test]
fn walks_beside_what_others_were_prepared_with_are_refused() {
    let log = "person,time,state\nann,2024-03-01 08:00,Baa\nbob,2024-03-01 09:00,Aa\n";
    let folder = Folder::with("log.csv", log);
    folder.write("places.csv", "from,to,count\n".to_owned() + &moves(&["Aa", "Baa"]));
    folder.run(words("prepare log.csv --every 1h -o walks.csv")).success();
    folder.run(words("prepare log.csv --every 15m -o others.csv")).success();
    let release = "privatize walks.csv --chain places.csv --epsilon 1 --visit 1h --seed 1 --mechanism chen \
                   --person-column person -o out.csv";
    folder.run(words(release)).success();
    std::fs::copy(folder.path("others.csv.prepared.json"), folder.path("walks.csv.prepared.json"))
        .unwrap();
    std::fs::remove_file(folder.path("out.csv")).unwrap();
    let advice = [
        "walks.csv.prepared.json: this is about other walks than walks.csv holds now",
        "prepare them again",
        "give --every",
    ];
    folder.refuses(words(release), &advice);
    // Other walks on as many ticks, too: what is beside them does not know them.
    folder.run(words("prepare log.csv --every 1h -o walks.csv")).success();
    let others = folder.read("walks.csv").replace("Baa", "Aa");
    folder.write("walks.csv", others);
    folder.refuses(words(release), &advice);
    // Nobody relies on it where --visit is not asked for.
    folder.run(words(&release.replace("--visit 1h", "--substitutions 1"))).success();
}

/// However often the same walks are prepared, and with whatever clock, what is beside them is about them.
#[test]
fn walks_that_are_prepared_again_have_the_new_clock_beside_them() {
    let folder = Folder::with("log.csv", EVENTS);
    for every in ["1h", "15m"] {
        let line = format!("prepare log.csv --every {every} --timezone UTC -o walks.csv");
        folder.run(words(&line)).success();
        let beside = folder.read("walks.csv.prepared.json");
        assert!(beside.contains(&format!("\"every\": \"{every}\"")), "{beside}");
    }
    // There is no room for the second of the two: both stay as they are.
    let old = folder.read("walks.csv");
    std::fs::remove_file(folder.path("walks.csv.prepared.json")).unwrap();
    std::fs::create_dir(folder.path("walks.csv.prepared.json")).unwrap();
    let line = "prepare log.csv --every 1h --timezone UTC -o walks.csv";
    let run = folder.run(words(line)).failure();
    assert!(stderr(&run).contains("walks.csv.prepared.json"), "{}", stderr(&run));
    assert_eq!(folder.read("walks.csv"), old);
}

/// A log of cases, beside the checkout if it is there.
fn receipt() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/events/receipt.csv.gz")
}

/// The log of cases as a newcomer would take it.
#[test]
fn a_real_log_of_cases() {
    let log =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/events/receipt.csv.gz");
    if !log.exists() {
        eprintln!("skipped: there is no {}", log.display());
        return;
    }
    let folder = Folder::new();
    let log = log.display();
    let columns = "--person-column case:concept:name --time-column time:timestamp --state-column concept:name";
    let run =
        folder.run(words(&format!("prepare {log} {columns} --end end --length 12 -o walks.csv")));
    let said = stderr(&run.success());
    assert!(said.contains("1,434 walks of 1,434 persons, with 17,208 states"), "{said}");
    assert!(said.contains("(27 different ones), from 8,577 events"), "{said}");
    let walks = folder.read("walks.csv");
    assert_eq!(walks.lines().count(), 1 + 1434 * 12);
}

/// Every command in docs/prepare.md, in order.
#[test]
fn the_commands_of_the_docs_run() {
    let docs = include_str!("../../../docs/prepare.md");
    let block = |kind: &str| {
        let fence = format!("```{kind}\n");
        let blocks = docs.split(fence.as_str()).skip(1);
        blocks.map(|block| block.split("```").next().unwrap()).collect::<Vec<_>>()
    };
    let folder = Folder::with("log.csv", block("csv")[0]);
    folder.write(
        "places.csv",
        "from,to,count\n".to_owned() + &moves(&["away", "home", "office", "gym"]),
    );
    let pings = "person,time,latitude,longitude\na,2024-03-01 08:00,52.52,13.405\na,2024-03-01 09:00,52.5,13.4\n";
    folder.write("pings.csv", pings);
    let mut ran = 0;
    for line in block("console").iter().flat_map(|block| block.lines()) {
        let args = line.strip_prefix("$ veilwalk ").unwrap();
        if args.contains("receipt") {
            if !receipt().exists() {
                eprintln!("skipped: {args}");
                continue;
            }
            std::fs::copy(receipt(), folder.path("receipt.csv.gz")).unwrap();
        }
        let run = folder.run(words(args));
        assert!(run.get_output().status.success(), "{line}: {}", stderr(&run));
        ran += 1;
    }
    assert!(ran >= 4, "{ran} commands");
    let walks = folder.read("walks.csv");
    assert_eq!(walks.lines().count(), 1 + 3 * 32, "ann on one day, bob on two");
}

/// Every move between these states, as a chain.
fn moves(states: &[&str]) -> String {
    let pairs = states.iter().flat_map(|from| states.iter().map(move |to| (from, to)));
    pairs.map(|(from, to)| format!("{from},{to},1\n")).collect()
}
