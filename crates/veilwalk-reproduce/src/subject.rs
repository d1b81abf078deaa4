//! A chain that the evaluation is made on, with where its walks start and what it looks like.

use std::sync::Arc;

use anyhow::Result;
use veilwalk::analysis::{Origin, OwnWalks};
use veilwalk::{Chain, Model, Source, StateId};

use crate::ground::Ground;
use crate::plan::{Extent, SEED, STEPS};

/// A chain of the evaluation.
pub(crate) struct Subject {
    /// Its name in files and addresses.
    pub(crate) key: &'static str,
    pub(crate) title: &'static str,
    /// What it is, for the page.
    pub(crate) about: String,
    pub(crate) model: Arc<Model>,
    /// Where walks start.
    pub(crate) from: StateId,
    /// Walks to look at: one of a hundred steps, and then what the paper shows.
    pub(crate) walks: Vec<Vec<StateId>>,
    /// ε of releases that are only looked at.
    pub(crate) more_epsilons: &'static [&'static str],
    /// ε of the maps.
    pub(crate) map_epsilons: &'static [&'static str],
    pub(crate) ground: Option<Ground>,
    pub(crate) extent: Extent,
}

/// Distances whose probabilities are computed: every quarter of a nat up to the largest.
const LEVELS_PER_NAT: f64 = 4.0;
/// At most so many points are simulated.
const SIMULATED_LEVELS: f64 = 12.0;

/// Ten yearly ratings, the walk of the paper's sample table.
const RATINGS: [&str; 10] = ["Caa", "Ca/C", "Caa", "Caa", "Caa", "Caa", "B", "Caa", "Ca/C", "Ca/C"];

impl Subject {
    pub(crate) fn credit() -> Result<Self> {
        let model = Arc::new(Model::new(Chain::credit())?);
        let ratings = RATINGS.iter().map(|label| model.chain().require(label));
        let ratings = ratings.collect::<Result<Vec<_>, _>>()?;
        let from = ratings[0];
        let mut subject = Self::new("credit", "Credit ratings", model, from);
        subject.about = "Yearly moves between nine credit ratings, the matrix that the paper \
                         prints. Walks start at Caa, as the paper's sample walk does."
            .to_owned();
        subject.walks.push(ratings);
        subject.more_epsilons = &["0.1", "2"];
        Ok(subject)
    }

    pub(crate) fn downtown() -> Result<Self> {
        let model = Arc::new(Model::new(Chain::downtown())?);
        let from = most_visited(&model)?;
        let mut subject = Self::new("downtown", "Downtown streets", model, from);
        subject.about = format!(
            "A made-up street network of 43 segments. It stands in for the paper's 43 segments of \
             Gainesville, whose data are not public: shapes and orders of magnitude can be \
             compared with the paper, digits cannot. Walks start at {}, the segment that is \
             visited most.",
            subject.label(from)
        );
        subject.more_epsilons = &["2"];
        subject.map_epsilons = &["1", "2", "5"];
        subject.ground = Some(Ground::downtown());
        Ok(subject)
    }

    pub(crate) fn roads(chain: Chain, ground: Option<Ground>, source: &str) -> Result<Self> {
        let model = Arc::new(Model::new(chain)?);
        let from = most_visited(&model)?;
        let mut subject = Self::new("roads", "Road network", model, from);
        subject.about = format!(
            "Road segments, fitted to the walks in `{source}`: the largest part whose segments all \
             reach each other. Walks start at segment {}, the one that is visited most.",
            subject.label(from)
        );
        subject.more_epsilons = &["2"];
        subject.map_epsilons = &["1", "2", "5"];
        subject.ground = ground;
        Ok(subject)
    }

    pub(crate) fn street_map(chain: Chain, ground: Ground, source: &str) -> Result<Self> {
        let model = Arc::new(Model::new(chain)?);
        let from = most_visited(&model)?;
        let mut subject = Self::new("streets", "Street network", model, from);
        subject.about = format!(
            "A real street network in place of that of Gainesville, whose data are not public: the streets of the \
             map `{source}` by car, each in one direction, with larger roads more likely. Walks start at {}, the \
             street that is visited most. Map data © OpenStreetMap contributors, ODbL.",
            subject.label(from)
        );
        subject.more_epsilons = &["2"];
        subject.map_epsilons = &["1", "2", "5"];
        subject.ground = Some(ground);
        Ok(subject)
    }

    pub(crate) fn wikispeedia(chain: Chain, ground: Option<Ground>, source: &str) -> Result<Self> {
        let model = Arc::new(Model::new(chain)?);
        let from = most_visited(&model)?;
        let mut subject = Self::new("wikispeedia", "Wikispeedia clicks", model, from);
        subject.about = format!(
            "Clicks from article to article in the game Wikispeedia, from `{source}`: the largest \
             part whose articles all reach each other. Walks start at {}, the article that is \
             visited most. Data: West and Leskovec (2012), West, Pineau and Precup (2009).",
            subject.label(from)
        );
        subject.more_epsilons = &["2"];
        subject.map_epsilons = &["2", "5"];
        subject.ground = ground;
        Ok(subject)
    }

    fn new(key: &'static str, title: &'static str, model: Arc<Model>, from: StateId) -> Self {
        let walks = vec![varied_walk(model.chain(), from)];
        let extent = Extent::of(&model);
        Self {
            key,
            title,
            about: String::new(),
            model,
            from,
            walks,
            more_epsilons: &[],
            map_epsilons: &[],
            ground: None,
            extent,
        }
    }

    /// A state's label as people read it.
    pub(crate) fn label(&self, state: StateId) -> String {
        self.model.chain().label(state).replace('_', " ")
    }

    /// The distances whose probabilities are computed.
    pub(crate) fn levels(&self) -> Vec<f64> {
        let last = (self.diameter() * LEVELS_PER_NAT).ceil() as usize;
        (0..=last).map(|k| k as f64 / LEVELS_PER_NAT).collect()
    }

    /// Those that are simulated as well: whole numbers of nats.
    pub(crate) fn simulated_levels(&self) -> Vec<f64> {
        let step = (self.diameter() / SIMULATED_LEVELS).ceil().max(1.0);
        let last = (self.diameter() / step).floor() as usize;
        (1..=last).map(|k| k as f64 * step).collect()
    }

    pub(crate) fn diameter(&self) -> f64 {
        self.model.diameter().distance.as_f64()
    }
}

/// The state that the chain visits most in the long run; the first of equals.
fn most_visited(model: &Model) -> Result<StateId> {
    let stationary = model.chain().stationary()?;
    let states = model.chain().states();
    let most =
        states.reduce(|a, b| if stationary[b.index()] > stationary[a.index()] { b } else { a });
    Ok(most.expect("a chain has states"))
}

/// The walk with the most different states among some drawn from the chain: there is most to see
/// in it.
fn varied_walk(chain: &Chain, from: StateId) -> Vec<StateId> {
    const DRAWN: usize = 64;
    let mut randomness =
        Source::seeded(SEED).open(chain.hash().0).expect("a seed needs no operating system");
    let key = randomness.walk(b"real walks to look at");
    let words = randomness.at(&key, 0, None);
    let own = OwnWalks::new(chain);
    let mut drawn = || own.walk(Origin::At(from), STEPS, words);
    let distinct = |walk: &[StateId]| walk.iter().collect::<std::collections::HashSet<_>>().len();
    let mut best = drawn();
    for _ in 1..DRAWN {
        let walk = drawn();
        if distinct(&walk) > distinct(&best) {
            best = walk;
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn walks_to_look_at_are_walks_of_the_chain() {
        for subject in [Subject::credit().unwrap(), Subject::downtown().unwrap()] {
            let chain = subject.model.chain();
            let walk = &subject.walks[0];
            assert_eq!(walk.len(), STEPS + 1);
            assert_eq!(walk[0], subject.from);
            assert!(walk.windows(2).all(|w| chain.allows(w[0], w[1])));
            let again = varied_walk(chain, subject.from);
            assert_eq!(*walk, again);
        }
    }

    #[test]
    fn levels_reach_the_largest_distance() {
        let credit = Subject::credit().unwrap();
        let levels = credit.levels();
        assert!(*levels.last().unwrap() >= credit.diameter());
        for v in [2.0, 5.0, 10.0, 15.0] {
            assert!(levels.contains(&v));
        }
        assert!(credit.simulated_levels().len() <= 12);
    }
}
