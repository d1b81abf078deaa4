//! The comparison for people.

use std::fmt::Write;

use comfy_table::CellAlignment;
use veilwalk::analysis::{Comparison, Setting};
use veilwalk::internal::compare::{Basis, Purpose};
use veilwalk::internal::guarantee::FigureKind;

use super::command;
use super::delay::Delay;
use super::success::Success;
use crate::args::counted;
use crate::command::analyze::{chance, percent};
use crate::units::nats;
use crate::{terminal, units};

pub(super) fn page(
    setting: &Setting,
    walks: &str,
    start: &str,
    comparisons: &[Comparison],
    successes: &[Success],
    delays: &[Delay],
    chain_flags: &str,
) -> String {
    let mut page = format!("Real walks: {walks}\nReleases start {start}\n");
    for comparison in comparisons {
        section(&mut page, setting, comparison, chain_flags);
    }
    successes.iter().for_each(|success| success.section(&mut page));
    delays.iter().for_each(|delay| delay.section(&mut page, comparisons, chain_flags));
    let _ = writeln!(
        page,
        "\n{:<14}of steps release another state than the real one\n\
         {:<14}from the released to the real state, over all steps\n\
         {:<14}of the released walk, per transition; the nearer to the real one, the more typical\n\
         {:<14}share of steps at which the released state is farther than that\n\
         {:<14}of replacing one state by the worst other one: the odds between the two walks\n\
         {:<14}change by exp(loss) at most",
        "wrong states",
        "mean distance",
        "entropy",
        format!("over {}", units::number(setting.level)),
        "loss",
        ""
    );
    page.trim_end().to_owned()
}

fn section(page: &mut String, setting: &Setting, comparison: &Comparison, chain_flags: &str) {
    let epsilon = comparison.epsilon;
    let _ = match comparison.basis {
        Basis::Radius(radius) => writeln!(
            page,
            "\nAt equal epsilon and radius: epsilon {epsilon}, radius {}\n  Each scale is what \
             the mechanism's own proof gives; what is lost differs (last column).",
            radius.in_words()
        ),
        Basis::Substitutions(count) => writeln!(
            page,
            "\nAt equal epsilon and number of replaced states: epsilon {epsilon}, {}\n  Each scale is what \
             the mechanism's own proof gives; what is lost differs (last column).",
            counted(count.get() as usize, "substitution")
        ),
        Basis::Loss => writeln!(
            page,
            "\nAt equal exact loss: replacing any one state loses {epsilon}\n  The fair comparison: \
             all give the same away, whichever adjacency they were made for."
        ),
    };
    let over = format!("over {}", units::number(setting.level));
    let header = ["mechanism", "wrong states", "mean distance", "entropy", &over, "loss"];
    let mut table = terminal::table(&header);
    let mut refused = Vec::new();
    let mut bounded = false;
    let (mut real, mut simulated) = (None, None);
    for row in &comparison.rows {
        let measured = match &row.outcome {
            Ok(measured) => measured,
            Err(why) => {
                refused.push(format!("{}: {why}", row.preset));
                continue;
            }
        };
        let utility = &measured.utility;
        simulated = simulated.max(measured.simulated.map(|simulated| simulated.walks));
        real = Some(utility.entropy_nats.real);
        let off = |purpose| measured.simulated.map(|_| measured.standard_error(purpose));
        let sign = match measured.figures {
            FigureKind::Exact => "",
            FigureKind::UpperBound => "≤ ",
        };
        bounded |= measured.figures == FigureKind::UpperBound;
        table.add_row([
            row.preset.to_string(),
            with_error(percent, utility.wrong_state_share, off(Purpose::WrongStates)),
            with_error(units::figure, utility.mean_distance_nats, off(Purpose::Closeness)),
            nats(utility.entropy_nats.released),
            chance(utility.exceedance[0].per_step),
            format!("{sign}{}", chance(measured.loss)),
        ]);
    }
    let dash = || "-".to_owned();
    let alone = &comparison.alone;
    table.add_row([
        "(chain alone)".into(),
        percent(alone.wrong_state_share),
        units::figure(alone.mean_distance_nats),
        nats(alone.entropy_nats.released),
        chance(alone.exceedance[0].per_step),
        "0".into(),
    ]);
    if let Some(real) = real {
        table.add_row(["(real walk)".into(), dash(), dash(), nats(real), dash(), dash()]);
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    for line in terminal::lines(&table).lines() {
        let _ = writeln!(page, "  {line}");
    }
    let remarks = comparison.rows.iter().filter_map(|row| row.remark);
    let remarks = remarks.map(str::to_owned).chain(refused);
    let bounds = bounded.then(|| {
        "≤: not all pairs of states were compared, so losses are bounds; --all-pairs compares them"
            .to_owned()
    });
    for remark in remarks.chain(bounds) {
        let _ = writeln!(page, "{}", terminal::wrapped(&remark));
    }
    if let Some(walks) = simulated {
        let note = format!(
            "±: simulated over {}, with the standard error; all other figures are exact",
            counted(walks as usize, "walk")
        );
        let _ = writeln!(page, "{}", terminal::wrapped(&note));
    }
    line_to_beat(page, comparison);
    winners(page, comparison, chain_flags);
}

/// Names what does no better than a walk that never saw the real one.
fn line_to_beat(page: &mut String, comparison: &Comparison) {
    let names = |purpose| {
        let presets = comparison.no_better_than_the_chain(purpose);
        presets.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let (near, right) = (names(Purpose::Closeness), names(Purpose::WrongStates));
    let verb = |names: &[String]| if names.len() == 1 { "does" } else { "do" };
    let mut said = Vec::new();
    if !near.is_empty() {
        said.push(format!(
            "{} {} not beat the chain alone by mean distance",
            listed(&near),
            verb(&near)
        ));
    }
    if !right.is_empty() {
        said.push(format!("{} {} not beat it by wrong states", listed(&right), verb(&right)));
    }
    let sentence = if said.is_empty() {
        "All beat the chain alone, a walk drawn without looking at the real one.".to_owned()
    } else {
        format!(
            "The chain alone is a walk drawn without looking at the real one. At this setting {}.",
            said.join("; ")
        )
    };
    if comparison.rows.iter().any(|row| row.outcome.is_ok()) {
        let _ = writeln!(page, "{}", terminal::wrapped(&sentence));
    }
}

/// `a`, `a and b`, `a, b and c`.
fn listed(names: &[String]) -> String {
    match names {
        [rest @ .., before, last] => {
            rest.iter().map(|name| format!("{name}, ")).collect::<String>()
                + &format!("{before} and {last}")
        }
        few => few.concat(),
    }
}

/// `21.80 % ±0.32`, or the figure by itself where it is exact.
fn with_error(shown: fn(f64) -> String, value: f64, error: Option<f64>) -> String {
    match error {
        None => shown(value),
        Some(error) => {
            let error = shown(error);
            let number = error.split(' ').next().unwrap_or_default();
            format!("{} ±{number}", shown(value))
        }
    }
}

fn winners(page: &mut String, comparison: &Comparison, chain_flags: &str) {
    let mut commands: Vec<String> = Vec::new();
    for purpose in Purpose::ALL {
        let Some((row, measured)) = comparison.winner(purpose) else { continue };
        let figure = purpose.figure(&measured.utility);
        let (what, figure) = match purpose {
            Purpose::Closeness => ("closest to the real walk", units::figure(figure)),
            Purpose::WrongStates => ("fewest wrong states", percent(figure)),
            Purpose::Typicality => {
                ("most like a typical walk", format!("entropy {} off", nats(figure)))
            }
        };
        let _ = writeln!(page, "  {what:<25} {:<20} {figure}", row.preset.to_string());
        let command = command(chain_flags, comparison, row.preset);
        if !commands.contains(&command) {
            commands.push(command);
        }
    }
    if let Some(smallest) = &comparison.vacuous {
        let advice = format!(
            "Nothing is protected at this radius: the closest two states are {} apart. Give \
             at least that to release walks.",
            smallest
        );
        let _ = writeln!(page, "{}", terminal::wrapped(&advice));
        return;
    }
    for command in commands {
        let long = command.chars().count() > 96;
        let shown = if long {
            command.replacen(" --mechanism", " \\\n      --mechanism", 1)
        } else {
            command
        };
        let _ = writeln!(page, "    {shown}");
    }
}
