//! What a chain is like by itself, before anything is released on it.

use anyhow::Result;
use serde::{Deserialize, Serialize};
use veilwalk::StateId;
use veilwalk::guarantee::Cover;
use veilwalk::internal::profile::{OwnEntropy, own_entropy};
use veilwalk::mechanism::Unit;

use crate::plan::{RADIUS, STEPS};
use crate::subject::Subject;

/// Figures of a chain.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct About {
    pub(crate) states: usize,
    pub(crate) transitions: usize,
    pub(crate) largest_out_degree: usize,
    pub(crate) diameter: f64,
    /// From where to where that is.
    pub(crate) farthest: (String, String),
    /// The closest two different states, by the symmetric distance.
    pub(crate) closest: f64,
    pub(crate) closest_pair: (String, String),
    /// Unordered pairs that the paper's radius covers.
    pub(crate) covered_pairs: u64,
    pub(crate) entropy_rate: f64,
    /// Ordered pairs of different states at distance zero: the likeliest way is certain.
    pub(crate) at_distance_zero: usize,
    /// The real walks' entropy by length, from the starting state and from anywhere.
    pub(crate) own_fixed: Vec<OwnEntropy>,
    pub(crate) own_uniform: Vec<OwnEntropy>,
}

impl About {
    pub(crate) fn new(subject: &Subject) -> Result<Self> {
        let (model, chain) = (&subject.model, subject.model.chain());
        let diameter = model.diameter();
        let closest = model.closest_pair();
        let names = |a: StateId, b: StateId| (subject.label(a), subject.label(b));
        let zero_rows = chain.states().map(|x| {
            let row = model.directed().to(x).iter();
            row.filter(|d| d.as_f64() == 0.0).count() - 1
        });
        let mut fixed = vec![0.0; chain.len()];
        fixed[subject.from.index()] = 1.0;
        let uniform = vec![1.0 / chain.len() as f64; chain.len()];
        Ok(Self {
            states: chain.len(),
            transitions: chain.transitions(),
            largest_out_degree: chain.largest_out_degree(),
            diameter: diameter.distance.as_f64(),
            farthest: names(diameter.from, diameter.to),
            closest: closest.map_or(0.0, |pair| pair.distance.as_f64()),
            closest_pair: closest.map_or_else(Default::default, |pair| names(pair.from, pair.to)),
            covered_pairs: Cover::new(model, Unit::Radius(RADIUS.parse()?)).covered_pairs,
            entropy_rate: chain.entropy_rate(&chain.stationary()?),
            at_distance_zero: zero_rows.sum(),
            own_fixed: own_entropy(chain, &fixed, STEPS),
            own_uniform: own_entropy(chain, &uniform, STEPS),
        })
    }
}
