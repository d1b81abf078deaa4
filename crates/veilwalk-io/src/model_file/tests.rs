//! Models that are mapped, and changed while they are in use.

use std::fs::{File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tempfile::TempDir;
use veilwalk::chain::Grid;
use veilwalk::internal::mechanism::Workspace;
use veilwalk::internal::model::Certified;
use veilwalk::mechanism::Calibration;
use veilwalk::mechanism::{Design, Distance, Rule};
use veilwalk::random::Words;
use veilwalk::unwatched;
use veilwalk::{Chain, Mechanism, Model, Preset, Promise, StateId};

use super::read::open;
use super::write_model;

/// Models of every kind: with tables, with cells, with calibrated scales, and without any table.
fn every_kind() -> Vec<(&'static str, Model, Vec<Certified>)> {
    let grid = |side: u32| {
        let side = side.try_into().unwrap();
        Chain::grid(Grid { width: side, height: side, seed: 4 }).unwrap()
    };
    let tables = Model::new(grid(9)).unwrap();
    let cells = Model::new(grid(6)).unwrap();
    cells.cells(veilwalk::internal::distance::Nearest::Symmetric).unwrap();
    let certified = Arc::new(Model::new(Chain::credit()).unwrap());
    let promise = Promise::within_radius("2".parse().unwrap(), "3.5".parse().unwrap());
    let (design, calibration) = (Preset::Cell.design(), Calibration::Exact);
    let made =
        Mechanism::with_cells(certified.clone(), design, promise, calibration, &unwatched).unwrap();
    let scales = made.certificate().unwrap().into();
    drop(made);
    let scales = vec![Certified { design, promise, calibration, scales }];
    vec![
        ("tables", tables, Vec::new()),
        ("cells", cells, Vec::new()),
        ("scales", Arc::into_inner(certified).unwrap(), scales),
        ("on demand", Model::of_any_size(grid(130)), Vec::new()),
    ]
}

fn written(folder: &TempDir, model: &Model, scales: &[Certified]) -> PathBuf {
    let path = folder.path().join("model");
    write_model(model, scales, &path).unwrap();
    path
}

fn small(folder: &TempDir) -> PathBuf {
    written(folder, &Model::new(Chain::credit()).unwrap(), &[])
}

struct Numbers(u64);

impl Words for Numbers {
    fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        self.0 ^ (self.0 >> 32)
    }
}

fn refusal(path: &Path) -> Option<String> {
    open(path, u64::MAX).err().map(|error| error.to_string())
}

/// Opens a file both ways: whatever is wrong with it, both say the same. (A file that was just
/// written is mapped some milliseconds later.)
fn refusal_both_ways(path: &Path) -> Option<String> {
    let copied = refusal(path);
    assert_eq!(open(path, 0).err().map(|error| error.to_string()), copied);
    copied
}

/// Two thousand flipped bits, cuts, and pages of zeros, in models of every kind.
#[test]
fn no_damage_goes_unnoticed() {
    let folder = tempfile::tempdir().unwrap();
    let mut words = Numbers(7);
    for (kind, model, scales) in every_kind() {
        let path = written(&folder, &model, &scales);
        let good = std::fs::read(&path).unwrap();
        assert_eq!(refusal_both_ways(&path), None, "{kind}");
        let (large, mut flips) = (good.len() > 1 << 20, 0);
        let file = OpenOptions::new().write(true).open(&path).unwrap();
        let put = |at: usize, bytes: &[u8]| {
            (&file).seek(SeekFrom::Start(at as u64)).unwrap();
            (&file).write_all(bytes).unwrap();
        };
        // A large file takes a while to open, and has no other parts than small ones.
        while flips < if large { 60 } else { 700 } {
            // One in eight within the header and the list of sections.
            let within = if flips % 8 == 0 { 800.min(good.len()) } else { good.len() };
            let at = (words.word() % within as u64) as usize;
            put(at, &[good[at] ^ 1 << (words.word() % 8)]);
            let error = if flips % 10 == 0 { refusal_both_ways(&path) } else { refusal(&path) };
            let error = error.unwrap_or_else(|| panic!("{kind}: a bit of byte {at}"));
            assert!(error.contains("compile it again") && error.contains("model"), "{error}");
            put(at, &good[at..=at]);
            flips += 1;
        }
        let mut zeroed = 0;
        for start in (0..good.len()).step_by(if large { good.len() / 20 } else { 512 }) {
            let end = good.len().min(start + 512);
            // A page that is zero is not damaged by becoming zero.
            if good[start..end].iter().any(|&byte| byte != 0) {
                put(start, &vec![0; end - start]);
                assert!(refusal(&path).is_some(), "{kind}: zeros from {start}");
                put(start, &good[start..end]);
                zeroed += 1;
            }
        }
        assert!(zeroed > 5, "{kind}: {zeroed}");
        assert_eq!(refusal_both_ways(&path), None, "{kind}: as it was");
        for _ in 0..40 {
            let length = words.word() % good.len() as u64;
            std::fs::write(&path, &good[..length as usize]).unwrap();
            assert!(refusal_both_ways(&path).is_some(), "{kind}: cut to {length}");
        }
    }
}

/// Waits until another change gets another time.
fn wait() {
    std::thread::sleep(std::time::Duration::from_millis(25));
}

#[test]
fn a_mapped_model_that_is_written_to_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let path = small(&folder);
    let model = open(&path, 0).unwrap();
    model.check_unchanged().unwrap();
    let mut bytes = std::fs::read(&path).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    let mut file = OpenOptions::new().write(true).open(&path).unwrap();
    file.write_all(&bytes).unwrap();
    let error = model.check_unchanged().unwrap_err().to_string();
    assert!(error.contains("changed in place") && error.contains("model"), "{error}");
    // With the time of its content set back it is still not what it was.
    let before = std::fs::metadata(&path).unwrap().modified().unwrap();
    bytes[last] ^= 1;
    std::fs::write(&path, &bytes).unwrap();
    File::options().write(true).open(&path).unwrap().set_modified(before).unwrap();
    wait();
    let model = open(&path, 0).unwrap();
    bytes[last] ^= 1;
    let mut file = OpenOptions::new().write(true).open(&path).unwrap();
    file.write_all(&bytes).unwrap();
    file.set_modified(before).unwrap();
    assert!(model.check_unchanged().is_err());
    assert!(model.check_unchanged().is_err(), "and stays so");
}

/// Every page of the map is gone: reading it gives zeros and a refusal, not the end of the program.
#[test]
fn a_mapped_model_that_is_cut_short_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let path = small(&folder);
    let model = Arc::new(open(&path, 0).unwrap());
    let design =
        Design { distance: Distance::Symmetric, rule: Rule::Exponential, ..Preset::Sharp.design() };
    let promise = Promise::within_radius("2".parse().unwrap(), "3.5".parse().unwrap());
    let mechanism = Mechanism::new(model.clone(), design, promise).unwrap();
    let (mut words, mut space) = (Numbers(1), Workspace::default());
    let state = StateId::new(1);
    mechanism.step(state, state, &mut words, &mut space);
    model.check_unchanged().unwrap();
    File::create(&path).unwrap();
    mechanism.step(state, state, &mut words, &mut space);
    assert!(model.check_unchanged().is_err());
    // As large as before again, and as old: what was read was not there all the same.
    drop(mechanism);
    drop(model);
    let path = small(&folder);
    assert!(open(&path, 0).unwrap().check_unchanged().is_ok(), "another model is not affected");
}

/// A model that is replaced, renamed or protected is still the model it was.
#[test]
fn what_does_not_touch_the_content_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = small(&folder);
    let model = open(&path, 0).unwrap();
    let mut permissions = std::fs::metadata(&path).unwrap().permissions();
    permissions.set_readonly(true);
    std::fs::set_permissions(&path, permissions).unwrap();
    model.check_unchanged().unwrap();
    std::fs::rename(&path, folder.path().join("elsewhere")).unwrap();
    model.check_unchanged().unwrap();
    std::fs::remove_file(folder.path().join("elsewhere")).unwrap();
    model.check_unchanged().unwrap();
    let path = small(&folder);
    let model = open(&path, 0).unwrap();
    written(&folder, &Model::new(Chain::downtown()).unwrap(), &[]);
    model.check_unchanged().unwrap();
    assert_eq!(model.chain().len(), 9);
}

/// A copied model does not care what becomes of its file.
#[test]
fn a_copied_model_is_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let path = small(&folder);
    let model = open(&path, u64::MAX).unwrap();
    File::create(&path).unwrap();
    model.check_unchanged().unwrap();
    model.verify(&unwatched).unwrap();
}

/// More maps than are watched are copied instead.
#[test]
fn any_number_of_models_can_be_open() {
    let folder = tempfile::tempdir().unwrap();
    let path = small(&folder);
    wait();
    let open: Vec<Model> = (0..70).map(|_| open(&path, 0).unwrap()).collect();
    assert!(open.iter().all(|model| model.check_unchanged().is_ok()));
}
