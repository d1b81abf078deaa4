//! A ranking as programs read it.

use serde::{Serialize, Serializer};

use super::{Evaluated, Ranking, TuneFigures};
use crate::mechanism::{Design, Preset, ScaleError, Unit};

#[derive(Serialize)]
struct Answer {
    aim: String,
    epsilon: String,
    radius_nats: Option<String>,
    substitutions: Option<u32>,
    steps: usize,
    real_entropy_nats: f64,
    ranking: Vec<Member>,
    screening_steps: Option<usize>,
    screened_out: Vec<String>,
    thinned: bool,
    impossible: Vec<Impossible>,
}

#[derive(Serialize)]
struct Member {
    rank: usize,
    mechanism: Option<&'static str>,
    distance: &'static str,
    rule: &'static str,
    chain_weight: String,
    #[serde(flatten)]
    figures: TuneFigures,
    score: f64,
}

#[derive(Serialize)]
struct Impossible {
    design: String,
    why: String,
}

impl Serialize for Ranking {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let promise = self.question.promise;
        let (radius_nats, substitutions) = match promise.unit {
            Unit::Radius(radius) => (Some(radius.to_string()), None),
            Unit::Substitutions(count) => (None, Some(count.get())),
        };
        let member = |(place, evaluated): (usize, &Evaluated)| Member {
            rank: place + 1,
            mechanism: evaluated.preset.map(Preset::name),
            distance: evaluated.design.distance.name(),
            rule: evaluated.design.rule.name(),
            chain_weight: evaluated.design.chain_weight.to_string(),
            figures: evaluated.figures,
            score: evaluated.score,
        };
        let impossible = |(design, why): &(Design, ScaleError)| Impossible {
            design: design.to_string(),
            why: why.to_string(),
        };
        let answer = Answer {
            aim: self.question.aim.to_string(),
            epsilon: promise.epsilon.to_string(),
            radius_nats,
            substitutions,
            steps: self.question.steps,
            real_entropy_nats: self.real_entropy_nats,
            ranking: self.members.iter().enumerate().map(member).collect(),
            screening_steps: self.screening_steps,
            screened_out: self.screened_out.iter().map(Design::to_string).collect(),
            thinned: self.thinned,
            impossible: self.impossible.iter().map(impossible).collect(),
        };
        answer.serialize(serializer)
    }
}
