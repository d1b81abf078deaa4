//! The figures of a score, for people.

use anyhow::Result;
use comfy_table::CellAlignment;
use veilwalk_score::{Against, Measure, Score, Scored};

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

/// What a candidate is worth beside the chain alone.
pub(super) fn verdict(scored: &Scored) -> String {
    let which = |wanted: Against| -> Vec<&str> {
        let figures = scored.figures.iter().filter(|(_, against)| *against == wanted);
        figures.map(|(figure, _)| figure.measure.in_words()).collect()
    };
    let (better, worse) = (which(Against::Better), which(Against::Worse));
    let (name, all) = (&scored.name, scored.figures.len());
    let named = |list: &[&str]| match list {
        [] => String::new(),
        list => format!(" ({})", list.join("; ")),
    };
    let count = |list: &[&str]| match list.len() {
        0 => "none".to_owned(),
        count if count == all => format!("all {count}"),
        count => count.to_string(),
    };
    let start = format!("the {name} beats the chain alone by more than chance in");
    let rest = format!("and is worse in {}{}", count(&worse), named(&worse));
    let told = match (better.len(), worse.len()) {
        (0, _) => "it tells nothing that the chain does not tell",
        (_, 0) => "it is worth having",
        _ => "what it is worth depends on the question",
    };
    format!("{start} {} of {all} figures{}, {rest}: {told}.", count(&better), named(&better))
}

#[cfg(test)]
mod tests {
    use super::*;
    use veilwalk_score::Figure;

    fn scored(against: &[Against]) -> Scored {
        let figures = Measure::ALL
            .into_iter()
            .zip(against)
            .map(|(measure, &against)| (Figure { measure, value: 0.5, deviation: 0.1 }, against));
        Scored { name: "release".to_owned(), figures: figures.collect() }
    }

    #[test]
    fn verdicts() {
        use Against::{Better, Equal, Worse};
        let told = |against: &[Against]| verdict(&scored(against));
        assert_eq!(
            told(&[Better, Equal, Worse]),
            "the release beats the chain alone by more than chance in 1 of 3 figures (visits, divergence), \
             and is worse in 1 (visits, Kendall's tau): what it is worth depends on the question."
        );
        assert!(
            told(&[Better, Better]).contains("in all 2 of 2 figures"),
            "{}",
            told(&[Better; 2])
        );
        assert!(told(&[Equal, Equal]).ends_with("it tells nothing that the chain does not tell."));
    }
}
