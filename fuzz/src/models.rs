//! Compiled models, as they come and with their checksums put right.

use std::sync::Arc;

use twox_hash::XxHash3_128;
use veilwalk::{Mechanism, Model, Preset, Promise, Releaser, Source, Start};
use veilwalk_io::{chain_from_bytes, chain_to_bytes, read_model, write_model};

use crate::{Outcome, scratch, taken};

/// A model file. A chain that is sent to another process has the same format.
pub(crate) fn model(data: &[u8]) -> Outcome {
    let as_it_is = one(data);
    match mended(data) {
        Some(mended) => one(&mended),
        None => as_it_is,
    }
}

fn one(bytes: &[u8]) -> Outcome {
    if let Some(chain) = taken(chain_from_bytes(bytes)) {
        assert!(chain.states().all(|state| chain.state(chain.label(state)) == Some(state)));
        let again = chain_from_bytes(&chain_to_bytes(&chain).unwrap()).unwrap();
        assert_eq!(chain.hash(), again.hash());
    }
    let Some(model) = taken(read_model(&scratch::file("read.model", bytes))) else {
        return Outcome::Refused;
    };
    let path = scratch::path("written.model");
    write_model(&model, model.all_certified(), &path).unwrap();
    let again = read_model(&path).unwrap();
    assert_eq!(model.hash(), again.hash());
    assert_eq!(model.all_certified().len(), again.all_certified().len());
    used(model);
    Outcome::Accepted
}

/// A model that was taken can be used: its numbers may be those of somebody who lies, but they lead nowhere.
fn used(model: Model) {
    let chain = model.chain();
    for state in chain.states() {
        assert!(chain.successors(state).iter().all(|to| to.index() < chain.len()));
        // Its table of labels is trusted: only that it ends is known.
        let _ = chain.state(chain.label(state));
    }
    // What is made of it must not take long.
    if chain.len() > 32 {
        return;
    }
    let states: Vec<_> = chain.states().collect();
    let promise = Promise::within_radius("1".parse().unwrap(), "3.5".parse().unwrap());
    let model = Arc::new(model);
    for preset in [Preset::Sharp, Preset::Cell] {
        let made = Mechanism::new(model.clone(), preset.design(), promise);
        let Some(mechanism) = taken(made) else { continue };
        let source = Source::seeded(7);
        let Some(mut releaser) = taken(Releaser::new(Arc::new(mechanism), &source, Start::Private))
        else {
            continue;
        };
        let _ = taken(releaser.release("walk", &states));
    }
}

const HEADER: usize = 48;
const ENTRY: usize = 40;

/// The same bytes with every checksum as it should be, if they look like a model at all.
fn mended(data: &[u8]) -> Option<Vec<u8>> {
    let sum = |part: &[u8]| XxHash3_128::oneshot(part).to_le_bytes();
    let mut bytes = data.to_vec();
    let length = bytes.len() as u64;
    bytes.get_mut(24..32)?.copy_from_slice(&length.to_le_bytes());
    let count = u32::from_le_bytes(bytes.get(20..24)?.try_into().ok()?) as usize;
    let end = HEADER + count.checked_mul(ENTRY)?;
    bytes.get(HEADER..end)?;
    let number = |bytes: &[u8], at: usize| {
        u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight")) as usize
    };
    for at in (HEADER..end).step_by(ENTRY) {
        let (start, length) = (number(&bytes, at + 8), number(&bytes, at + 16));
        let of_section = bytes.get(start..start.checked_add(length)?).map(sum)?;
        bytes[at + 24..at + ENTRY].copy_from_slice(&of_section);
    }
    let of_list = sum(&[&bytes[..32], &bytes[HEADER..end]].concat());
    bytes[32..HEADER].copy_from_slice(&of_list);
    Some(bytes)
}
