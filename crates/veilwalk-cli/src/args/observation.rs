//! Observations, by flags: which states can be drawn, and how a walk is made of what was observed.

use clap::Args;
use veilwalk::Rational;
use veilwalk::internal::request::{CandidateChoice, TrackChoice};
use veilwalk::mechanism::{CandidateKind, LeastShare, StateWeights, TrackAim};

use super::whole;

/// Which states can be drawn, and how a walk is made of observations.
#[derive(Debug, Args)]
#[command(next_help_heading = "Mechanism")]
pub(crate) struct ObservationArgs {
    /// Override which states can be drawn: `moves` (of the last released state), `states` (all),
    /// `believed` (those that what was observed before holds possible) or `plane` (places on the earth)
    ///
    /// What is drawn among `states`, `believed` or `plane` is an observation. The released walk is made of the
    /// observations: always moves that the chain allows, nearest to what they say. Both are released, in
    /// the columns `state` and `observed`.
    #[arg(long, value_name = "WHICH")]
    candidates: Option<CandidateKind>,

    /// Override the public weights of the states with --candidates states: `tight` (twice the scale, where
    /// there are such weights) or `even`
    #[arg(long, value_name = "HOW")]
    weights: Option<StateWeights>,

    /// With --candidates believed, a state is a candidate if it is at least this share as likely as the
    /// likeliest, from 0 to 1
    #[arg(long, value_name = "SHARE")]
    believed_from: Option<LeastShare>,

    /// What a walk made of observations is to be good at: little `distance` to the real states or few wrong
    /// `states`, each by itself or with a look ahead at the steps to come: `distance-ahead`, `states-ahead`
    ///
    /// Looking ahead keeps the walk away from places from where the real one could not be followed. It needs a table
    /// for all pairs of states, so it is for chains of up to 8,192 states. It costs no privacy.
    #[arg(long, value_name = "AIM")]
    track: Option<TrackAim>,

    /// How strongly unlikely moves are avoided in a walk made of observations; 0.01 if not given
    #[arg(long, value_name = "WEIGHT")]
    typicality: Option<Rational>,

    /// Answer a step of a walk made of observations when this many more steps were observed: a delay that
    /// buys accuracy at the same guarantee
    #[arg(long, value_name = "STEPS", value_parser = whole::<u32>(0..=10_000))]
    lag: Option<u32>,
}

impl ObservationArgs {
    /// The candidates that were asked for.
    pub(super) fn candidates(&self) -> CandidateChoice {
        let Self { candidates: kind, weights, believed_from: least_share, .. } = *self;
        CandidateChoice { kind, weights, least_share }
    }

    /// How walks are to be made of observations.
    pub(super) fn track(&self) -> TrackChoice {
        let Self { track: aim, typicality: gamma, lag, .. } = *self;
        TrackChoice { aim, gamma, lag }
    }
}
