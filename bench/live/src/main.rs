//! Drives `veilwalk serve` over real sockets, as fast as it answers, and holds every answer to the rules: each step of each walk
//! has one released state among all that was ever sent out, and every step that was sent has one.
//!
//! `echo` is the same service without the mechanism: HTTP by the same library, the same rows in the same kind of store with one
//! wait for the disk for what came together, and the real state as the answer. What it is faster by is ours.

mod echo;
mod http;
mod mqtt;
mod nats;
mod record;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use clap::{Parser, Subcommand};

use self::record::Record;

/// Drives veilwalk serve, and holds every answer to the rules
#[derive(Parser)]
struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Clone, Debug, clap::Args)]
struct Load {
    /// How many walks are under way
    #[arg(long, default_value_t = 1_000)]
    walks: u64,

    /// For how many seconds
    #[arg(long, default_value_t = 10)]
    seconds: u64,

    /// How many steps of each walk are sent at most, in rounds over all walks
    #[arg(long, default_value_t = u64::MAX)]
    steps: u64,

    /// What the names of walks begin with; another one for every run against one service
    #[arg(long, default_value = "run")]
    name: String,
}

#[derive(Subcommand)]
enum What {
    /// Over HTTP, in batches or singly
    Http {
        #[command(flatten)]
        load: Load,
        /// Where the service listens
        #[arg(long, default_value = "127.0.0.1:8700")]
        address: SocketAddr,
        /// How many steps are in a request
        #[arg(long, default_value_t = 100)]
        batch: u64,
        /// How many connections there are
        #[arg(long, default_value_t = 32)]
        connections: u64,
    },
    /// By an MQTT broker, on fleet/+/real
    Mqtt {
        #[command(flatten)]
        load: Load,
        /// Where the broker is
        #[arg(long, default_value = "127.0.0.1:1883")]
        address: SocketAddr,
        /// How many steps wait for their answer
        #[arg(long, default_value_t = 2_000)]
        ahead: usize,
    },
    /// By a NATS server, on fleet.*.real
    Nats {
        #[command(flatten)]
        load: Load,
        /// Where the server is
        #[arg(long, default_value = "127.0.0.1:4222")]
        address: SocketAddr,
        /// How many steps wait for their answer
        #[arg(long, default_value_t = 2_000)]
        ahead: usize,
    },
    /// Serve HTTP without a mechanism, until it is killed
    Echo {
        /// Where to listen
        #[arg(long, default_value = "127.0.0.1:8701")]
        address: SocketAddr,
        /// A new directory for the store
        #[arg(long)]
        state: PathBuf,
    },
}

fn main() -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        match Args::parse().what {
            What::Http { load, address, batch, connections } => {
                http::drive(&load, address, batch.max(1), connections.max(1)).await?.report("http")
            }
            What::Mqtt { load, address, ahead } => {
                mqtt::drive(&load, address, ahead.max(1)).await?.report("mqtt")
            }
            What::Nats { load, address, ahead } => {
                nats::drive(&load, address, ahead.max(1)).await?.report("nats")
            }
            What::Echo { address, state } => echo::serve(address, &state).await,
        }
    })
}

impl Load {
    fn time(&self) -> Duration {
        Duration::from_secs(self.seconds)
    }

    /// The name of a walk.
    fn walk(&self, walk: u64) -> String {
        format!("{}-{walk}", self.name)
    }
}

/// The labels of the chain `credit`.
const STATES: [&str; 8] = ["Aaa", "Aa", "A", "Baa", "Ba", "B", "Caa", "Ca/C"];

/// A real state that follows from the step, so that all runs send the same.
fn real(walk: u64, step: u64) -> &'static str {
    let mixed =
        (walk.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ step.wrapping_mul(0xd1b5_4a32_d192_ed03)) >> 33;
    STATES[(mixed % 8) as usize]
}
