//! The attack that comes along with a guarantee, and what it says in a person's words.

use std::sync::Arc;

use thiserror::Error;

use super::{Attack, Attacked, Origin, affordable_attack, attack};
use crate::chain::Chain;
use crate::inference::{Inference, InferenceError};
use crate::mechanism::Mechanism;
use crate::session::Start;
use crate::watch::{Stopped, Watch, unwatched};

/// How many steps the walks take that are guessed.
pub const USUAL_STEPS: usize = 30;

/// Whether walks are attacked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attacks {
    /// Where that takes about a second, and can be done.
    WhereQuick,
    /// However long it takes.
    Always,
}

/// Why walks were not attacked though it was asked for.
#[derive(Clone, Debug, Error)]
#[non_exhaustive]
pub enum UsualAttackError {
    /// Nothing can be inferred from such releases.
    #[error(transparent)]
    NotInferable(#[from] InferenceError),
    /// It was stopped.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

/// What an attacker guesses of the chain's own walks, released with a private start where there is one.
///
/// # Errors
///
/// If the watcher asks to stop, or nothing can be inferred and it was asked for in any case.
pub fn usual_attack(
    mechanism: &Arc<Mechanism>,
    when: Attacks,
    watch: Watch<'_>,
) -> Result<Option<Attack>, UsualAttackError> {
    const IF_ASKED: usize = 200;
    let start = match mechanism.check_start(Start::Private, &unwatched) {
        Ok(()) => Start::Private,
        Err(_) => Start::Initial,
    };
    let inference = match (Inference::new(mechanism.clone(), start), when) {
        (Ok(inference), _) => inference,
        (Err(why), Attacks::Always) => return Err(why.into()),
        (Err(_), Attacks::WhereQuick) => return Ok(None),
    };
    let affordable = affordable_attack(&inference, USUAL_STEPS);
    let walks = match when {
        Attacks::WhereQuick => affordable,
        Attacks::Always => affordable.or(Some(IF_ASKED)),
    };
    let Some(walks) = walks else { return Ok(None) };
    let own = Attacked::Own { origin: Origin::Initial, steps: USUAL_STEPS, walks };
    Ok(Some(attack(&inference, own, 1, watch)?))
}

/// The guesses of somebody who knows this chain, about walks of [`USUAL_STEPS`].
#[must_use]
pub fn attack_in_words(found: &Attack, chain: &Chain) -> String {
    let times = |share: f64| format!("{} times in 100", (100.0 * share).round());
    let mut words = format!(
        "Somebody who knows the chain and sees the release guesses a state of a walk right {}; without the \
         release {}. They guess the first state right {}, without the release {}, and the whole walk {}, without \
         the release {}. (Simulated: {} walks of the chain's own with {USUAL_STEPS} steps, a standard error of {:.1} in \
         100. The longer a walk, the more each released state tells about the others.)",
        times(found.state.attacker),
        times(found.state.chain_alone),
        times(found.first.attacker),
        times(found.first.chain_alone),
        times(found.whole_walk.attacker),
        times(found.whole_walk.chain_alone),
        found.walks,
        100.0 * found.state.standard_error,
    );
    if chain.is_even() {
        words.push(' ');
        words.push_str(OF_AN_EVEN_CHAIN);
    }
    words
}

/// What is to be known where the public chain knows nothing of how people move.
const OF_AN_EVEN_CHAIN: &str = "On this chain every move is as likely as the others. Real walks are not like that, and \
    anybody can learn from many releases what they are like; so of real walks more is guessed right than these \
    figures say.";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::{Guess, Odds};

    #[test]
    fn an_even_chain_is_told() {
        let guess =
            Guess { attacker: 0.834, chain_alone: 0.31, release: 0.5, standard_error: 0.01 };
        let odds = Odds { median: 1.0, p90: 1.0, max: 1.0 };
        let found = Attack {
            walks: 200,
            states: 6200,
            state: guess,
            first: guess,
            last: guess,
            most_visited: guess,
            whole_walk: guess,
            odds,
            efficiency: 1.0,
        };
        let chain = Chain::credit();
        let words = attack_in_words(&found, &chain);
        assert!(words.contains("right 83 times in 100; without the release 31"), "{words}");
        assert!(!words.contains("as likely as the others"), "{words}");
        let words = attack_in_words(&found, &chain.evened().unwrap());
        assert!(words.contains("learn from many releases"), "{words}");
    }
}
