//! What a guarantee says of observations: how they are drawn, and what is made of them.

use std::fmt;

#[cfg(feature = "serde")]
use serde::Serialize;

use crate::chain::StateId;
use crate::mechanism::{
    CandidateKind, Candidates, Mechanism, StateWeights, TrackAim, WeightsFound,
};

/// How real states are observed under a mechanism. `Display` says it in a paragraph.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(Serialize))]
pub struct Observed {
    candidates: &'static str,
    track: &'static str,
    typicality: String,
    lag: u32,
    scale: String,
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    weights: Option<&'static str>,
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    weights_found: Option<&'static str>,
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    believed_from: Option<String>,
    #[cfg_attr(feature = "serde", serde(skip))]
    shown_scale: f64,
}

impl Observed {
    /// Of a mechanism that draws observations; none of others.
    #[must_use]
    pub fn of(mechanism: &Mechanism) -> Option<Self> {
        let observation = mechanism.observation()?;
        let (tracking, candidates) = (observation.tracking(), mechanism.design().candidates);
        let (weights, believed_from) = match candidates {
            Candidates::States(weights) => (Some(weights), None),
            Candidates::Believed(least) => (None, Some(least.to_string())),
            Candidates::Moves | Candidates::Plane => (None, None),
        };
        let eta = mechanism.scale(StateId::new(0)).eta();
        Some(Self {
            candidates: CandidateKind::of(candidates).name(),
            track: TrackAim::name(tracking.aim),
            typicality: tracking.gamma.to_string(),
            lag: tracking.lag,
            scale: eta.to_string(),
            weights: weights.map(StateWeights::name),
            weights_found: observation.weights_found().map(WeightsFound::name),
            believed_from,
            shown_scale: mechanism.model().measure().shown_rate(eta.as_f64()),
        })
    }
}

impl fmt::Display for Observed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let drawn = match &self.believed_from {
            _ if self.candidates == CandidateKind::Plane.name() => {
                "where it lies, with noise: at a place on\nthe earth, by planar Laplace noise that is drawn exactly. The \
                 column has latitude and longitude in degrees."
                    .to_owned()
            }
            Some(least) => format!(
                "a state is drawn among the states that are believed possible.\nThose are at least {least} times as likely as \
                 the likeliest."
            ),
            None => format!(
                "a state is drawn among all states.\n{}",
                match self.weights_found {
                    Some("solved") => {
                        "Their weights are tight: they add up to the same for every real state, so that nothing \
                         of the\npromise is spent on the rest."
                    }
                    Some("program") => {
                        "Weights that add up to the same for every real state would have to be negative here; a \
                         linear\nprogram found those for the largest scale."
                    }
                    Some("fitted") => {
                        "Weights that add up to the same for every real state would have to be negative here; \
                         what\nthese add up to changes slowly, and what it changes by is taken off the scale."
                    }
                    _ => "All of them have the same weight.",
                }
            ),
        };
        let when = match self.lag {
            0 => "at once".to_owned(),
            1 => "1 step later".to_owned(),
            lag => format!("{lag} steps later"),
        };
        write!(
            f,
            "What is released are observations\n\
             Every real state, the first one too, is observed: {drawn}\n\
             The scale is {scale:.6}. The released walk is made of the observations, {when}, and takes\n\
             moves of the chain only. A release has both, in the columns `state` and `observed`, and the promise\n\
             covers both.",
            scale = self.shown_scale
        )
    }
}
