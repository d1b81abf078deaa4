//! The members that have no exact figures, and how many walks of each are made.

use std::sync::Arc;

use super::{Aim, Delay, Question};
use crate::ahead::Ahead;
use crate::analysis::block_plan::{affordable_tracked_walks, affordable_walks};
use crate::chain::Chain;
use crate::distance::Ground;
use crate::mechanism::{
    BlockError, BlockLength, Calibration, Candidates, ChainWeight, Design, Distance, LeastShare,
    Mechanism, Preset, Promise, Rule, ScaleError, TrackAim, Tracking, Unit,
};
use crate::model::Model;
use crate::rational::Rational;
use crate::watch::Watch;

/// Above this many states the cells of `believed`, made anew for every step, take too long to compare.
const MOST_FOR_BELIEVED_CELLS: usize = 256;

/// A member that is simulated.
pub(super) struct Member {
    pub(super) design: Design,
    how: How,
}

enum How {
    Observed(Tracking),
    InBlocks(BlockLength),
}

impl Member {
    /// The mechanism.
    pub(super) fn made(
        &self,
        model: &Arc<Model>,
        promise: Promise,
        watch: Watch<'_>,
    ) -> Result<Mechanism, ScaleError> {
        match self.how {
            How::Observed(tracking) => {
                let exact = Calibration::Exact;
                let made = Mechanism::observing(model.clone(), self.design, promise, exact, watch)?;
                Ok(made.tracking(tracking))
            }
            How::InBlocks(length) => {
                let made = Mechanism::in_blocks(model.clone(), self.design, promise, length);
                made.map_err(|why| match why {
                    BlockError::Scale(scale) => scale,
                    _ => ScaleError::TooSmall { promise },
                })
            }
        }
    }

    pub(super) fn tracking(&self) -> Option<Tracking> {
        match self.how {
            How::Observed(tracking) => Some(tracking),
            How::InBlocks(_) => None,
        }
    }

    /// Its name; in blocks there is none, as a rule is replaced.
    pub(super) fn preset(&self, unit: Unit) -> Option<Preset> {
        match self.how {
            How::Observed(_) => Preset::of(self.design, unit),
            How::InBlocks(_) => None,
        }
    }
}

/// The members that are simulated.
pub(super) fn simulated(question: Question, model: &Model) -> Vec<Member> {
    let aim = match question.aim {
        Aim::WrongStates => TrackAim::States,
        Aim::Closeness | Aim::Typicality | Aim::Weighted(_) => TrackAim::Distance,
    };
    let unit = question.promise.unit;
    match question.delay {
        Delay::None => both_aims(Tracking { aim, ..Tracking::default() }, unit, model),
        Delay::Lag(lag) => both_aims(Tracking { aim, lag, ..Tracking::default() }, unit, model),
        Delay::Block(length) => in_blocks(length, unit),
    }
}

/// How many walks each of them releases.
pub(super) fn walks(question: Question, chain: &Chain) -> usize {
    let walks = match question.delay {
        Delay::None | Delay::Lag(_) => affordable_tracked_walks(chain, question.steps),
        Delay::Block(_) => affordable_walks(chain, question.steps),
    };
    usize::try_from(walks).unwrap_or(usize::MAX)
}

/// With answers that look ahead as well, where what they need is there soon.
fn both_aims(tracking: Tracking, unit: Unit, model: &Model) -> Vec<Member> {
    let mut members = observed(tracking, unit, model);
    if Ahead::is_quick(model.chain()) {
        members.extend(observed(Tracking { aim: tracking.aim.ahead(), ..tracking }, unit, model));
    }
    members
}

fn observed(tracking: Tracking, unit: Unit, model: &Model) -> Vec<Member> {
    let (chain, how) = (model.chain(), || How::Observed(tracking));
    let mut members = vec![Member { design: Preset::Tight.design(), how: how() }];
    if *model.ground() == Ground::Line && matches!(unit, Unit::Radius(_)) {
        members.push(Member { design: Preset::Plane.design(), how: how() });
    }
    let few = chain.len() <= MOST_FOR_BELIEVED_CELLS || matches!(unit, Unit::Substitutions(_));
    let share = |(above, below)| LeastShare::new(Rational::new(above, below)?);
    let shares = [(1, 50), (1, 10), (3, 10)].into_iter().filter_map(share);
    members.extend(shares.filter(|_| few).map(|share| {
        let candidates = Candidates::Believed(share);
        Member { design: Design { candidates, ..Preset::Believed.design() }, how: how() }
    }));
    members
}

/// Several chain weights, at the distance that adds up nats or, for replaced states, counts them.
fn in_blocks(length: BlockLength, unit: Unit) -> Vec<Member> {
    let distances: &[Distance] = match unit {
        Unit::Radius(_) => &[Distance::Symmetric],
        Unit::Substitutions(_) => &[Distance::Symmetric, Distance::Hamming],
    };
    let weights = [Rational::ZERO, Rational::HALF, Rational::ONE, Rational::whole(2)];
    let weights = weights.into_iter().filter_map(|weight| ChainWeight::new(weight).ok());
    let weights: Vec<ChainWeight> = weights.collect();
    let of = |&distance: &Distance| {
        weights.iter().map(move |&weight| Member {
            design: Design::of_moves(distance, Rule::Exponential, weight),
            how: How::InBlocks(length),
        })
    };
    distances.iter().flat_map(of).collect()
}
