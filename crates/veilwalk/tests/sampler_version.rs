//! What a key fixes: released states, pinned for every path that a sampler can take.

mod common;

use std::sync::Arc;

use common::{blocks, credit, exponential, preset, radius, scattered_chain};
use veilwalk::CacheSize;
use veilwalk::random::SAMPLER_VERSION;
use veilwalk::session::Releaser;
use veilwalk::{
    Design, Distance, Mechanism, Model, Preset, ReleaseId, Rule, Secret, Source, Start, StateId,
};

/// Released states as text: a digit a state on the credit chain, numbers elsewhere.
fn text(states: &[StateId], separator: &str) -> String {
    let states: Vec<_> = states.iter().map(|state| state.index().to_string()).collect();
    states.join(separator)
}

fn source() -> Source {
    let secret = Secret::new(b"the secret of the pinned releases").unwrap();
    Source::keyed(secret, ReleaseId::from_bytes([0x51; 16]))
}

fn released(
    mechanism: Mechanism,
    start: Start,
    reals: impl Iterator<Item = usize>,
) -> Vec<StateId> {
    let mut releaser = Releaser::new(Arc::new(mechanism), &source(), start).unwrap();
    let reals: Vec<_> = reals.map(StateId::new).collect();
    releaser.release("pinned", &reals).unwrap().states
}

/// Every path, with a name and what it releases.
fn paths() -> Vec<(String, String)> {
    let mut found = Vec::new();
    let model = credit();
    let ratings = || (0..24).map(|t| t * 5 % 9);
    // Up to nine candidates; every preset, so both rules, both kinds of cells, with and without chain
    // weight.
    for name in Preset::OF_MOVES {
        for epsilon in ["0.3", "5"] {
            let mechanism = preset(&model, name, epsilon, "3.5");
            let states = released(mechanism, Start::First, ratings());
            found.push((format!("{name}, epsilon {epsilon}"), text(&states, "")));
        }
    }
    for distance in [Distance::Directed, Distance::Symmetric, Distance::Hamming, Distance::Cell] {
        for rule in [Rule::PermuteAndFlip, Rule::Exponential] {
            let design = Design::of_moves(distance, rule, "0.25".parse().unwrap());
            let mechanism = Mechanism::new(model.clone(), design, radius("2", "3.5")).unwrap();
            let states = released(mechanism, Start::First, ratings());
            found.push((design.to_string(), text(&states, "")));
        }
    }
    // Starts.
    for (name, start) in
        [("initial", Start::Initial), ("first", Start::First), ("at 4", Start::At(StateId::new(4)))]
    {
        let states = released(preset(&model, Preset::Sharp, "1", "3.5"), start, ratings());
        found.push((format!("start {name}"), text(&states, "")));
    }
    // More than sixteen candidates, and more than sixty-four, from a table and on demand.
    for degree in [17, 60, 100] {
        let chain = scattered_chain(120, degree, 8);
        let table = Arc::new(Model::new(chain.clone()).unwrap());
        let searched = Arc::new(Model::on_demand(chain, CacheSize::default()));
        for (kind, model) in [("table", &table), ("on demand", &searched)] {
            for name in [Preset::Paper, Preset::Sharp, Preset::Exponential, Preset::Chen] {
                let mechanism = preset(model, name, "3", "1");
                // Each real state again and again, so that rounded distances come into use.
                let states = released(mechanism, Start::First, (0..400).map(|t| t * 9 % 30));
                let (first, rest) = states.split_at(6);
                let last = &rest[rest.len() - 6..];
                found.push((
                    format!("{degree} candidates, {kind}, {name}"),
                    format!("{} … {}", text(first, " "), text(last, " ")),
                ));
            }
        }
    }
    // Blocks.
    let reals: Vec<_> = (0..24).map(|t| StateId::new(t * 5 % 9)).collect();
    for distance in [Distance::Directed, Distance::Symmetric, Distance::Hamming, Distance::Cell] {
        for length in ["1", "5", "all"] {
            let design = exponential(distance, "0.5");
            let blocks = blocks(&model, design, radius("1", "3.5"), length);
            let mut releaser = Releaser::new(Arc::new(blocks), &source(), Start::Initial).unwrap();
            let states = releaser.release("pinned", &reals).unwrap().states;
            found.push((format!("blocks of {length}, {distance}"), text(&states, "")));
        }
    }
    let table = Arc::new(Model::new(scattered_chain(120, 60, 8)).unwrap());
    let design = exponential(Distance::Symmetric, "0.5");
    let wide = Arc::new(blocks(&table, design, radius("3", "1"), "6"));
    let mut releaser = Releaser::new(wide, &source(), Start::Initial).unwrap();
    let reals: Vec<_> = (0..13).map(|t| StateId::new(t * 9)).collect();
    let states = releaser.release("pinned", &reals).unwrap().states;
    found.push(("blocks of 6, 60 candidates".to_owned(), text(&states, " ")));
    // Private starts: one for every real first state, and those of blocks.
    for name in [Preset::Sharp, Preset::Cell, Preset::Chen] {
        let mechanism = Arc::new(preset(&model, name, "2", "3.5"));
        let mut releaser = Releaser::new(mechanism, &source(), Start::Private).unwrap();
        let first = |x: usize| releaser.release("pinned", &[StateId::new(x % 9)]).unwrap()[0];
        let states: Vec<_> = (0..9).map(first).collect();
        found.push((format!("private start, {name}"), text(&states, "")));
    }
    for length in ["5", "all"] {
        let design = exponential(Distance::Symmetric, "0.5");
        let states =
            released(blocks(&model, design, radius("3", "3.5"), length), Start::Private, ratings());
        found.push((format!("private start, blocks of {length}"), text(&states, "")));
    }
    found
}

/// `VEILWALK_PRINT_PINS=1 cargo test -p veilwalk --test sampler_version -- --nocapture` prints the
/// pins as they are now.
#[test]
fn released_states_change_with_the_version_only() {
    let found = paths();
    if std::env::var_os("VEILWALK_PRINT_PINS").is_some() {
        for (path, states) in &found {
            println!("    ({path:?}, {states:?}),");
        }
    }
    for ((path, states), (pinned_path, pinned)) in found.iter().zip(PINS) {
        assert_eq!(path, pinned_path);
        assert!(
            states == pinned,
            "{path}: released {states}, and version {PINNED_VERSION} of the sampler released {pinned}. \
             With the same key and release id other states come out now: raise the sampler's version \
             (veilwalk::random::SAMPLER_VERSION), set these pins anew, and say in the changelog that \
             earlier releases can no longer be repeated"
        );
    }
    assert_eq!(found.len(), PINS.len());
    assert_eq!(SAMPLER_VERSION, PINNED_VERSION, "set the pins anew for the new version");
}

/// The version that the pins belong to.
const PINNED_VERSION: u32 = 1;

#[rustfmt::skip]
const PINS: &[(&str, &str)] = &[
    ("paper, epsilon 0.3", "013122043142213675233338"),
    ("paper, epsilon 5", "041425387451425387541435"),
    ("chen, epsilon 0.3", "000104643521352314243467"),
    ("chen, epsilon 5", "041425388751321387887667"),
    ("exponential-hamming, epsilon 0.3", "020223423876878875454568"),
    ("exponential-hamming, epsilon 5", "004441244641313887436576"),
    ("exponential, epsilon 0.3", "002012344254653644334544"),
    ("exponential, epsilon 5", "041414344141424387575636"),
    ("sharp, epsilon 0.3", "011113333332344455553333"),
    ("sharp, epsilon 5", "041436388751125387551423"),
    ("cell, epsilon 0.3", "020245335531024514875687"),
    ("cell, epsilon 5", "041425387551425387551425"),
    ("directed distance, permute-and-flip rule, chain weight 0.25", "042333554441325688754413"),
    ("directed distance, exponential rule, chain weight 0.25", "001423544144545554332522"),
    ("symmetric distance, permute-and-flip rule, chain weight 0.25", "042223114441125488887635"),
    ("symmetric distance, exponential rule, chain weight 0.25", "023667488764444487442525"),
    ("hamming distance, permute-and-flip rule, chain weight 0.25", "001348888877688888888888"),
    ("hamming distance, exponential rule, chain weight 0.25", "001231253388888888888888"),
    ("cell distance, permute-and-flip rule, chain weight 0.25", "041225387551125387553333"),
    ("cell distance, exponential rule, chain weight 0.25", "044524387551436387563325"),
    ("start initial", "244455443333555555544444"),
    ("start first", "000000233333555555544444"),
    ("start at 4", "444455443333555555544444"),
    ("17 candidates, table, paper", "0 25 6 104 118 52 … 17 31 28 37 35 36"),
    ("17 candidates, table, sharp", "0 1 61 14 119 98 … 6 18 24 45 46 0"),
    ("17 candidates, table, exponential", "0 25 29 108 57 34 … 25 64 40 45 110 43"),
    ("17 candidates, table, chen", "0 94 36 103 80 15 … 6 70 99 71 109 96"),
    ("17 candidates, on demand, paper", "0 25 6 104 118 52 … 17 31 28 37 35 36"),
    ("17 candidates, on demand, sharp", "0 1 61 14 119 98 … 6 18 24 45 46 0"),
    ("17 candidates, on demand, exponential", "0 25 29 108 57 34 … 25 64 40 45 110 43"),
    ("17 candidates, on demand, chen", "0 94 36 103 80 15 … 6 70 99 71 109 96"),
    ("60 candidates, table, paper", "0 24 18 77 6 19 … 6 19 24 25 12 47"),
    ("60 candidates, table, sharp", "0 36 18 63 16 106 … 6 60 24 52 12 11"),
    ("60 candidates, table, exponential", "0 91 38 27 6 2 … 6 73 24 52 12 30"),
    ("60 candidates, table, chen", "0 32 68 54 114 42 … 6 99 44 90 17 111"),
    ("60 candidates, on demand, paper", "0 24 18 77 6 19 … 6 19 24 25 12 47"),
    ("60 candidates, on demand, sharp", "0 36 18 63 16 106 … 6 60 24 52 12 11"),
    ("60 candidates, on demand, exponential", "0 91 38 27 6 2 … 6 73 24 52 12 30"),
    ("60 candidates, on demand, chen", "0 32 68 54 114 42 … 6 99 44 90 17 111"),
    ("100 candidates, table, paper", "0 9 18 27 6 15 … 6 15 24 3 78 21"),
    ("100 candidates, table, sharp", "0 9 18 27 6 15 … 6 15 24 3 111 21"),
    ("100 candidates, table, exponential", "0 9 18 27 57 117 … 41 15 46 3 27 74"),
    ("100 candidates, table, chen", "0 9 13 27 70 50 … 2 63 96 45 86 1"),
    ("100 candidates, on demand, paper", "0 9 18 27 6 15 … 6 15 24 3 78 21"),
    ("100 candidates, on demand, sharp", "0 9 18 27 6 15 … 6 15 24 3 111 21"),
    ("100 candidates, on demand, exponential", "0 9 18 27 57 117 … 41 15 46 3 27 74"),
    ("100 candidates, on demand, chen", "0 9 13 27 70 50 … 2 63 96 45 86 1"),
    ("blocks of 1, directed", "322223334254444432233333"),
    ("blocks of 5, directed", "011221211111222233332222"),
    ("blocks of all, directed", "565553344433334444444433"),
    ("blocks of 1, symmetric", "022143333322444488888888"),
    ("blocks of 5, symmetric", "344444555576544444344534"),
    ("blocks of all, symmetric", "322444455433235555555557"),
    ("blocks of 1, hamming", "888888888788888888888888"),
    ("blocks of 5, hamming", "666667444488888888888888"),
    ("blocks of all, hamming", "444444433333111212244448"),
    ("blocks of 1, cell", "333333344444334333344222"),
    ("blocks of 5, cell", "111111444444444544557777"),
    ("blocks of all, cell", "887744344445555455555544"),
    ("blocks of 6, 60 candidates", "71 21 102 27 36 45 54 83 72 81 48 99 108"),
    ("private start, sharp", "012345678"),
    ("private start, cell", "013345778"),
    ("private start, chen", "080215878"),
    ("private start, blocks of 5", "333325363333666344456666"),
    ("private start, blocks of all", "555544443345667644224455"),
];
