//! `veilwalk map`: walks on maps, as a page that a browser draws and as files for other tools.

mod common;

use common::browser::{chromium, looked_at};
use common::{Folder, both, stderr};
use serde_json::Value;

const PROMISE: [&str; 4] = ["--epsilon", "3", "--radius", "2"];

/// A town of 12 by 8 crossings, three walks of ten states in it, and a release of them.
fn town(mechanism: &str) -> Folder {
    let folder = Folder::new();
    let grid = ["chain", "generate", "grid", "--width", "12", "--height", "8", "--spacing", "100m"];
    folder.run(both(&grid, &["--places", "places.csv", "-o", "grid.csv"])).success();
    folder.run(["chain", "compile", "grid.csv", "--places", "places.csv", "-o", "town"]).success();
    let sample = ["chain", "sample", "town", "--walks", "3", "--steps", "9", "--seed", "5"];
    folder.run(both(&sample, &["-o", "plain.csv"])).success();
    // Walks on a clock are named after days.
    let plain = folder.read("plain.csv");
    let named = plain.lines().skip(1).map(|line| {
        let (walk, rest) = line.split_once(',').unwrap();
        let day = walk.parse::<u32>().unwrap() + 1;
        format!("ann/2026-05-0{day},{rest}\n")
    });
    let named: String = named.collect();
    folder.write("walks.csv", format!("trajectory,step,state\n{named}"));
    let release = ["privatize", "walks.csv", "--chain", "town", "-o", "released.csv"];
    folder.run(both(&both_str(&release, &PROMISE), &["--mechanism", mechanism])).success();
    folder
}

fn both_str<'a>(one: &[&'a str], other: &[&'a str]) -> Vec<&'a str> {
    [one, other].concat()
}

fn clock(folder: &Folder, beside: &str, timezone: &str) {
    let text = format!(
        "{{\"veilwalk_prepared\": 2, \"person_column\": \"person\", \"states_per_walk\": 10, \
         \"clock\": {{\"every\": \"1m\", \"window\": \"06:00-06:10\", \"timezone\": {timezone}}}}}"
    );
    folder.write(&format!("{beside}.prepared.json"), text);
}

const MAP: [&str; 4] = ["map", "released.csv", "--chain", "town"];

#[test]
fn geojson_has_a_line_for_each_walk_with_times_of_the_clock() {
    let folder = town("tight");
    clock(&folder, "walks.csv", "\"Europe/Berlin\"");
    let more = ["--real", "walks.csv", "--attribution", "© us", "-o", "out.geojson"];
    let said = stderr(&folder.run(both(&MAP, &more)).success());
    assert!(said.contains("out.geojson: 3 released walks, 30 states, 3 real walks"), "{said}");
    assert!(said.contains("NOT protected"), "{said}");
    let map: Value = serde_json::from_str(&folder.read("out.geojson")).unwrap();
    assert_eq!(map["attribution"], "© us");
    let features = map["features"].as_array().unwrap();
    let of = |layer: &str| -> Vec<&Value> {
        features.iter().filter(|feature| feature["properties"]["layer"] == layer).collect()
    };
    assert_eq!([of("released").len(), of("real").len(), of("observed").len()], [3, 3, 30]);
    for feature in features {
        let properties = &feature["properties"];
        let walk = properties["trajectory"].as_str().unwrap();
        let day = walk.strip_prefix("ann/").unwrap();
        if properties["layer"] == "observed" {
            let step = properties["step"].as_u64().unwrap();
            assert_eq!(properties["time"], format!("{day}T04:0{step}:00Z"));
            continue;
        }
        assert_eq!(properties["begin"], format!("{day}T04:00:00Z"));
        assert_eq!(properties["end"], format!("{day}T04:09:00Z"));
        if feature["geometry"]["type"] == "LineString" {
            let points = feature["geometry"]["coordinates"].as_array().unwrap();
            let times = properties["coordTimes"].as_array().unwrap();
            assert_eq!((points.len(), times.len()), (10, 10), "states are points");
        }
    }
}

#[test]
fn times_may_be_given_and_are_missed() {
    let folder = town("cell");
    let said = stderr(&folder.run(both(&MAP, &["-o", "steps.gpx"])).success());
    assert!(said.contains("no times") && said.contains("--every and --from"), "{said}");
    assert!(!folder.read("steps.gpx").contains("<time>"));
    let given = ["--every", "30s", "--from", "2026-05-01T06:00", "--timezone", "Europe/Berlin"];
    let said = stderr(&folder.run(both(&both_str(&MAP, &given), &["-o", "times.gpx"])).success());
    assert!(!said.contains("no times"), "{said}");
    let gpx = folder.read("times.gpx");
    assert_eq!((gpx.matches("<trk>").count(), gpx.matches("<time>").count()), (3, 30));
    assert!(gpx.contains("<time>2026-05-01T04:04:30Z</time>"), "{gpx}");
    // A clock without a zone; one beside the release itself; walks that no clock made.
    clock(&folder, "released.csv", "null");
    let said = stderr(&folder.run(both(&MAP, &["-o", "utc.gpx"])).success());
    assert!(said.contains("taken as those of UTC"), "{said}");
    assert!(folder.read("utc.gpx").contains("<time>2026-05-01T06:09:00Z</time>"));
    let one = ["--walks", "1", "--clock", "released.csv.prepared.json", "-o", "one.gpx"];
    folder.run(both(&MAP, &one)).success();
    assert_eq!(folder.read("one.gpx").matches("<trk>").count(), 1);
    folder.refuses(both(&MAP, &["--clock", "walks.csv", "-o", "x.gpx"]), &[".prepared.json"]);
    let named = folder.read("plain.csv");
    folder.write("plain.csv", &named);
    let release = both_str(&["privatize", "plain.csv", "--chain", "town", "-o", "p.csv"], &PROMISE);
    folder.run(release).success();
    clock(&folder, "p.csv", "\"UTC\"");
    let words = ["not named after a day", "--every and --from"];
    folder.refuses(["map", "p.csv", "--chain", "town", "-o", "x.gpx"], &words);
}

#[test]
fn what_does_not_fit_is_refused_and_nothing_is_written() {
    let folder = town("cell");
    let grid = ["chain", "generate", "grid", "--width", "12", "--height", "8", "--seed", "2"];
    let other = ["--spacing", "100m", "--places", "q.csv", "-o", "other.csv"];
    folder.run(both(&grid, &other)).success();
    folder.write("far.csv", "trajectory,state\nann/2026-05-01,r99c99\n");
    folder.write("bob.csv", "trajectory,state\nbob,r0c0\n");
    folder.write("bad.json", "{\"visits\": [{\"state\": \"r99c99\", \"share\": 1}]}");
    folder.write("changed.csv", folder.read("released.csv") + "x,0,r0c0\n");
    folder.write("changed.csv.manifest.json", folder.read("released.csv.manifest.json"));
    for (release, more, words) in [
        ("released.csv", "--chain town -o x.kml", &["x.kml", ".geojson"][..]),
        ("released.csv", "--chain town -o -", &["does not tell what to write"]),
        ("released.csv", "--chain town -o town", &["does not tell what to write"]),
        (
            "released.csv",
            "--chain grid.csv -o x.html",
            &["grid.csv", "does not say where", "--places"],
        ),
        (
            "released.csv",
            "--chain other.csv --places q.csv -o x.html",
            &["released under the chain"],
        ),
        ("walks.csv", "--chain town -o x.html", &["no manifest"]),
        ("nowhere.csv", "--chain town -o x.html", &["no such release"]),
        ("changed.csv", "--chain town -o x.geojson", &["changed after"]),
        ("released.csv", "--chain town --real far.csv -o x.html", &["far.csv, line 2", "r99c99"]),
        (
            "released.csv",
            "--chain town --real bob.csv -o x.parquet",
            &["bob.csv", "names they had"],
        ),
        ("released.csv", "--chain town --refined none.csv -o x.gpx", &["none.csv"]),
        ("released.csv", "--chain town --estimate bad.json -o x.html", &["bad.json", "r99c99"]),
        ("released.csv", "--chain town --estimate bad.json -o x.gpx", &["ends in .html"]),
        ("released.csv", "--chain town --every 1m -o x.gpx", &["--from"]),
        ("released.csv", "--chain town --every 1m --from noon -o x.gpx", &["not a time"]),
        (
            "released.csv",
            "--chain town --clock no.prepared.json -o x.gpx",
            &["there is no such file"],
        ),
        ("released.csv", "--chain town --walks 0 -o x.gpx", &["from 1 up"]),
        ("released.csv", "--chain town --real walks.csv -o walks.csv", &["walks.csv"]),
    ] {
        let args = format!("map {release} {more}");
        folder.refuses(args.split(' '), words);
    }
}

/// Looks at the page from inside, and plays with it.
const PROBE: &str = r##"<script>
addEventListener("load", () => setTimeout(() => {
  const root = document.documentElement, map = document.getElementById("map"), pen = map.getContext("2d");
  // Each theme is drawn anew before its pixels are looked at.
  const pixels = () => {
    draw();
    const image = pen.getImageData(0, 0, map.width, map.height).data, seen = new Map();
    for (let at = 0; at < image.length; at += 4) {
      const key = (image[at] << 16) | (image[at + 1] << 8) | image[at + 2];
      seen.set(key, (seen.get(key) || 0) + 1);
    }
    return seen;
  };
  const count = (seen, name) => {
    const [, r, g, b] = /^#(..)(..)(..)$/.exec(colour(name)).map((part) => parseInt(part, 16));
    return seen.get((r << 16) | (g << 8) | b) || 0;
  };
  const drawn = (names) => { const seen = pixels(); return Object.fromEntries(names.map((name) => [name, count(seen, name)])); };
  const press = (key) => map.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
  lookAt(0);
  // Heat is looked at alone, since walks are drawn over it.
  const names = ["released", "refined", "street", "land"], found = { light: drawn(names) };
  found.real = document.querySelector("[data-layer=real]") !== null;
  const before = view.scale;
  press("+"); found.closer = view.scale > before;
  press("0"); press("ArrowLeft"); found.moved = Math.abs(view.x - (whole.left + whole.right) / 2) > 1e-6;
  press(","); found.stepped = document.getElementById("now").textContent;
  const x = view.x;
  const drag = (type, at) => map.dispatchEvent(new PointerEvent(type, { clientX: at, clientY: 200, pointerId: 1, bubbles: true }));
  map.setPointerCapture = () => {};
  drag("pointerdown", 150); drag("pointermove", 110); drag("pointerup", 110);
  found.dragged = view.x > x;
  const wheel = view.scale;
  map.dispatchEvent(new WheelEvent("wheel", { deltaY: -120, clientX: 100, clientY: 200, cancelable: true }));
  found.wheeled = view.scale > wheel;
  goTo(0); press(" "); found.playing = document.getElementById("play").textContent === "Pause"; stop();
  press("n"); found.next = document.getElementById("walk").value;
  document.getElementById("next").click(); found.then = document.getElementById("walk").value;
  for (const tick of document.querySelectorAll("#layers input")) if (tick.checked !== (tick.dataset.layer === "heat")) tick.click();
  choose(-1); press("0");
  found.heat = drawn(["heat5", "released"]);
  for (const tick of document.querySelectorAll("#layers input")) tick.click();
  document.getElementById("theme").click();
  lookAt(0);
  found.dark = drawn(names);
  found.toggled = root.dataset.theme;
  found.legend = document.querySelectorAll("#legend li").length;
  found.places = document.getElementById("places").textContent;
  found.credit = document.getElementById("credit").textContent;
  found.small = [...document.querySelectorAll("button, select, p, dd, dt, label, small, #credit, #scale")]
    .filter((one) => one.offsetParent && parseFloat(getComputedStyle(one).fontSize) < 12).length;
  found.ready = root.dataset.ready || "no";
  found.error = root.dataset.error || "none";
  found.fetched = performance.getEntriesByType("resource").length;
  found.wide = root.scrollWidth > root.clientWidth ? root.scrollWidth : 0;
  found.width = map.getBoundingClientRect().width;
  parent.postMessage(JSON.stringify(found), "*");
}, 200));
</script>"##;

#[test]
fn a_browser_draws_the_page_and_it_can_be_used() {
    let Some(chromium) = chromium() else { return };
    let folder = town("tight");
    clock(&folder, "released.csv", "\"Europe/Berlin\"");
    folder.run(["refine", "released.csv", "--chain", "town", "-o", "refined.csv"]).success();
    let estimated = folder.run(["estimate", "released.csv", "--chain", "town", "--format", "json"]);
    folder.write("estimate.json", common::stdout(&estimated.success()));
    let more = ["--refined", "refined.csv", "--estimate", "estimate.json", "--attribution", "© us"];
    let args = both_str(&MAP, &more);
    folder.run(both(&args, &["-o", "public.html"])).success();
    folder.run(both(&args, &["--real", "walks.csv", "-o", "own.html"])).success();
    assert!(!folder.read("public.html").contains("Not protected"));
    assert!(folder.read("own.html").contains("This page shows 3 real walks"));
    for (page, width) in [("public.html", 1280), ("own.html", 375)] {
        let found = looked_at(&folder, &chromium, &folder.read(page), PROBE, width);
        assert_eq!(found["error"], "none", "{found}");
        assert_eq!(found["ready"], "yes", "{found}");
        assert_eq!(found["fetched"], 0, "something was asked of a network: {found}");
        assert_eq!(found["wide"], 0, "wider than {width}: {found}");
        assert_eq!(found["small"], 0, "text too small to read: {found}");
        assert_eq!(found["real"], page == "own.html", "{found}");
        for theme in ["light", "dark"] {
            for name in ["released", "refined", "street", "land"] {
                assert!(found[theme][name].as_u64().unwrap() > 20, "{theme} {name}: {found}");
            }
        }
        assert!(found["heat"]["heat5"].as_u64().unwrap() > 20, "{found}");
        assert_eq!(found["heat"]["released"], 0, "what is switched off is not drawn: {found}");
        for done in ["closer", "moved", "dragged", "wheeled", "playing"] {
            assert_eq!(found[done], true, "{done}: {found}");
        }
        assert_eq!(found["stepped"], "Step 9 of 10, 1 May 2026, 06:08", "{found}");
        assert_eq!((&found["next"], &found["then"]), (&"1".into(), &"2".into()), "{found}");
        assert_eq!(found["toggled"], "dark", "{found}");
        assert_eq!((&found["legend"], &found["credit"]), (&6.into(), &"© us".into()), "{found}");
        let places = found["places"].as_str().unwrap();
        assert_eq!(places.contains("from the real place"), page == "own.html", "{places}");
    }
}
