//! Our side of `bench/peers`: each subcommand does one job, times it, and prints a line of JSON.
//!
//! What it hands to the other side (`peers.py`) is written as plain numbers, so that the peers work
//! on the very same chain, and so that their answers can be compared with ours.

mod coins;
mod growth;
mod handover;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result};
use clap::{Parser, Subcommand};
use serde_json::json;
use veilwalk::analysis::{Origin, OwnWalks};
use veilwalk::chain::{BuildOptions, ChainBuilder, Entries, RowSums, Scope};
use veilwalk::internal::distance::Nearest;
use veilwalk::internal::mechanism::Workspace;
use veilwalk::session::{FollowedWalk, Follower};
use veilwalk::{Chain, Distance, Mechanism, Model, Nats, Preset, Promise, Source, Start, StateId};

#[derive(Parser)]
struct Cli {
    #[command(subcommand)]
    job: Job,
}

#[derive(Subcommand)]
enum Job {
    /// All distances of a chain, on all cores; the chain and the distances are handed over
    AllPairs {
        chain: PathBuf,
        handover: PathBuf,
        #[arg(long, default_value_t = 5)]
        repeat: usize,
    },
    /// The same for a chain in which every move is possible
    Dense {
        states: usize,
        handover: PathBuf,
        #[arg(long, default_value_t = 3)]
        repeat: usize,
    },
    /// Steps of a mechanism at epsilon 1 and radius 1, one core, with cryptographic randomness; the
    /// walks and what the steps look up are handed over
    Steps {
        chain: PathBuf,
        handover: PathBuf,
        #[arg(long, default_value = "cell")]
        mechanism: String,
        #[arg(long, default_value_t = 1_000_000)]
        steps: usize,
    },
    /// Observations by `tight` at epsilon 1 and radius 1 and the walk made of them, one core; the kernel and
    /// the walks are handed over
    Observe {
        chain: PathBuf,
        handover: PathBuf,
        #[arg(long, default_value_t = 200_000)]
        steps: usize,
    },
    /// A compiled model opened, beside reading the same chain and computing its distances
    Open { chain: PathBuf, model: PathBuf },
    /// Steps with exact coins or with doubles, to be counted by a profiler
    Coins {
        chain: PathBuf,
        #[arg(long, default_value = "cell")]
        mechanism: String,
        #[arg(long)]
        coins: coins::Coins,
        #[arg(long)]
        steps: usize,
    },
    /// Time and memory from a hundred states to a million, drawn into a file
    Growth { picture: PathBuf },
    /// Hands a chain over
    HandOver { chain: PathBuf, handover: PathBuf },
}

fn main() -> Result<()> {
    let figures = match Cli::parse().job {
        Job::AllPairs { chain, handover, repeat } => all_pairs(read(&chain)?, &handover, repeat)?,
        Job::Dense { states, handover, repeat } => all_pairs(dense(states)?, &handover, repeat)?,
        Job::Steps { chain, handover, mechanism, steps } => {
            take_steps(read(&chain)?, &mechanism, &handover, steps)?
        }
        Job::Observe { chain, handover, steps } => observe(read(&chain)?, &handover, steps)?,
        Job::Open { chain, model } => open(read(&chain)?, &model)?,
        Job::Coins { chain, mechanism, coins, steps } => {
            coins::take(read(&chain)?, &mechanism, coins, steps)?
        }
        Job::Growth { picture } => growth::growth(&picture)?,
        Job::HandOver { chain, handover } => {
            handover::chain(&handover, &read(&chain)?)?;
            json!({})
        }
    };
    println!("{figures}");
    Ok(())
}

fn read(path: &std::path::Path) -> Result<Chain> {
    let largest = BuildOptions { scope: Scope::LargestComponent, row_sums: RowSums::Check };
    Ok(veilwalk_io::read_chain(path, largest)?.0)
}

/// The shortest of several times, in seconds, and the last result.
fn shortest<T>(repeat: usize, mut work: impl FnMut() -> T) -> (f64, T) {
    let mut best = f64::INFINITY;
    let mut run = || {
        let start = Instant::now();
        let result = work();
        best = best.min(start.elapsed().as_secs_f64());
        result
    };
    let mut last = run();
    for _ in 1..repeat {
        last = run();
    }
    (best, last)
}

fn all_pairs(chain: Chain, handover: &std::path::Path, repeat: usize) -> Result<serde_json::Value> {
    let (seconds, table) =
        shortest(repeat, || veilwalk::internal::distance::DistanceTable::directed(&chain));
    handover::chain(handover, &chain)?;
    handover::distances(handover, table.rows())?;
    Ok(json!({
        "states": chain.len(),
        "transitions": chain.transitions(),
        "seconds": seconds,
    }))
}

/// Opening includes every check of the file; computing does not include reading the chain.
fn open(chain: Chain, path: &std::path::Path) -> Result<serde_json::Value> {
    let (compute, computed) = shortest(3, || {
        let model = Model::new(chain.clone())?;
        let _ = model.symmetric();
        Ok::<_, anyhow::Error>(model)
    });
    let (open, opened) = shortest(10, || veilwalk_io::read_model(path));
    anyhow::ensure!(opened?.directed() == computed?.directed(), "the model is another");
    Ok(json!({ "compute": compute, "open": open }))
}

fn take_steps(
    chain: Chain,
    preset: &str,
    handover: &std::path::Path,
    steps: usize,
) -> Result<serde_json::Value> {
    let mechanism = mechanism(chain, preset)?;
    let chain = mechanism.model().chain();
    let real = own_walk(chain, steps)?;
    let mut randomness = Source::system().open(mechanism.fingerprint())?;
    let walk = randomness.walk(b"peers");
    let words = randomness.at(&walk, 0, None);
    let mut space = Workspace::default();
    let (seconds, released) = shortest(10, || {
        let mut released = Vec::with_capacity(real.len());
        released.push(real[0]);
        for step in 1..real.len() {
            released.push(mechanism.step(released[step - 1], real[step], words, &mut space));
        }
        released
    });
    let seconds = seconds / steps as f64;
    let candidates: usize = released[..steps].iter().map(|&z| chain.successors(z).len()).sum();
    handover::chain(handover, chain)?;
    handover::distances(handover, table(&mechanism)?)?;
    handover::scales(handover, &mechanism)?;
    handover::states(&handover.join("real.u32"), &real)?;
    handover::states(&handover.join("released.u32"), &released)?;
    Ok(json!({
        "seconds_per_step": seconds,
        "candidates_per_step": candidates as f64 / steps as f64,
    }))
}

fn observe(chain: Chain, handover: &std::path::Path, steps: usize) -> Result<serde_json::Value> {
    let start = Instant::now();
    let mechanism = mechanism(chain, "tight")?;
    let set_up = start.elapsed().as_secs_f64();
    let chain = mechanism.model().chain();
    let real = own_walk(chain, steps)?;
    let mut randomness = Source::system().open(mechanism.fingerprint())?;
    let walk = randomness.walk(b"peers");
    let words = randomness.at(&walk, 0, None);
    let mut space = Workspace::default();
    let (drawing, observed) = shortest(5, || {
        real.iter().map(|&x| mechanism.step(x, x, words, &mut space)).collect::<Vec<_>>()
    });
    let mut follower = Follower::new(&mechanism, Start::Private).context("it observes")?;
    let (following, (released, memory)) = shortest(2, || {
        let mut walk = FollowedWalk::default();
        let mut states = Vec::with_capacity(observed.len());
        let mut memory = 0;
        for &state in &observed {
            follower.push(&mut walk, state.into(), &mut states);
            memory += walk.memory();
        }
        (states, memory / observed.len())
    });
    handover::chain(handover, chain)?;
    handover::distances(handover, mechanism.model().symmetric().rows())?;
    handover::kernel(handover, &mechanism)?;
    handover::states(&handover.join("real.u32"), &real)?;
    handover::states(&handover.join("observed.u32"), &observed)?;
    handover::states(&handover.join("released.u32"), &released)?;
    let seconds = |whole: f64| whole / observed.len() as f64;
    Ok(json!({
        "set_up": set_up,
        "seconds_per_observation": seconds(drawing),
        "seconds_per_step": seconds(following),
        "bytes_per_walk": memory,
    }))
}

/// The mechanism of this name at epsilon 1 and radius 1.
fn mechanism(chain: Chain, preset: &str) -> Result<Mechanism> {
    let preset: Preset = preset.parse()?;
    let promise = Promise::within_radius("1".parse()?, "1".parse()?);
    Ok(Mechanism::new(Arc::new(Model::new(chain)?), preset.design(), promise)?)
}

/// What the steps of a mechanism look up: for each last state and real state the distances of the
/// candidates, or for each real state those of all states.
fn table(mechanism: &Mechanism) -> Result<&[Nats]> {
    let model = mechanism.model();
    Ok(match mechanism.design().distance {
        Distance::Directed => model.directed().rows(),
        Distance::Symmetric => model.symmetric().rows(),
        Distance::Cell => model.cells(Nearest::Directed)?.all_distances(),
        other => anyhow::bail!("there is no peer for the distance {other}"),
    })
}

/// A walk of the chain from its first state, always the same.
fn own_walk(chain: &Chain, steps: usize) -> Result<Vec<StateId>> {
    let mut randomness = Source::seeded(1).open([0; 32])?;
    let key = randomness.walk(b"real");
    let from = Origin::At(StateId::new(0));
    Ok(OwnWalks::new(chain).walk(from, steps, randomness.at(&key, 0, None)))
}

/// Every move possible, with counts that differ widely.
fn dense(states: usize) -> Result<Chain> {
    let mut number = 1u64;
    let mut next = || {
        number =
            number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        number >> 40
    };
    let mut builder = ChainBuilder::new(Entries::Counts);
    let ids: Vec<StateId> = (0..states).map(|i| builder.state(&i.to_string())).collect();
    for &from in &ids {
        for &to in &ids {
            builder.transition(from, to, (1 + next()) as f64)?;
        }
    }
    Ok(builder.build(BuildOptions::default())?.0)
}
