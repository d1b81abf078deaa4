//! `veilwalk refine`: the walks that a release says are nearest to the real ones.

mod output;
mod rows;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use clap::ValueEnum;
use veilwalk::inference::{Inference, RefineAim, RefineError, RefineSettings, RefinedWalk};
use veilwalk::{Chain, Measure, Progress};
use veilwalk_io::Released;

use self::output::{Complete, Output};
use self::rows::{POSTERIOR, WALKS, posterior_rows, walk_rows};
use crate::args::{
    self, ChainArgs, ChainOptions, Loaded, ThreadArgs, WantedMetric, Written, any_whole, counted,
    is_same_file, is_standard_output,
};
use crate::{progress, released, terminal, units};

/// Infer from a release the walks that are nearest to the real ones
///
/// The law by which a release was drawn is public, so anybody can compute how likely each state was at each step,
/// given everything that was released, and which feasible walk is expected to be nearest to the real one. It
/// is never expected to be worse than the release, and costs nothing: nothing but the release is looked at.
/// Mechanism and promise come from the manifest. The output has the columns `trajectory`, `step`, `state`, `released`
/// and `confidence`, the probability that the state is the real one. This assumes that real walks follow
/// the chain. A better chain, such as one that `veilwalk estimate` learned, gives better results.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The release; its manifest is beside it
    release: PathBuf,

    /// Take real walks to be walks of this chain, which has the states of the other one
    #[arg(long, value_name = "CHAIN")]
    prior: Option<String>,

    /// What the walks are to be good at: little `distance` to the real states, or many right `states`
    #[arg(long, value_enum, value_name = "WHAT", default_value_t)]
    aim: Aim,

    /// Choose each state when so many more steps of the release are known, as one can while walks happen; if not
    /// given, everything is known
    #[arg(long, value_name = "STEPS", value_parser = any_whole::<usize>())]
    lag: Option<usize>,

    /// Write how likely the states are at each step, given the whole release, with the columns `trajectory`, `step`,
    /// `state` and `probability`
    #[arg(long, value_name = "FILE")]
    posterior: Option<PathBuf>,

    /// Only states that are more probable than this are written there
    #[arg(long, value_name = "P", requires = "posterior", default_value_t = 0.001,
          value_parser = share)]
    above: f64,

    #[command(flatten)]
    threads: ThreadArgs,

    /// Where to write the walks, `-` for standard output. The name tells the format, as for
    /// `veilwalk privatize`. A file of that name is replaced, with a warning
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,

    #[command(flatten)]
    chain: ChainArgs,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Aim {
    #[default]
    Distance,
    States,
}

fn share(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|share| (0.0..1.0).contains(share));
    number.ok_or_else(|| "give a probability from zero up and below one, such as 0.01".to_owned())
}

/// So many walks are in memory at a time with what was inferred of them.
const WALKS_AT_A_TIME: usize = 256;

pub(crate) fn run(args: &Args) -> Result<()> {
    args.settle_outputs()?;
    args.threads.settle()?;
    let model = args.chain.any_model(&WantedMetric::by_release(&args.release))?;
    let read = released::read(&args.release, &model)?;
    let mut inference = released::inference(&args.release, &read)?;
    if let Some(prior) = &args.prior {
        let chain = prior_chain(prior)?;
        inference = inference.with_prior(&chain).with_context(|| format!("--prior {prior}"))?;
    }
    let chain = model.chain();
    let walks = Output::start(&args.output, chain, &WALKS)?;
    let posterior = args.posterior.as_deref().map(|path| Output::start(path, chain, &POSTERIOR));
    let sums = args.refine(&inference, &read, walks, posterior.transpose()?)?;
    args.tell(&read, sums);
    Ok(())
}

fn prior_chain(name: &str) -> Result<Chain> {
    Ok(match ChainOptions::default().read(name)? {
        Loaded::Chain(chain) => *chain,
        Loaded::Model(model) => model.chain().clone(),
    })
}

/// What is added up over all walks.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    states: usize,
    cost: f64,
    released_cost: f64,
    dropped: f64,
    surprises: u64,
}

impl Sums {
    fn add(&mut self, walk: &RefinedWalk) {
        let refined = &walk.refined;
        self.states += refined.states.len();
        self.cost += refined.cost;
        self.released_cost += refined.released_cost;
        self.dropped += refined.dropped;
        self.surprises += refined.surprises;
    }
}

impl Args {
    fn settle_outputs(&self) -> Result<()> {
        let mut inputs = self.chain.inputs();
        inputs.push(released::input(&self.release));
        inputs.extend(self.prior.iter().map(|prior| (Path::new(prior), "the other chain")));
        for output in [Some(&self.output), self.posterior.as_ref()].into_iter().flatten() {
            if !is_standard_output(output) {
                args::settle_output(output, Written::Other, &inputs)?;
            }
        }
        match &self.posterior {
            Some(posterior)
                if is_same_file(posterior, &self.output) || *posterior == self.output =>
            {
                bail!(
                    "{}: walks and probabilities cannot go to one file; give --posterior another one",
                    posterior.display()
                )
            }
            _ => Ok(()),
        }
    }

    /// Refines batch by batch, and writes each before the next.
    fn refine(
        &self,
        inference: &Inference,
        read: &Released,
        mut walks: Output<'_>,
        mut posterior: Option<Output<'_>>,
    ) -> Result<Sums> {
        let above = self.posterior.as_ref().map(|_| self.above);
        let aim = match self.aim {
            Aim::Distance => RefineAim::Distance,
            Aim::States => RefineAim::States,
        };
        let settings = RefineSettings { aim, lag: self.lag, above };
        let (drawn, all) = (read.drawn(), read.names.len().max(1) as f64);
        let mut sums = Sums::default();
        progress::with_stages(|watch| {
            for first in (0..drawn.len()).step_by(WALKS_AT_A_TIME) {
                let batch = first..drawn.len().min(first + WALKS_AT_A_TIME);
                let watch = |Progress { stage, share }| {
                    let share = (first as f64 + share * batch.len() as f64) / all;
                    watch(Progress { stage, share })
                };
                let (drawn, released) = (&drawn[batch.clone()], &read.states[batch.clone()]);
                let refined = inference.refine_walks(drawn, released, settings, &watch);
                let refined = refined.map_err(|error| self.wrong_walk(error, read, first))?;
                refined.iter().for_each(|walk| sums.add(walk));
                let names = &read.names[batch];
                walks.table.write(&walk_rows(names, released, &refined))?;
                if let Some(posterior) = &mut posterior {
                    posterior.table.write(&posterior_rows(names, refined))?;
                }
            }
            anyhow::Ok(())
        })?;
        // Both are complete before either has its name.
        let complete = [Some(walks), posterior].into_iter().flatten().map(Output::finish);
        complete.collect::<Result<Vec<_>>>()?.into_iter().try_for_each(Complete::commit)?;
        Ok(sums)
    }

    fn wrong_walk(&self, error: RefineError, read: &Released, first: usize) -> anyhow::Error {
        let file = self.release.display();
        match error {
            RefineError::Walk { walk, why } => {
                anyhow!("{file}: the walk {:?}: {why}", read.names[first + walk])
            }
            other => other.into(),
        }
    }

    fn tell(&self, read: &Released, sums: Sums) {
        let (walks, states) = (read.names.len(), sums.states.max(1) as f64);
        let (own, release) = (sums.cost / states, sums.released_cost / states);
        let gain = match self.aim {
            Aim::Distance => format!(
                "the refined walks are expected to be {} from the real states on average, and the release {}",
                with_digits(own),
                with_digits(release)
            ),
            Aim::States => format!(
                "{:.1} % of the refined states are expected to be wrong, and {:.1} % of the released ones",
                100.0 * own,
                100.0 * release
            ),
        };
        let name = if is_standard_output(&self.output) {
            Path::new("standard output")
        } else {
            &self.output
        };
        terminal::note(format!(
            "{}: {}, {}; {gain}",
            name.display(),
            counted(walks, "walk"),
            counted(sums.states, "state")
        ));
        released::tell_quality(sums.dropped / walks.max(1) as f64, sums.surprises);
    }
}

/// A mean distance: nats with three decimals.
fn with_digits(distance: f64) -> String {
    match units::measure() {
        Measure::Nats => format!("{distance:.3} nats"),
        _ => units::figure(distance),
    }
}
