//! The comparison for people.

use std::fmt::Write;

use comfy_table::CellAlignment;
use veilwalk::analysis::{Comparison, Setting};
use veilwalk::internal::compare::{Basis, Purpose};
use veilwalk::internal::guarantee::FigureKind;
use veilwalk::internal::nats::in_nats;

use super::command;
use super::delay::Delay;
use crate::command::analyze::{chance, nats, percent};
use crate::terminal;

pub(super) fn page(
    setting: &Setting,
    walks: &str,
    start: &str,
    comparisons: &[Comparison],
    delays: &[Delay],
    chain_flags: &str,
) -> String {
    let mut page = format!("Real walks: {walks}\nReleases start {start}\n");
    for comparison in comparisons {
        section(&mut page, setting, comparison, chain_flags);
    }
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
        format!("over {}", in_nats(setting.level)),
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
            in_nats(radius)
        ),
        Basis::Loss => writeln!(
            page,
            "\nAt equal exact loss: replacing any one state loses {epsilon}\n  The fair comparison: \
             all give the same away, whichever adjacency they were made for."
        ),
    };
    let over = format!("over {}", in_nats(setting.level));
    let header = ["mechanism", "wrong states", "mean distance", "entropy", &over, "loss"];
    let mut table = terminal::table(&header);
    let mut refused = Vec::new();
    let mut bounded = false;
    let mut real = None;
    for row in &comparison.rows {
        let measured = match &row.outcome {
            Ok(measured) => measured,
            Err(why) => {
                refused.push(format!("{}: {why}", row.preset));
                continue;
            }
        };
        let utility = &measured.utility;
        real = Some(utility.entropy_nats.real);
        let sign = match measured.figures {
            FigureKind::Exact => "",
            FigureKind::UpperBound => "≤ ",
        };
        bounded |= measured.figures == FigureKind::UpperBound;
        table.add_row([
            row.preset.to_string(),
            percent(utility.wrong_state_share),
            nats(utility.mean_distance_nats),
            nats(utility.entropy_nats.released),
            chance(utility.exceedance[0].per_step),
            format!("{sign}{}", chance(measured.loss)),
        ]);
    }
    if let Some(real) = real {
        let dash = || "-".to_owned();
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
    winners(page, comparison, chain_flags);
}

fn winners(page: &mut String, comparison: &Comparison, chain_flags: &str) {
    let mut commands: Vec<String> = Vec::new();
    for purpose in Purpose::ALL {
        let Some((row, measured)) = comparison.winner(purpose) else { continue };
        let figure = purpose.figure(&measured.utility);
        let (what, figure) = match purpose {
            Purpose::Closeness => ("closest to the real walk", nats(figure)),
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
            in_nats(smallest)
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
