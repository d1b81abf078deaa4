//! Which mechanism a user chose, for single steps and for blocks.
//!
//! What was asked for is kept in words: another process makes the same mechanism of them.

use std::fmt::Display;
use std::num::NonZeroU32;
use std::str::FromStr;

use pyo3::prelude::*;
use veilwalk::internal::request::{Base, Request};
use veilwalk::mechanism::{BlockLength, Epsilon, Radius, Unit};
use veilwalk::{Design, Preset, Promise};

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

/// What a user chose, in words; a mechanism that was read from a file has no name.
#[derive(Debug)]
pub(crate) struct Words {
    pub(crate) name: Option<String>,
    pub(crate) distance: Option<String>,
    pub(crate) rule: Option<String>,
    pub(crate) chain_weight: Option<String>,
    pub(crate) calibrate: Option<String>,
}

impl Words {
    /// What they ask for.
    pub(crate) fn request(&self, promise: Promise) -> PyResult<Request> {
        let distance = parsed("distance", self.distance.as_deref())?;
        let rule = parsed("rule", self.rule.as_deref())?;
        let chain_weight = parsed("chain_weight", self.chain_weight.as_deref())?;
        let calibration = parsed("calibrate", self.calibrate.as_deref())?;
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
                };
                let request = Request::new(Base::Tuned(design), promise);
                return Ok(Request { calibration, ..request });
            }
        };
        Ok(Request { base, promise, distance, rule, chain_weight, calibration, block: None })
    }

    /// The words that give a request again.
    pub(crate) fn of(request: &Request) -> Self {
        let Request { base, mut distance, mut rule, mut chain_weight, calibration, .. } = *request;
        let name = match base {
            Base::Auto => Some("auto".to_owned()),
            Base::Preset(preset) => Some(preset.name().to_owned()),
            Base::Tuned(design) => {
                distance = Some(design.distance);
                rule = Some(design.rule);
                chain_weight = Some(design.chain_weight);
                None
            }
        };
        Self {
            name,
            distance: distance.map(|distance| distance.to_string()),
            rule: rule.map(|rule| rule.to_string()),
            chain_weight: chain_weight.map(|weight| weight.to_string()),
            calibrate: calibration.map(|calibration| calibration.to_string()),
        }
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
