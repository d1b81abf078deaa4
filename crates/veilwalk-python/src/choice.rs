//! Which mechanism a user chose, for single steps and for blocks.
//!
//! What was asked for is kept in words: another process makes the same mechanism of them.

use std::num::NonZeroU32;

use pyo3::prelude::*;
use veilwalk::distance::Cells;
use veilwalk::mechanism::{BlockLength, Epsilon, Radius, Unit};
use veilwalk::{Chain, Design, Preset, Promise, Rule};
use veilwalk_io::ScaleFrom;

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
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) name: Option<String>,
    pub(crate) distance: Option<String>,
    pub(crate) rule: Option<String>,
    pub(crate) chain_weight: Option<String>,
    pub(crate) calibrate: Option<String>,
}

impl Asked {
    fn preset(&self, name: &str, chain: &Chain) -> PyResult<Preset> {
        match name {
            "auto" if Cells::affordable(chain).is_ok() => Ok(Preset::Cell),
            "auto" => Ok(Preset::Sharp),
            name => name.parse().map_err(|e| parameter_error(format!("{e}, or auto"))),
        }
    }

    /// The choices of a design, with those that were overridden.
    fn overridden(&self, base: Design) -> PyResult<Design> {
        let (distance, rule) = (self.distance.as_deref(), self.rule.as_deref());
        let weight = self.chain_weight.as_deref();
        Ok(Design {
            distance: distance.map_or(Ok(base.distance), str::parse).map_err(parameter_error)?,
            rule: rule.map_or(Ok(base.rule), str::parse).map_err(parameter_error)?,
            chain_weight: weight
                .map_or(Ok(base.chain_weight), str::parse)
                .map_err(parameter_error)?,
        })
    }

    fn named(&self, preset: Preset, base: Design, unit: Unit) -> PyResult<(String, Design)> {
        let design = self.overridden(base)?;
        if design != preset.design() {
            return Ok((format!("{preset} with {design}"), design));
        }
        if preset.counts_substitutions() && matches!(unit, Unit::Radius(_)) {
            return Err(ParameterError::new_err(format!(
                "`{preset}` protects a number of replaced states, not a radius; give \
                 substitutions=1 (or more) instead of radius="
            )));
        }
        Ok((preset.name().to_owned(), design))
    }

    /// The choices, with the name they go by.
    pub(crate) fn design(&self, chain: &Chain, unit: Unit) -> PyResult<(String, Design)> {
        let Some(name) = &self.name else {
            let design = self.overridden(Preset::Cell.design())?;
            let name = match veilwalk::analysis::tune::name_of(design, unit) {
                Some(preset) => preset.name().to_owned(),
                None => format!("tuned: {design}"),
            };
            return Ok((name, design));
        };
        let preset = self.preset(name, chain)?;
        self.named(preset, preset.design(), unit)
    }

    /// How the scale is found.
    pub(crate) fn scale_from(&self, design: Design) -> PyResult<ScaleFrom> {
        match &self.calibrate {
            None => Ok(ScaleFrom::default_for(design)),
            Some(word) => ScaleFrom::named(word).ok_or_else(|| {
                ParameterError::new_err(format!(
                    "calibrate={word:?} is no way of finding a scale; \"theorem\" and \"exact\" are"
                ))
            }),
        }
    }

    /// The choices for blocks, with the name they go by, or why they cannot be released in blocks.
    pub(crate) fn block_design(&self, unit: Unit) -> PyResult<(String, Design)> {
        let Some(name) = self.name.as_deref() else {
            return Err(ParameterError::new_err(
                "block: a mechanism that was read from a file was tuned for one state at a time; make one \
                 by name",
            ));
        };
        if self.calibrate.as_deref() == Some("exact") {
            return Err(ParameterError::new_err(
                "calibrate=\"exact\" is for one state at a time; in blocks the scale is that of the \
                 theorem, so make a mechanism without it",
            ));
        }
        if let Some(rule) = &self.rule
            && rule.parse::<Rule>().map_err(parameter_error)? != Rule::Exponential
        {
            return Err(ParameterError::new_err(format!(
                "block: blocks are drawn by the exponential rule, not by {rule}; make a mechanism \
                 without it"
            )));
        }
        let preset = match name {
            "auto" => Preset::Sharp,
            "paper" if self.rule.is_none() => {
                return Err(ParameterError::new_err(
                    "block: `paper` has the permute-and-flip rule, which is for one state at a time; \
                     `exponential` has its distance with the exponential rule, and `auto` is the \
                     most accurate choice",
                ));
            }
            name => name.parse().map_err(parameter_error)?,
        };
        self.named(preset, Design { rule: Rule::Exponential, ..preset.design() }, unit)
    }
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
