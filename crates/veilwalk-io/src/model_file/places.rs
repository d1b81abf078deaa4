//! Where the states of a model are: lists that are there or not.

use std::sync::Arc;

use bytemuck::cast_slice;
use veilwalk::chain::{Chain, Coordinates, Length, Places};

use super::layout::{Kind, ModelProblem};
use super::read::{Sections, missing};

/// Places in the numbers that their sections hold.
#[derive(Default)]
pub(super) struct PlaceNumbers {
    lengths: Option<Vec<Length>>,
    coordinates: Option<Vec<Coordinates>>,
    /// All names, one after the other, and where each ends.
    names: Option<(String, Vec<u64>)>,
    lines: Option<(Vec<Coordinates>, Vec<u64>)>,
}

impl PlaceNumbers {
    pub(super) fn of(chain: &Chain) -> Self {
        let Some(places) = chain.places().cloned() else { return Self::default() };
        Self {
            lengths: places.lengths,
            coordinates: places.coordinates,
            names: places.names.map(|names| (names.concat(), ends(names.iter().map(String::len)))),
            lines: places.lines.map(|lines| (lines.concat(), ends(lines.iter().map(Vec::len)))),
        }
    }

    pub(super) fn sections(&self) -> Vec<(Kind, &[u8])> {
        let mut sections: Vec<(Kind, &[u8])> = Vec::new();
        if let Some(lengths) = &self.lengths {
            sections.push((Kind::Lengths, cast_slice(lengths)));
        }
        if let Some(coordinates) = &self.coordinates {
            sections.push((Kind::Coordinates, cast_slice(coordinates)));
        }
        if let Some((text, ends)) = &self.names {
            sections
                .extend([(Kind::NameEnds, cast_slice(ends)), (Kind::NameText, text.as_bytes())]);
        }
        if let Some((points, ends)) = &self.lines {
            sections.extend([
                (Kind::LineEnds, cast_slice(ends)),
                (Kind::LinePoints, cast_slice(points)),
            ]);
        }
        sections
    }
}

fn ends(lengths: impl Iterator<Item = usize>) -> Vec<u64> {
    let running = lengths.scan(0, |end, length| {
        *end += length as u64;
        Some(*end)
    });
    running.collect()
}

impl Sections {
    /// Where the states are, as far as the file says it. Whether the lists are as long as the chain asks for is for
    /// the chain to say.
    pub(super) fn places(&self) -> Result<Option<Arc<Places>>, ModelProblem> {
        let mut places = Places::default();
        if self.range(Kind::Lengths).is_some() {
            let lengths = self.numbers::<Length>(Kind::Lengths)?.to_vec();
            if lengths.iter().any(|&length| length > Length::LONGEST) {
                return Err(missing(Kind::Lengths));
            }
            places.lengths = Some(lengths);
        }
        if self.range(Kind::Coordinates).is_some() {
            places.coordinates = Some(self.points(Kind::Coordinates)?.to_vec());
        }
        if self.range(Kind::NameEnds).is_some() {
            let text = std::str::from_utf8(self.numbers::<u8>(Kind::NameText)?);
            let text = text.map_err(|_| missing(Kind::NameText))?;
            let names =
                self.pieces(Kind::NameEnds, text.len(), |piece| text.get(piece).map(str::to_owned));
            places.names = Some(names?);
        }
        if self.range(Kind::LineEnds).is_some() {
            let points = self.points(Kind::LinePoints)?;
            let lines = self
                .pieces(Kind::LineEnds, points.len(), |piece| points.get(piece).map(<[_]>::to_vec));
            places.lines = Some(lines?);
        }
        Ok((!places.is_empty()).then(|| Arc::new(places)))
    }

    fn points(&self, kind: Kind) -> Result<&[Coordinates], ModelProblem> {
        let points = self.numbers::<Coordinates>(kind)?;
        let on_earth =
            |point: &Coordinates| Coordinates::new(point.latitude(), point.longitude()).is_ok();
        if points.iter().all(on_earth) { Ok(points) } else { Err(missing(kind)) }
    }

    /// What lies between one end and the next.
    fn pieces<T>(
        &self,
        kind: Kind,
        length: usize,
        piece: impl Fn(std::ops::Range<usize>) -> Option<T>,
    ) -> Result<Vec<T>, ModelProblem> {
        let ends = self.offsets(kind)?;
        if ends.last().copied().unwrap_or(0) != length {
            return Err(missing(kind));
        }
        let starts = std::iter::once(0).chain(ends.iter().copied());
        let pieces = starts.zip(&ends).map(|(start, &end)| piece(start..end));
        pieces.collect::<Option<_>>().ok_or_else(|| missing(kind))
    }
}
