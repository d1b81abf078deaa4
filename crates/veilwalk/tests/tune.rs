//! Tuning: never worse than the paper's mechanism, and the same figures as the analysis gives.

mod common;

use std::ops::ControlFlow;
use std::sync::Arc;

use common::{credit, state};
use veilwalk::analysis::Origin;
use veilwalk::analysis::{Aim, Question, TuneError, tune};
use veilwalk::internal::joint::{JointChain, KernelMemory};
use veilwalk::internal::tune::{Evaluated, WalksFrom};
use veilwalk::{Chain, Mechanism, Model, Preset, Promise, Start, unwatched};

fn promises(radius: &str) -> Vec<Promise> {
    let epsilons = ["0.5", "3"].map(|e| e.parse().unwrap());
    let within = epsilons.iter().map(|&e| Promise::within_radius(e, radius.parse().unwrap()));
    let substitutions =
        epsilons.iter().map(|&e| Promise::for_substitutions(e, 1.try_into().unwrap()));
    within.chain(substitutions).collect()
}

#[test]
fn the_winner_is_never_worse_than_the_paper_or_any_other() {
    let downtown = Arc::new(Model::new(Chain::downtown()).unwrap());
    for (model, radius) in [(credit(), "3.5"), (downtown, "2")] {
        for promise in promises(radius) {
            for aim in ["closeness", "wrong-states", "typicality", "1,1,0.5"] {
                let aim: Aim = aim.parse().unwrap();
                let question = Question { steps: 30, ..Question::new(promise, aim) };
                let ranking = tune(&model, question, &unwatched).unwrap();
                assert_eq!(ranking.members.len() + ranking.impossible.len(), 48);
                let winner = ranking.winner();
                assert!(
                    winner.score <= ranking.of(Preset::Paper).unwrap().score,
                    "{aim} {promise}"
                );
                // What is simulated may be ahead by chance.
                let ahead = |m: &Evaluated| match m.simulated {
                    Some(simulated) => {
                        2.0 * aim.score(&simulated.standard_errors, &simulated.standard_errors)
                    }
                    None => 1e-12,
                };
                assert!(ranking.members.iter().all(|m| winner.score <= m.score + ahead(m)));
                let exact = ranking.members.iter().filter(|m| m.simulated.is_none());
                assert_eq!(exact.count() + ranking.impossible.len(), 40);
                let figure = match aim {
                    Aim::Closeness => winner.figures.mean_distance_nats,
                    Aim::WrongStates => winner.figures.wrong_state_share,
                    Aim::Typicality => winner.figures.entropy_gap_nats,
                    Aim::Weighted(_) => continue,
                };
                assert_eq!(winner.score, figure);
            }
        }
    }
}

#[test]
fn figures_are_those_of_the_analysis() {
    let model = credit();
    let promise = Promise::within_radius("1".parse().unwrap(), "1".parse().unwrap());
    let from = state(&model, "Baa");
    let question = Question {
        from: WalksFrom::At(from),
        start: Start::First,
        ..Question::new(promise, Aim::WrongStates)
    };
    let ranking = tune(&model, question, &unwatched).unwrap();
    assert!(ranking.screening_steps.is_none() && ranking.screened_out.is_empty());
    for preset in [Preset::Paper, Preset::Sharp, Preset::Cell] {
        let mechanism = Mechanism::new(model.clone(), preset.design(), promise).unwrap();
        let joint = JointChain::new(&mechanism, KernelMemory::default(), &unwatched).unwrap();
        let utility = joint.utility(Origin::At(from), Start::First, 100, &[], &unwatched).unwrap();
        let figures = ranking.of(preset).unwrap().figures;
        assert_eq!(figures.wrong_state_share, utility.wrong_state_share);
        assert_eq!(figures.mean_distance_nats, utility.mean_distance_nats);
        let entropy = utility.entropy_nats;
        assert_eq!(figures.entropy_gap_nats, (entropy.released - entropy.real).abs());
        // A sum over the pair's law, whose rounding depends on the mechanism.
        assert!((ranking.real_entropy_nats - entropy.real).abs() < 1e-12);
    }
    let cell = ranking.of(Preset::Cell).unwrap().figures;
    assert!((cell.wrong_state_share - 0.0554).abs() < 0.005 * 0.0554, "{cell:?}");
    assert!((cell.mean_distance_nats - 0.1712).abs() < 0.005 * 0.1712, "{cell:?}");
}

#[test]
fn from_the_stationary_distribution_the_real_entropy_is_the_rate() {
    let model = credit();
    let promise = Promise::within_radius("3".parse().unwrap(), "3.5".parse().unwrap());
    let question = Question {
        from: WalksFrom::Stationary,
        steps: 10,
        ..Question::new(promise, Aim::Typicality)
    };
    let ranking = tune(&model, question, &unwatched).unwrap();
    let chain = model.chain();
    let rate = chain.entropy_rate(&chain.stationary().unwrap());
    assert!((ranking.real_entropy_nats - rate).abs() < 1e-9);
}

#[test]
fn it_can_be_stopped() {
    let promise = Promise::within_radius("3".parse().unwrap(), "3.5".parse().unwrap());
    let question = Question::new(promise, Aim::Closeness);
    let stopped = tune(&credit(), question, &|progress| match progress.share {
        ..0.2 => ControlFlow::Continue(()),
        _ => ControlFlow::Break(()),
    });
    assert!(matches!(stopped, Err(TuneError::Stopped(_))));
}
