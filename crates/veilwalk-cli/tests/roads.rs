//! `veilwalk chain osm` and `veilwalk prepare --map`, on a made-up town, and on Andorra where it is beside the checkout.

mod common;

use std::path::{Path, PathBuf};

use common::{Folder, stderr};
use veilwalk_io::read_model;

const TOWN: &str = include_str!("../../../docs/samples/roads/town.osm");
const POSITIONS: &str = include_str!("../../../docs/samples/roads/positions.csv");

fn words(line: &str) -> std::str::SplitWhitespace<'_> {
    line.split_whitespace()
}

fn town() -> Folder {
    let folder = Folder::with("town.osm", TOWN);
    folder.write("positions.csv", POSITIONS);
    folder.run(words("chain osm town.osm -o town.model")).success();
    folder
}

#[test]
fn a_town_is_a_chain() {
    let folder = town();
    let run = folder.run(words("chain osm town.osm -o again.model")).success();
    let said = stderr(&run);
    assert!(said.contains("78 states") && said.contains("1 rule for turning hold"), "{said}");
    assert!(said.contains("dropped") && said.contains("OpenStreetMap contributors"), "{said}");
    let model = read_model(&folder.path("town.model")).unwrap();
    let chain = model.chain();
    // One-way streets have one direction; nobody turns left out of Cedar Avenue.
    assert!(chain.state("w101-21>22").is_some() && chain.state("w101-22>21").is_none());
    let from = chain.state("w202-23>33").unwrap();
    let next: Vec<&str> = chain.successors(from).iter().map(|&to| chain.label(to)).collect();
    assert_eq!(next, ["w202-33>43"]);
    folder.run(words("chain osm town.osm --turns class -o town.csv --places p.csv")).success();
    let check = "chain check town.csv --places p.csv";
    folder.run(words(check)).success();
    assert!(folder.read("p.csv").contains(",Cedar Avenue\n"));
    folder.refuses(words("chain osm town.osm -o other.model --places p.csv"), &["--places"]);
    folder.refuses(words("chain osm positions.csv -o x.model"), &["positions.csv", "not a map"]);
    folder.write("empty.osm", "<osm></osm>");
    folder.refuses(words("chain osm empty.osm -o x.model"), &["no way that may be used by car"]);
    folder.write("half.osm", &TOWN[..TOWN.len() / 2]);
    folder.refuses(words("chain osm half.osm -o x.model"), &["cut short"]);
}

/// The states of each walk, in order.
fn walks(text: &str) -> Vec<(String, Vec<String>)> {
    let mut walks: Vec<(String, Vec<String>)> = Vec::new();
    let mut rows = csv::Reader::from_reader(text.as_bytes());
    for row in rows.records() {
        let row = row.unwrap();
        if walks.last().is_none_or(|(name, _)| *name != row[0]) {
            walks.push((row[0].to_owned(), Vec::new()));
        }
        walks.last_mut().unwrap().1.push(row[2].to_owned());
    }
    walks
}

#[test]
fn positions_become_walks_on_the_network() {
    let folder = town();
    let line = "prepare positions.csv --map town.model --gap 5m --sigma 6 --names -o walks.csv";
    let run = folder.run(words(line)).success();
    assert!(stderr(&run).contains("3 walks of 2 persons"), "{}", stderr(&run));
    let text = folder.read("walks.csv");
    assert!(text.starts_with("trajectory,step,state,person,name\n"), "{text}");
    assert!(text.contains(",First Street\n"));
    let model = read_model(&folder.path("town.model")).unwrap();
    let chain = model.chain();
    let walks = walks(&text);
    assert_eq!(
        walks.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(),
        ["ann/1", "ann/2", "bob/1"]
    );
    for (name, states) in &walks {
        for pair in states.windows(2) {
            let [from, to] = [0, 1].map(|at| chain.state(&pair[at]).unwrap());
            assert!(chain.successors(from).contains(&to), "{name}: {pair:?}");
        }
    }
    let truth = [
        "w100-11>12",
        "w100-12>13",
        "w202-13>23",
        "w101-23>24",
        "w101-24>25",
        "w204-25>35",
        "w204-35>45",
        "w103-45>44",
    ];
    assert_eq!(walks[0].1, truth);
    folder.run(words("privatize walks.csv --chain town.model --person-column person --mechanism tight --epsilon 1 --radius 6 -o out.csv")).success();
    // On a clock all walks are of one length.
    let clock = "--every 10s --window 08:00-08:15 --timezone UTC --gap 1m --away away";
    folder
        .run(words(&format!("prepare positions.csv --map town.model {clock} -o ticks.csv")))
        .success();
    let ticks = self::walks(&folder.read("ticks.csv"));
    assert_eq!(ticks.len(), 2, "ann and bob on one day");
    for (_, states) in ticks {
        assert_eq!(states.len(), 90);
    }
}

#[test]
fn positions_that_cannot_be_matched() {
    let folder = town();
    let refuses = |name: &str, text: &str, words_of_error: &[&str]| {
        folder.write(name, text);
        let line = format!("prepare {name} --map town.model -o walks.csv");
        folder.refuses(words(&line), words_of_error);
    };
    let row = |latitude: &str, longitude: &str| {
        format!("person,time,latitude,longitude\na,2024-03-01T08:00:00Z,{latitude},{longitude}\n")
    };
    refuses(
        "abroad.csv",
        &row("48.85", "2.35"),
        &["not one of 1 positions", "give a map of that place"],
    );
    refuses("swapped.csv", &row("1.501", "42.501"), &["seem to be swapped"]);
    refuses("beyond.csv", &row("95", "1.5"), &["line 2", "swapped"]);
    let no_time = "<gpx><trk><trkseg><trkpt lat='42.5' lon='1.5'></trkpt></trkseg></trk></gpx>";
    refuses("trace.gpx", no_time, &["trace.gpx", "no <time>"]);
    refuses("cut.gpx", "<gpx><trk><trkseg>", &["in the middle"]);
    folder.run(words("chain generate grid --width 3 --height 3 -o grid.csv")).success();
    folder.refuses(
        words("prepare positions.csv --map grid.csv -o walks.csv"),
        &["no lines of streets"],
    );
    folder.run(words("chain osm town.osm --states crossings -o crossings.model")).success();
    folder.refuses(
        words("prepare positions.csv --map crossings.model -o walks.csv"),
        &["are crossings"],
    );
    folder.refuses(
        words("prepare positions.csv --map town.model --cells h3:9 -o walks.csv"),
        &["cannot be used with"],
    );
}

/// A trace with times is as good as a table, packed or not.
#[test]
fn traces_in_gpx() {
    let folder = town();
    let mut gpx = "<?xml version='1.0'?><gpx><trk><name>ann</name><trkseg>".to_owned();
    for line in POSITIONS.lines().skip(1).filter(|line| line.starts_with("ann,2024-03-01T08")) {
        let fields: Vec<&str> = line.split(',').collect();
        gpx += &format!(
            "<trkpt lat='{}' lon='{}'><time>{}</time></trkpt>",
            fields[2], fields[3], fields[1]
        );
    }
    folder.write("ann.gpx", gpx + "</trkseg></trk></gpx>");
    folder.run(words("prepare ann.gpx --map town.model --sigma 6 -o a.csv")).success();
    folder
        .run(words("prepare positions.csv --map town.model --sigma 6 --gap 5m -o b.csv"))
        .success();
    let (a, b) = (walks(&folder.read("a.csv")), walks(&folder.read("b.csv")));
    assert_eq!(a[0], b[0]);
}

/// Whoever leaves the map is away, which the model has a state for.
#[test]
fn off_the_map() {
    let folder = town();
    folder.run(words("chain osm town.osm --away away --every 30s -o ticks.model")).success();
    let mut text = POSITIONS.to_owned();
    for minute in 10..20 {
        text += &format!("ann,2024-03-01T09:{minute}:00Z,42.6,1.6\n");
    }
    folder.write("positions.csv", &text);
    let clock = "--every 30s --window 08:00-10:00 --timezone UTC --away away";
    let line = format!("prepare positions.csv --map ticks.model {clock} -o walks.csv");
    let run = folder.run(words(&line)).success();
    assert!(stderr(&run).contains("10 positions on no street"), "{}", stderr(&run));
    let walks = walks(&folder.read("walks.csv"));
    assert_eq!(walks[0].1.last().unwrap(), "away");
    let model = read_model(&folder.path("ticks.model")).unwrap();
    assert!(model.chain().state("away").is_some());
    folder.refuses(words("prepare positions.csv --away away -o w.csv"), &["--away"]);
}

/// Andorra takes seconds at most, in a build that is not optimised too.
#[test]
fn a_country() {
    let map: PathBuf =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/maps/andorra.osm.pbf");
    if !map.exists() {
        eprintln!("skipped: there is no {}", map.display());
        return;
    }
    let folder = Folder::new();
    let run = folder.run(words(&format!("chain osm {} -o andorra.model", map.display()))).success();
    assert!(stderr(&run).contains("3,441 states"), "{}", stderr(&run));
}
