//! `veilwalk kernel`: the exact distribution of what is drawn next.

use anyhow::Result;
use comfy_table::CellAlignment;
use serde_json::json;
use veilwalk::Mechanism;
use veilwalk::internal::request::Made;
use veilwalk::mechanism::Candidates;
use veilwalk::mechanism::plane::NoiseLaw;

use crate::args::{self, ChainArgs, Format, MechanismArgs};
use crate::terminal;

/// Print the exact distribution of the next released state, or of the next observation
///
/// With a mechanism that observes (`tight`, `believed`, `plane`) it is that of the observation. The released state
/// follows from all observations of the walk so far; for `believed`, the distribution is the one when the
/// real state is known to have been --previous before. For `plane`, what is observed are places on the earth without
/// number, and it is the distribution of their distance from the real state.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The state that was released last; for `believed`, the state that the real walk was known to be in;
    /// for `tight` and `plane` it makes no difference
    #[arg(long, value_name = "STATE")]
    previous: String,

    /// The state that the real walk is in now
    #[arg(long, value_name = "STATE")]
    real: String,

    /// How to print it
    #[arg(long, value_enum, default_value_t)]
    format: Format,

    #[command(flatten)]
    chain: ChainArgs,

    #[command(flatten)]
    mechanism: MechanismArgs,
}

/// What the distribution is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Drawn {
    /// The released state.
    Released,
    /// An observation among all states.
    OverAll,
    /// An observation among those that are believed.
    OverBelieved,
    /// An observation on a plane.
    OnAPlane,
}

impl Drawn {
    fn by(mechanism: &Mechanism) -> Self {
        match mechanism.design().candidates {
            Candidates::Moves => Self::Released,
            Candidates::States(_) => Self::OverAll,
            Candidates::Believed(_) => Self::OverBelieved,
            Candidates::Plane => Self::OnAPlane,
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Released => "released",
            Self::OverAll | Self::OverBelieved | Self::OnAPlane => "observed",
        }
    }
}

const OBSERVED: &str = "this is what is observed; the released walk is made of all observations and takes moves of \
                        the chain only";

/// The shares of observations whose distance is told.
const SHARES: [f64; 7] = [0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99];

impl Args {
    /// Points on a plane have no end, so their distance from the real place is told.
    fn print_noise(&self, chosen: &Made, noise: &NoiseLaw) -> Result<()> {
        let rows = SHARES.map(|share| (share, noise.quantile(share)));
        if self.format == Format::Json {
            let within: Vec<_> =
                rows.map(|(share, metres)| json!({ "share": share, "metres": metres })).to_vec();
            let answer = json!({
                "mechanism": chosen.name,
                "previous": self.previous,
                "real": self.real,
                "drawn": Drawn::OnAPlane.word(),
                "within": within,
            });
            return terminal::print(format_args!("{answer:#}"));
        }
        let mut table = terminal::table(&["share", "observed within"]);
        for (share, metres) in rows {
            table.add_row([format!("{:.0} %", 100.0 * share), format!("{metres:.1} m")]);
        }
        for column in table.column_iter_mut() {
            column.set_cell_alignment(CellAlignment::Right);
        }
        terminal::note(format!(
            "how far from {} it is observed, in straight-line metres, whatever was observed before ({}, {})",
            self.real, chosen.name, chosen.promise
        ));
        terminal::note(OBSERVED);
        terminal::print(terminal::lines(&table))
    }
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let model = args.chain.any_model(&args.mechanism.wanted()?)?;
    let chain = model.chain();
    let previous = args::state(chain, "--previous", &args.previous)?;
    let real = args::state(chain, "--real", &args.real)?;
    let chosen = args.mechanism.on(&model)?;
    if let Some(noise) = chosen.mechanism.noise() {
        return args.print_noise(&chosen, &noise);
    }
    let kernel = chosen.mechanism.kernel(previous, real);
    let candidates = chosen.mechanism.candidates(previous);
    let labels = candidates.iter().map(|&state| chain.label(state));
    let drawn = Drawn::by(&chosen.mechanism);
    match args.format {
        Format::Json => {
            let probabilities: serde_json::Map<_, _> =
                labels.zip(&kernel).map(|(label, p)| (label.to_owned(), json!(p))).collect();
            let answer = json!({
                "mechanism": chosen.name,
                "previous": args.previous,
                "real": args.real,
                "drawn": drawn.word(),
                "probabilities": probabilities,
            });
            terminal::print(format_args!("{answer:#}"))?;
        }
        Format::Text => {
            let mut table = terminal::table(&[drawn.word(), "probability"]);
            for (label, p) in labels.zip(&kernel) {
                table.add_row([label.to_owned(), format!("{p:.6}")]);
            }
            if let Some(column) = table.column_mut(1) {
                column.set_cell_alignment(CellAlignment::Right);
            }
            let (previous, real) = (&args.previous, &args.real);
            let when = match drawn {
                Drawn::Released => format!("after {previous}, when the real state is {real}"),
                Drawn::OverAll => {
                    format!("when the real state is {real}, whatever was observed before")
                }
                Drawn::OverBelieved | Drawn::OnAPlane => format!(
                    "when the real state is {real}, and is known to have been {previous} before"
                ),
            };
            terminal::note(format!("{when} ({}, {})", chosen.name, chosen.promise));
            if drawn != Drawn::Released {
                terminal::note(OBSERVED);
            }
            terminal::print(terminal::lines(&table))?;
        }
    }
    Ok(())
}
