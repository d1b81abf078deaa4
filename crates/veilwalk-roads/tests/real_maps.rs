//! Real maps, where they lie beside the checkout: Andorra and Monaco, © OpenStreetMap contributors.

use std::path::{Path, PathBuf};

use veilwalk::Chain;
use veilwalk_roads::{
    Away, ChainOptions, MapProblem, Mode, RoadMap, RoadReport, StatesAre, Tick, Turns,
};

fn map(name: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/maps").join(name);
    if !path.exists() {
        eprintln!("skipped: there is no {}", path.display());
        return None;
    }
    Some(path)
}

fn chain(path: &Path, mode: Mode, options: &ChainOptions) -> (Chain, RoadReport) {
    RoadMap::read(path, mode).unwrap().chain(options).unwrap()
}

#[test]
fn andorra_in_each_mode() {
    let Some(path) = map("andorra.osm.pbf") else { return };
    for mode in [Mode::Car, Mode::Bike, Mode::Foot] {
        let (chain, report) = chain(&path, mode, &ChainOptions::default());
        assert!(chain.len() > 1000, "{mode}: {}", chain.len());
        // The one road through the country's east is closed to people on foot.
        let at_least = if mode == Mode::Foot { 3.0 } else { 15.0 };
        assert!(
            report.metres > at_least * report.dropped_metres,
            "{mode}: {}",
            report.dropped_metres
        );
        assert_eq!(report.period, 1);
        check(&chain);
    }
}

#[test]
fn monaco_on_four_wheels_and_two_feet() {
    let Some(path) = map("monaco.osm.gz") else { return };
    let (car, _) = chain(&path, Mode::Car, &ChainOptions::default());
    let (foot, _) = chain(&path, Mode::Foot, &ChainOptions::default());
    assert!(foot.len() > car.len());
    check(&car);
    check(&foot);
}

/// Lines meet where moves are, lengths are those of lines, and both directions of a street lie at one place.
fn check(chain: &Chain) {
    let places = chain.places().unwrap();
    let lines = places.lines.as_ref().unwrap();
    let (lengths, coordinates) =
        (places.lengths.as_ref().unwrap(), places.coordinates.as_ref().unwrap());
    for from in chain.states() {
        for (at, to) in chain.row(from).zip(chain.successors(from)) {
            assert_eq!(lines[from.index()].last(), lines[to.index()].first());
            let (a, b) = (coordinates[from.index()], coordinates[to.index()]);
            let ((north, east), (other_north, other_east)) = (a.degrees(), b.degrees());
            let metres = 111_195.0
                * ((north - other_north).powi(2)
                    + ((east - other_east) * north.to_radians().cos()).powi(2))
                .sqrt();
            assert!(lengths[at].metres() > metres * 0.998 - 0.1, "{} {metres}", lengths[at]);
        }
        let label = chain.label(from);
        let (way, ends) = label.split_once('-').unwrap();
        let (first, last) = ends.split_once('>').unwrap();
        if let Some(back) = chain.state(&format!("{way}-{last}>{first}")) {
            assert_eq!(coordinates[back.index()], coordinates[from.index()]);
        }
    }
}

#[test]
fn other_chains_of_one_map() {
    let Some(path) = map("monaco.osm.gz") else { return };
    let map = RoadMap::read(&path, Mode::Car).unwrap();
    let (segments, _) = map.chain(&ChainOptions::default()).unwrap();
    let with = |options: ChainOptions| map.chain(&options).unwrap().0;
    let crossings = with(ChainOptions { states: StatesAre::Crossings, ..Default::default() });
    assert!(
        crossings.len() < segments.len()
            && crossings.label(crossings.states().next().unwrap()).starts_with('n')
    );
    let by_class = with(ChainOptions { turns: Turns::ByClass, ..Default::default() });
    assert_eq!(by_class.transitions(), segments.transitions());
    assert_ne!(by_class.hash(), segments.hash());
    let ticks =
        with(ChainOptions { tick: Some(Tick { seconds: 10, speed: None }), ..Default::default() });
    assert_eq!(ticks.len(), segments.len());
    assert!(ticks.transitions() > 2 * segments.transitions());
    for state in ticks.states() {
        assert!(ticks.successors(state).contains(&state));
        assert!(
            segments.successors(state).iter().all(|next| ticks.successors(state).contains(next))
        );
    }
    let away = with(ChainOptions { away: Some(Away("away".into())), ..Default::default() });
    assert_eq!(away.len(), segments.len() + 1);
    let folder = tempfile::tempdir().unwrap();
    let counts = folder.path().join("counts.csv");
    let first = segments.states().find(|&state| segments.successors(state).len() == 2).unwrap();
    let [one, other] = segments.successors(first) else { unreachable!() };
    let label = |state| segments.label(state);
    let line = |to, count| format!("{},{to},{count}\n", label(first));
    let table = format!("from,to,count\n{}{}", line(label(*one), 7), line("elsewhere", 1));
    std::fs::write(&counts, table).unwrap();
    let counted =
        map.chain(&ChainOptions { turns: Turns::Counted(counts.clone()), ..Default::default() });
    let (counted, report) = counted.unwrap();
    assert_eq!(report.counts_passed_over, 1);
    assert_eq!(counted.probabilities(first), [8.0 / 9.0, 1.0 / 9.0]);
    for (text, words) in [
        ("from,to,n\n".to_owned(), "write from,to,count"),
        (format!("from,to,count\n{}", line(label(*other), -1)), "line 2: the count \"-1\""),
        (format!("from,to,count\n{}", line(label(*other), 1).repeat(2)), "line 3: the move"),
        ("from,to,count\na,b,1\n".to_owned(), "no line is about a move"),
        ("from,to,count\na,b\n".to_owned(), "line 2"),
    ] {
        std::fs::write(&counts, text).unwrap();
        let options = ChainOptions { turns: Turns::Counted(counts.clone()), ..Default::default() };
        let error = map.chain(&options).unwrap_err().to_string();
        assert!(error.contains("counts.csv") && error.contains(words), "{error}");
    }
}

#[test]
fn maps_that_are_cut_or_are_none() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        RoadMap::read(&path, Mode::Car).unwrap_err()
    };
    let says = |name: &str, bytes: &[u8], words: &str| {
        let error = file(name, bytes).to_string();
        assert!(error.contains(name) && error.contains(words), "{name}: {error}");
    };
    says("empty.osm", b"", "is empty");
    says("walks.csv", b"trajectory,state\na,b\n", "not a map");
    says("page.osm", b"<?xml version=\"1.0\"?><html/>", "not a map");
    says("half.osm", b"<osm><way id=\"1\"><nd ref=\"1\"/>", "cut short");
    says("none.osm", b"<osm></osm>", "no way that may be used by car");
    let lonely =
        br#"<osm><way id="1"><nd ref="1"/><nd ref="2"/><tag k="highway" v="road"/></way></osm>"#;
    says("lonely.osm", lonely, "lacks the points");
    says("number.osm", b"<osm><way><nd ref=\"1\"/></way></osm>", "damaged");
    let missing = RoadMap::read(&folder.path().join("none"), Mode::Car).unwrap_err();
    assert!(matches!(missing.problem(), MapProblem::NotFound), "{missing}");
    for name in ["andorra.osm.pbf", "monaco.osm.gz"] {
        let Some(path) = map(name) else { return };
        let bytes = std::fs::read(path).unwrap();
        for part in [5, 20, 100] {
            let error = file(name, &bytes[..bytes.len() * part / 101]).to_string();
            assert!(error.contains("cut short") || error.contains("damaged"), "{part}: {error}");
        }
        let mut changed = bytes.clone();
        changed[bytes.len() / 2] ^= 0x55;
        let error = file(name, &changed).to_string();
        assert!(error.contains("damaged") || error.contains("cut short"), "{error}");
    }
}

/// A crossing of four streets, and signs at it.
#[test]
fn signs_of_a_map() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("crossing.osm");
    let relation = |members: &str, tags: &str| {
        format!("<relation id=\"1\">{members}<tag k=\"type\" v=\"restriction\"/>{tags}</relation>")
    };
    let member = |kind: &str, id: i64, role: &str| {
        format!("<member type=\"{kind}\" ref=\"{id}\" role=\"{role}\"/>")
    };
    let tag = |key: &str, value: &str| format!("<tag k=\"{key}\" v=\"{value}\"/>");
    let from_to = |from, to| {
        member("way", from, "from") + &member("node", 5, "via") + &member("way", to, "to")
    };
    let next = |relations: &str, mode| {
        let mut text = "<?xml version='1.0'?>\n<osm>".to_owned();
        for node in 1..=5_i64 {
            let (north, east) = [(1, 0), (0, 1), (-1, 0), (0, -1), (0, 0)][node as usize - 1];
            text += &format!(
                "<node id=\"{node}\" lat=\"{}\" lon=\"{}\"/>",
                42.0 + 0.001 * f64::from(north),
                1.5 + 0.001 * f64::from(east)
            );
        }
        for way in 1..=4 {
            text += &format!("<way id=\"{way}\"><nd ref=\"{way}\"/><nd ref=\"5\"/>");
            text +=
                &(tag("highway", "residential") + &tag("name", "Caf\u{e9} &amp; Co") + "</way>");
        }
        std::fs::write(&path, text + relations + "</osm>").unwrap();
        let (chain, report) = chain(&path, mode, &ChainOptions::default());
        assert_eq!(chain.places().unwrap().names.as_ref().unwrap()[0], "Caf\u{e9} & Co");
        let from = chain.state("w1-1>5").unwrap();
        let labels: Vec<String> =
            chain.successors(from).iter().map(|&to| chain.label(to).to_owned()).collect();
        (labels.join(" "), report)
    };
    let all = "w2-5>2 w3-5>3 w4-5>4";
    assert_eq!(next("", Mode::Car).0, all);
    let no_left = relation(&from_to(1, 2), &tag("restriction", "no_left_turn"));
    assert_eq!(next(&no_left, Mode::Car).0, "w3-5>3 w4-5>4");
    assert_eq!(next(&no_left, Mode::Foot).0, all);
    let signs = tag("restriction", "no_left_turn") + &tag("except", "bicycle");
    assert_eq!(next(&relation(&from_to(1, 2), &signs), Mode::Bike).0, all);
    let only = relation(&from_to(1, 4), &tag("restriction", "only_right_turn"));
    assert_eq!(next(&only, Mode::Car).0, "w4-5>4");
    let over_a_way = member("way", 1, "from") + &member("way", 2, "via") + &member("way", 3, "to");
    let (moves, report) = next(&relation(&over_a_way, &tag("restriction", "no_u_turn")), Mode::Car);
    assert_eq!((moves.as_str(), report.restrictions, report.restrictions_left_out), (all, 0, 1));
}
