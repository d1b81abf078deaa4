//! Which mechanism a user chose, for single steps and for blocks.
//!
//! What was asked for is kept in words: another process makes the same mechanism of them.

use std::fmt::Display;
use std::num::NonZeroU32;
use std::str::FromStr;

use pyo3::prelude::*;
use veilwalk::internal::request::{Base, CandidateChoice, Request, TrackChoice};
use veilwalk::mechanism::{
    BlockLength, CandidateKind, Candidates, Epsilon, LeastShare, Radius, Unit,
};
use veilwalk::{Design, Preset, Promise, Rational};

use crate::error::{ParameterError, parameter_error};

/// A promise from its parts.
pub(crate) fn promise(
    epsilon: &str,
    radius: Option<&str>,
    substitutions: Option<u64>,
) -> PyResult<Promise> {
    let epsilon: Epsilon = epsilon.parse().map_err(parameter_error)?;
    let unit = match (radius, substitutions) {
        (Some(radius), None) => Unit::Radius(radius.parse::<Radius>().map_err(parameter_error)?),
        (None, Some(count)) => {
            let count = u32::try_from(count).ok().and_then(NonZeroU32::new);
            Unit::Substitutions(count.ok_or_else(|| {
                ParameterError::new_err("substitutions has to be a whole number from 1 up")
            })?)
        }
        (None, None) => {
            return Err(ParameterError::new_err(
                "what is to be protected is missing: give radius= (in nats) or substitutions= (a \
                 number of states)",
            ));
        }
        (Some(_), Some(_)) => {
            return Err(ParameterError::new_err(
                "give either radius= or substitutions=, not both: they are two ways to say which \
                 walks are protected from each other",
            ));
        }
    };
    Ok(Promise { epsilon, unit })
}

/// What a user chose, in words; a mechanism that was read from a file has no name. A dict in Python.
#[derive(Clone, Debug, FromPyObject, IntoPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Words {
    name: Option<String>,
    distance: Option<String>,
    rule: Option<String>,
    chain_weight: Option<String>,
    calibrate: Option<String>,
    candidates: Option<String>,
    weights: Option<String>,
    believed_from: Option<String>,
    track: Option<String>,
    typicality: Option<String>,
    lag: Option<String>,
}

/// The most steps that an answer may wait.
const LONGEST_LAG: u32 = 10_000;

impl Words {
    /// What they ask for.
    pub(crate) fn request(&self, promise: Promise) -> PyResult<Request> {
        let distance = parsed("distance", self.distance.as_deref())?;
        let rule = parsed("rule", self.rule.as_deref())?;
        let chain_weight = parsed("chain_weight", self.chain_weight.as_deref())?;
        let calibration = parsed("calibrate", self.calibrate.as_deref())?;
        let candidates = CandidateChoice {
            kind: parsed("candidates", self.candidates.as_deref())?,
            weights: parsed("weights", self.weights.as_deref())?,
            least_share: parsed("believed_from", self.believed_from.as_deref())?,
        };
        let track = TrackChoice {
            aim: parsed("track", self.track.as_deref())?,
            gamma: parsed::<Rational>("typicality", self.typicality.as_deref())?,
            lag: self.lag()?,
        };
        let base = match self.name.as_deref() {
            Some("auto") => Base::Auto,
            Some(name) => {
                let preset = name.parse::<Preset>();
                Base::Preset(preset.map_err(|e| parameter_error(format!("{e}, or auto")))?)
            }
            None => {
                let cell = Preset::Cell.design();
                let design = Design {
                    distance: distance.unwrap_or(cell.distance),
                    rule: rule.unwrap_or(cell.rule),
                    chain_weight: chain_weight.unwrap_or(cell.chain_weight),
                    candidates: tuned_candidates(candidates),
                };
                let request = Request::new(Base::Tuned(design), promise);
                return Ok(Request { calibration, track, ..request });
            }
        };
        let request = Request::new(base, promise);
        Ok(Request { distance, rule, chain_weight, calibration, candidates, track, ..request })
    }

    /// The words that give a request again.
    pub(crate) fn of(request: &Request) -> Self {
        let Request { base, mut distance, mut rule, mut chain_weight, calibration, .. } = *request;
        let CandidateChoice { mut kind, mut weights, mut least_share } = request.candidates;
        let TrackChoice { aim, gamma, lag } = request.track;
        let name = match base {
            Base::Auto => Some("auto".to_owned()),
            Base::Preset(preset) => Some(preset.name().to_owned()),
            Base::Tuned(design) => {
                distance = Some(design.distance);
                rule = Some(design.rule);
                chain_weight = Some(design.chain_weight);
                kind = Some(CandidateKind::of(design.candidates));
                (weights, least_share) = match design.candidates {
                    Candidates::Moves | Candidates::Plane => (None, None),
                    Candidates::States(weights) => (Some(weights), None),
                    Candidates::Believed(least_share) => (None, Some(least_share)),
                };
                None
            }
        };
        Self {
            name,
            distance: distance.map(|distance| distance.to_string()),
            rule: rule.map(|rule| rule.to_string()),
            chain_weight: chain_weight.map(|weight| weight.to_string()),
            calibrate: calibration.map(|calibration| calibration.to_string()),
            candidates: kind.map(|kind| kind.to_string()),
            weights: weights.map(|weights| weights.to_string()),
            believed_from: least_share.map(|share| share.to_string()),
            track: aim.map(|aim| aim.to_string()),
            typicality: gamma.map(|gamma| gamma.to_string()),
            lag: lag.map(|lag| lag.to_string()),
        }
    }

    fn lag(&self) -> PyResult<Option<u32>> {
        let Some(lag) = self.lag.as_deref() else { return Ok(None) };
        match lag.parse() {
            Ok(lag @ 0..=LONGEST_LAG) => Ok(Some(lag)),
            _ => Err(ParameterError::new_err(format!(
                "lag: {lag}; give a number of steps from 0 to {LONGEST_LAG}"
            ))),
        }
    }
}

/// The candidates of a mechanism without a name.
fn tuned_candidates(choice: CandidateChoice) -> Candidates {
    let CandidateChoice { kind, weights, least_share } = choice;
    match kind.unwrap_or(CandidateKind::Moves) {
        CandidateKind::Moves => Candidates::Moves,
        CandidateKind::States => Candidates::States(weights.unwrap_or_default()),
        CandidateKind::Believed => Candidates::Believed(least_share.unwrap_or(LeastShare::TENTH)),
        CandidateKind::Plane => Candidates::Plane,
    }
}

fn parsed<T: FromStr<Err: Display>>(parameter: &str, word: Option<&str>) -> PyResult<Option<T>> {
    let parsed = word.map(str::parse).transpose();
    parsed.map_err(|error| parameter_error(format!("{parameter}: {error}")))
}

/// How long blocks are, by the words that users give: a number of steps, or `all`.
pub(crate) fn block_length(
    block: Option<&str>,
    longest_walk: Option<u64>,
) -> PyResult<Option<BlockLength>> {
    let Some(block) = block else {
        return match longest_walk {
            None => Ok(None),
            Some(_) => Err(ParameterError::new_err("longest_walk goes with block=\"all\"")),
        };
    };
    let length: BlockLength = block.parse().map_err(|_| {
        ParameterError::new_err(format!(
            "block={block}: give a number of steps from 1 up, or \"all\" for whole walks"
        ))
    })?;
    match (length, longest_walk) {
        (length, None) => Ok(Some(length)),
        (BlockLength::Whole { .. }, Some(longest)) => {
            let longest = u32::try_from(longest).ok().and_then(NonZeroU32::new);
            let longest = longest.ok_or_else(|| {
                ParameterError::new_err("longest_walk has to be a whole number from 1 to 2^32 - 1")
            })?;
            Ok(Some(BlockLength::Whole { longest }))
        }
        (BlockLength::Steps(steps), Some(_)) => Err(ParameterError::new_err(format!(
            "longest_walk goes with block=\"all\"; with block={steps} a walk may have any number of \
             steps, so leave it out"
        ))),
    }
}
