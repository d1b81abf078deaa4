//! The first stage: a part of the input becomes a batch. Plain rows are split here; blocks with quotes or errors
//! go to `WalkReader`.

use veilwalk::{Chain, StateId};

use super::UnknownStates;
use super::batch::{Batch, Ids};
use super::input::Part;
use super::text_blocks::TextBlock;
use crate::read_error::{Place, ReadError, ReadErrorKind};
use crate::walks::{Layout, Shape, WalkReader};

/// What is needed to parse a part.
#[derive(Debug)]
pub(super) struct Parser<'a> {
    pub(super) chain: &'a Chain,
    pub(super) ids: &'a Ids,
    pub(super) unknown: UnknownStates,
}

impl Parser<'_> {
    pub(super) fn parse(&self, part: Part) -> Result<Batch, ReadError> {
        match part {
            Part::Text(layout, block) => self.text(&layout, &block),
            #[cfg(feature = "arrow")]
            Part::Columns(columns, part) => self.columns(&columns, &part),
        }
    }

    /// Most blocks have no quotes and nothing wrong: they are cut at their delimiters. A block with
    /// anything out of the ordinary goes to the reader, which knows quotes and says what is wrong.
    fn text(&self, layout: &Layout, block: &TextBlock) -> Result<Batch, ReadError> {
        match self.plain_text(layout, block) {
            Some(batch) => Ok(batch),
            None => self.any_text(layout, block),
        }
    }

    fn plain_text(&self, layout: &Layout, block: &TextBlock) -> Option<Batch> {
        let delimiter = char::from(layout.delimiter()?);
        let text = std::str::from_utf8(&block.bytes).ok()?;
        if text.contains('"') || text.ends_with('\r') {
            return None;
        }
        let (name, label, kept) = (layout.columns[0], layout.columns[1], &layout.columns[2..]);
        let mut batch = Batch::new(Shape::Long, text.len() / 8);
        let mut fields = Vec::with_capacity(layout.header.len());
        for (line, number) in text.lines().zip(block.first_line..) {
            fields.clear();
            fields.extend(line.split(delimiter));
            if fields.len() == layout.header.len() {
                let kept = kept.iter().map(|&column| fields[column]);
                let place = Place::Line(number);
                self.take_row(&mut batch, fields[name], fields[label], kept, place)?;
            } else if line.bytes().any(|byte| !matches!(byte, b' ' | b'\r')) {
                return None;
            }
        }
        Some(batch)
    }

    fn any_text(&self, layout: &Layout, block: &TextBlock) -> Result<Batch, ReadError> {
        let mut reader = WalkReader::within(layout, &block.bytes[..], block.first_line);
        let mut batch = Batch::new(Shape::Long, block.bytes.len() / 12);
        while let Some(row) = reader.next_row()? {
            self.take_row(&mut batch, row.trajectory, row.state, row.kept, row.place)
                .ok_or_else(|| unknown_state(self.chain, &layout.name, row.place, row.state))?;
        }
        Ok(batch)
    }

    /// Takes a row of text; nothing if it has to be refused.
    #[inline]
    fn take_row<'t>(
        &self,
        batch: &mut Batch,
        name: &str,
        label: &str,
        kept: impl Iterator<Item = &'t str>,
        place: Place,
    ) -> Option<()> {
        if name.is_empty() || label.is_empty() {
            return None;
        }
        match self.chain.state(label).or_else(|| self.replacement(batch)) {
            Some(state) => batch.push_state(self.ids, name, state, place),
            None if self.unknown == UnknownStates::Skip => {
                batch.skip(self.ids, name, 1);
                return Some(());
            }
            None => return None,
        }
        for value in kept {
            batch.keep_text(value);
        }
        Some(())
    }

    /// The state that replaces an unknown one, counted.
    pub(super) fn replacement(&self, batch: &mut Batch) -> Option<StateId> {
        let UnknownStates::Replace(state) = self.unknown else { return None };
        batch.replaced += 1;
        Some(state)
    }
}

/// The error of a label that the chain does not have.
pub(super) fn unknown_state(chain: &Chain, file: &str, place: Place, label: &str) -> ReadError {
    ReadError::at(file, place, ReadErrorKind::UnknownState(chain.unknown(label)))
}
