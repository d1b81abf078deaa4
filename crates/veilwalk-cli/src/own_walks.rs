//! The flags for the chain's own walks: where they start, how many steps, and how releases start.

use anyhow::Result;
use veilwalk::analysis::Origin;
use veilwalk::{Chain, Start};

use crate::args::{self, counted, quoted, whole};

/// Which real walks figures are averaged over.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Real walks")]
pub(crate) struct OwnWalkArgs {
    /// Where the chain's own walks start: a state, or `initial` for its initial distribution
    #[arg(long, value_name = "STATE", default_value = "initial")]
    from: String,

    /// How many steps they take after the start
    #[arg(long, value_name = "COUNT", default_value = "100",
          value_parser = whole::<usize>(1..=10_000_000))]
    pub(crate) steps: usize,

    /// How released walks start: `private` (drawn near the real first state), `initial` (drawn from the
    /// initial distribution), `first` (the real first state) or a state. If not given: `first` with
    /// --from STATE, since all walks then start there, and `private` otherwise, as `veilwalk privatize`
    /// does
    #[arg(long, value_name = "HOW")]
    start: Option<String>,
}

impl OwnWalkArgs {
    /// Where real walks start.
    pub(crate) fn origin(&self, chain: &Chain) -> Result<Origin> {
        Ok(match self.from.as_str() {
            "initial" => Origin::Initial,
            label => Origin::At(args::state(chain, "--from (`initial` or a state)", label)?),
        })
    }

    /// How released walks start, when real walks start there.
    pub(crate) fn start(&self, chain: &Chain, origin: Origin) -> Result<Start> {
        Ok(match (self.start.as_deref(), origin) {
            (None, Origin::Initial) => Start::Private,
            (None, Origin::At(_)) => Start::First,
            (Some(text), _) => args::start(chain, text)?,
        })
    }

    /// The walks in words.
    pub(crate) fn in_words(&self) -> String {
        let from = match self.from.as_str() {
            "initial" => "a state of the initial distribution",
            label => label,
        };
        format!("{} from {from}", counted(self.steps, "step"))
    }
}

/// How releases start, in words and as the flag has it.
pub(crate) fn start_in_words(chain: &Chain, start: Start) -> (String, String) {
    let name = start.name(chain).to_owned();
    let words = match start {
        Start::Private => "near the real first state, privately".to_owned(),
        Start::Initial => "at a state of the initial distribution".to_owned(),
        Start::First => "at the real first state".to_owned(),
        Start::At(_) => format!("at {name}"),
    };
    (words, name)
}

/// The flag that releases walks with this start, where that is not what `privatize` does unless told
/// otherwise.
pub(crate) fn start_flag(chain: &Chain, start: Start) -> String {
    match start {
        Start::Private => String::new(),
        other => format!(" --start {}", quoted(other.name(chain))),
    }
}

/// A distance or a width in nats, for flags that take several.
pub(crate) fn parse_nats(text: &str) -> Result<f64, String> {
    match text.trim().parse::<f64>() {
        Ok(nats) if nats.is_finite() && nats >= 0.0 => Ok(nats),
        _ => Err("give a number of nats from 0 up, such as 2.5".to_owned()),
    }
}
