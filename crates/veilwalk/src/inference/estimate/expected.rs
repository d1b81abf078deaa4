//! The expected counts of starts, visits and moves, given what was released.

use rayon::prelude::*;

use super::Sample;
use crate::belief::smooth;
use crate::inference::posterior::InferenceSpace;
use crate::inference::{Inference, Law};
use crate::outcome::Outcome;
use crate::watch::Stopped;

/// Expected counts over all walks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Expected {
    pub(super) starts: Vec<f64>,
    pub(super) visits: Vec<f64>,
    pub(super) moves: Vec<f64>,
    pub(super) log_likelihood: f64,
    pub(super) dropped: f64,
    pub(super) surprises: u64,
    pub(super) walks: f64,
}

/// How often each walk counts.
#[derive(Clone, Debug)]
pub struct Weights {
    /// One list for each sample.
    pub(super) of_walks: Vec<Vec<u32>>,
}

impl Weights {
    /// Every walk once.
    #[must_use]
    pub fn one_each(samples: &[Sample<'_>]) -> Self {
        Self { of_walks: samples.iter().map(|sample| vec![1; sample.walks.len()]).collect() }
    }

    /// So often each, in one list for each sample.
    #[must_use]
    pub fn new(of_walks: Vec<Vec<u32>>) -> Self {
        Self { of_walks }
    }

    pub(super) fn check(&self, samples: &[Sample<'_>]) {
        let walks = samples.iter().map(|sample| sample.walks.len());
        assert!(walks.eq(self.of_walks.iter().map(Vec::len)), "every walk has a weight");
    }
}

impl Expected {
    fn none(law: &Law) -> Self {
        let states = law.initial().len();
        Self {
            starts: vec![0.0; states],
            visits: vec![0.0; states],
            moves: vec![0.0; law.all_probabilities().len()],
            ..Self::default()
        }
    }

    /// How many walks, each as often as it counts.
    #[must_use]
    pub fn walks(&self) -> f64 {
        self.walks
    }

    /// How many walks start at each state.
    #[must_use]
    pub fn starts(&self) -> &[f64] {
        &self.starts
    }

    /// How often each state is visited, first states included.
    #[must_use]
    pub fn visits(&self) -> &[f64] {
        &self.visits
    }

    /// How often each move is made, in the order of [`Law::all_moves`].
    #[must_use]
    pub fn moves(&self) -> &[f64] {
        &self.moves
    }

    /// The logarithm of the probability of everything that was released, up to a term that does not depend on the
    /// law of real walks.
    #[must_use]
    pub fn log_likelihood(&self) -> f64 {
        self.log_likelihood
    }

    /// The share of the mass that was dropped from beliefs, on average over walks: it bounds how far expected
    /// shares can be off.
    #[must_use]
    pub fn dropped(&self) -> f64 {
        self.dropped / self.walks.max(1.0)
    }

    /// How many steps contradicted everything that was believed.
    #[must_use]
    pub fn surprises(&self) -> u64 {
        self.surprises
    }

    /// All counts one after the other, so that others can add them up: the sum of two such lists is the list of
    /// the sum.
    #[must_use]
    pub fn to_numbers(&self) -> Vec<f64> {
        let Self { starts, visits, moves, log_likelihood, dropped, surprises, walks } = self;
        let lists = starts.iter().chain(visits).chain(moves).copied();
        lists.chain([*log_likelihood, *dropped, *surprises as f64, *walks]).collect()
    }

    /// The counts with these numbers, for a law; `None` if there are not as many.
    #[must_use]
    pub fn from_numbers(numbers: &[f64], law: &Law) -> Option<Self> {
        let (states, moves) = (law.initial().len(), law.all_probabilities().len());
        let (starts, rest) = numbers.split_at_checked(states)?;
        let (visits, rest) = rest.split_at_checked(states)?;
        let (moves, rest) = rest.split_at_checked(moves)?;
        let &[log_likelihood, dropped, surprises, walks] = rest else { return None };
        let surprises = surprises as u64;
        let (starts, visits, moves) = (starts.to_vec(), visits.to_vec(), moves.to_vec());
        Some(Self { starts, visits, moves, log_likelihood, dropped, surprises, walks })
    }

    fn add(&mut self, other: &Self) {
        let add = |to: &mut [f64], from: &[f64]| to.iter_mut().zip(from).for_each(|(a, b)| *a += b);
        add(&mut self.starts, &other.starts);
        add(&mut self.visits, &other.visits);
        add(&mut self.moves, &other.moves);
        self.log_likelihood += other.log_likelihood;
        self.dropped += other.dropped;
        self.surprises += other.surprises;
        self.walks += other.walks;
    }

    fn add_walk(
        &mut self,
        inference: &Inference,
        law: &Law,
        drawn: &[Outcome],
        weight: u32,
        space: &mut InferenceSpace,
    ) {
        let mut filtered = inference.filter(law, drawn, space);
        let weight = f64::from(weight);
        let moves = &mut self.moves;
        smooth(law, &mut filtered.seen, &mut space.beliefs, |from, place, probability| {
            moves[law.row(from).start + place] += weight * probability;
        });
        for (step, seen) in filtered.seen.iter().enumerate() {
            for (state, mass) in seen.belief.states().iter().zip(seen.belief.masses()) {
                self.visits[state.index()] += weight * mass;
                if step == 0 {
                    self.starts[state.index()] += weight * mass;
                }
            }
        }
        self.log_likelihood += weight * filtered.log_likelihood;
        self.dropped += weight * filtered.dropped;
        self.surprises += filtered.surprises * weight as u64;
        self.walks += weight;
    }
}

const WALKS_PER_BATCH: usize = 64;
const BATCHES_AT_A_TIME: usize = 16;

/// Goes through all walks on all cores. Batches have a fixed size and are added up in order, so the counts do not
/// depend on the number of threads. How far it is is told by whoever knows how many rounds there will be; here only whether
/// to go on is asked.
pub(super) fn expect(
    samples: &[Sample<'_>],
    weights: &Weights,
    law: &Law,
    still_wanted: &dyn Fn() -> Result<(), Stopped>,
) -> Result<Expected, Stopped> {
    let batches: Vec<(usize, usize)> = samples
        .iter()
        .enumerate()
        .flat_map(|(sample, all)| {
            (0..all.walks.len()).step_by(WALKS_PER_BATCH).map(move |first| (sample, first))
        })
        .collect();
    let of_batch = |&(number, first): &(usize, usize)| {
        let (sample, weights) = (&samples[number], &weights.of_walks[number]);
        let last = (first + WALKS_PER_BATCH).min(sample.walks.len());
        let (mut sums, mut space) = (Expected::none(law), InferenceSpace::default());
        for (drawn, &weight) in sample.walks[first..last].iter().zip(&weights[first..last]) {
            if weight > 0 {
                sums.add_walk(sample.inference, law, drawn, weight, &mut space);
            }
        }
        sums
    };
    let mut all = Expected::none(law);
    for group in batches.chunks(BATCHES_AT_A_TIME) {
        still_wanted()?;
        let sums: Vec<Expected> = group.par_iter().map(of_batch).collect();
        sums.iter().for_each(|sums| all.add(sums));
    }
    Ok(all)
}
