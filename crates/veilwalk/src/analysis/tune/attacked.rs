//! The best member among those from which an attacker learns little enough.
//!
//! All members keep the same promise, but somebody who knows the chain guesses more from some releases than from
//! others ([`attack`](fn@crate::analysis::attack)). Members are gone through from the best on, and those from which
//! more is guessed than may be are put aside, until one is found that stays below.

use super::simulated::Walks;
use super::{Evaluated, Question, Ranking, TuneError, real_start};
use crate::analysis::attack::{Attacked, attack};
use crate::inference::{Inference, Law};
use crate::mechanism::{Calibration, Mechanism};
use crate::model::Model;
use crate::watch::{Progress, Stage, Watch, report};
use std::ops::ControlFlow;
use std::sync::Arc;

/// How many walks are guessed for each member.
const WALKS: usize = 200;

impl Ranking {
    /// The same ranking with a winner from whose releases an attacker guesses at most this share of states right.
    /// Better members from which more is guessed are put aside ([`Ranking::told_too_much`]).
    ///
    /// # Errors
    ///
    /// If no member stays below, they release blocks, or the watcher asks to stop.
    pub fn with_attacker_at_most(
        mut self,
        model: &Arc<Model>,
        most: f64,
        watch: Watch<'_>,
    ) -> Result<Self, TuneError> {
        let Question { start, steps, from, .. } = self.question;
        let real = real_start(model.chain(), from)?;
        let law = Law::of(model.chain()).starting_with(&real);
        let reals = Walks::new(model, &real, (start, 0.0), (WALKS, steps)).into_reals();
        let total = self.members.len();
        let mut least = f64::INFINITY;
        while let Some(&best) = self.members.first() {
            let done = total - self.members.len();
            report(watch, Stage::Tuning, done, total)?;
            let told = |_: Progress| match report(watch, Stage::Tuning, done, total) {
                Ok(()) => ControlFlow::Continue(()),
                Err(_) => ControlFlow::Break(()),
            };
            let mechanism = self.made(model, &best, &told)?;
            let inference = Inference::new(Arc::new(mechanism), start)?.with_law(law.clone());
            let found = attack(&inference, Attacked::Given(&reals), 1, &told)?;
            if found.state.attacker <= most {
                self.attacker = Some(found.state);
                return Ok(self);
            }
            least = found.state.attacker.min(least);
            self.told_too_much.push((self.members.remove(0), found.state.attacker));
        }
        Err(TuneError::Attacker { most, least })
    }

    fn made(
        &self,
        model: &Arc<Model>,
        member: &Evaluated,
        watch: Watch<'_>,
    ) -> Result<Mechanism, TuneError> {
        let (design, promise) = (member.design, self.question.promise);
        let made = match member.tracking {
            Some(tracking) => {
                Mechanism::observing(model.clone(), design, promise, Calibration::Exact, watch)
                    .map(|made| made.tracking(tracking))
            }
            None => Mechanism::watched(model.clone(), design, promise, watch),
        };
        made.map_err(TuneError::Impossible)
    }
}
