//! From released states to rows of text.
//!
//! The rows of a run differ in their step, their state and what is kept alone. So a row is made of a
//! piece that stays the same for the run, the digits of the step, and one of as many pieces as there are
//! states; two of these where there are observations.

#[cfg(feature = "arrow")]
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use veilwalk::mechanism::Mechanism;
use veilwalk::mechanism::plane::Chart;
use veilwalk::{Outcome, Sight};

use super::answer::Answer;
use super::batch::{Batch, Kept};
use crate::own_columns::OwnColumns;
use crate::row_text::RowText;
#[cfg(feature = "arrow")]
use crate::walks::Shape;

/// Writes answers as text.
#[derive(Debug)]
pub(super) struct TextFormat {
    text: RowText,
    /// For each released state, what follows the number of the step: up to the end of the row if nothing
    /// is observed or kept.
    states: Vec<Box<[u8]>>,
    /// For each observed state, what follows the released one, up to the end of the row if nothing is
    /// kept; none where moves are drawn.
    observed: Vec<Box<[u8]>>,
    /// Where observed points lie, which are written one by one.
    chart: Option<Chart>,
    kept: usize,
}

impl TextFormat {
    pub(super) fn new(text: RowText, own: OwnColumns, mechanism: &Mechanism, kept: usize) -> Self {
        let (chain, chart) = (mechanism.model().chain(), mechanism.chart());
        let piece = |push: &dyn Fn(&mut Vec<u8>), ends_row: bool| {
            let mut piece = Vec::new();
            push(&mut piece);
            if ends_row && kept == 0 {
                text.push_rest(&mut piece, []);
            }
            piece.into_boxed_slice()
        };
        let moves = own == OwnColumns::Moves;
        let state = |label| piece(&|out| text.push_state(out, label), moves);
        let observed = |label| piece(&|out| text.push_observed(out, label), true);
        let labels = || chain.states().map(|state| chain.label(state));
        let states = labels().map(state).collect();
        let observed = if moves { Vec::new() } else { labels().map(observed).collect() };
        Self { states, observed, chart, text, kept }
    }

    fn push_observed(&self, out: &mut Vec<u8>, observed: Outcome) {
        match (observed.sight(), self.chart) {
            (Sight::State(state), _) => out.extend_from_slice(&self.observed[state.index()]),
            (Sight::Point(point), chart) => {
                let chart = chart.expect("points are drawn by a mechanism that has a chart");
                self.text.push_observed(out, &chart.text(point));
                if self.kept == 0 {
                    self.text.push_rest(out, []);
                }
            }
        }
    }

    /// What stands above the rows.
    pub(super) fn header(&self, kept: &[String]) -> Vec<u8> {
        self.text.header(kept)
    }

    pub(super) fn format(&self, answer: &Answer) -> Result<Vec<u8>, String> {
        let Answer { batch, first_steps } = answer;
        let mut out = Vec::with_capacity(2 * batch.text.len() + 16 * batch.states.len());
        let kept = Shown::new(batch)?;
        let mut start = Vec::new();
        let mut digits = itoa::Buffer::new();
        let mut row = 0;
        #[cfg_attr(not(feature = "arrow"), expect(unused_variables, reason = "for columns"))]
        for (number, (run, &first_step)) in batch.runs.iter().zip(first_steps).enumerate() {
            start.clear();
            self.text.push_start(&mut start, batch.name(run));
            for step in first_step..first_step + u64::from(run.states) {
                out.extend_from_slice(&start);
                out.extend_from_slice(digits.format(step).as_bytes());
                out.extend_from_slice(&self.states[batch.states[row].index()]);
                if let Some(observed) = batch.observed.get(row) {
                    self.push_observed(&mut out, *observed);
                }
                match &kept {
                    _ if self.kept == 0 => {}
                    Shown::Text(places) => {
                        let values = &places[row * self.kept..(row + 1) * self.kept];
                        let values = values.iter().map(|&place| batch.text_at(place));
                        self.text.push_rest(&mut out, values);
                    }
                    #[cfg(feature = "arrow")]
                    Shown::Columns(columns) => {
                        let at = if batch.shape == Shape::Lists { number } else { row };
                        let values: Result<Vec<String>, _> =
                            columns.iter().map(|column| column.value(at).try_to_string()).collect();
                        let values = values.map_err(|error| error.to_string())?;
                        self.text.push_rest(&mut out, values.iter().map(String::as_str));
                    }
                }
                row += 1;
            }
        }
        Ok(out)
    }
}

/// Kept values that can be shown as text.
enum Shown<'a> {
    Text(&'a [(u32, u32)]),
    #[cfg(feature = "arrow")]
    Columns(Vec<ArrayFormatter<'a>>),
}

impl<'a> Shown<'a> {
    fn new(batch: &'a Batch) -> Result<Self, String> {
        match &batch.kept {
            Kept::Text(places) => Ok(Self::Text(places)),
            #[cfg(feature = "arrow")]
            Kept::Columns(columns) => {
                const OPTIONS: FormatOptions<'static> = FormatOptions::new().with_null("");
                let shown = columns.iter().map(|column| ArrayFormatter::try_new(column, &OPTIONS));
                let shown: Result<_, _> = shown.collect();
                shown.map(Self::Columns).map_err(|error| error.to_string())
            }
        }
    }
}
