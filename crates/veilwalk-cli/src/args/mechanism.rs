//! Which mechanism, and what it promises: by flags, or by a file that `veilwalk tune` wrote.

use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, bail};
use clap::{ArgGroup, Args, ValueEnum};
use veilwalk::analysis::tune::name_of;
use veilwalk::distance::Cells;
use veilwalk::guarantee::Calibrated;
use veilwalk::mechanism::{BlockLength, ChainWeight, Epsilon, Radius, Unit, UnknownName};
use veilwalk::{Chain, Design, Distance, Mechanism, Model, Preset, Promise, Rule};
use veilwalk_io::{MechanismFile, ScaleFrom};

use super::{Input, count};
use crate::progress::with_progress;

/// A named mechanism, the choice of one, or a file that describes one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Named {
    Auto,
    Preset(Preset),
    File(PathBuf),
}

fn parse_mechanism(text: &str) -> Result<Named, String> {
    if text == "auto" {
        return Ok(Named::Auto);
    }
    match text.parse() {
        Ok(preset) => Ok(Named::Preset(preset)),
        Err(_) if text.contains(['/', '.']) || Path::new(text).exists() => {
            Ok(Named::File(PathBuf::from(text)))
        }
        Err(error) => {
            let error: UnknownName = error;
            Err(format!("{error}, or auto, or a file that `veilwalk tune -o` wrote"))
        }
    }
}

/// Which mechanism, and what it promises.
#[derive(Debug, Args)]
#[command(next_help_heading = "Mechanism")]
#[command(group = ArgGroup::new("protected").args(["radius", "substitutions"]))]
pub(crate) struct MechanismArgs {
    /// `auto` (`cell` where its tables fit, else `sharp`), `cell`, `sharp`, `paper`, `exponential`,
    /// `chen` or `exponential-hamming`; or a file from `veilwalk tune -o`, which holds everything
    /// below
    #[arg(long, value_name = "NAME|FILE", default_value = "auto", value_parser = parse_mechanism)]
    pub(super) mechanism: Named,

    /// The privacy parameter, a decimal or a fraction such as 0.5 or 1/3: the release changes the
    /// odds between two protected walks by a factor of at most exp(E), so smaller is more private
    #[arg(long, value_name = "E", allow_negative_numbers = true)]
    epsilon: Option<Epsilon>,

    /// Protect walks from each other if their states are at most this far apart in total
    ///
    /// Distances are in nats: the likeliest way between two states, in the direction that is less
    /// likely. Each move of probability p counts -ln p. `veilwalk chain check` prints the
    /// distance of the closest pair of states; a smaller radius protects nothing. It is a total over the
    /// whole walk: a stay of k steps counts k times.
    #[arg(long, value_name = "NATS", allow_negative_numbers = true)]
    radius: Option<Radius>,

    /// Protect walks from each other if they differ in at most this many states
    #[arg(long, value_name = "COUNT", allow_negative_numbers = true, value_parser = count::<NonZeroU32>())]
    substitutions: Option<NonZeroU32>,

    /// Override the distance: directed, symmetric, hamming, cell or cell-symmetric
    #[arg(long, value_name = "NAME")]
    distance: Option<Distance>,

    /// Override the rule: permute-and-flip or exponential
    #[arg(long, value_name = "NAME")]
    pub(super) rule: Option<Rule>,

    /// Override the chain weight, from 0 up: how much a move's own unlikeliness counts against it
    #[arg(long, value_name = "WEIGHT", allow_negative_numbers = true)]
    chain_weight: Option<ChainWeight>,

    /// How the scale is found: by the proven formula, or the largest whose exact loss keeps the
    /// promise. `cell` is calibrated exactly unless told otherwise, all others by the formula
    #[arg(long, value_enum, value_name = "HOW")]
    pub(super) calibrate: Option<Calibrate>,
}

/// How a scale is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Calibrate {
    /// The proven formula
    Theorem,
    /// The largest scale whose audited loss keeps the promise
    Exact,
}

impl Calibrate {
    pub(crate) fn name(self) -> &'static str {
        ScaleFrom::from(self).name()
    }
}

impl From<Calibrate> for ScaleFrom {
    fn from(calibrate: Calibrate) -> Self {
        match calibrate {
            Calibrate::Theorem => Self::Theorem,
            Calibrate::Exact => Self::Exact,
        }
    }
}

impl From<ScaleFrom> for Calibrate {
    fn from(scale_from: ScaleFrom) -> Self {
        match scale_from {
            ScaleFrom::Theorem => Self::Theorem,
            ScaleFrom::Exact => Self::Exact,
        }
    }
}

/// A mechanism with the name it goes by.
#[derive(Debug)]
pub(crate) struct Chosen {
    pub(crate) name: String,
    pub(crate) mechanism: Arc<Mechanism>,
    pub(crate) promise: Promise,
    pub(crate) calibrate: Calibrate,
    /// What an exact calibration by one common factor gained.
    pub(crate) calibration: Option<Calibrated>,
}

/// What the flags and the mechanism file say together.
#[derive(Debug)]
pub(crate) struct Settled<'a> {
    pub(super) flags: &'a MechanismArgs,
    file: Option<(&'a Path, MechanismFile)>,
    pub(crate) promise: Promise,
}

impl MechanismArgs {
    /// The file that is read for it, if it is described by one.
    pub(crate) fn input(&self) -> Option<Input<'_>> {
        match &self.mechanism {
            Named::File(path) => Some((path, "the mechanism")),
            Named::Auto | Named::Preset(_) => None,
        }
    }

    /// Whether any of it was given.
    pub(crate) fn is_given(&self) -> bool {
        self.mechanism != Named::Auto || self.epsilon.is_some() || self.unit().is_some()
    }

    /// Makes the mechanism on a model.
    pub(crate) fn on(&self, model: &Arc<Model>) -> Result<Chosen> {
        self.settled()?.on(model, None)
    }

    /// Reads the mechanism file, if there is one, and finds out what is promised.
    pub(crate) fn settled(&self) -> Result<Settled<'_>> {
        let file = match &self.mechanism {
            Named::File(path) => Some((path.as_path(), MechanismFile::read(path)?)),
            Named::Auto | Named::Preset(_) => None,
        };
        let given = self.unit();
        let promise = match &file {
            Some((path, file)) => {
                let (design, promise, scale_from) = file.parts().map_err(|e| anyhow!(e))?;
                let path = path.display();
                agree(&path, "--epsilon", self.epsilon, promise.epsilon)?;
                agree(&path, "--radius or --substitutions", given, promise.unit)?;
                agree(&path, "--distance", self.distance, design.distance)?;
                agree(&path, "--rule", self.rule, design.rule)?;
                agree(&path, "--chain-weight", self.chain_weight, design.chain_weight)?;
                let calibrate = self.calibrate.map(Calibrate::name);
                agree(&path, "--calibrate", calibrate, scale_from.name())?;
                promise
            }
            None => {
                const OR_A_FILE: &str = "or a file that holds it with --mechanism FILE";
                let Some(epsilon) = self.epsilon else {
                    bail!(
                        "--epsilon is missing: give the privacy parameter, such as --epsilon 1, \
                         {OR_A_FILE}"
                    );
                };
                let Some(unit) = given else {
                    bail!(
                        "what is to be protected is missing: give --radius NATS or \
                         --substitutions COUNT, {OR_A_FILE}"
                    );
                };
                Promise { epsilon, unit }
            }
        };
        Ok(Settled { flags: self, file, promise })
    }

    /// What is protected, as far as flags say.
    fn unit(&self) -> Option<Unit> {
        self.radius.map(Unit::Radius).or(self.substitutions.map(Unit::Substitutions))
    }
}

/// Refuses a flag that contradicts the mechanism file.
fn agree<T: PartialEq + std::fmt::Display>(
    path: &impl std::fmt::Display,
    flag: &str,
    given: Option<T>,
    in_file: T,
) -> Result<()> {
    match given {
        Some(given) if given != in_file => bail!(
            "{path}: the file says {in_file}, and {flag} says {given}; leave the flag out, or tune \
             again for what you need"
        ),
        _ => Ok(()),
    }
}

impl Settled<'_> {
    /// Makes the mechanism on a model, one step at a time or in blocks of this length.
    pub(crate) fn on(&self, model: &Arc<Model>, length: Option<BlockLength>) -> Result<Chosen> {
        if let Some(length) = length {
            return self.in_blocks(model, length);
        }
        let (name, design) = self.design(model.chain())?;
        let default = ScaleFrom::default_for(design).into();
        let calibrate = match &self.file {
            Some((_, file)) => file.parts().map_err(|e| anyhow!(e))?.2.into(),
            None => self.flags.calibrate.unwrap_or(default),
        };
        let scale_from = ScaleFrom::from(calibrate);
        let (mechanism, calibration) = with_progress("calibrating", |watch| {
            scale_from.make(model, design, self.promise, watch)
        })?;
        if let Some((path, file)) = &self.file {
            with_progress("checking scales", |watch| file.check(&mechanism, watch))
                .with_context(|| format!("{}", path.display()))?;
        }
        let mechanism = Arc::new(mechanism);
        Ok(Chosen { name, mechanism, promise: self.promise, calibrate, calibration })
    }

    /// The choices, with the name they go by, if they go with the chain and the unit.
    pub(crate) fn design(&self, chain: &Chain) -> Result<(String, Design)> {
        let preset = match (&self.flags.mechanism, &self.file) {
            (_, Some((path, file))) => return described(path, file, chain),
            (Named::Preset(preset), _) => *preset,
            _ if Cells::affordable(chain).is_ok() => Preset::Cell,
            _ => Preset::Sharp,
        };
        self.with_overrides(preset, preset.design())
    }

    /// A named mechanism's choices, with those that flags override, if they go with the unit.
    pub(super) fn with_overrides(&self, preset: Preset, base: Design) -> Result<(String, Design)> {
        let flags = self.flags;
        let design = Design {
            distance: flags.distance.unwrap_or(base.distance),
            rule: flags.rule.unwrap_or(base.rule),
            chain_weight: flags.chain_weight.unwrap_or(base.chain_weight),
        };
        if design != preset.design() {
            return Ok((format!("{preset} with {design}"), design));
        }
        if preset.counts_substitutions() && flags.radius.is_some() {
            bail!(
                "`{preset}` protects a number of replaced states, not a radius; give \
                 --substitutions 1 (or more) instead of --radius"
            );
        }
        Ok((preset.name().to_owned(), design))
    }
}

/// The choices in a mechanism file, with the name they go by, if it is for this chain.
fn described(path: &Path, file: &MechanismFile, chain: &Chain) -> Result<(String, Design)> {
    let (design, promise, _) = file.parts().map_err(|e| anyhow!(e))?;
    if file.chain != chain.hash().to_string() {
        bail!(
            "{}: this mechanism is for a chain with hash {}, and the chain given has {}; give the \
             --chain, --normalize, --largest-component and --initial it was tuned for, or tune again",
            path.display(),
            file.chain,
            chain.hash()
        );
    }
    let name = match name_of(design, promise.unit) {
        Some(preset) => preset.name().to_owned(),
        None => format!("tuned: {design}"),
    };
    Ok((name, design))
}
