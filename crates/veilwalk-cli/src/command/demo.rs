//! `veilwalk demo`: the credit example from end to end.

use std::sync::Arc;

use anstyle::{AnsiColor, Style};
use anyhow::Result;
use veilwalk::internal::nats::in_nats;
use veilwalk::mechanism::Unit;
use veilwalk::session::Releaser;
use veilwalk::{Chain, Mechanism, Model, Preset, Promise, Source, Start, StateId};

use crate::args::any_whole;
use crate::terminal;

/// See a real walk on the credit-rating chain beside its private releases
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Take randomness from this number, to see the same releases again
    #[arg(long, value_name = "NUMBER", value_parser = any_whole::<u64>())]
    seed: Option<u64>,
}

/// Ten yearly ratings of one firm.
const WALK: [&str; 10] = ["Caa", "Ca/C", "Caa", "Caa", "Caa", "Caa", "B", "Caa", "Ca/C", "Ca/C"];
const EPSILONS: [&str; 4] = ["0.1", "1", "2", "5"];
const MECHANISMS: [Preset; 4] = [Preset::Chen, Preset::Paper, Preset::Sharp, Preset::Cell];
const RADIUS: &str = "3.5";
const DEVIATION: Style = AnsiColor::Yellow.on_default().bold();

pub(crate) fn run(args: &Args) -> Result<()> {
    let model = Arc::new(Model::new(Chain::credit())?);
    let chain = model.chain();
    let real = WALK.iter().map(|label| chain.require(label)).collect::<Result<Vec<_>, _>>()?;
    let source = args.seed.map_or_else(Source::system, Source::seeded);

    terminal::print(
        "A firm's yearly credit ratings are a walk on a public Markov chain of nine ratings.\n\
         Each row below was released in place of the first one, state by state. Every released\n\
         walk takes only moves that the chain allows. A * marks a state that is not the real one.\n",
    )?;
    let labels = |walk: &[StateId]| {
        let states = walk.iter().zip(&real).map(|(&y, &x)| {
            let label = chain.label(y);
            if y == x {
                format!("{label:<6}")
            } else {
                let shown = format!("{label}*");
                let padding = " ".repeat(6 - shown.len());
                format!("{DEVIATION}{shown}{DEVIATION:#}{padding}")
            }
        });
        states.collect::<String>().trim_end().to_owned()
    };
    terminal::print("epsilon  mechanism  walk")?;
    terminal::print(format_args!("         (real)     {}", labels(&real)))?;
    for epsilon in EPSILONS {
        terminal::print("")?;
        for preset in MECHANISMS {
            let released = release(&model, preset, epsilon, &real, &source)?;
            let (name, walk) = (preset.name(), labels(&released));
            terminal::print(format_args!("{epsilon:<7}  {name:<9}  {walk}"))?;
        }
    }
    terminal::print(format_args!("\n{}", explanation(&model)))?;
    if args.seed.is_some() {
        terminal::warning("made with --seed: whoever knows the seed can undo it; NOT private");
    }
    Ok(())
}

fn release(
    model: &Arc<Model>,
    preset: Preset,
    epsilon: &str,
    real: &[StateId],
    source: &Source,
) -> Result<Vec<StateId>> {
    let unit = if preset.counts_substitutions() {
        Unit::Substitutions(1.try_into()?)
    } else {
        Unit::Radius(RADIUS.parse()?)
    };
    let promise = Promise { epsilon: epsilon.parse()?, unit };
    let mechanism = Arc::new(Mechanism::new(model.clone(), preset.design(), promise)?);
    let mut releaser = Releaser::new(mechanism, source, Start::First)?;
    Ok(releaser.release("demo", real)?.states)
}

fn explanation(model: &Model) -> String {
    let chain = model.chain();
    let radius = RADIUS.parse().unwrap_or(0.0);
    let mut covered = Vec::new();
    for x in chain.states() {
        for y in chain.states().filter(|&y| y > x) {
            if model.symmetric().between(x, y).as_f64() <= radius {
                covered.push(format!("{} and {}", chain.label(x), chain.label(y)));
            }
        }
    }
    let closest = model.closest_pair().map(|pair| in_nats(pair.distance)).unwrap_or_default();
    format!(
        "What is protected: replacing ratings that are within {} of each other, in all.\n\
         On this chain: {}.\n\
         The odds of the two walks change by a factor of at most exp(epsilon). With a radius below\n\
         {closest} no two walks would be protected from each other at all. `chen` protects one\n\
         replaced rating instead, whichever it is. The first rating is released as it is here, so\n\
         that the rows compare; by default it is drawn from a public distribution.\n\
         \n\
         Next (`cargo install --locked --path crates/veilwalk-cli` makes `veilwalk` a command):\n  \
         veilwalk chain check credit\n  \
         veilwalk kernel --chain credit --previous Caa --real Ca/C --epsilon 1 --radius {RADIUS}\n  \
         veilwalk privatize examples/ratings.csv --chain credit --epsilon 1 --radius {RADIUS}\n  \
         veilwalk privatize --help",
        in_nats(RADIUS),
        covered.join(", "),
    )
}
