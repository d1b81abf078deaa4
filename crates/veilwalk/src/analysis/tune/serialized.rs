//! A ranking as programs read it.

use serde::{Serialize, Serializer};

use super::{Delay, Evaluated, Ranking, Simulated, TuneFigures};
use crate::analysis::attack::Guess;
use crate::mechanism::{BlockLength, CandidateKind, Candidates, Design, Preset, ScaleError, Unit};

#[derive(Serialize)]
struct Answer {
    aim: String,
    epsilon: String,
    radius_nats: Option<String>,
    substitutions: Option<u32>,
    lag: Option<u32>,
    block: Option<String>,
    steps: usize,
    real_entropy_nats: f64,
    ranking: Vec<Member>,
    screening_steps: Option<usize>,
    screened_out: Vec<String>,
    thinned: bool,
    impossible: Vec<Impossible>,
    attacker: Option<Guess>,
    told_too_much: Vec<TooOpen>,
}

#[derive(Serialize)]
struct TooOpen {
    mechanism: Option<&'static str>,
    design: String,
    attacker: f64,
}

#[derive(Serialize)]
struct Member {
    rank: usize,
    mechanism: Option<&'static str>,
    distance: &'static str,
    rule: &'static str,
    chain_weight: String,
    candidates: &'static str,
    believed_from: Option<String>,
    track: Option<&'static str>,
    #[serde(flatten)]
    figures: TuneFigures,
    simulated: Option<Simulated>,
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
        let (lag, block) = match self.question.delay {
            Delay::None => (None, None),
            Delay::Lag(lag) => (Some(lag), None),
            Delay::Block(BlockLength::Steps(steps)) => (None, Some(steps.to_string())),
            Delay::Block(BlockLength::Whole { .. }) => (None, Some("all".to_owned())),
        };
        let member = |(place, evaluated): (usize, &Evaluated)| Member {
            rank: place + 1,
            mechanism: evaluated.preset.map(Preset::name),
            distance: evaluated.design.distance.name(),
            rule: evaluated.design.rule.name(),
            chain_weight: evaluated.design.chain_weight.to_string(),
            candidates: CandidateKind::of(evaluated.design.candidates).name(),
            believed_from: match evaluated.design.candidates {
                Candidates::Believed(share) => Some(share.to_string()),
                Candidates::Moves | Candidates::States(_) | Candidates::Plane => None,
            },
            track: evaluated.tracking.map(|tracking| tracking.aim.name()),
            figures: evaluated.figures,
            simulated: evaluated.simulated,
            score: evaluated.score,
        };
        let impossible = |(design, why): &(Design, ScaleError)| Impossible {
            design: design.to_string(),
            why: why.to_string(),
        };
        let too_open = |(member, attacker): &(Evaluated, f64)| TooOpen {
            mechanism: member.preset.map(Preset::name),
            design: member.design.to_string(),
            attacker: *attacker,
        };
        let answer = Answer {
            aim: self.question.aim.to_string(),
            epsilon: promise.epsilon.to_string(),
            radius_nats,
            substitutions,
            lag,
            block,
            steps: self.question.steps,
            real_entropy_nats: self.real_entropy_nats,
            ranking: self.members.iter().enumerate().map(member).collect(),
            screening_steps: self.screening_steps,
            screened_out: self.screened_out.iter().map(Design::to_string).collect(),
            thinned: self.thinned,
            impossible: self.impossible.iter().map(impossible).collect(),
            attacker: self.attacker,
            told_too_much: self.told_too_much.iter().map(too_open).collect(),
        };
        answer.serialize(serializer)
    }
}
