//! The analysis for people: short sections, a unit for every figure, a line that says what it means.

use std::fmt::Write;

use comfy_table::{CellAlignment, Table};
use veilwalk::analysis::{Analysis, Findings};
use veilwalk::internal::long_run::{Convergence, MixingKind, MixingTime};
use veilwalk::internal::nats::in_nats;
use veilwalk::internal::plan::{LeftOut, TypicalFigure};
use veilwalk::internal::simulate::{Estimate, SimulatedUtility};

use super::Subject;
use super::blocks::walks_in_words;
use crate::args::{blocks_in_words, counted, thousands};
use crate::units::nats;
use crate::{terminal, units};

/// The whole text.
pub(super) fn page(subject: &Subject, found: &Findings) -> String {
    let mut page = Page::about(subject);
    match found {
        Findings::Exact(analysis) => {
            page.closeness(analysis);
            page.entropy(subject, analysis);
            page.exceedance(analysis);
            page.typical(analysis);
            page.drift(analysis);
            page.long_run(analysis);
            page.bounds(analysis);
            page.simulated(analysis);
            page.left_out(&analysis.left_out);
        }
        Findings::Simulated { simulated, left_out } => {
            page.estimates(simulated);
            page.left_out(left_out);
        }
    }
    page.0.trim_end().to_owned()
}

struct Page(String);

impl Page {
    fn about(subject: &Subject) -> Self {
        let Subject { mechanism, promise, walks, start, .. } = subject;
        let blocks =
            subject.block.map(|length| format!("\nReleased in {}", blocks_in_words(length)));
        Self(format!(
            "{mechanism}, {promise}{}\nReal walks: {walks}\nReleases start {}\n",
            blocks.unwrap_or_default(),
            start.0
        ))
    }

    fn section(&mut self, title: &str) {
        let _ = write!(self.0, "\n{title}\n");
    }

    /// A figure with its unit and its meaning.
    fn figure(&mut self, name: &str, value: impl AsRef<str>, meaning: &str) {
        let line = format!("  {name:<17} {:>15}   {meaning}", value.as_ref());
        let _ = writeln!(self.0, "{}", line.trim_end());
    }

    fn say(&mut self, line: &str) {
        let _ = writeln!(self.0, "  {line}");
    }

    fn table(&mut self, mut table: Table, first_to_the_left: bool) {
        for (place, column) in table.column_iter_mut().enumerate() {
            if place > 0 || !first_to_the_left {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        for line in terminal::lines(&table).lines() {
            let _ = writeln!(self.0, "  {line}");
        }
    }

    fn closeness(&mut self, analysis: &Analysis) {
        let utility = &analysis.utility;
        self.section("Closeness");
        self.figure(
            "mean distance",
            units::figure(utility.mean_distance_nats),
            "from the released to the real state, over all steps",
        );
        self.figure(
            "wrong states",
            percent(utility.wrong_state_share),
            "of steps release another state than the real one",
        );
    }

    fn entropy(&mut self, subject: &Subject, analysis: &Analysis) {
        let entropy = &analysis.utility.entropy_nats;
        self.section(
            "Entropy per transition (near the real one, a release looks like a real walk)",
        );
        self.figure("released walk", nats(entropy.released), "");
        if entropy.real.is_finite() {
            self.figure("real walk", nats(entropy.real), "");
        } else {
            let moves = counted(subject.impossible_moves, "move");
            self.figure(
                "real walk",
                "infinite",
                &format!("{moves} of the real walks not possible under the chain"),
            );
        }
        let rate = entropy.rate.map_or("not known".to_owned(), nats);
        self.figure("entropy rate", rate, "of the chain, in the long run");
    }

    fn exceedance(&mut self, analysis: &Analysis) {
        if analysis.utility.exceedance.is_empty() {
            return;
        }
        self.section("How often the released state is farther than a distance");
        let distance = format!("distance ({})", units::measure().name());
        let header = [distance.as_str(), "share of steps", "ever in a walk", "bound, corrected"];
        let bounds = analysis.bounds.error.as_ref().map(|error| &error.levels);
        let columns = if bounds.is_some() { 4 } else { 3 };
        let mut table = terminal::table(&header[..columns]);
        for (place, level) in analysis.utility.exceedance.iter().enumerate() {
            let mut row = vec![
                units::measure().shown(level.nats).to_string(),
                chance(level.per_step),
                chance(level.ever),
            ];
            row.extend(bounds.map(|levels| chance(levels[place].corrected)));
            table.add_row(row);
        }
        self.table(table, false);
        if bounds.is_some() {
            self.say("The bound is proven for the share of steps; the exact share is beside it.");
        }
    }

    fn typical(&mut self, analysis: &Analysis) {
        if analysis.typical.is_empty() {
            return;
        }
        self.section("Typical releases: entropy per transition within eta of the chain's rate");
        for figure in &analysis.typical {
            match figure {
                TypicalFigure::Enclosed(e) if e.at_least == e.at_most => {
                    self.figure(&eta(e.eta), percent(e.at_least), "of releases, exact");
                }
                TypicalFigure::Enclosed(e) => {
                    let meaning =
                        format!("of releases; at least {}; enclosed", percent(e.at_least));
                    self.figure(&eta(e.eta), format!("≤ {}", percent(e.at_most)), &meaning);
                }
                TypicalFigure::Simulated { eta: width, released, walks } => self.figure(
                    &eta(*width),
                    percent(released.mean),
                    &format!(
                        "of releases, simulated; standard error {}, {} walks",
                        percent(released.standard_error),
                        thousands(*walks as usize)
                    ),
                ),
            }
        }
    }

    fn drift(&mut self, analysis: &Analysis) {
        let Some(drift) = &analysis.drift else { return };
        self.section("Drift: is the released walk drawn back to the real one?");
        let pairs = thousands(drift.joint_states);
        self.figure(
            "drawn back",
            percent(drift.attractive),
            &format!("of the {pairs} pairs of a real and a released state, exact"),
        );
        match (drift.corrected, drift.published) {
            (Some(corrected), Some(published)) => {
                self.figure("corrected lemma", percent(corrected), "of pairs, proven by it");
                let wrongly = drift.published_wrongly.unwrap_or(0.0);
                let meaning = format!("of pairs, claimed by it; wrongly of {}", percent(wrongly));
                self.figure("published lemma", percent(published), &meaning);
            }
            _ => self.say("The lemma on drift does not speak of this mechanism."),
        }
        self.figure(
            "B",
            units::figure(drift.b_epsilon_nats),
            "beyond this distance, every pair is drawn back",
        );
    }

    fn long_run(&mut self, analysis: &Analysis) {
        let Some(long_run) = &analysis.long_run else { return };
        self.section("In the long run");
        self.figure("mean distance", units::figure(long_run.mean_distance_nats), "");
        self.figure("wrong states", percent(long_run.wrong_state_share), "of steps");
        self.figure("released entropy", nats(long_run.entropy_nats.released), "per transition");
        self.say(&settled(&long_run.convergence));
        if let Some(second) = &analysis.second_eigenvalue {
            let sure = if second.convergence.converged { "" } else { "; has NOT settled" };
            self.figure(
                "second eigenvalue",
                format!("{:.6}", second.modulus),
                &format!("modulus; the nearer to 1, the slower walks forget{sure}"),
            );
        }
        if let Some(mixing) = &analysis.mixing {
            self.figure("mixing time", steps(mixing.pair), "of the pair, to within a quarter");
            self.figure("", steps(mixing.chain), "of the real chain by itself");
        }
    }

    fn bounds(&mut self, analysis: &Analysis) {
        let bounds = &analysis.bounds;
        if bounds.error.is_none() {
            return;
        }
        self.section(
            "Published bounds, as printed: none of them is valid (--format json says why)",
        );
        if let Some(error) = &bounds.error {
            for level in &error.levels {
                let value = level.published.map_or("says nothing".to_owned(), chance);
                let name = format!("P(over {})", units::number(level.nats));
                let exact = chance_of_level(analysis, level.nats);
                self.figure(&name, value, &format!("at the last step; exact {exact}"));
            }
        }
        if let Some(entropy) = bounds.entropy.map(|entropy| entropy.figures) {
            let value = entropy.published.map_or("says nothing".to_owned(), nats);
            let meaning = format!("of entropy per transition; exact {}", nats(entropy.corrected));
            self.figure("released entropy", value, &meaning);
        }
        for figures in bounds.typicality.iter().flat_map(|bound| &bound.etas) {
            let value = figures.published.map_or("says nothing".to_owned(), chance);
            let corrected = figures.corrected.map_or("left out".to_owned(), chance);
            let meaning = format!("that a release is not typical; corrected {corrected}");
            self.figure(&eta(figures.eta), value, &meaning);
        }
    }

    fn simulated(&mut self, analysis: &Analysis) {
        let Some(simulated) = &analysis.simulated else { return };
        let walks = thousands(simulated.walks as usize);
        self.section(&format!("Simulated beside exact ({walks} walks)"));
        let header = ["", "exact", "simulated", "standard error", "apart"];
        let mut table = terminal::table(&header);
        let exact = &analysis.utility;
        let mut row = |name: String, exact: f64, estimate: Estimate| {
            let apart = (estimate.mean - exact).abs() / estimate.standard_error;
            let apart =
                if apart.is_finite() { format!("{apart:.1} errors") } else { String::new() };
            let numbers = [exact, estimate.mean, estimate.standard_error].map(chance);
            let [exact, mean, error] = numbers;
            table.add_row([name, exact, mean, error, apart]);
        };
        let (ours, theirs) = (exact.entropy_nats, simulated.entropy_nats);
        row(
            mean_distance(),
            shown(exact.mean_distance_nats),
            shown_estimate(simulated.mean_distance_nats),
        );
        row("wrong states".to_owned(), exact.wrong_state_share, simulated.wrong_state_share);
        row("released entropy (nats)".to_owned(), ours.released, theirs.released);
        row("real entropy (nats)".to_owned(), ours.real, theirs.real);
        for (ours, theirs) in exact.exceedance.iter().zip(&simulated.exceedance) {
            row(format!("over {}", units::number(ours.nats)), ours.per_step, theirs.per_step);
            row(format!("ever over {}", units::number(ours.nats)), ours.ever, theirs.ever);
        }
        self.table(table, true);
    }

    /// Estimates by themselves.
    fn estimates(&mut self, simulated: &SimulatedUtility) {
        self.section(&format!("Simulated ({})", walks_in_words(simulated)));
        let mut table = terminal::table(&["", "mean", "standard error"]);
        let mut row = |name: String, estimate: Estimate| {
            table.add_row([name, chance(estimate.mean), chance(estimate.standard_error)]);
        };
        row(mean_distance(), shown_estimate(simulated.mean_distance_nats));
        row("wrong states".to_owned(), simulated.wrong_state_share);
        row("released entropy (nats)".to_owned(), simulated.entropy_nats.released);
        row("real entropy (nats)".to_owned(), simulated.entropy_nats.real);
        for level in &simulated.exceedance {
            row(format!("over {}", units::number(level.nats)), level.per_step);
            row(format!("ever over {}", units::number(level.nats)), level.ever);
        }
        for typical in &simulated.typical {
            row(format!("typical within {}", eta(typical.eta)), typical.released);
        }
        if let Some(dropped) = simulated.dropped {
            row("dropped from beliefs".to_owned(), dropped);
        }
        self.table(table, true);
    }

    fn left_out(&mut self, left_out: &[LeftOut]) {
        if left_out.is_empty() {
            return;
        }
        self.section("Left out");
        for left in left_out {
            let line = terminal::wrapped(&format!("{}: {}", left.what, left.why));
            let _ = writeln!(self.0, "{line}");
        }
    }
}

fn chance_of_level(analysis: &Analysis, nats: f64) -> String {
    let levels = &analysis.utility.exceedance;
    let level = levels.iter().find(|level| level.nats == nats);
    level.and_then(|level| level.at_step.last()).map_or("not known".to_owned(), |p| chance(*p))
}

fn settled(convergence: &Convergence) -> String {
    let Convergence { sweeps, error, converged, .. } = convergence;
    let sweeps = counted(*sweeps, "sweep");
    if *converged {
        format!("Settled after {sweeps}, with an error of about {error:.0e}.")
    } else {
        format!("NOT settled after {sweeps} (error about {error:.0e}); --thorough allows more.")
    }
}

fn steps(time: MixingTime) -> String {
    let steps = counted(time.steps as usize, "step");
    match time.kind {
        MixingKind::Exact => steps,
        MixingKind::LowerBound => format!("≥ {steps}"),
    }
}

fn eta(width: f64) -> String {
    format!("eta {}", in_nats(width))
}

fn mean_distance() -> String {
    format!("mean distance ({})", units::measure().name())
}

fn shown(value: f64) -> f64 {
    units::measure().shown(value)
}

fn shown_estimate(estimate: Estimate) -> Estimate {
    let Estimate { mean, standard_error } = estimate;
    Estimate { mean: shown(mean), standard_error: shown(standard_error) }
}

/// A share in per cent, without the sign.
fn bare(share: f64) -> String {
    let percent = 100.0 * share;
    if percent != 0.0 && percent < 0.01 {
        format!("{percent:.1e}")
    } else {
        format!("{percent:.2}")
    }
}

/// A share in per cent.
pub(crate) fn percent(share: f64) -> String {
    format!("{} %", bare(share))
}

/// A probability, or any number of that kind.
pub(crate) fn chance(p: f64) -> String {
    match p {
        p if !p.is_finite() => "infinite".to_owned(),
        0.0 => "0".to_owned(),
        p if !(1e-3..1e4).contains(&p) => format!("{p:.3e}"),
        p => format!("{p:.5}"),
    }
}
