//! The figures: what was measured, as charts and maps.

use veilwalk::internal::nats::in_nats;
use veilwalk::internal::profile::OwnEntropy;
use veilwalk::{Preset, StateId};
use veilwalk_report::{
    Axis, Chart, Dash, Map, Mark, Point, Route, Series, Shape, Strips, Svg, Ticks, Tone, figure,
};

use crate::guesses::GUESSED;
use crate::measure::{Figures, Measured};
use crate::plan::{Basis, EPSILONS, LENGTHS, MECHANISMS};
use crate::results::Results;

/// Which of a setting's figures are shown.
pub(super) type Pick = fn(&Measured) -> &Figures;

/// Error bars are two standard errors long on either side.
const BARS: f64 = 2.0;
/// Probabilities below this are not drawn: no one will wait for them.
const LEAST_CHANCE: f64 = 1e-9;
/// How much of a walk a map shows: jumps between dots cross each other sooner than streets do.
const ALONG_STREETS: usize = 40;
const BETWEEN_DOTS: usize = 12;

/// Every mechanism looks the same in every figure.
fn series(preset: Preset) -> Series {
    let (tone, dash, shape) = match preset {
        Preset::Chen => (Tone::Vermilion, Dash::Dashed, Shape::Circle),
        Preset::Paper => (Tone::Blue, Dash::Solid, Shape::Square),
        Preset::Sharp => (Tone::Green, Dash::DashDot, Shape::Triangle),
        Preset::Tight => (Tone::Ink, Dash::Solid, Shape::Circle),
        _ => (Tone::Purple, Dash::Dotted, Shape::Diamond),
    };
    Series::new(preset.name(), tone).dash(dash).shape(shape)
}

fn tone(preset: Preset) -> Tone {
    match preset {
        Preset::Chen => Tone::Vermilion,
        Preset::Paper => Tone::Blue,
        Preset::Sharp => Tone::Green,
        _ => Tone::Purple,
    }
}

/// How often the distance exceeds v: exact lines, simulated points.
pub(super) fn errors(chain: &Results, basis: Basis, epsilons: &[&str], pick: Pick) -> Vec<Svg> {
    let (levels, simulated_levels) = chain.levels();
    let mut lowest = 1.0f64;
    for &epsilon in epsilons {
        for preset in MECHANISMS {
            let Some(measured) = chain.of(basis, preset, epsilon) else { continue };
            let tail = pick(measured).tail(&levels, &simulated_levels);
            let positive = tail.iter().map(|p| p.1).filter(|&p| p > LEAST_CHANCE);
            lowest = positive.fold(lowest, f64::min);
        }
    }
    let panel = |epsilon: &str| {
        let x = Axis::linear("distance v (nats)").from(0.0).to(chain.about.diameter.ceil());
        let y = Axis::log("P(V > v) at a step").from(lowest).to(1.0);
        let mut chart = Chart::new(format!("ε = {epsilon}"), x, y);
        for preset in MECHANISMS {
            let Some(measured) = chain.of(basis, preset, epsilon) else { continue };
            let figures = pick(measured);
            if let Some(exact) = &figures.exact {
                let points = levels.iter().copied().zip(exact.exceedance.iter().copied());
                chart = chart.with(series(preset), Mark::Steps(points.collect()));
            }
            if let Some(simulated) = &figures.simulated {
                let points = simulated_levels.iter().zip(&simulated.per_step);
                let points = points.filter(|(_, e)| e.mean > 0.0);
                let points = points.map(|(&x, e)| Point { x, y: e.mean, error: BARS * e.error });
                let points: Vec<Point> = points.collect();
                if figures.exact.is_none() {
                    let joins = points.iter().map(|p| (p.x, p.y)).collect();
                    chart = chart.with(series(preset), Mark::Joins(joins));
                }
                chart = chart.with(series(preset), Mark::Points(points));
            }
        }
        chart.to_svg()
    };
    epsilons.iter().map(|epsilon| panel(epsilon)).collect()
}

/// Mean entropy by length, with the real walks' own and their spread.
pub(super) fn entropy(chain: &Results, basis: Basis, pick: Pick, own: &[OwnEntropy]) -> Vec<Svg> {
    const FROM: usize = 2;
    let shown = |n: usize| n >= FROM;
    let mut highest = 0.0f64;
    for epsilon in EPSILONS {
        for preset in MECHANISMS {
            let Some(measured) = chain.of(basis, preset, epsilon) else { continue };
            let entropies = pick(measured).entropies();
            highest = entropies.iter().filter(|e| shown(e.0)).map(|e| e.1).fold(highest, f64::max);
        }
    }
    // The spread of the shortest walks would flatten everything else.
    let spread = own.iter().skip(4).map(|o| o.mean + 2.0 * o.deviation).fold(0.0, f64::max);
    let top = highest.max(spread) * 1.04;
    let panel = |epsilon: &str| {
        let x = Axis::linear("length of the walk (steps)").from(0.0).to(100.0);
        let y = Axis::linear("mean entropy (nats per step)").from(0.0).to(top);
        let mut chart = Chart::new(format!("ε = {epsilon}"), x, y).narrow();
        let by_length =
            || own.iter().enumerate().map(|(k, o)| (k + 1, o)).filter(|(n, _)| shown(*n));
        let band = by_length().map(|(n, o)| {
            (n as f64, (o.mean - 2.0 * o.deviation).max(0.0), o.mean + 2.0 * o.deviation)
        });
        let mean = by_length().map(|(n, o)| (n as f64, o.mean));
        chart = chart
            .with(Series::new("real, ±2σ", Tone::Grey), Mark::Band(band.collect()))
            .with(Series::new("real, ±2σ", Tone::Ink), Mark::Line(mean.collect()));
        for preset in MECHANISMS {
            let Some(measured) = chain.of(basis, preset, epsilon) else { continue };
            let figures = pick(measured);
            let line = figures.entropies().into_iter().filter(|e| shown(e.0));
            let line = line.map(|(n, h, _)| (n as f64, h)).collect();
            let line = match figures.exact {
                Some(_) => Mark::Line(line),
                None => Mark::Joins(line),
            };
            chart = chart.with(series(preset), line);
            if let Some(simulated) = &figures.simulated {
                let points = LENGTHS.iter().zip(&simulated.entropy);
                let points =
                    points.map(|(&n, e)| Point { x: n as f64, y: e.mean, error: BARS * e.error });
                chart = chart.with(series(preset), Mark::Points(points.collect()));
            }
        }
        chart.to_svg()
    };
    EPSILONS.map(panel).into()
}

/// The distance from released to real state over one walk.
pub(super) fn over_time(chain: &Results, epsilon: &str) -> Svg {
    let (model, real) = (&chain.subject.model, &chain.subject.walks[0]);
    let mut strips = Strips::new(
        format!("One walk, ε = {epsilon}"),
        Axis::linear("step"),
        Axis::linear("distance (nats)").from(0.0),
    );
    for preset in MECHANISMS {
        let Some(measured) = chain.of(Basis::Epsilon, preset, epsilon) else { continue };
        let released = measured.samples[0].iter().map(|&s| StateId::new(s as usize));
        let pairs: Vec<(StateId, StateId)> = released.zip(real.iter().copied()).collect();
        let wrong = pairs.iter().skip(1).filter(|(z, x)| z != x).count();
        let distances: Vec<f64> =
            pairs.iter().map(|&(z, x)| model.directed().between(z, x).as_f64()).collect();
        let mean = distances.iter().skip(1).sum::<f64>() / (distances.len() - 1) as f64;
        let remark =
            format!("{wrong} of {} wrong, mean {}", pairs.len() - 1, in_nats(figure(mean)));
        strips = strips.with(preset.name(), remark, tone(preset), distances);
    }
    strips.to_svg()
}

/// Shares of joint states with negative drift over ε: for `paper` with both conditions, and exact
/// for all.
pub(super) fn drift(chain: &Results) -> Vec<Svg> {
    let axes = || {
        (
            Axis::linear("ε").from(0.0).to(10.0),
            Axis::linear("share of joint states").from(0.0).to(1.0).ticks(Ticks::Percent),
        )
    };
    let paper = chain.drift(Preset::Paper);
    let (x, y) = axes();
    let exact = paper.iter().map(|(e, d)| (*e, d.negative)).collect();
    let lemma = |pick: fn(&crate::measure::DriftShares) -> Option<f64>| {
        paper.iter().filter_map(|(e, d)| Some((*e, pick(d)?))).collect()
    };
    let first = Chart::new("paper: exact and by condition", x, y)
        .with(Series::new("exact", Tone::Blue), Mark::Line(exact))
        .with(
            Series::new("corrected condition", Tone::Ink).dash(Dash::Dashed),
            Mark::Line(lemma(|d| d.corrected)),
        )
        .with(
            Series::new("condition as printed", Tone::Vermilion).dash(Dash::Dotted),
            Mark::Line(lemma(|d| d.published)),
        );
    let (x, y) = axes();
    let mut second = Chart::new("all mechanisms, exact", x, y);
    for preset in MECHANISMS {
        let points: Vec<Point> = chain
            .drift(preset)
            .iter()
            .map(|(e, d)| Point { x: *e, y: d.negative, error: 0.0 })
            .collect();
        let line = points.iter().map(|p| (p.x, p.y)).collect();
        second = second.with(series(preset), Mark::Line(line));
        if points.len() < 10 {
            second = second.with(series(preset), Mark::Points(points));
        }
    }
    vec![first.to_svg(), second.to_svg()]
}

/// The share of right released states over the share of right guesses, for rising ε.
pub(super) fn guesses(chain: &Results) -> Option<Svg> {
    let alone = chain.guesses.first()?.chain_alone;
    let x = Axis::linear("states guessed right by an attacker").from(0.0).to(1.0);
    let y = Axis::linear("released states that are right").from(0.0).to(1.0);
    let mut chart =
        Chart::new("of use, over what leaks", x.ticks(Ticks::Percent), y.ticks(Ticks::Percent))
            .with(
                Series::new("the chain alone", Tone::Grey).dash(Dash::Dashed),
                Mark::Line(vec![(alone, 0.0), (alone, 1.0)]),
            );
    for preset in GUESSED {
        let points: Vec<Point> = chain
            .guesses
            .iter()
            .filter(|one| one.mechanism == preset.name())
            .map(|one| Point { x: one.attacker, y: one.release, error: 0.0 })
            .collect();
        let line = points.iter().map(|point| (point.x, point.y)).collect();
        chart =
            chart.with(series(preset), Mark::Line(line)).with(series(preset), Mark::Points(points));
    }
    Some(chart.to_svg())
}

/// The ground, a picture with its names, and one with walks for every ε and mechanism.
pub(super) struct Maps {
    pub(super) definition: String,
    pub(super) named: Option<Svg>,
    pub(super) walks: Vec<Svg>,
    /// How many steps of the walks are shown.
    pub(super) steps: usize,
    /// How the pictures stand.
    pub(super) class: &'static str,
}

pub(super) fn maps(chain: &Results) -> Option<Maps> {
    let subject = &chain.subject;
    let ground = subject.ground.as_ref()?;
    let map = Map::new(subject.key, &ground.lines, &ground.dots, ground.labels.clone());
    let (steps, class) = match ground.lines.is_empty() {
        true => (BETWEEN_DOTS, ""),
        false => (ALONG_STREETS, "maps"),
    };
    let real: &[StateId] = &subject.walks[0][..=steps];
    let mut walks = Vec::new();
    for &epsilon in subject.map_epsilons {
        for preset in MECHANISMS {
            let Some(measured) = chain.of(Basis::Epsilon, preset, epsilon) else { continue };
            let released = measured.samples[0][..=steps].iter();
            let released: Vec<StateId> = released.map(|&s| StateId::new(s as usize)).collect();
            let routes = [
                Route { points: ground.route(real), tone: Tone::Grey },
                Route { points: ground.route(&released), tone: tone(preset) },
            ];
            walks.push(map.with_routes(&format!("{preset}, ε = {epsilon}"), &routes));
        }
    }
    let named = (!ground.labels.is_empty()).then(|| map.with_labels("The states"));
    Some(Maps { definition: map.definition(), named, walks, steps, class })
}
