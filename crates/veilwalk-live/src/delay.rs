//! When the answer to a step comes: at once, some steps later, or with its block.
//!
//! That depends on numbers of steps alone, never on what was drawn. So it is arithmetic, and nothing about it has to be
//! stored: which answers belong to a step that comes again is known from its number.

use std::ops::Range;

use veilwalk::mechanism::{BlockLength, Blocks};
use veilwalk::{Mechanism, Start};

/// When answers come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delay {
    /// At once.
    None,
    /// Some steps later, the last ones when the walk ends.
    Lag {
        /// How many steps at the beginning are answered at once: none or one.
        alone: u64,
        /// How many steps later.
        steps: u32,
    },
    /// When a block is full or the walk ends. Until then the real states wait, in memory and nowhere else.
    Block {
        /// How many steps at the beginning are answered by themselves: none or one.
        alone: u64,
        /// How long blocks are.
        length: BlockLength,
    },
}

impl Delay {
    /// That of a mechanism, for walks that start like this.
    #[must_use]
    pub fn of(mechanism: &Mechanism, start: Start) -> Self {
        if let Some(length) = mechanism.blocks().map(Blocks::length) {
            let more_than_one = length.most_steps().get() > 1;
            let joined = start == Start::Private
                && (more_than_one || matches!(length, BlockLength::Whole { .. }));
            return Self::Block { alone: u64::from(!joined), length };
        }
        match mechanism.observation().map(|observation| observation.tracking().lag) {
            Some(steps @ 1..) => Self::Lag { alone: u64::from(start != Start::Private), steps },
            _ => Self::None,
        }
    }

    /// How many answers are out once so many steps were taken, while the walk goes on.
    pub(crate) fn due(self, taken: u64) -> u64 {
        match self {
            Self::None => taken,
            Self::Lag { alone, steps } => {
                let alone = alone.min(taken);
                alone + (taken - alone).saturating_sub(u64::from(steps))
            }
            Self::Block { alone, length } => {
                let alone = alone.min(taken);
                alone
                    + match length {
                        BlockLength::Steps(steps) => {
                            let steps = u64::from(steps.get());
                            (taken - alone) / steps * steps
                        }
                        BlockLength::Whole { .. } => 0,
                    }
            }
        }
    }

    /// The answers that come with this step.
    pub(crate) fn due_with(self, step: u64) -> Range<u64> {
        self.due(step)..self.due(step + 1)
    }

    /// The most steps of a walk.
    pub(crate) fn longest(self) -> Option<u64> {
        match self {
            Self::Block { alone, length: BlockLength::Whole { longest } } => {
                Some(alone + u64::from(longest.get()))
            }
            _ => None,
        }
    }

    /// Whether real states wait in memory.
    #[must_use]
    pub fn keeps_real_states(self) -> bool {
        matches!(self, Self::Block { .. })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;
    use veilwalk::mechanism::Tracking;
    use veilwalk::session::Released;
    use veilwalk::{Chain, Model, Preset, Promise, Releaser, Source, StateId};

    use super::*;

    /// Every number of steps, against a walk that takes them.
    fn agrees(mechanism: Mechanism, start: Start) {
        let delay = Delay::of(&mechanism, start);
        let mut releaser = Releaser::new(Arc::new(mechanism), &Source::system(), start).unwrap();
        let (mut walk, mut out) = (releaser.walk("a"), Released::default());
        for step in 0..40 {
            assert_eq!(walk.released(), delay.due(step), "{delay:?} after {step}");
            if delay.longest().is_some_and(|longest| step == longest) {
                releaser.push(&mut walk, StateId::new(3), &mut out).unwrap_err();
                return;
            }
            out.clear();
            releaser.push(&mut walk, StateId::new(3), &mut out).unwrap();
            let due = delay.due_with(step);
            assert_eq!(out.len() as u64, due.end - due.start, "{delay:?} with {step}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(24) })]

        #[test]
        fn answers_come_when_they_are_due(
            length in 1..6_u32,
            whole in any::<bool>(),
            lag in 0..5_u32,
            start in prop_oneof![
                Just(Start::Private), Just(Start::First), Just(Start::Initial), Just(Start::At(StateId::new(2)))
            ],
        ) {
            let model = Arc::new(Model::new(Chain::credit()).unwrap());
            let promise = Promise::within_radius("3.5".parse().unwrap(), "3.5".parse().unwrap());
            let length = std::num::NonZeroU32::new(length).unwrap();
            let length = if whole { BlockLength::Whole { longest: length } } else { BlockLength::Steps(length) };
            let design = Preset::Exponential.design();
            agrees(Mechanism::in_blocks(model.clone(), design, promise, length).unwrap(), start);
            let tight = Mechanism::new(model, Preset::Tight.design(), promise).unwrap();
            agrees(tight.tracking(Tracking { lag, ..Tracking::default() }), start);
        }
    }
}
