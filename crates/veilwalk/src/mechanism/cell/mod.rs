//! Cells: the most accurate cost that the adjacency allows.
//!
//! Only one question matters when the real state is `x`: which candidate is the right answer? Let
//! `best_z(x)` be the candidate nearest to `x`. It is a public map, and it divides all states into
//! *cells*, one for each candidate: the states for which that candidate is the answer. The cost of
//! candidate `y` is how far `x` is from the cell of `y`,
//!
//! ```text
//! D_z(y, x) = min { m(x, x') : best_z(x') = y },
//! ```
//!
//! with `m` the metric of the adjacency itself: the symmetric distance for a radius, 0 or 1 for
//! substitutions.
//!
//! # Privacy
//!
//! **The cost is 1-Lipschitz.** The distance to a fixed set of states changes by at most `m(x, x')`
//! when `x` is replaced by `x'`, because `m` satisfies the triangle inequality, exactly, on integers.
//! The set is public: it depends on `z` and the chain alone. A candidate whose cell is empty (some
//! other candidate is at distance zero from it) takes `m(x, y)`, the distance to the set `{y}`; for
//! substitutions it takes one, always. So the general argument of [`mechanism`](crate::mechanism)
//! applies, and `η = λ/2` keeps the loss of a step within `λ·m(x, x')`, with `λ = ε/ρ`.
//!
//! **It can be nearly doubled.** Write `F_y(x) = ln K(y|z,x) + c(y|z,x)`, what the rule adds to the
//! cost: for the exponential rule `−ln Z_z(x)`, the same for all candidates; for permute-and-flip the
//! cheapest cost plus the logarithm of an integral, which differs between candidates. Then
//!
//! ```text
//! |ln K(y|z,x) − ln K(y|z,x')| ≤ η·|D_z(y,x) − D_z(y,x')| + |F_y(x) − F_y(x')| ≤ η·m + A_z,
//! ```
//!
//! where `A_z = max_y (max_x F_y − min_x F_y)` is taken at that η. As the right answer always costs
//! nothing, `F` hardly varies, and `A_z` is small. Every `η ≤ max(λ/2, λ − A_z/m_min)`, with `m_min`
//! the smallest positive distance between states, keeps the loss within `λ·m` for all pairs: that is
//! the *closed form*. The *exact* scale does better: pairs with `|F_y(x) − F_y(x')| ≤ (λ − η)·m` for
//! all `y` are settled by the first inequality, in particular all with `m ≥ A_z/(λ − η)`; for the
//! others the loss itself is computed. Both use the range of `F` of the rule at hand. (Taking the
//! exponential rule's for permute-and-flip would break the guarantee.)
//!
//! **Distance zero does no harm.** If `m(x, x') = 0` for different states, the two are at the same
//! distance from every set, so their costs and kernels are equal and the loss is zero.
//!
//! **The scale may depend on `z`.** The loss of a walk is a sum over steps, each bounded by
//! `λ·m(x_t, x'_t)` whatever the last released state is. That state is public, and the same in both
//! of the cases compared.
//!
//! **Substitutions, exponential rule, no chain weight: `η = ε/b`.** Exactly one candidate costs zero
//! and all others `η`, so `Z = 1 + (n−1)e^{−η}` for every `x`, and the ratio of two kernels is
//! `e^{η}`, `1` or `e^{−η}`: randomised response around the right answer.
//!
//! Scales are fractions, rounded down. `F` and the losses are computed in doubles. What they can be
//! off by is added before they are compared; it grows with the costs and with the number of
//! candidates ([`rounding`](crate::rounding)).

pub(crate) mod calibrate;

pub(crate) use calibrate::CellScale;
pub(crate) use calibrate::allowed;
pub(super) use calibrate::calibrated;

use std::sync::Arc;

use crate::chain::StateId;
use crate::distance::{Cells, Metric};
use crate::mechanism::{Calibration, Mechanism, ScaleError};
use crate::nats::Nats;
use crate::watch::Watch;

impl Mechanism {
    /// By what factors the scales in force are above those of the theorem, the smallest and the
    /// largest over all last released states. `None` for a mechanism that does not go by cells.
    ///
    /// # Errors
    ///
    /// If the watcher asks to stop.
    pub fn gains_over_theorem(&self, watch: Watch<'_>) -> Result<Option<(f64, f64)>, ScaleError> {
        let (Some(_), Some(promise)) = (self.certificate(), self.promise()) else {
            return Ok(None);
        };
        let (model, design) = (self.model().clone(), self.design());
        let theorem = Self::with_cells(model, design, promise, Calibration::Theorem, watch)?;
        let scale = |mechanism: &Self, z| mechanism.scale(z).eta().as_f64();
        let gains = self.model().chain().states().map(|z| scale(self, z) / scale(&theorem, z));
        Ok(Some(gains.fold((f64::INFINITY, 0.0), |(least, most), g| (g.min(least), g.max(most)))))
    }
}

/// Distance to the cell, for walks within a radius: one contiguous run of the table a step.
#[derive(Debug)]
pub(super) struct ByRadius(Arc<Cells>);

impl ByRadius {
    /// With all distances made. Were they left to the first step, every thread that takes one would
    /// make them.
    pub(super) fn new(cells: Arc<Cells>) -> Self {
        let _ = cells.all_distances();
        Self(cells)
    }
}

/// Zero for the right answer and one nat for everything else.
#[derive(Debug)]
pub(super) struct BySubstitution(pub(super) Arc<Cells>);

impl Metric for ByRadius {
    #[inline]
    fn fill(&self, previous: StateId, _: &[StateId], real: StateId, out: &mut [Nats]) {
        out.copy_from_slice(self.0.distances(previous, real));
    }
}

impl Metric for BySubstitution {
    #[inline]
    fn fill(&self, previous: StateId, _: &[StateId], real: StateId, out: &mut [Nats]) {
        out.fill(Nats::from_units(Nats::PER_NAT));
        out[self.0.best(previous, real)] = Nats::ZERO;
    }
}
