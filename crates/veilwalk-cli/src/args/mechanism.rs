//! The flags that choose a mechanism and its promise (`--mechanism`, `--epsilon`, `--radius`, `--substitutions`,
//! `--visit`), or a file that `veilwalk tune` wrote. `tune`, `compare` and `chain fit` have flags of their own.

use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use anyhow::{Context, Result, anyhow, bail};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{ArgGroup, Args};
use veilwalk::internal::request::{Base, Made, Request, Span, TrackChoice, Visit};
use veilwalk::mechanism::{
    BlockLength, Calibration, CandidateKind, Candidates, ChainWeight, Epsilon, Radius, Unit,
    UnknownName,
};
use veilwalk::{Chain, Distance, Model, Preset, Promise, Rule, Start};
use veilwalk_io::{MechanismFile, Prepared, hash_file, shortened};

use super::metric::WantedMetric;
use super::observation::ObservationArgs;
use super::{Input, count};
use crate::progress::with_progress;
use crate::terminal;

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
#[command(group = ArgGroup::new("protected").args(["radius", "substitutions", "visit"]))]
pub(crate) struct MechanismArgs {
    /// `auto` (the best of several for the chain, the promise, the start and the delay, found on short walks of
    /// the chain's own), `tight`, `believed`, `plane` (with --metric line), `cell`, `sharp`, `paper`,
    /// `exponential`, `chen` or `exponential-hamming`; or a file from `veilwalk tune -o`, which holds everything
    /// below
    #[arg(long, value_name = "NAME|FILE", default_value = "auto", value_parser = parse_mechanism)]
    mechanism: Named,

    /// The privacy parameter, a decimal or a fraction such as 0.5 or 1/3: the release changes the
    /// odds between two protected walks by a factor of at most exp(E), so smaller is more private
    #[arg(long, value_name = "E", allow_negative_numbers = true)]
    epsilon: Option<Epsilon>,

    /// Protect walks from each other if their states are at most this far apart in total
    ///
    /// A bare number is in nats: the likeliest way between two states, in the direction that is less
    /// likely. Each move of probability p counts -ln p. With a unit it is in metres, such as 200m or 0.2km, along the
    /// streets or straight (see --metric). `veilwalk chain check` prints the
    /// distance of the closest pair of states; a smaller radius protects nothing. It is a total over the
    /// whole walk: a stay of k steps counts k times. `--epsilon 1 --per 100m` is the same promise as
    /// `--epsilon 1 --radius 100m`, in the words of rates.
    #[arg(long, visible_alias = "per", value_name = "NATS|METRES", allow_negative_numbers = true)]
    radius: Option<Radius>,

    /// Protect walks from each other if they differ in at most this many states
    #[arg(long, value_name = "COUNT", allow_negative_numbers = true, value_parser = count::<NonZeroU32>())]
    substitutions: Option<NonZeroU32>,

    /// Protect any one stay of up to this long, such as 2h, on walks with a state every --every: whatever is put
    /// in its place, the release is almost as likely
    ///
    /// That is a promise for as many --substitutions as the stay has states. A stay begins when somebody comes and
    /// is over when they leave.
    #[arg(long, value_name = "SPAN")]
    visit: Option<Span>,

    /// How long it is from one state of a walk to the next, such as 5m, for --visit. Walks that `veilwalk prepare`
    /// has put on a clock say so themselves
    #[arg(long, value_name = "SPAN", requires = "visit")]
    every: Option<Span>,

    /// What the walks that are released say of that.
    #[arg(skip)]
    prepared: OnceLock<Span>,

    /// Override the distance: directed, symmetric, hamming, cell or cell-symmetric
    #[arg(long, value_name = "NAME")]
    distance: Option<Distance>,

    /// Override the rule: permute-and-flip or exponential
    #[arg(long, value_name = "NAME")]
    rule: Option<Rule>,

    /// Override the chain weight, from 0 up: how strongly unlikely moves are avoided
    #[arg(long, value_name = "WEIGHT", allow_negative_numbers = true)]
    chain_weight: Option<ChainWeight>,

    /// How to choose the scale: by the proven formula, or as the largest one whose exact loss still keeps
    /// the promise. `cell`, `tight`, `believed` and `plane` are calibrated exactly unless told otherwise, all others by
    /// the formula
    #[arg(long, value_name = "HOW", value_parser = parse_calibration())]
    calibrate: Option<Calibration>,

    #[command(flatten)]
    observation: ObservationArgs,
}

/// The ways to find a scale, by name, with what the help says of them.
fn parse_calibration() -> impl TypedValueParser<Value = Calibration> {
    let named = |calibration: Calibration, help| PossibleValue::new(calibration.name()).help(help);
    let values = [
        named(Calibration::Theorem, "The proven formula"),
        named(Calibration::Exact, "The largest scale whose audited loss keeps the promise"),
    ];
    PossibleValuesParser::new(values).try_map(|name| name.parse())
}

/// What the flags and the mechanism file ask for together.
#[derive(Debug)]
pub(crate) struct Asked<'a> {
    pub(crate) request: Request,
    file: Option<(&'a Path, MechanismFile)>,
}

impl MechanismArgs {
    /// The file that is read for it, if it is described by one.
    pub(crate) fn input(&self) -> Option<Input<'_>> {
        match &self.mechanism {
            Named::File(path) => Some((path, "the mechanism")),
            Named::Auto | Named::Preset(_) => None,
        }
    }

    /// What distances it asks for. Reads the mechanism file, if there is one.
    pub(crate) fn wanted(&self) -> Result<WantedMetric> {
        match &self.mechanism {
            Named::File(path) => {
                let metric = MechanismFile::read(path)?.metric();
                Ok(WantedMetric::Of(path.display().to_string(), metric))
            }
            Named::Auto | Named::Preset(_) => Ok(WantedMetric::by(self.radius.map(Unit::Radius))),
        }
    }

    /// Whether any of it was given.
    pub(crate) fn is_given(&self) -> bool {
        self.mechanism != Named::Auto
            || self.epsilon.is_some()
            || self.radius.is_some()
            || self.substitutions.is_some()
            || self.visit.is_some()
    }

    /// Makes the mechanism on a model, for one state at a time.
    pub(crate) fn on(&self, model: &Arc<Model>) -> Result<Made> {
        self.asked(None)?.on(model)
    }

    /// What is asked for, in blocks of this length if there is one. Reads the mechanism file.
    pub(crate) fn asked(&self, block: Option<BlockLength>) -> Result<Asked<'_>> {
        let given = self.unit()?;
        let base = match &self.mechanism {
            Named::Auto => Base::Auto,
            Named::Preset(preset) => Base::Preset(*preset),
            Named::File(path) => {
                let file = MechanismFile::read(path)?;
                let (design, promise, calibration) = file.parts().map_err(|e| anyhow!(e))?;
                let shown = path.display();
                agree(&shown, "--epsilon", self.epsilon, promise.epsilon)?;
                agree(&shown, "--radius or --substitutions", given, promise.unit)?;
                agree(&shown, "--distance", self.distance, design.distance)?;
                agree(&shown, "--rule", self.rule, design.rule)?;
                agree(&shown, "--chain-weight", self.chain_weight, design.chain_weight)?;
                agree(&shown, "--calibrate", self.calibrate, calibration)?;
                let (chosen, tracked) = (self.observation.candidates(), self.observation.track());
                agree(&shown, "--candidates", chosen.kind, CandidateKind::of(design.candidates))?;
                let (weights, least_share) = match design.candidates {
                    Candidates::Moves | Candidates::Plane => (None, None),
                    Candidates::States(weights) => (Some(weights), None),
                    Candidates::Believed(least_share) => (None, Some(least_share)),
                };
                agree_if_any(&shown, "--weights", chosen.weights, weights)?;
                agree_if_any(&shown, "--believed-from", chosen.least_share, least_share)?;
                let tracking = file.tracking().map_err(|e| anyhow!(e))?;
                agree_if_any(&shown, "--track", tracked.aim, tracking.map(|it| it.aim))?;
                agree_if_any(&shown, "--typicality", tracked.gamma, tracking.map(|it| it.gamma))?;
                agree_if_any(&shown, "--lag", tracked.lag, tracking.map(|it| it.lag))?;
                let mut request = Request::new(Base::Tuned(design), promise);
                // What is usual stays unsaid, so that it is the mechanism that flags make.
                let usual = Calibration::default_for(design);
                request.calibration = (calibration != usual).then_some(calibration);
                request.track = tracking.map(TrackChoice::of).unwrap_or_default();
                request.block = block;
                return Ok(Asked { request, file: Some((path, file)) });
            }
        };
        const OR_A_FILE: &str = "or a file that holds it with --mechanism FILE";
        let Some(epsilon) = self.epsilon else {
            bail!(
                "--epsilon is missing: give the privacy parameter, such as --epsilon 1, {OR_A_FILE}"
            );
        };
        let Some(unit) = given else {
            bail!(
                "what is to be protected is missing: give --radius NATS (or metres, such as 200m), \
                 --substitutions COUNT or --visit SPAN, {OR_A_FILE}"
            );
        };
        let request = Request {
            base,
            promise: Promise { epsilon, unit },
            distance: self.distance,
            rule: self.rule,
            chain_weight: self.chain_weight,
            calibration: self.calibrate,
            block,
            candidates: self.observation.candidates(),
            track: self.observation.track(),
            // Whoever knows the start says so.
            start: Start::Private,
        };
        Ok(Asked { request, file: None })
    }

    /// What is protected, as far as flags say.
    fn unit(&self) -> Result<Option<Unit>> {
        if let (Some(stay), None) = (self.visit, self.visit()) {
            bail!(
                "--visit {stay}: how many states that is depends on how far apart they are; give --every, such as \
                 --every 5m (walks that `veilwalk prepare --every` made say it themselves to `privatize`)"
            );
        }
        if let Some(visit) = self.visit() {
            let Some(count) = visit.substitutions() else {
                bail!("--visit {}: that is more states than can be counted", visit.stay);
            };
            return Ok(Some(Unit::Substitutions(count)));
        }
        Ok(self.radius.map(Unit::Radius).or(self.substitutions.map(Unit::Substitutions)))
    }

    /// The stay that is protected, if that is how it was said.
    pub(crate) fn visit(&self) -> Option<Visit> {
        let every = self.every.or(self.prepared.get().copied());
        let (stay, every) = self.visit.zip(every)?;
        Some(Visit { stay, every })
    }

    /// Lets walks say how far apart their states are, if they were put on a clock and it matters.
    pub(crate) fn look_at_walks(&self, walks: &Path) -> Result<()> {
        if self.visit.is_none() {
            return Ok(());
        }
        let Some(prepared) = Prepared::read_for(walks)? else { return Ok(()) };
        let Some(clock) = prepared.clock else { return Ok(()) };
        let path = Prepared::path_for(walks);
        let shown = path.display();
        let every: Span = clock.every.parse().map_err(|error| anyhow!("{shown}: {error}"))?;
        if let Some(given) = self.every.filter(|given| *given != every) {
            bail!(
                "{shown}: the walks have a state every {every}, and --every says {given}; leave the flag out"
            );
        }
        if prepared.walks != Some(hash_file(walks)?) {
            bail!(
                "{shown}: this is about other walks than {} holds now, so how far apart their states are is not known; \
                 prepare them again, or move that file away and give --every",
                walks.display()
            );
        }
        let _ = self.prepared.set(every);
        Ok(())
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

/// The same where the file may say nothing of it.
fn agree_if_any<T: PartialEq + std::fmt::Display>(
    path: &impl std::fmt::Display,
    flag: &str,
    given: Option<T>,
    in_file: Option<T>,
) -> Result<()> {
    match (given, in_file) {
        (given, Some(in_file)) => agree(path, flag, given, in_file),
        (Some(_), None) => bail!(
            "{path}: the mechanism in this file has nothing that {flag} is for; leave the flag out"
        ),
        (None, None) => Ok(()),
    }
}

impl Asked<'_> {
    /// The same for releases that start so, which `auto` goes by.
    pub(crate) fn starting(mut self, start: Start) -> Self {
        self.request.start = start;
        self
    }

    /// Refuses what does not go together, or with the chain, before anything is computed.
    pub(crate) fn check(&self, chain: &Chain) -> Result<()> {
        if let Some((path, file)) = &self.file
            && file.chain != chain.hash().to_string()
        {
            bail!(
                "{}: this mechanism is for the chain {}, and the chain given is {}; give the \
                 --chain, --normalize, --largest-component and --initial it was tuned for, or tune again",
                path.display(),
                shortened(&file.chain),
                shortened(&chain.hash().to_string())
            );
        }
        let settled = self.request.settle(chain).map(drop);
        match &self.file {
            Some((path, _)) => settled.with_context(|| path.display().to_string()),
            None => Ok(settled?),
        }
    }

    /// Makes the mechanism on a model. Says where it is not what its name says.
    pub(crate) fn on(&self, model: &Arc<Model>) -> Result<Made> {
        self.check(model.chain())?;
        if self.request.block.is_some() {
            self.tell_of_blocks(model.chain())?;
        }
        let made = with_progress("calibrating", |watch| self.request.make(model, watch))?;
        if let Some((path, file)) = &self.file {
            with_progress("checking scales", |watch| file.check(&made.mechanism, watch))
                .with_context(|| format!("{}", path.display()))?;
        }
        Ok(made)
    }

    fn tell_of_blocks(&self, chain: &Chain) -> Result<()> {
        let Request { base, rule, .. } = self.request;
        if base == Base::Preset(Preset::Sharp) && rule.is_none() {
            terminal::note(
                "--block: `sharp` is taken with the exponential rule; its own, permute-and-flip, is \
                 for one state at a time",
            );
        }
        if self.request.settle(chain)?.design.cells().is_some() {
            terminal::note(
                "--block: cells have the scale of the theorem here, about half of what they are \
                 calibrated to for one state at a time; `auto` is often more accurate, and \
                 `veilwalk analyze` says what each gives",
            );
        }
        Ok(())
    }
}
