//! `veilwalk reproduce`: the numbers are the known ones, stages are kept, and a browser draws the
//! page. The credit and downtown parts are run once for all tests here.

mod common;

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use common::browser::{chromium, looked_at};
use common::{Folder, VEILWALK};

fn reproduce(folder: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(VEILWALK);
    command.current_dir(folder).arg("reproduce").args(args);
    command.output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The folder with the whole of a run.
fn made() -> &'static Path {
    static MADE: OnceLock<Folder> = OnceLock::new();
    let folder = MADE.get_or_init(|| {
        let folder = Folder::new();
        let output = reproduce(folder.root(), &["-o", "out"]);
        assert!(output.status.success(), "{}", said(&output));
        let printed = String::from_utf8(output.stdout).unwrap();
        assert_eq!(Path::new(printed.trim()), Path::new("out/report.html"));
        folder
    });
    folder.root()
}

/// The rows of a file, each by the names of its columns.
fn rows(name: &str) -> Vec<HashMap<String, String>> {
    rows_in(made(), name)
}

fn rows_in(folder: &Path, name: &str) -> Vec<HashMap<String, String>> {
    let mut reader = csv::Reader::from_path(folder.join("out").join(name)).unwrap();
    reader.deserialize().map(Result::unwrap).collect()
}

fn find<'a>(
    rows: &'a [HashMap<String, String>],
    wanted: &[(&str, &str)],
) -> &'a HashMap<String, String> {
    let fits = |row: &&HashMap<String, String>| wanted.iter().all(|(k, v)| row[*k] == *v);
    rows.iter().find(fits).unwrap_or_else(|| panic!("no row with {wanted:?}"))
}

fn number(row: &HashMap<String, String>, column: &str) -> f64 {
    row[column].parse().unwrap_or_else(|_| panic!("{column} of {row:?}"))
}

fn close(found: f64, known: f64, relative: f64) {
    assert!((found - known).abs() <= relative * known.abs(), "{found} where {known} is known");
}

#[test]
fn slow_the_credit_chain_has_the_known_figures() {
    let credit = rows("chains.csv");
    let credit = find(&credit, &[("chain", "credit")]);
    close(number(credit, "diameter_nats"), 23.406648, 1e-6);
    close(number(credit, "closest_nats"), 2.733, 2e-4);
    close(number(credit, "entropy_rate_nats"), 0.002_112_53, 1e-5);
    assert_eq!(credit["pairs_within_1_nat"], "0");
    assert_eq!((credit["from"].as_str(), credit["to"].as_str()), ("Def", "Aaa"));
}

#[test]
fn slow_guesses_lie_between_the_chain_alone_and_the_truth() {
    let rows = rows("guesses.csv");
    for chain in ["credit", "downtown"] {
        for mechanism in ["chen", "paper", "sharp", "cell", "tight"] {
            let of = |epsilon: &str, what: &str| {
                let key = [("chain", chain), ("mechanism", mechanism), ("epsilon", epsilon)];
                number(find(&rows, &key), what)
            };
            let alone = of("0.1", "guessed_right_from_the_chain_alone");
            for epsilon in ["0.1", "1", "8"] {
                let error = 4.0 * of(epsilon, "standard_error") + 0.01;
                assert!(of(epsilon, "guessed_right") + error > alone, "{chain} {mechanism}");
                let released = of(epsilon, "released_right");
                assert!(of(epsilon, "guessed_right") + error > released, "{chain} {mechanism}");
            }
            assert!(of("8", "guessed_right") > of("0.1", "guessed_right"), "{chain} {mechanism}");
        }
    }
}

#[test]
fn slow_kernels_are_the_known_ones() {
    let rows = rows("kernels.csv");
    let known = [
        ("paper", [0.002687, 0.008462, 0.032784, 0.090305, 0.861216, 0.004546]),
        ("exponential", [0.004580, 0.014366, 0.054718, 0.144770, 0.773828, 0.007738]),
        ("chen", [0.129563, 0.129563, 0.129563, 0.129563, 0.352187, 0.129563]),
    ];
    for (mechanism, kernel) in known {
        for (outcome, p) in ["Baa", "Ba", "B", "Caa", "Ca/C", "Def"].iter().zip(kernel) {
            let row = find(&rows, &[("mechanism", mechanism), ("outcome", outcome)]);
            assert!((number(row, "probability") - p).abs() < 2e-6, "{mechanism} {row:?}");
        }
    }
}

#[test]
fn slow_error_probabilities_are_the_known_ones_and_simulation_agrees() {
    let rows = rows("errors.csv");
    let known = [
        ("paper", [0.079301, 0.0075241, 1.6694e-4, 4.3579e-6]),
        ("chen", [0.331120, 0.180178, 0.0724526, 0.0106249]),
    ];
    for (mechanism, chances) in known {
        for (v, chance) in ["2", "5", "10", "15"].iter().zip(chances) {
            let wanted = [
                ("chain", "credit"),
                ("basis", "equal-epsilon"),
                ("start", "fixed"),
                ("mechanism", mechanism),
                ("epsilon", "1"),
                ("v_nats", v),
            ];
            close(number(find(&rows, &wanted), "exact"), chance, 2e-5);
        }
    }
    // Five standard errors, and what a rare event that was not seen may still be.
    let mut compared = 0;
    for row in rows.iter().filter(|r| !r["exact"].is_empty() && !r["simulated"].is_empty()) {
        let (exact, seen) = (number(row, "exact"), number(row, "simulated"));
        let rare = 20.0 / (100.0 * number(row, "walks"));
        let error = number(row, "standard_error");
        assert!((exact - seen).abs() <= 5.0 * error + rare, "{row:?}");
        compared += 1;
    }
    assert!(compared > 200, "{compared}");
}

#[test]
fn slow_entropies_agree_with_simulation_and_lie_in_order() {
    let rows = rows("entropy.csv");
    let mut compared = 0;
    for row in rows.iter().filter(|r| !r["exact"].is_empty() && !r["simulated"].is_empty()) {
        let (exact, seen) = (number(row, "exact"), number(row, "simulated"));
        assert!((exact - seen).abs() <= 5.0 * number(row, "standard_error") + 1e-9, "{row:?}");
        compared += 1;
    }
    assert!(compared >= 2 * 2 * 12 * 4, "{compared}");
}

#[test]
fn slow_drift_is_as_known_and_conditions_are_below_it() {
    let rows = rows("drift.csv");
    let corrected =
        [("0.5", 28.4), ("1", 37.0), ("2", 61.7), ("3", 80.2), ("5", 85.2), ("10", 86.4)];
    for (epsilon, percent) in corrected {
        let wanted = [("chain", "credit"), ("mechanism", "paper"), ("epsilon", epsilon)];
        let row = find(&rows, &wanted);
        assert_eq!(number(row, "negative"), 72.0 / 81.0);
        assert!((100.0 * number(row, "corrected") - percent).abs() < 0.05, "{row:?}");
        let published = 100.0 * number(row, "published");
        assert!((3.7..7.5).contains(&published), "{row:?}");
    }
}

#[test]
fn slow_guarantees_are_the_audited_ones() {
    let rows = rows("settings.csv");
    let at = |basis: &'static str, mechanism: &'static str, epsilon: &'static str| {
        find(
            &rows,
            &[
                ("chain", "credit"),
                ("basis", basis),
                ("mechanism", mechanism),
                ("epsilon", epsilon),
            ],
        )
    };
    let paper = at("equal-epsilon", "paper", "1");
    close(number(paper, "loss_per_nat"), 0.8911, 1e-3);
    close(number(paper, "substitution_loss"), 9.888, 1e-3);
    assert_eq!(paper["empty_promise"], "true");
    assert_eq!(paper["losses_are"], "exact");
    let chen = at("equal-epsilon", "chen", "1");
    close(number(chen, "substitution_loss"), 1.0, 1e-6);
    assert_eq!(chen["empty_promise"], "false");
    // Releases that are only looked at have their guarantee too.
    for (epsilon, mechanism) in [("0.1", "paper"), ("0.1", "cell"), ("2", "sharp")] {
        let row = at("equal-epsilon", mechanism, epsilon);
        assert!(number(row, "loss_per_nat") <= epsilon.parse::<f64>().unwrap() + 1e-9, "{row:?}");
        assert_eq!(row["empty_promise"], "true");
    }
    // On the other basis all lose the same, and never more than promised.
    for epsilon in ["1", "3", "5"] {
        for mechanism in ["chen", "paper", "sharp", "cell"] {
            let row = at("equal-loss", mechanism, epsilon);
            let (loss, promised) =
                (number(row, "substitution_loss"), epsilon.parse::<f64>().unwrap());
            assert!(loss <= promised * (1.0 + 1e-9), "{row:?}");
            assert!(loss >= 0.99 * promised, "{row:?}");
        }
    }
}

#[test]
fn slow_every_claim_and_every_difference_has_its_number() {
    let claims = rows("claims.csv");
    assert!(claims.len() >= 15);
    for claim in &claims {
        assert!(["yes", "partly", "no"].contains(&claim["agrees"].as_str()));
        assert!(claim["ours"].contains(|c: char| c.is_ascii_digit()), "{claim:?}");
        assert!(!claim["ours"].contains("NaN") && !claim["ours"].contains('–'), "{claim:?}");
    }
    let lemma = claims.iter().find(|c| c["claim"].contains("sufficient condition")).unwrap();
    assert_eq!(lemma["agrees"], "no");
    let differences = rows("differences.csv");
    assert_eq!(differences.len(), 13);
    for difference in &differences {
        assert!(difference["this run"].contains(|c: char| c.is_ascii_digit()), "{difference:?}");
    }
    assert!(differences[0]["this run"].contains("A 1.001, Baa 0.999, Ba 1.001, Ca/C 1.001"));
}

#[test]
fn slow_the_sample_table_starts_with_the_real_walk() {
    let rows = rows("sample_table.csv");
    assert_eq!(rows.len(), 1 + 4 * 4);
    let real = find(&rows, &[("mechanism", "real")]);
    let walk: Vec<&str> = (0..10).map(|t| real[&format!("t{t}")].as_str()).collect();
    assert_eq!(walk, ["Caa", "Ca/C", "Caa", "Caa", "Caa", "Caa", "B", "Caa", "Ca/C", "Ca/C"]);
    assert!(rows.iter().all(|row| row["t0"] == "Caa"), "the first state is disclosed");
}

/// Every file under a folder, but for the stages if so asked.
fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        if entry.path().is_dir() {
            files(&entry.path(), found);
        } else {
            found.push(entry.path());
        }
    }
}

#[test]
fn slow_a_second_run_keeps_every_stage_and_a_damaged_one_is_made_again() {
    let copy = Folder::new();
    let from = made().join("out");
    let mut all = Vec::new();
    files(&from, &mut all);
    for file in &all {
        let to = copy.path("out").join(file.strip_prefix(&from).unwrap());
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(file, to).unwrap();
    }
    let damaged = copy.path("out/stages/credit/equal-epsilon-paper-1.json");
    let text = fs::read(&damaged).unwrap();
    fs::write(&damaged, &text[..text.len() / 2]).unwrap();
    let other = copy.path("out/stages/credit/equal-epsilon-chen-1.json");
    let text = fs::read_to_string(&other).unwrap();
    fs::write(&other, text.replacen("\"key\":\"", "\"key\":\"0", 1)).unwrap();
    let output = reproduce(copy.root(), &["-o", "out"]);
    assert!(output.status.success(), "{}", said(&output));
    let words = said(&output);
    assert!(words.contains("credit: 2 stages run"), "{words}");
    assert!(words.contains("downtown: 0 stages run"), "{words}");
    for file in all {
        let again = copy.path("out").join(file.strip_prefix(&from).unwrap());
        assert_eq!(fs::read(&file).unwrap(), fs::read(&again).unwrap(), "{}", file.display());
    }
}

/// The finished stages of the built-in chains, so that only what is new is run.
fn with_stages(folder: &Folder) {
    let from = made().join("out/stages");
    let mut all = Vec::new();
    files(&from, &mut all);
    for file in all {
        let to = folder.path("out/stages").join(file.strip_prefix(&from).unwrap());
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(file, to).unwrap();
    }
}

/// As SNAP has it: remarks first, names percent-encoded, back-clicks as `<`, also in runs, and
/// ratings that are missing.
const PATHS_FINISHED: &str = "\
# Finished paths in the Wikispeedia game.
# Articles are separated by \";\"; \"<\" is a click on the back button.
#
# FORMAT:   hashedIpAddress   timestamp   durationInSec   path   rating

6a3701d319fc3754\t1297740409\t166\t%C3%85land;Finland;<;Baltic_Sea;Theatre_Royal%2C_Drury_Lane;<;<;Finland\tNULL
3824310e536af032\t1344753412\t88\tFinland;Baltic_Sea;%C3%85land\t3
415612e93584d30e\t1349298640\t138\t%C3%85land;Finland;Dead_end\t1
64dd5cd342e3780c\t1265613925\t37\t<;%C3%85land;Finland\tNULL
";

const CATEGORIES: &str = "\
# Hierarchical categories of articles.
# FORMAT:   article   category

%C3%85land\tsubject.Geography.European_Geography
Finland\tsubject.Countries
Finland\tsubject.Geography.European_Countries
Baltic_Sea\tsubject.Geography.General_Geography
";

#[test]
fn slow_the_archive_as_snap_has_it_is_read_from_end_to_end() {
    let folder = Folder::new();
    with_stages(&folder);
    fs::create_dir_all(folder.path("snap/wikispeedia_paths-and-graph")).unwrap();
    folder.write("snap/wikispeedia_paths-and-graph/paths_finished.tsv", PATHS_FINISHED);
    folder.write("snap/wikispeedia_paths-and-graph/categories.tsv", CATEGORIES);
    let output = reproduce(folder.root(), &["--wikispeedia", "snap", "-o", "out"]);
    let words = said(&output);
    assert!(output.status.success(), "{words}");
    assert!(words.contains("1 path with a back-click on the first page left out"), "{words}");
    assert!(words.contains("credit: 0 stages run"), "{words}");
    assert!(words.contains("wikispeedia: 4 states, 7 transitions"), "{words}");

    // Åland to Finland 3, to the Baltic Sea 1; Finland to each of these 1; from the Baltic Sea to
    // Åland 2, to the theatre 1, and from there back. Nothing leads on from the dead end.
    let chains = rows_in(folder.root(), "chains.csv");
    let row = find(&chains, &[("chain", "wikispeedia")]);
    let farthest = (row["from"].as_str(), row["to"].as_str());
    assert_eq!(farthest, ("Åland", "Theatre Royal, Drury Lane"));
    close(number(row, "diameter_nats"), 8f64.ln(), 1e-5);
    close(number(row, "closest_nats"), 2f64.ln(), 1e-5);
    let walks = rows_in(folder.root(), "walks.csv");
    assert!(walks.iter().any(|row| row["chain"] == "wikispeedia"));
    let page = fs::read_to_string(folder.path("out/report.html")).unwrap();
    for drawn in ["ground-wikispeedia", ">Geography<", ">Countries<", ">Uncategorized<"] {
        assert!(page.contains(drawn), "{drawn}");
    }
    assert!(!page.contains("%C3") && !page.contains("Dead end"));

    // The same clicks, counted, are the same chain: nothing has to be run again.
    let counts = "from\tto\tcount\n%C3%85land\tFinland\t3\nFinland\t%C3%85land\t1\n\
                  %C3%85land\tBaltic_Sea\t1\nBaltic_Sea\tTheatre_Royal%2C_Drury_Lane\t1\n\
                  Theatre_Royal%2C_Drury_Lane\tBaltic_Sea\t1\nBaltic_Sea\t%C3%85land\t2\n\
                  Finland\tBaltic_Sea\t1\nFinland\tDead_end\t1\n";
    folder.write("counts.tsv", counts);
    let output = reproduce(folder.root(), &["--wikispeedia", "counts.tsv", "-o", "out"]);
    let words = said(&output);
    assert!(output.status.success(), "{words}");
    assert!(words.contains("wikispeedia: 0 stages run"), "{words}");
}

#[test]
fn slow_a_claim_that_does_not_agree_says_why() {
    for claim in rows("claims.csv") {
        let agrees = claim["agrees"] == "yes";
        assert_eq!(agrees, claim["why"].is_empty(), "{claim:?}");
        assert!(!claim["why"].contains('–') && !claim["why"].ends_with('.'), "{claim:?}");
    }
}

#[test]
fn slow_chen_is_the_same_on_both_bases() {
    let rows = rows("settings.csv");
    for epsilon in ["1", "3", "5"] {
        let at = |basis| {
            let chen = [("chain", "downtown"), ("mechanism", "chen"), ("epsilon", epsilon)];
            let mut row = find(&rows, &[&chen[..], &[("basis", basis)]].concat()).clone();
            row.remove("basis");
            row
        };
        assert_eq!(at("equal-epsilon"), at("equal-loss"));
    }
}

#[cfg(unix)]
#[test]
fn slow_a_run_that_is_stopped_keeps_what_is_finished() {
    let folder = Folder::new();
    let mut command = Command::new(VEILWALK);
    command.current_dir(folder.root()).args(["reproduce", "-o", "out"]);
    command.stderr(std::process::Stdio::piped());
    let child = command.spawn().unwrap();
    let stage = folder.path("out/stages/credit/equal-epsilon-chen-1.json");
    let started = std::time::Instant::now();
    while !stage.exists() {
        assert!(started.elapsed().as_secs() < 120, "no stage is finished");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    let output = child.wait_with_output().unwrap();
    let words = said(&output);
    assert_eq!(output.status.code(), Some(130), "{words}");
    assert!(words.contains("error: stopped on request; finished stages are kept in "), "{words}");
    assert!(words.ends_with("run the same command again to go on\n"), "{words}");
    let mut left = Vec::new();
    files(&folder.path("out"), &mut left);
    assert!(left.contains(&stage));
    for file in left {
        assert_eq!(file.extension().unwrap(), "json", "{} is left", file.display());
        let text = fs::read(&file).unwrap();
        serde_json::from_slice::<serde_json::Value>(&text).unwrap();
    }
}

#[test]
fn bad_inputs_are_refused_before_anything_is_made() {
    let folder = Folder::new();
    folder.write("two.tsv", "A\tB\n");
    folder.write("word.tsv", "A\tB\tmany\n");
    folder.write("alone.csv", "trajectory,state\na,1\n");
    folder.write("gap.csv", "path\n1__2\n");
    fs::create_dir(folder.path("empty")).unwrap();
    let cases: [(&[&str], &[&str]); 7] = [
        (&["--wikispeedia", "none.tsv"], &["none.tsv", "cannot read"]),
        (&["--wikispeedia", "empty"], &["paths_finished.tsv", "empty"]),
        (&["--wikispeedia", "two.tsv"], &["two.tsv, line 1", "from, to, count"]),
        (&["--wikispeedia", "word.tsv"], &["word.tsv, line 1", "many"]),
        (&["--roads", "none.csv"], &["none.csv", "cannot read"]),
        (&["--roads", "alone.csv"], &["alone.csv", "not a single transition"]),
        (&["--roads", "gap.csv"], &["gap.csv, line 2"]),
    ];
    for (args, words) in cases {
        folder.refuses([&["reproduce"], args].concat(), words);
        assert!(!folder.path("veilwalk-report").exists());
    }
    folder.write("taken", "a file");
    folder.refuses(["reproduce", "-o", "taken"], &["taken"]);
}

/// Looks at the page from inside: every picture has a size and something drawn in it, every column
/// sorts, nothing went wrong or was fetched, and the page is no wider than its window.
const PROBE: &str = r#"<script>
addEventListener("load", () => {
  const root = document.documentElement;
  const empty = [...document.querySelectorAll("svg.chart")].filter((svg) => {
    const box = svg.getBoundingClientRect();
    const drawn = [...svg.querySelectorAll("path, use")].some((mark) => {
      const size = mark.getBBox();
      return size.width > 0 || size.height > 0;
    });
    return !(box.width > 50 && box.height > 30 && drawn);
  });
  const numbers = [...document.querySelectorAll("svg.chart")].filter((svg) =>
    /NaN|Infinity|undefined/.test(svg.outerHTML));
  for (const button of document.querySelectorAll("th button")) button.click();
  const before = root.dataset.theme;
  document.getElementById("theme").click();
  const found = {
    charts: document.querySelectorAll("svg.chart").length,
    tables: document.querySelectorAll("table.sorts").length,
    sorted: document.querySelectorAll("th[aria-sort]").length,
    empty: empty.length,
    numbers: numbers.length,
    toggled: root.dataset.theme !== before,
    ready: root.dataset.ready || "no",
    error: root.dataset.error || "none",
    fetched: performance.getEntriesByType("resource").length,
    cut: [...document.querySelectorAll("table.words td")].filter((td) =>
      parseFloat(getComputedStyle(td, "::before").height) > td.clientHeight).length,
    wide: root.scrollWidth > root.clientWidth ? root.scrollWidth : 0,
    dead: [...document.querySelectorAll("a[href^='#']")]
      .filter((a) => !document.getElementById(a.getAttribute("href").slice(1))).length,
  };
  parent.postMessage(JSON.stringify(found), "*");
});
</script>"#;

#[test]
fn slow_a_browser_draws_every_figure_without_an_error() {
    let Some(chromium) = chromium() else { return };
    let folder = Folder::new();
    let report = fs::read_to_string(made().join("out/report.html")).unwrap();
    for width in [1280, 375] {
        let found = looked_at(&folder, &chromium, &report, PROBE, width);
        assert_eq!(found["error"], "none", "{found}");
        assert_eq!(found["ready"], "yes", "{found}");
        assert_eq!(found["empty"], 0, "{found}");
        assert_eq!(found["numbers"], 0, "{found}");
        assert_eq!(found["dead"], 0, "links lead nowhere: {found}");
        assert_eq!(found["wide"], 0, "wider than {width}: {found}");
        assert_eq!(found["fetched"], 0, "something was asked of a network: {found}");
        assert_eq!(found["cut"], 0, "labels of fields reach into the next: {found}");
        assert_eq!(found["toggled"], true, "{found}");
        assert_eq!(found["tables"], found["sorted"], "{found}");
        // For each chain: errors, entropies, two walks, drift, a uniform start, guesses, both bases; maps
        // of downtown.
        let charts = 2 * (2 + 3 + 2 + 2 + 2 + 3 + 1 + 2) + 1 + 12;
        assert_eq!(found["charts"], charts, "{found}");
    }
}
