//! The figures of a score, for people.

use anyhow::Result;
use comfy_table::CellAlignment;
use veilwalk_score::{Against, Measure, Score, verdict};

use crate::terminal;

pub(super) fn print(found: &Score) -> Result<()> {
    let mut header = vec!["", "best", "chain alone", "± chance"];
    header.extend(found.candidates.iter().map(|scored| scored.name.as_str()));
    let mut table = terminal::table(&header);
    for measure in Measure::ALL {
        let alone = found.chain_alone.iter().find(|figure| figure.measure == measure);
        let best = if measure.more_is_better() { "1" } else { "0" };
        let number =
            |value: Option<f64>| value.map_or("–".to_owned(), |value| format!("{value:.4}"));
        let mut row = vec![
            measure.in_words().to_owned(),
            best.to_owned(),
            number(alone.map(|figure| figure.value)),
            number(alone.map(|figure| figure.deviation)),
        ];
        for scored in &found.candidates {
            let own = scored.figures.iter().find(|(figure, _)| figure.measure == measure);
            row.push(own.map_or("–".to_owned(), |(figure, against)| {
                let mark = match against {
                    Against::Better => "+",
                    Against::Worse => "-",
                    Against::Equal => " ",
                };
                format!("{:.4} {mark}", figure.value)
            }));
        }
        table.add_row(row);
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    terminal::print(terminal::lines(&table))?;
    terminal::print("")?;
    terminal::print(terminal::wrapped(
        "+ better and - worse than the chain alone, by more than twice what chance does",
    ))?;
    for scored in &found.candidates {
        terminal::print(terminal::wrapped(&verdict(scored)))?;
    }
    Ok(())
}
