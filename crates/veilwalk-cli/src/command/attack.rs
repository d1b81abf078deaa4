//! `veilwalk attack`: what somebody who knows the chain can guess of a real walk.

use anyhow::Result;
use comfy_table::CellAlignment;
use serde_json::json;
use veilwalk::analysis::{Attack, Attacked, Guess, attack};
use veilwalk::inference::Inference;

use crate::args::{self, Format, any_whole, counted, thousands, whole};
use crate::own_walks::start_in_words;
use crate::progress::with_stages;
use crate::study::{Study, StudyArgs};
use crate::terminal;

/// Count how often somebody who knows the chain guesses right from a release
///
/// The attacker knows the chain, the mechanism and everything that was released, and guesses what is likeliest
/// given all of it. Nobody who knows no more can do better. Walks of the chain's own (or those of --real) are released and guessed;
/// beside the share of right guesses stands what the chain alone tells, and what the release says when it is
/// taken for the real walk. The odds say by how much a release changes what is believed of the true state.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Figures")]
pub(crate) struct Args {
    #[command(flatten)]
    study: StudyArgs,

    /// How many of the chain's own walks are attacked
    #[arg(long, value_name = "COUNT", default_value_t = 1000,
          value_parser = whole::<usize>(2..=10_000_000))]
    walks: usize,

    /// What the attacker holds likely of real walks, if that is another chain than the public one: a chain with
    /// the same states, such as one from `veilwalk estimate`
    #[arg(long, value_name = "CHAIN")]
    prior: Option<String>,

    /// Take the randomness of walks and releases from this number
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = any_whole::<u64>())]
    seed: u64,

    /// How to print it
    #[arg(long, value_enum, default_value_t, help_heading = None)]
    format: Format,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let model = args.study.release.any_model()?;
    let chain = model.chain();
    let Study { origin, start, real } = args.study.read(chain)?;
    let chosen = args.study.release.asked()?.starting(start).on(&model)?;
    let mut inference = Inference::new(chosen.mechanism.clone(), start)?;
    if let Some(prior) = &args.prior {
        inference = inference.with_prior(&args::prior(prior)?)?;
    }
    let attacked = match &real {
        Some(real) => Attacked::Given(&real.walks),
        None => Attacked::Own { origin, steps: args.study.own.steps, walks: args.walks },
    };
    let found = with_stages(|watch| attack(&inference, attacked, args.seed, watch))?;
    let walks = match &real {
        Some(real) => real.in_words(),
        None => {
            format!(
                "{} walks of the chain's own, {}",
                thousands(found.walks),
                args.study.own.in_words()
            )
        }
    };
    let (start_words, start) = start_in_words(chain, start);
    match args.format {
        Format::Json => {
            let mut answer = serde_json::to_value(&found)?;
            answer["mechanism"] = chosen.name.clone().into();
            answer["promise"] = json!(chosen.promise.to_string());
            answer["attacked"] = walks.into();
            answer["start"] = start.into();
            answer["seed"] = args.seed.into();
            terminal::print(format_args!("{answer:#}"))
        }
        Format::Text => {
            terminal::print(format_args!("{}: {}", chosen.name, chosen.promise))?;
            terminal::print(format_args!("{walks}; releases start {start_words}\n"))?;
            print(&found)
        }
    }
}

fn print(found: &Attack) -> Result<()> {
    let header = ["right guesses of", "attacker", "±", "chain alone", "release"];
    let mut table = terminal::table(&header);
    let rows: [(&str, &Guess); 5] = [
        ("a state", &found.state),
        ("the first state", &found.first),
        ("the last state", &found.last),
        ("the state visited most", &found.most_visited),
        ("the whole walk", &found.whole_walk),
    ];
    let share = |share: f64| format!("{:.1} %", 100.0 * share);
    for (name, guess) in rows {
        table.add_row([
            name.to_owned(),
            share(guess.attacker),
            format!("{:.1}", 100.0 * guess.standard_error),
            share(guess.chain_alone),
            share(guess.release),
        ]);
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    terminal::print(terminal::lines(&table))?;
    let odds = found.odds;
    terminal::print("")?;
    terminal::print(terminal::wrapped(&format!(
        "The odds of the true state moved by a factor of {} in half of all {}, and of up to {} in nine of ten; \
         the largest factor was {}.",
        factor(odds.median),
        counted(found.states, "state"),
        factor(odds.p90),
        factor(odds.max)
    )))?;
    terminal::print(terminal::wrapped(&format!(
        "For every 100 states that the attacker guesses right, {} released states are right. The more, the more \
         of what leaks is of use.",
        (100.0 * found.efficiency).round()
    )))
}

fn factor(factor: f64) -> String {
    match factor {
        huge if huge > 1e6 => "more than a million".to_owned(),
        large if large >= 100.0 => thousands(large.round() as usize),
        small => format!("{small:.2}"),
    }
}
