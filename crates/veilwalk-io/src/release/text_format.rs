//! From released states to rows of text.
//!
//! The rows of a run differ in their step and their state alone. So a row is three pieces: one that
//! stays the same for the run, digits that are counted up, and one of as many pieces as there are
//! states. Pieces are padded, so that a copy has a length that the compiler knows.

use arrow_array::{Array, ArrayRef};
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_schema::ArrowError;
use veilwalk::{Chain, StateId};

use super::answer::Answer;
use super::batch::{Batch, Kept};
use crate::columns::Shape;
use crate::row_text::RowText;

/// Writes answers as text.
#[derive(Debug)]
pub(super) struct TextFormat {
    text: RowText,
    /// For each state, all that follows the number of the step in a row without kept values.
    ends: Vec<Box<[u8]>>,
    /// The same in one size, if they fit and nothing is kept.
    short_ends: Option<Vec<Padded<END>>>,
    longest_end: usize,
    kept: usize,
}

/// How much of a row is copied at a time: up to the step, and from the state on.
const START: usize = 48;
const END: usize = 32;

/// The largest number of a step has this many digits.
const MOST_DIGITS: usize = 20;

impl TextFormat {
    pub(super) fn new(text: RowText, chain: &Chain, kept: usize) -> Self {
        let end = |state: StateId| {
            let mut piece = Vec::new();
            text.push_state(&mut piece, chain.label(state));
            if kept == 0 {
                text.push_rest(&mut piece, []);
            }
            piece.into_boxed_slice()
        };
        let ends: Vec<_> = chain.states().map(end).collect();
        let short = || ends.iter().map(|end| Padded::new(end)).collect();
        let short_ends = if kept == 0 { short() } else { None };
        let longest_end = ends.iter().map(|end| end.len()).max().unwrap_or(0);
        Self { text, ends, short_ends, longest_end, kept }
    }

    pub(super) fn format(&self, answer: &Answer) -> Result<Vec<u8>, ArrowError> {
        match &self.short_ends {
            Some(ends) => Ok(self.by_pieces(answer, ends)),
            None => self.row_by_row(answer),
        }
    }

    /// Rows without kept values, whose states are short.
    fn by_pieces(&self, answer: &Answer, ends: &[Padded<END>]) -> Vec<u8> {
        let Answer { batch, first_steps } = answer;
        let mut out = vec![0; batch.text.len() + 8 * batch.states.len()];
        let mut at = 0;
        let mut start = Vec::new();
        let mut digits = itoa::Buffer::new();
        let mut states = batch.states.iter();
        for (run, &first_step) in batch.runs.iter().zip(first_steps) {
            start.clear();
            self.text.push_start(&mut start, batch.name(run));
            let count = run.states as usize;
            let longest = start.len() + MOST_DIGITS;
            // Copies write more than they need to, so room is left for the longest after the last.
            let room = at + count * (longest + self.longest_end) + START + END;
            if out.len() < room {
                out.resize(room.max(2 * out.len()), 0);
            }
            let last_step = first_step + u64::from(run.states);
            if count > 1
                && let Some(start) = Padded::<START>::new(&start)
                && let (Some(mut step), Some(_)) = (Digits::new(first_step), Digits::new(last_step))
            {
                for state in states.by_ref().take(count) {
                    start.copy_to(&mut out, &mut at);
                    step.copy_to(&mut out, &mut at);
                    ends[state.index()].copy_to(&mut out, &mut at);
                    step.count_up();
                }
            } else {
                for (step, state) in (first_step..).zip(states.by_ref().take(count)) {
                    let digits = digits.format(step).as_bytes();
                    let pieces = [&start[..], digits, &self.ends[state.index()]];
                    for piece in pieces {
                        out[at..at + piece.len()].copy_from_slice(piece);
                        at += piece.len();
                    }
                }
            }
        }
        out.truncate(at);
        out
    }

    /// Whatever there is to be written.
    fn row_by_row(&self, answer: &Answer) -> Result<Vec<u8>, ArrowError> {
        let Answer { batch, first_steps } = answer;
        let mut out = Vec::with_capacity(2 * batch.text.len() + 16 * batch.states.len());
        let kept = Shown::new(batch)?;
        let mut start = Vec::new();
        let mut digits = itoa::Buffer::new();
        let mut row = 0;
        for (number, (run, &first_step)) in batch.runs.iter().zip(first_steps).enumerate() {
            start.clear();
            self.text.push_start(&mut start, batch.name(run));
            for step in first_step..first_step + u64::from(run.states) {
                out.extend_from_slice(&start);
                out.extend_from_slice(digits.format(step).as_bytes());
                out.extend_from_slice(&self.ends[batch.states[row].index()]);
                match &kept {
                    _ if self.kept == 0 => {}
                    Shown::Text(places) => {
                        let values = &places[row * self.kept..(row + 1) * self.kept];
                        let values = values.iter().map(|&place| batch.text_at(place));
                        self.text.push_rest(&mut out, values);
                    }
                    Shown::Columns(columns) => {
                        let at = if batch.shape == Shape::Lists { number } else { row };
                        let values: Result<Vec<String>, _> =
                            columns.iter().map(|column| column.value(at).try_to_string()).collect();
                        self.text.push_rest(&mut out, values?.iter().map(String::as_str));
                    }
                }
                row += 1;
            }
        }
        Ok(out)
    }
}

/// Some bytes, with zeros after them.
#[derive(Clone, Copy, Debug)]
struct Padded<const SIZE: usize> {
    bytes: [u8; SIZE],
    length: usize,
}

impl<const SIZE: usize> Padded<SIZE> {
    /// Nothing if they are too many.
    fn new(piece: &[u8]) -> Option<Self> {
        let mut bytes = [0; SIZE];
        bytes.get_mut(..piece.len())?.copy_from_slice(piece);
        Some(Self { bytes, length: piece.len() })
    }

    /// Writes the bytes, and the zeros over what is yet to be written.
    #[inline(always)]
    fn copy_to(&self, out: &mut [u8], at: &mut usize) {
        out[*at..][..SIZE].copy_from_slice(&self.bytes);
        *at += self.length;
    }
}

/// A number of up to eight digits. They stay in a register: counted up in memory, they would have to
/// get there before they could be copied.
#[derive(Clone, Copy, Debug)]
struct Digits {
    number: u64,
    /// The first digit in the lowest byte.
    text: u64,
    length: usize,
}

impl Digits {
    const MOST: usize = size_of::<u64>();

    /// Nothing if they are too many.
    fn new(number: u64) -> Option<Self> {
        let mut digits = itoa::Buffer::new();
        let Padded { bytes, length } =
            Padded::<{ Self::MOST }>::new(digits.format(number).as_bytes())?;
        Some(Self { number, text: u64::from_le_bytes(bytes), length })
    }

    /// Writes the digits, and zeros over what is yet to be written.
    #[inline(always)]
    fn copy_to(&self, out: &mut [u8], at: &mut usize) {
        out[*at..][..Self::MOST].copy_from_slice(&self.text.to_le_bytes());
        *at += self.length;
    }

    /// The next number, which must not have too many digits.
    #[inline(always)]
    fn count_up(&mut self) {
        let last = 8 * (self.length as u32 - 1);
        self.number += 1;
        if (self.text >> last) as u8 == b'9' {
            *self = Self::new(self.number).expect("as many digits as the last step at most");
        } else {
            self.text += 1 << last;
        }
    }
}

/// Kept values that can be shown as text.
enum Shown<'a> {
    Text(&'a [(u32, u32)]),
    Columns(Vec<ArrayFormatter<'a>>),
}

impl<'a> Shown<'a> {
    const OPTIONS: FormatOptions<'static> = FormatOptions::new().with_null("");

    fn new(batch: &'a Batch) -> Result<Self, ArrowError> {
        Ok(match &batch.kept {
            Kept::Text(places) => Self::Text(places),
            Kept::Columns(columns) => {
                let shown = |column: &'a ArrayRef| {
                    ArrayFormatter::try_new(column as &dyn Array, &Self::OPTIONS)
                };
                Self::Columns(columns.iter().map(shown).collect::<Result<_, _>>()?)
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;
    use crate::read_error::Place;
    use crate::release::batch::Ids;
    use crate::walks::WalkFormat;

    proptest! {
        #[test]
        fn pieces_make_the_same_rows(
            runs in vec(("[a-z,\"]{1,5}|[a-z]{40,70}", 0_usize..120, 0_u64..1200), 0..6),
            far in prop_oneof![Just(0), Just(99_999_000), Just(u64::MAX / 2)],
            format in prop_oneof![Just(WalkFormat::Csv), Just(WalkFormat::Ndjson)],
        ) {
            let chain = Chain::credit();
            let ids = Ids::new();
            let mut batch = Batch::with_text(String::new(), 0);
            for (name, states, _) in &runs {
                let states = (0..*states).map(|i| StateId::new(i % chain.len()));
                batch.push_run(&ids, name, states, Place::Row(0));
            }
            let first_steps = runs.iter().map(|&(_, _, step)| far + step).collect();
            let answer = Answer { batch, first_steps };
            let text = TextFormat::new(RowText::new(format, &[]), &chain, 0);
            let pieces = text.by_pieces(&answer, text.short_ends.as_deref().unwrap());
            prop_assert_eq!(pieces, text.row_by_row(&answer).unwrap());
        }
    }
}
