//! A score for programs, and what a candidate is worth in a sentence.

use serde_json::{Map, Value, json};

use crate::score::{Against, Figure, Score, ScoreOptions, Scored};
use crate::walks::Walks;

/// A score as JSON, with the real walks it is about.
#[must_use]
pub fn as_json(real: &Walks, options: ScoreOptions, found: &Score) -> Value {
    let figure = |figure: &Figure| json!({ "value": figure.value, "deviation": figure.deviation });
    let alone: Map<String, Value> =
        found.chain_alone.iter().map(|one| (one.measure.key().to_owned(), figure(one))).collect();
    let judged = |scored: &Scored| -> Value {
        let figures = scored.figures.iter().map(|(one, against)| {
            let mut value = figure(one);
            value["against_chain_alone"] = json!(match against {
                Against::Better => "better",
                Against::Worse => "worse",
                Against::Equal => "equal",
            });
            (one.measure.key().to_owned(), value)
        });
        figures.collect::<Map<_, _>>().into()
    };
    let mut answer = json!({
        "protected": false,
        "walks": real.len(),
        "states": real.states(),
        "repetitions": options.repetitions,
        "seed": options.seed,
        "chain_alone": alone,
    });
    for scored in &found.candidates {
        answer[scored.name.to_lowercase().replace(' ', "_")] = judged(scored);
    }
    answer["verdict"] = found.candidates.iter().map(verdict).collect();
    answer
}

/// What a candidate is worth beside the chain alone. Figures are named once: those that beat it, or the others if these
/// are fewer.
#[must_use]
pub fn verdict(scored: &Scored) -> String {
    let which = |wanted: Against| -> Vec<&str> {
        let figures = scored.figures.iter().filter(|(_, against)| *against == wanted);
        figures.map(|(figure, _)| figure.measure.in_words()).collect()
    };
    let (better, equal, worse) =
        (which(Against::Better), which(Against::Equal), which(Against::Worse));
    let (name, all) = (&scored.name, scored.figures.len());
    let verb = if name.ends_with('s') { ("beat", "are") } else { ("beats", "is") };
    let named = |list: &[&str]| list.join("; ");
    let beats = match better.len() {
        0 => "in none of them".to_owned(),
        count if count == all => format!("in all {all} figures"),
        count if count <= all / 2 => format!("in {count} of {all} figures ({})", named(&better)),
        count => format!("in {count} of {all} figures"),
    };
    let mut rest = Vec::new();
    if !worse.is_empty() {
        rest.push(format!("{} worse in {} ({})", verb.1, worse.len(), named(&worse)));
    }
    if better.len() > all / 2 && !equal.is_empty() {
        rest.push(format!("cannot be told from it in {} ({})", equal.len(), named(&equal)));
    }
    let rest = match rest.is_empty() {
        true => String::new(),
        false => format!(", {}", rest.join(" and ")),
    };
    let told = match (better.len(), worse.len()) {
        (0, _) => "nothing is told that the chain does not tell",
        (_, 0) => "worth having",
        _ => "what that is worth depends on the question",
    };
    format!("The {name} {} the chain alone by more than chance {beats}{rest}: {told}.", verb.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Measure;

    fn scored(against: &[(Measure, Against)]) -> Scored {
        let one = |&(measure, against): &(Measure, Against)| {
            (Figure { measure, value: 0.5, deviation: 0.1 }, against)
        };
        Scored { name: "release".to_owned(), figures: against.iter().map(one).collect() }
    }

    #[test]
    fn figures_are_named_once() {
        use Against::{Better, Equal, Worse};
        use Measure::{Hotspots, Lengths, MovesVariation, Patterns, Popularity};
        let all = verdict(&scored(&[(Patterns, Better), (Lengths, Better)]));
        assert!(all.ends_with("by more than chance in all 2 figures: worth having."), "{all}");
        let most = verdict(&scored(&[
            (Patterns, Better),
            (Lengths, Better),
            (Hotspots, Equal),
            (Popularity, Worse),
            (MovesVariation, Better),
        ]));
        assert!(
            most.contains(
                "in 3 of 5 figures, is worse in 1 (visits, Kendall's tau) and cannot be told from it in 1 \
                 (hotspots, NDCG): what that is worth depends"
            ),
            "{most}"
        );
        let few = verdict(&scored(&[(Patterns, Better), (Lengths, Equal), (Hotspots, Equal)]));
        assert!(few.contains("in 1 of 3 figures (patterns, F1): worth having"), "{few}");
        let none = verdict(&scored(&[(Patterns, Equal), (Lengths, Worse)]));
        assert!(
            none.contains("in none of them, is worse in 1 (lengths, divergence): nothing is told"),
            "{none}"
        );
        for sentence in [all, most, few, none] {
            for measure in Measure::ALL {
                assert!(sentence.matches(measure.in_words()).count() <= 1, "{sentence}");
            }
        }
    }
}
