//! Observations on a plane: exact noise around the real place, in straight-line metres.
//!
//! The outcomes of [`response`](super::response) are states. Here they are the points of a lattice of millimetres, on a
//! plane that touches the earth at a public origin. Every state has a point `L(x)` of the lattice: where its
//! coordinates are dropped onto the plane, to the nearest millimetre. What is observed of a real state is
//!
//! ```text
//! K(y | x) ∝ exp(−η·D(y, L(x))),        D(y, y') = ⌈|y − y'|⌉, in millimetres,
//! ```
//!
//! which is planar Laplace noise, but drawn exactly: what geo-indistinguishability asks for, in a
//! form that a program can keep.
//!
//! # Privacy
//!
//! **Claim.** Replacing `x` by `x'` loses at most `η·D(L(x), L(x'))`, and that is at most `λ·d(x, x')`, with `d` the
//! metric `line` and `λ = ε/ρ` what the promise allows for a metre.
//!
//! **Proof.** The lattice has no border, so the normaliser `Σ_y exp(−η·D(y, L))` is the same for every point `L`: moving
//! the lattice by whole steps changes nothing. Only the exponents differ. `D` keeps the triangle inequality exactly,
//! since `⌈a + b⌉ ≤ ⌈a⌉ + ⌈b⌉`, so they differ by at most `η·D(L(x), L(x'))`. That is attained at `y = L(x)`.
//!
//! The scale is `η = λ·min d(x, x')/D(L(x), L(x'))`, over all pairs of states that are not at one place, rounded down. The
//! minimum is found pair by pair in whole numbers for places that are near each other, and for all others it
//! follows from `D ≤ d + 2` (the module `stretch`). States at one place have one point, and nothing is lost between
//! them. ∎
//!
//! The metric's own distance along a straight line is the norm here too, and dropping places onto a plane makes no
//! distance longer. So neither the shape of the earth nor the choice of a norm costs anything: with noise on
//! `|north| + |east|`, which is two independent draws, the promise would need a scale smaller by `√2`. What is lost is
//! rounding: two millimetres on the distance of the two places for which it matters most.
//!
//! **The edge.** What lies more than 2,000 km from the origin is moved to the edge. That is done to what was drawn,
//! without a look at the real state, so it loses nothing. It comes up less often than once in 10²⁴ draws: states
//! have to be farther than 60 nats from the edge, or the mechanism is refused. Likelihoods leave it out of account.
//!
//! The two coordinates, the rejections and the coins are exact (the module `noise`); a likelihood is a double, and
//! decides nothing about what is drawn.

mod chart;
mod law;
mod noise;
mod outcomes;
mod stretch;
#[cfg(test)]
mod tests;

pub use chart::Chart;
pub use law::NoiseLaw;
pub use outcomes::Outcomes;

use thiserror::Error;

use super::response::Allowance;
use super::step::Scale;
use super::{CostScale, ScaleError};
use crate::chain::StateId;
use crate::distance::{Ground, line};
use crate::model::Model;
use crate::outcome::{LatticePoint, Outcome};
use crate::random::Words;
use crate::rational::Rational;
use crate::remedy::Remedy;
use crate::rounding::above;
use noise::Noise;
use stretch::Stretch;

/// Why there is no plane for a chain and a promise.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PlaneError {
    /// Distances that are not straight lines.
    #[error(
        "`plane` keeps a promise in straight-line metres, and the distances of this model are of another kind \
         ({ground}); give {metric} `line` and a {radius} in metres, or choose `tight`, which works with every metric",
        metric = Remedy::Metric,
        radius = Remedy::Radius
    )]
    NotLines {
        /// What they are.
        ground: &'static str,
    },
    /// A number of replaced states.
    #[error(
        "`plane` keeps a promise in straight-line metres, not one of replaced states; give a {radius} in metres, or \
         choose `tight`",
        radius = Remedy::Radius
    )]
    Substitutions,
    /// Places all over the earth.
    #[error(
        "{state:?} is {away} km from the middle of the chain's places, and `plane` is for places within {most} km \
         of it; release each region by itself, or choose `tight`",
        most = FARTHEST_KM
    )]
    TooWide {
        /// The state.
        state: String,
        /// How far it is.
        away: u64,
    },
    /// Noise as large as the earth.
    #[error(
        "the noise that this promise asks for is {metres} m on average, which does not fit on a plane of 4,000 km; \
         raise epsilon"
    )]
    TooMuchNoise {
        /// Its mean size.
        metres: u64,
    },
    /// A state that looks like a place.
    #[error(
        "the state {0:?} has the form in which `plane` writes the places that it observes; give the state another \
         label"
    )]
    LooksLikeAPlace(String),
}

/// States may be so far from the origin.
const FARTHEST_KM: u64 = 1500;
/// States are so many nats from the edge.
const NATS_TO_THE_EDGE: f64 = 60.0;

/// Draws observations on a plane.
#[derive(Clone, Debug)]
pub(crate) struct Plane {
    chart: Chart,
    /// Where each state is.
    points: Box<[LatticePoint]>,
    scale: Scale,
    noise: Noise,
}

impl Plane {
    /// The plane of a model, for what may be lost.
    pub(super) fn new(
        model: &Model,
        allowance: Allowance,
        too_small: impl Fn() -> ScaleError,
    ) -> Result<Self, ScaleError> {
        let Allowance::PerNat(rate) = allowance else {
            return Err(PlaneError::Substitutions.into());
        };
        if *model.ground() != Ground::Line {
            return Err(PlaneError::NotLines { ground: model.ground().name() }.into());
        }
        let chain = model.chain();
        if let Some(state) = chain.states().find(|&state| chart::is_point(chain.label(state))) {
            return Err(PlaneError::LooksLikeAPlace(chain.label(state).to_owned()).into());
        }
        let line = line(chain).expect("the model has straight lines");
        let places = || line.points().iter().map(|place| place.map(|axis| axis as f64));
        let chart = Chart::of_line(&line);
        for (state, place) in chain.states().zip(places()) {
            let away = (chart.away(place) / 1e9).ceil() as u64;
            if away > FARTHEST_KM {
                let state = chain.label(state).to_owned();
                return Err(PlaneError::TooWide { state, away }.into());
            }
        }
        let points: Box<[LatticePoint]> = places().map(|place| chart.nearest(place)).collect();
        let Stretch { on_lattice, apart } = Stretch::of(&line, &points);
        let eta = Rational::floor_of_products(
            [rate.numerator().into(), apart.into()],
            [rate.denominator().into(), on_lattice.into()],
        );
        let scale = Scale::new(CostScale::dyadic(eta).ok_or_else(&too_small)?);
        let plane = Self { chart, points, scale, noise: Noise::new(scale.cost) };
        plane.check_room()?;
        Ok(plane)
    }

    /// Refuses noise that would often reach the edge.
    fn check_room(&self) -> Result<(), PlaneError> {
        let farthest =
            |point: &LatticePoint| point.north().unsigned_abs().max(point.east().unsigned_abs());
        let farthest = self.points.iter().map(farthest).max().unwrap_or(0);
        let room = f64::from(LatticePoint::FARTHEST) - f64::from(farthest);
        // A coordinate is at most as long as the whole.
        match room * self.per_step() >= NATS_TO_THE_EDGE {
            true => Ok(()),
            false => Err(PlaneError::TooMuchNoise {
                metres: (2.0 / self.per_step() / 1000.0).round() as u64,
            }),
        }
    }

    /// What a millimetre costs.
    fn per_step(&self) -> f64 {
        let [per_step, ..] = self.scale.cost.parts();
        per_step as f64 / self.scale.cost.denominator() as f64
    }

    pub(super) fn scale(&self) -> CostScale {
        self.scale.cost
    }

    /// What is certified of the loss of replacing `x` by `other`: the loss itself, rounded up.
    pub(crate) fn pair_loss(&self, x: StateId, other: StateId) -> f64 {
        let distance = self.point_of(x).distance(self.point_of(other));
        match distance {
            0 => 0.0,
            // A distance is below 2⁵³, and a unit of the scale a power of two of millimetres.
            steps => {
                let units = f64::from(1u32 << crate::nats::Nats::FRACTION_BITS);
                (above(self.scale.cost.eta()) * (steps as f64 / units)).next_up()
            }
        }
    }

    /// Where a state is on the lattice.
    pub(crate) fn point_of(&self, state: StateId) -> LatticePoint {
        self.points[state.index()]
    }

    /// Draws the observation of a real state.
    pub(crate) fn draw(&self, real: StateId, words: &mut impl Words) -> LatticePoint {
        let (north, east) = self.noise.draw(words);
        let point = self.point_of(real);
        LatticePoint::nearest(
            i128::from(point.north()) + i128::from(north),
            i128::from(point.east()) + i128::from(east),
        )
    }

    /// The logarithm of an observation's likelihood for the real states that are given, but for a constant. The same
    /// on every machine. What is no point cannot be observed.
    pub(crate) fn fill_log_likelihoods(
        &self,
        observed: Outcome,
        reals: &[StateId],
        out: &mut Vec<f64>,
    ) {
        out.clear();
        let Some(observed) = observed.point() else {
            out.resize(reals.len(), f64::NEG_INFINITY);
            return;
        };
        let per_step = self.per_step();
        let (north, east) = (f64::from(observed.north()), f64::from(observed.east()));
        out.extend(reals.iter().map(|&real| {
            let point = self.point_of(real);
            let (n, e) = (f64::from(point.north()) - north, f64::from(point.east()) - east);
            // Squares are whole, and exact up to 67 km; beyond, a millimetre more or less does not matter.
            -(per_step * (n * n + e * e).sqrt().ceil())
        }));
    }

    /// Where its lattice lies on the earth.
    pub(crate) fn chart(&self) -> Chart {
        self.chart
    }

    pub(super) fn hash_into(&self, hasher: &mut blake3::Hasher) {
        hasher.update(b"plane of millimetres v1");
        for part in self.scale.cost.parts() {
            hasher.update(&part.to_le_bytes());
        }
        for point in &self.points {
            hasher.update(&point.north().to_le_bytes());
            hasher.update(&point.east().to_le_bytes());
        }
    }
}
