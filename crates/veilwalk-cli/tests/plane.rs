//! `--mechanism plane` by the command: released, verified, inferred from, drawn on a map, audited, and refused.

mod common;

use common::{Folder, json, stderr, stdout};

/// A made-up town of 30 crossings, walks of its own, and their release.
fn town() -> Folder {
    let folder = Folder::new();
    let grid = ["chain", "generate", "grid", "--width", "6", "--height", "5", "--spacing", "100m"];
    folder.run(grid.into_iter().chain(["--places", "places.csv", "-o", "grid.csv"])).success();
    let compile = ["chain", "compile", "grid.csv", "--places", "places.csv", "-o", "town.model"];
    folder.run(compile).success();
    let sample = ["chain", "sample", "town.model", "--walks", "12", "--steps", "9", "--seed", "3"];
    folder.run(sample.into_iter().chain(["-o", "walks.csv"])).success();
    folder
}

const PLANE: [&str; 10] = [
    "--chain",
    "town.model",
    "--mechanism",
    "plane",
    "--metric",
    "line",
    "--epsilon",
    "1",
    "--per",
    "100m",
];

fn released(more: &[&str]) -> Folder {
    let folder = town();
    let args = ["privatize", "walks.csv", "-o", "out.csv"].into_iter().chain(PLANE);
    folder.run(args.chain(more.iter().copied())).success();
    folder
}

const VERIFY: [&str; 4] = ["verify", "out.csv", "--chain", "town.model"];

#[test]
fn what_was_observed_are_places_and_the_walk_is_made_of_them() {
    for more in [&[][..], &["--lag", "2"], &["--start", "first"], &["--start", "initial"]] {
        let folder = released(more);
        let text = folder.read("out.csv");
        let mut rows = text.lines();
        assert_eq!(rows.next(), Some("trajectory,step,state,observed"));
        let first_is_a_state = more.first() == Some(&"--start");
        for row in rows {
            let fields: Vec<&str> = row.split(',').collect();
            if first_is_a_state && fields[1] == "0" {
                assert_eq!(fields[2], fields[3], "{row}");
                continue;
            }
            let degrees: Vec<f64> = fields[3].split(' ').map(|n| n.parse().unwrap()).collect();
            assert_eq!(degrees.len(), 2, "{row}");
            let decimals = fields[3].split(' ').all(|n| n.split('.').nth(1).unwrap().len() == 9);
            assert!(decimals, "{row}");
        }
        folder.run(VERIFY).success();
    }
}

/// Every format holds the same release under a key.
#[test]
fn formats_agree_and_are_read_back() {
    let folder = town();
    folder.write("key", "0123456789abcdef0123456789abcdef\n");
    let id = "0123456789abcdef0123456789abcdef";
    for name in ["out.csv", "out.ndjson", "out.parquet", "out.arrow"] {
        let args = ["privatize", "walks.csv", "-o", name, "--key-file", "key", "--release-id", id];
        folder.run(args.into_iter().chain(PLANE)).success();
        folder.run(["verify", name, "--chain", "town.model"]).success();
        let refined = format!("{name}.refined.csv");
        folder.run(["refine", name, "--chain", "town.model", "-o", &refined]).success();
    }
    let first = folder.read("out.csv.refined.csv");
    for name in ["out.ndjson", "out.parquet", "out.arrow"] {
        assert_eq!(folder.read(&format!("{name}.refined.csv")), first, "{name}");
    }
}

#[test]
fn places_that_are_none_are_refused() {
    let folder = released(&[]);
    let text = folder.read("out.csv");
    let (row, line) = text.lines().zip(1..).nth(4).unwrap();
    let fields: Vec<&str> = row.split(',').collect();
    let mut manifest: serde_json::Value =
        serde_json::from_str(&folder.read("out.csv.manifest.json")).unwrap();
    for (other, words) in [
        ("42.5 1.5".to_owned(), "not a place that `plane` observes"),
        (fields[3].replace(' ', "0 "), "not a place that `plane` observes"),
        (fields[2].to_owned(), "the mechanism never draws it"),
        ("nowhere".to_owned(), "nine decimals"),
    ] {
        let changed = row.replace(fields[3], &other);
        folder.write("out.csv", text.replace(row, &changed));
        let hash = veilwalk_io::hash_file(&folder.path("out.csv")).unwrap();
        manifest["release"]["hash"] = hash.as_str().into();
        folder.write("out.csv.manifest.json", manifest.to_string());
        let message = folder.refuses(VERIFY, &["out.csv", &format!("line {line}"), words]);
        assert!(message.contains(&other) || other.is_empty(), "{message}");
    }
}

#[test]
fn inference_maps_and_figures_take_it() {
    let folder = released(&["--lag", "1"]);
    folder.run(["refine", "out.csv", "--chain", "town.model", "-o", "refined.csv"]).success();
    assert_eq!(folder.read("refined.csv").lines().count(), folder.read("out.csv").lines().count());
    let estimate = ["estimate", "out.csv", "--chain", "town.model", "--what", "visits"];
    folder.run(estimate.into_iter().chain(["-o", "visits.csv"])).success();
    let map = ["map", "out.csv", "--chain", "town.model", "-o"];
    for name in ["walks.geojson", "walks.html", "walks.parquet", "walks.gpx"] {
        folder.run(map.into_iter().chain([name])).success();
    }
    let points: serde_json::Value = serde_json::from_str(&folder.read("walks.geojson")).unwrap();
    let observed = points["features"].as_array().unwrap().iter();
    let observed = observed.filter(|feature| feature["properties"]["layer"] == "observed");
    assert_eq!(observed.count(), folder.read("out.csv").lines().count() - 1);
    assert!(folder.read("walks.html").contains("\"observed\":["));
    let attack = ["attack", "--steps", "6", "--walks", "50", "--format", "json"];
    let found = json(&folder.run(attack.into_iter().chain(PLANE)).success());
    assert!(found.to_string().contains("attacker"), "{found}");
    let analyze = ["analyze", "--steps", "6", "--simulate", "60", "--format", "json"];
    folder.run(analyze.into_iter().chain(PLANE)).success();
    let guarantee = folder.run(["guarantee"].into_iter().chain(PLANE)).success();
    let words = stdout(&guarantee);
    assert!(words.contains("planar Laplace noise that is drawn exactly"), "{words}");
    assert!(words.contains("The scale is 0.0099"), "{words}");
    let audit = ["audit", "--draws", "20000", "--format", "json"];
    let report = json(&folder.run(audit.into_iter().chain(PLANE)).success());
    assert_eq!(report["verdict"], "passed", "{report}");
    let kernel = ["kernel", "--previous", "r0c0", "--real", "r0c0", "--format", "json"];
    let labels = folder.read("walks.csv");
    let label = labels.lines().nth(1).unwrap().split(',').nth(2).unwrap();
    let kernel = kernel.map(|word| if word == "r0c0" { label } else { word });
    let noise = json(&folder.run(kernel.into_iter().chain(PLANE)).success());
    let median = noise["within"][2]["metres"].as_f64().unwrap();
    assert!((median - 167.8).abs() < 0.3, "{noise}");
}

#[test]
fn other_metrics_and_blocks_are_refused() {
    let folder = town();
    let with = |more: &[&str]| {
        let start =
            ["guarantee", "--chain", "town.model", "--mechanism", "plane", "--epsilon", "1"];
        start.iter().chain(more).map(|word| (*word).to_owned()).collect::<Vec<_>>()
    };
    let street = with(&["--per", "100m", "--metric", "street"]);
    folder.refuses(street, &["straight-line metres", "--metric", "tight"]);
    let replaced = with(&["--substitutions", "1", "--metric", "line"]);
    folder.refuses(replaced, &["replaced states", "--radius"]);
    let blocks = with(&["--per", "100m", "--metric", "line", "--block", "5"]);
    folder.refuses(blocks, &["not released in blocks"]);
    let distance = with(&["--per", "100m", "--metric", "line", "--distance", "cell"]);
    folder.refuses(distance, &["--distance"]);
    let tune = ["tune", "--chain", "town.model", "--metric", "line", "--epsilon", "2", "--per"];
    let tune = tune.into_iter().chain(["100m", "--steps", "5", "--lag", "1", "--format", "json"]);
    let ranking = folder.run(tune).success();
    assert!(stdout(&ranking).contains("\"plane\""), "{}", stderr(&ranking));
}
