//! Compiled models: what comes back is what was written, to the last bit, or nothing does.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use proptest::prelude::*;
use tempfile::TempDir;
use veilwalk::chain::{ChainBuilder, Entries, Grid, Initial};
use veilwalk::internal::chain::StateLabels;
use veilwalk::internal::distance::Nearest;
use veilwalk::internal::model::Certified;
use veilwalk::mechanism::Calibration;
use veilwalk::session::Releaser;
use veilwalk::unwatched;
use veilwalk::{
    Chain, Mechanism, Model, Preset, Promise, ReleaseId, Secret, Source, Start, StateId,
};
use veilwalk_io::{
    ModelProblem, chain_from_bytes, chain_to_bytes, is_model, read_model, write_model,
};

fn grid(side: u32) -> Chain {
    let side = side.try_into().unwrap();
    Chain::grid(Grid { width: side, height: side, seed: 4 }).unwrap()
}

fn promise() -> Promise {
    Promise::within_radius("2".parse().unwrap(), "3.5".parse().unwrap())
}

/// The certificate of the cell mechanism on a model, ready to be written with it.
fn calibrated(model: &Arc<Model>, calibration: Calibration) -> Certified {
    let design = Preset::Cell.design();
    let made =
        Mechanism::with_cells(model.clone(), design, promise(), calibration, &unwatched).unwrap();
    let scales = made.certificate().unwrap().into();
    Certified { design, promise: promise(), calibration, scales }
}

fn write(folder: &TempDir, model: &Model, scales: &[Certified]) -> PathBuf {
    let path = folder.path().join("model");
    write_model(model, scales, &path).unwrap();
    path
}

fn released(model: &Arc<Model>, preset: Preset, start: Start) -> Vec<StateId> {
    let mechanism = Mechanism::new(model.clone(), preset.design(), promise()).unwrap();
    let source = Source::keyed(Secret::new(&[9; 32]).unwrap(), ReleaseId::from_bytes([1; 16]));
    let mut releaser = Releaser::new(Arc::new(mechanism), &source, start).unwrap();
    let mut real = StateId::new(0);
    let reals = (0..200).map(|i| {
        let moves = model.chain().successors(real);
        real = moves[i * 7 % moves.len()];
        real
    });
    releaser.release("w", &reals.collect::<Vec<_>>()).unwrap().states
}

fn assert_same(written: &Arc<Model>, read: &Arc<Model>) {
    assert_eq!(read.hash(), written.hash());
    let (a, b) = (written.chain(), read.chain());
    for state in a.states() {
        assert_eq!(b.label(state), a.label(state));
        assert_eq!(b.state(a.label(state)), Some(state));
        assert_eq!(b.successors(state), a.successors(state));
        assert_eq!(b.probabilities(state), a.probabilities(state));
        assert_eq!(b.weights(state), a.weights(state));
    }
    assert_eq!(b.initial(), a.initial());
    assert_eq!(read.directed(), written.directed());
    assert_eq!(read.symmetric(), written.symmetric());
    for preset in [Preset::Paper, Preset::Sharp, Preset::Cell] {
        for start in [Start::Initial, Start::First] {
            assert_eq!(released(read, preset, start), released(written, preset, start));
        }
    }
}

#[test]
fn a_model_comes_back_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let elsewhere = Initial::at(StateId::new(3), 9);
    let chains =
        [Chain::credit(), Chain::credit().with_initial(elsewhere), Chain::downtown(), grid(12)];
    for chain in chains {
        let model = Arc::new(Model::new(chain).unwrap());
        let path = write(&folder, &model, &[]);
        assert!(is_model(&path).unwrap());
        let read = Arc::new(read_model(&path).unwrap());
        assert!(read.ready_cells(Nearest::Directed).is_none());
        assert_same(&model, &read);
        read.verify(&unwatched).unwrap();
    }
}

#[test]
fn cells_and_scales_come_back_and_are_not_made_again() {
    let folder = tempfile::tempdir().unwrap();
    for calibration in [Calibration::Exact, Calibration::Theorem] {
        let model = Arc::new(Model::new(Chain::credit()).unwrap());
        let certified = calibrated(&model, calibration);
        let path = write(&folder, &model, std::slice::from_ref(&certified));
        let read = Arc::new(read_model(&path).unwrap());
        let (a, b) = (model.ready_cells(Nearest::Directed), read.ready_cells(Nearest::Directed));
        let (a, b) = (a.unwrap(), b.unwrap());
        assert_eq!(a.answers(), b.answers());
        assert_eq!(a.all_distances(), b.all_distances());
        assert_eq!(read.all_certified()[0].scales, certified.scales);
        read.verify(&unwatched).unwrap();
        assert_same(&model, &read);

        // A certificate with a loss that no calibration would give shows whose scales are used.
        let mut scales = certified.scales.to_vec();
        scales[0].loss = 0.123;
        let marked = Certified { scales: scales.into(), ..certified };
        let read = Arc::new(read_model(&write(&folder, &model, &[marked])).unwrap());
        let design = Preset::Cell.design();
        let made = Mechanism::with_cells(read.clone(), design, promise(), calibration, &unwatched)
            .unwrap();
        assert_eq!(made.certificate().unwrap()[0].loss, 0.123);
        let error = read.verify(&unwatched).unwrap_err().to_string();
        assert!(error.contains("is certified"), "{error}");
    }
}

#[test]
fn the_two_kinds_of_nearest_are_kept_apart() {
    let folder = tempfile::tempdir().unwrap();
    let model = Model::new(Chain::downtown()).unwrap();
    let symmetric = model.cells(Nearest::Symmetric).unwrap().clone();
    let read = read_model(&write(&folder, &model, &[])).unwrap();
    assert!(read.ready_cells(Nearest::Directed).is_none());
    let again = read.ready_cells(Nearest::Symmetric).unwrap();
    assert_eq!(again.answers(), symmetric.answers());
    assert_eq!(again.all_distances(), symmetric.all_distances());
    read.verify(&unwatched).unwrap();
}

#[test]
fn a_chain_too_large_for_tables_is_kept_without_them() {
    let folder = tempfile::tempdir().unwrap();
    let model = Model::of_any_size(grid(130));
    let read = read_model(&write(&folder, &model, &[])).unwrap();
    assert!(read.searches().is_some());
    assert_eq!(read.hash(), model.hash());
    assert_eq!(read.closest_pair(), model.closest_pair());
    read.verify(&unwatched).unwrap();
}

/// Why a file with these bytes is refused.
fn refused(path: &Path, bytes: &[u8]) -> String {
    std::fs::write(path, bytes).unwrap();
    let error = read_model(path).expect_err("a damaged model").to_string();
    assert!(error.contains(&path.display().to_string()), "{error}");
    assert!(error.contains("compile it again"), "{error}");
    error
}

fn small_model() -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let mut builder = ChainBuilder::new(Entries::Counts);
    let ids = ["sun", "rain", "søl"].map(|label| builder.state(label));
    for (from, to, count) in [(0, 1, 2.0), (0, 0, 5.0), (1, 2, 1.0), (1, 0, 1.0), (2, 0, 3.0)] {
        builder.transition(ids[from], ids[to], count).unwrap();
    }
    let chain = builder.build(Default::default()).unwrap().0;
    let model = Arc::new(Model::new(chain).unwrap());
    let certified = calibrated(&model, Calibration::Exact);
    std::fs::read(write(&folder, &model, &[certified])).unwrap()
}

#[test]
fn a_single_flipped_bit_anywhere_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("flipped");
    let good = small_model();
    std::fs::write(&path, &good).unwrap();
    read_model(&path).unwrap();
    let mut said = std::collections::BTreeSet::new();
    for place in 0..good.len() {
        let mut bytes = good.clone();
        bytes[place] ^= 1 << (place % 8);
        let error = refused(&path, &bytes);
        said.extend(error.split(": ").nth(2).map(str::to_owned));
    }
    let named = |part: &str| said.iter().any(|error| error.contains(part));
    for part in ["labels", "moves", "distances", "right answers", "calibrated scales", "gaps"] {
        assert!(named(part), "no {part} in {said:?}");
    }
}

#[test]
fn a_file_that_is_cut_off_anywhere_or_goes_on_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cut");
    let good = small_model();
    for length in 0..good.len() {
        let error = refused(&path, &good[..length]);
        let expected = if length < 48 { "not a compiled model" } else { "not whole" };
        assert!(error.contains(expected), "{length}: {error}");
    }
    let mut longer = good;
    longer.push(0);
    assert!(refused(&path, &longer).contains("not whole"));
}

#[test]
fn other_files_and_other_versions_are_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("other");
    let mut newer = small_model();
    newer[16] = 9;
    assert!(
        refused(&path, &newer).contains("format 9; this version of veilwalk reads formats up to")
    );
    assert!(refused(&path, b"").contains("not a compiled model"));
    assert!(!is_model(&path).unwrap());
    let table = format!("from,to,probability\n{}", "a,b,1\nb,a,1\n".repeat(9));
    assert!(refused(&path, table.as_bytes()).contains("not a compiled model"));
    assert!(!is_model(&path).unwrap());
    assert!(read_model(&folder.path().join("none")).is_err());
}

/// A model is replaced, never overwritten: whoever has the old one open keeps it.
#[test]
fn a_model_that_is_written_again_does_not_change_under_its_users() {
    let folder = tempfile::tempdir().unwrap();
    let credit = Arc::new(Model::new(Chain::credit()).unwrap());
    let read = Arc::new(read_model(&write(&folder, &credit, &[])).unwrap());
    write(&folder, &Model::new(Chain::downtown()).unwrap(), &[]);
    assert_same(&credit, &read);
}

fn chains() -> impl Strategy<Value = Chain> {
    let entry = prop_oneof![4 => 0.05f64..1.0, 1 => Just(1e-300), 1 => 1e3f64..1e9];
    (2usize..20).prop_flat_map(move |n| {
        let more = proptest::collection::vec((0..n, 0..n, entry.clone()), 0..3 * n);
        let labels = proptest::collection::hash_set(".{1,12}", n);
        (labels, proptest::collection::vec(entry.clone(), n), more).prop_map(
            move |(labels, around, more)| {
                let mut edges: std::collections::BTreeMap<_, _> =
                    (0..n).map(|i| ((i, (i + 1) % n), around[i])).collect();
                edges.extend(more.into_iter().map(|(i, j, entry)| ((i, j), entry)));
                let mut builder = ChainBuilder::new(Entries::Counts);
                let ids: Vec<_> = labels.iter().map(|label| builder.state(label)).collect();
                for ((i, j), entry) in edges {
                    builder.transition(ids[i], ids[j], entry).unwrap();
                }
                builder.build(Default::default()).unwrap().0
            },
        )
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn random_models_come_back_as_they_were(chain in chains()) {
        let folder = tempfile::tempdir().unwrap();
        let model = Arc::new(Model::new(chain).unwrap());
        let certified = calibrated(&model, Calibration::Exact);
        let read = Arc::new(read_model(&write(&folder, &model, &[certified])).unwrap());
        assert_same(&model, &read);
        prop_assert!(read.verify(&unwatched).is_ok());
    }
}

#[test]
fn a_chain_comes_back_from_bytes_to_the_last_bit() {
    let credit = Chain::credit();
    let stationary = Initial::stationary(&credit).unwrap();
    for chain in [Chain::credit(), Chain::downtown(), credit.with_initial(stationary)] {
        let again = chain_from_bytes(&chain_to_bytes(&chain).unwrap()).unwrap();
        assert_eq!(again.hash(), chain.hash());
        for state in chain.states() {
            assert_eq!(again.label(state), chain.label(state));
            assert_eq!(again.weights(state), chain.weights(state));
            assert_eq!(again.state(chain.label(state)), Some(state));
        }
    }
}

#[test]
fn bytes_of_a_chain_that_were_changed_are_refused() {
    let bytes = chain_to_bytes(&Chain::credit()).unwrap();
    assert!(matches!(chain_from_bytes(&[]), Err(ModelProblem::NotAModel)));
    for place in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[place] ^= 1;
        assert!(chain_from_bytes(&changed).is_err(), "byte {place}");
        assert!(chain_from_bytes(&bytes[..place]).is_err(), "cut at {place}");
    }
}

/// Bytes whose checksums are right, and whose table finds other states under their labels: what came out of
/// them would be of another walk.
#[test]
fn a_chain_whose_labels_lead_astray_is_refused() {
    let mut parts = Chain::credit().parts();
    let (text, ends, slots) = parts.labels.parts();
    let mut slots = slots.to_vec();
    let taken: Vec<usize> = (0..slots.len()).filter(|&place| slots[place] != u32::MAX).collect();
    slots.swap(taken[0], taken[1]);
    parts.labels = StateLabels::from_parts(text.to_owned(), ends.to_vec(), slots).unwrap();
    let bytes = chain_to_bytes(&Chain::from_parts(parts).unwrap()).unwrap();
    let problem = chain_from_bytes(&bytes).unwrap_err();
    assert!(problem.to_string().contains("labels do not lead"), "{problem}");
}
