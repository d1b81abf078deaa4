//! Which chain, and how it is read.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Result, anyhow, bail};
use clap::{Args, ValueEnum};
use veilwalk::CacheSize;
use veilwalk::chain::{BuildOptions, BuildReport, RowSums, Scope};
use veilwalk::{Chain, Ground, Initial, Model, Start, StateId};
use veilwalk_io::{WalkOptions, WalkReader};

use super::metric::{MetricChoice, WantedMetric};
use super::{Input, any_whole, counted, quoted};
use crate::{open_models, terminal, units};

/// How a chain is read.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Chain")]
pub(crate) struct ChainOptions {
    /// Divide every row of probabilities by its sum, and say by how much it was off
    #[arg(long)]
    normalize: bool,

    /// Keep the largest part whose states all reach each other, and say what was dropped
    #[arg(long)]
    largest_component: bool,

    /// Where the chain's states lie: a CSV file with the columns `state`, `latitude` and `longitude`, in degrees, and
    /// perhaps `name`. (How long moves are is a column `length` of the chain's own file, in metres)
    #[arg(long, value_name = "FILE")]
    places: Option<PathBuf>,

    /// Where released walks start: `uniform`, `stationary`, a state, or a CSV file with the columns
    /// `state` and `probability`. The default is what the file of the chain says of it, else `uniform`;
    /// for a compiled model, what it was compiled with
    #[arg(long, value_name = "WHERE")]
    initial: Option<String>,
}

/// What a chain was read from.
pub(crate) enum Loaded {
    /// A table of its moves, or the program itself.
    Chain(Box<Chain>),
    /// A compiled model.
    Model(Box<Model>),
}

/// A chain, by flag.
#[derive(Debug, Args)]
#[command(next_help_heading = "Chain")]
pub(crate) struct ChainArgs {
    /// A built-in chain (`credit` or `downtown`) or a file: a square matrix, transitions with the
    /// header `from,to,probability` or `from,to,count` (and perhaps `length`), or a model that `veilwalk chain compile` wrote
    #[arg(long, value_name = "CHAIN")]
    chain: String,

    #[command(flatten)]
    options: ChainOptions,

    #[command(flatten)]
    distances: DistanceOptions,
}

/// Where distances come from.
#[derive(Debug, Args)]
#[command(next_help_heading = "Chain")]
pub(crate) struct DistanceOptions {
    /// What distances are taken from: `nats` (how likely moves are), `street` (the shortest way along the lengths of
    /// moves, in metres, in either direction), `line` (the straight line between coordinates, in metres), or a CSV
    /// file with the columns `from`, `to` and `distance` (or `metres`), which has to be a metric
    ///
    /// If not given, it is that of a compiled model, of the release or of the mechanism file; and with a radius in
    /// metres, such as 200m, `street` where moves have lengths and else `line`. In all other cases it is `nats`.
    #[arg(long, value_name = "METRIC")]
    metric: Option<MetricChoice>,

    /// Where distances come from: a `table` of all pairs, searches `on-demand`, or `auto`: a table up
    /// to 16,384 states. What is released is the same either way
    #[arg(long, value_enum, value_name = "HOW", default_value_t)]
    distances: Distances,

    /// How many states the searches that are kept for each thread may have seen, at some 30 bytes a
    /// state; for distances on demand
    #[arg(long, value_name = "STATES", default_value_t = CacheSize::default().0,
          value_parser = any_whole::<usize>())]
    distance_cache: usize,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Distances {
    /// A table up to 16,384 states, searches beyond
    #[default]
    Auto,
    /// A table of all pairs
    Table,
    /// A search for each step
    OnDemand,
}

impl DistanceOptions {
    /// The table of distances, if there is one.
    pub(crate) fn input(&self) -> Option<Input<'_>> {
        let file = self.metric.as_ref().and_then(MetricChoice::file);
        file.map(|path| (path, "the table of distances"))
    }

    /// The chain with its distances: those it was compiled with, if that is what is asked for.
    pub(crate) fn model(&self, loaded: Loaded, wanted: &WantedMetric) -> Result<Model> {
        let model = self.measured(loaded, wanted)?;
        units::settle(model.measure());
        Ok(model)
    }

    /// The metric that is meant.
    fn ground(&self, loaded: &Loaded, wanted: &WantedMetric) -> Result<Ground> {
        let (chain, compiled) = match loaded {
            Loaded::Chain(chain) => (&**chain, None),
            Loaded::Model(model) => (model.chain(), Some(model.ground())),
        };
        if let Some(metric) = &self.metric {
            return metric.ground(chain);
        }
        // A model was compiled for something; if that does not go with what is wanted, that is an error of its own.
        if let Some(compiled) = compiled.filter(|&ground| *ground != Ground::Nats) {
            return Ok(compiled.clone());
        }
        Ok(wanted.ground(chain)?.unwrap_or_default())
    }

    fn measured(&self, loaded: Loaded, wanted: &WantedMetric) -> Result<Model> {
        let ground = self.ground(&loaded, wanted)?;
        let other = match &loaded {
            Loaded::Chain(_) => ground != Ground::Nats,
            Loaded::Model(model) => ground != *model.ground(),
        };
        let loaded = match loaded {
            Loaded::Chain(chain) if other => {
                Loaded::Model(Box::new(Model::measured(*chain, ground)?))
            }
            Loaded::Model(model) if other => {
                Loaded::Model(Box::new(Model::measured(model.chain().clone(), ground)?))
            }
            same => same,
        };
        let chain = match &loaded {
            Loaded::Chain(chain) => chain,
            Loaded::Model(model) => model.chain(),
        };
        let small = chain.len() <= Model::LARGEST_TABLE;
        let table = match self.distances {
            Distances::Table => true,
            Distances::Auto => small,
            Distances::OnDemand => false,
        };
        Ok(match loaded {
            Loaded::Model(model) if table => {
                model.require_tables()?;
                *model
            }
            Loaded::Chain(chain) if table => Model::new(*chain)?,
            Loaded::Model(model) => model.searching(CacheSize(self.distance_cache)),
            Loaded::Chain(chain) => Model::on_demand(*chain, CacheSize(self.distance_cache)),
        })
    }
}

impl ChainArgs {
    /// The files that may be read for it.
    pub(crate) fn inputs(&self) -> Vec<Input<'_>> {
        let mut inputs = self.options.inputs(&self.chain);
        inputs.extend(self.distances.input());
        inputs
    }

    /// Reads the chain and computes its distances. A chain too large for a table of all distances is
    /// refused.
    pub(crate) fn model(&self, wanted: &WantedMetric) -> Result<Arc<Model>> {
        let model = self.any_model(wanted)?;
        model.require_tables()?;
        Ok(model)
    }

    /// Reads a chain of any size, for what needs no table of all distances.
    pub(crate) fn any_model(&self, wanted: &WantedMetric) -> Result<Arc<Model>> {
        let model = Arc::new(self.distances.model(self.options.read(&self.chain)?, wanted)?);
        open_models::list(&model);
        Ok(model)
    }

    /// The flags that give this chain again, for commands that are printed as advice.
    pub(crate) fn as_flags(&self) -> String {
        let mut flags = format!("--chain {}", quoted(&self.chain));
        if self.options.normalize {
            flags += " --normalize";
        }
        if self.options.largest_component {
            flags += " --largest-component";
        }
        if let Some(places) = &self.options.places {
            flags += &format!(" --places {}", quoted(&places.display().to_string()));
        }
        if let Some(initial) = &self.options.initial {
            flags += &format!(" --initial {}", quoted(initial));
        }
        if let Some(metric) = &self.distances.metric {
            flags += &format!(" --metric {}", quoted(&metric.flag()));
        }
        match self.distances.distances {
            Distances::Auto => {}
            Distances::Table => flags += " --distances table",
            Distances::OnDemand => flags += " --distances on-demand",
        }
        flags
    }
}

impl ChainOptions {
    /// Reads a built-in chain, a file or a compiled model, says what was changed on the way, and sets
    /// where walks start.
    pub(crate) fn read(&self, name: &str) -> Result<Loaded> {
        let chain = match name {
            "credit" => Chain::credit(),
            "downtown" => Chain::downtown(),
            path => {
                if path == "-" {
                    bail!("a chain is not read from standard input; name its file instead of `-`");
                }
                if !Path::new(path).exists() {
                    bail!(
                        "there is no chain file {path}; give a file, or one of the built-in chains \
                         `credit` and `downtown`"
                    );
                }
                let path = Path::new(path);
                if path.is_file() && veilwalk_io::is_model(path)? {
                    return self.read_model(path);
                }
                let read = veilwalk_io::read_chain(path, self.build());
                let (chain, report) = read.map_err(|error| match holds_walks(path) {
                    true => anyhow!(
                        "{name}: this is a file of walks, and a chain is asked for; `veilwalk chain \
                         fit WALKS -o CHAIN` counts the moves of walks and writes a chain. A chain is \
                         public: one that is fitted on sensitive walks tells about them, so fit it on \
                         walks that need no protection"
                    ),
                    false => error.into(),
                })?;
                tell(name, &report);
                chain
            }
        };
        let chain = match &self.places {
            Some(places) => veilwalk_io::read_places(places, chain)?,
            None => chain,
        };
        let chain = match &self.initial {
            Some(initial) => {
                let initial = self.initial(&chain, initial)?;
                chain.with_initial(initial)
            }
            None => chain,
        };
        Ok(Loaded::Chain(Box::new(chain)))
    }

    fn read_model(&self, path: &Path) -> Result<Loaded> {
        for (given, flag) in [
            (self.normalize, "--normalize"),
            (self.largest_component, "--largest-component"),
            (self.places.is_some(), "--places"),
        ] {
            if given {
                bail!(
                    "{}: {flag} changes how a chain is read, and this model is already compiled; \
                     give the flag to `veilwalk chain compile`",
                    path.display()
                );
            }
        }
        let model = veilwalk_io::read_model(path)?;
        Ok(Loaded::Model(Box::new(match &self.initial {
            Some(initial) => {
                let initial = self.initial(model.chain(), initial)?;
                model.with_initial(initial)
            }
            None => model,
        })))
    }

    /// The files that may be read for a chain of this name.
    pub(crate) fn inputs<'a>(&'a self, chain: &'a str) -> Vec<Input<'a>> {
        let mut inputs = vec![(Path::new(chain), "the chain")];
        inputs.extend(self.places.iter().map(|path| (path.as_path(), "the places of the states")));
        inputs.extend(self.initial.iter().map(|i| (Path::new(i), "the initial distribution")));
        inputs
    }

    /// The repairs that were asked for.
    pub(crate) fn build(&self) -> BuildOptions {
        BuildOptions {
            row_sums: if self.normalize { RowSums::Normalize } else { RowSums::Check },
            scope: if self.largest_component { Scope::LargestComponent } else { Scope::Whole },
        }
    }

    fn initial(&self, chain: &Chain, name: &str) -> Result<Initial> {
        Ok(match name {
            "uniform" => Initial::uniform(chain.len()),
            "stationary" => Initial::stationary(chain)?,
            label => match chain.state(label) {
                Some(state) => Initial::at(state, chain.len()),
                None if Path::new(name).exists() => {
                    veilwalk_io::read_initial(Path::new(name), chain)?
                }
                None => bail!(
                    "--initial {name}: this is neither a state of the chain nor a file; give \
                     `uniform`, `stationary`, one of its states ({}), or a CSV file with the columns \
                     `state` and `probability`",
                    some_states(chain)
                ),
            },
        })
    }
}

/// The chain of a file, or a built-in one, that says how real walks move beside the chain of a release.
pub(crate) fn prior(name: &str) -> Result<Chain> {
    Ok(match ChainOptions::default().read(name)? {
        Loaded::Chain(chain) => *chain,
        Loaded::Model(model) => model.chain().clone(),
    })
}

/// Whether a file that is no chain has the columns of walks.
fn holds_walks(path: &Path) -> bool {
    let reader = WalkReader::open(path, WalkOptions::default());
    reader.is_ok_and(|mut reader| matches!(reader.next_row(), Ok(Some(_))))
}

/// Says what reading a chain changed, and what the user should know of it.
pub(crate) fn tell(name: &str, report: &BuildReport) {
    if let Some(worst) =
        report.rescaled.iter().max_by(|a, b| (a.sum - 1.0).abs().total_cmp(&(b.sum - 1.0).abs()))
    {
        terminal::note(format!(
            "{name}: {} rescaled to sum to 1; the farthest off was that of {:?}, at {:.9}",
            counted(report.rescaled.len(), "row"),
            worst.state,
            worst.sum
        ));
    }
    if !report.dropped_states.is_empty() {
        let shown: Vec<_> =
            report.dropped_states.iter().take(5).map(|s| format!("{s:?}")).collect();
        let more = if report.dropped_states.len() > shown.len() { ", …" } else { "" };
        terminal::note(format!(
            "{name}: {} and {} outside the largest component dropped: {}{more}",
            counted(report.dropped_states.len(), "state"),
            counted(report.dropped_transitions, "transition"),
            shown.join(", ")
        ));
    }
    if report.period > 1 {
        terminal::warning(format!(
            "{name}: the chain has period {}; releases are not affected, but a walk on it never \
             settles, so long-run figures are averages over time",
            report.period
        ));
    }
}

/// The state that a flag names.
pub(crate) fn state(chain: &Chain, flag: &str, label: &str) -> Result<StateId> {
    chain.require(label).map_err(|unknown| match unknown.closest {
        Some(_) => anyhow!("{flag}: {unknown}"),
        None => anyhow!("{flag}: {unknown}; give one of its states ({})", some_states(chain)),
    })
}

/// How released walks start, as `--start` says.
pub(crate) fn start(chain: &Chain, text: &str) -> Result<Start> {
    let start = match Start::WORDS.iter().find(|(word, _)| *word == text) {
        Some(&(_, start)) => start,
        None => {
            Start::At(state(chain, "--start (`private`, `initial`, `first` or a state)", text)?)
        }
    };
    let large = chain.len() > Model::LARGEST_TABLE;
    if start == Start::Initial && large && chain.initial().only().is_none() {
        terminal::warning(
            "released walks may start far from the real ones, and on a chain this large every step is a \
             long search until they have caught up; --start private avoids that",
        );
    }
    Ok(start)
}

/// The labels of the first few states, for messages.
fn some_states(chain: &Chain) -> String {
    const MOST: usize = 12;
    let mut shown: Vec<_> =
        chain.states().take(MOST).map(|s| format!("{:?}", chain.label(s))).collect();
    if chain.len() > MOST {
        shown.push("…".to_owned());
    }
    shown.join(", ")
}
