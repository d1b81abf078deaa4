//! A thread that writes pieces of the release behind, in order.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender};

use super::sink::{Piece, Sink};
use super::{ReleaseError, ReleaseProgress, ReleaseStage, WalkRelease};
use crate::write_error::WriteError;

/// What goes to the thread that writes.
pub(super) enum Written {
    Piece(Piece),
    End,
}

/// Writes what comes, and finishes the output if the end comes too.
pub(super) fn write_behind<W: Write + Send>(
    mut sink: Sink<W>,
    pieces: &Receiver<Written>,
) -> Result<Option<W>, WriteError> {
    for piece in pieces {
        match piece {
            Written::Piece(piece) => sink.write(piece)?,
            Written::End => return sink.finish().map(Some),
        }
    }
    Ok(None)
}

/// Where pieces go, and what has been counted on the way.
pub(super) struct Out {
    pub(super) send: SyncSender<Written>,
    pub(super) read: Arc<AtomicU64>,
    pub(super) states: u64,
    /// States that were given to the second stage.
    pub(super) taken: u64,
}

/// Why the stages end; nothing if the writer is gone, which then says why.
pub(super) type Ended = Option<ReleaseError>;

impl Out {
    /// Hands pieces on, if the model they were released with is still what it was.
    pub(super) fn write(
        &self,
        pieces: Result<Vec<Piece>, WriteError>,
        release: &WalkRelease<'_>,
    ) -> Result<(), Ended> {
        let pieces = pieces.map_err(|error| Some(error.into()))?;
        release.mechanism.model().check_unchanged().map_err(|error| Some(error.into()))?;
        for piece in pieces {
            self.send.send(Written::Piece(piece)).map_err(|_| None)?;
        }
        Ok(())
    }

    pub(super) fn watch(&self, release: &WalkRelease<'_>) -> Result<(), Ended> {
        self.watch_at(self.states, ReleaseStage::Reading, release)
    }

    /// The same when so many states have been released.
    pub(super) fn watch_at(
        &self,
        states: u64,
        stage: ReleaseStage,
        release: &WalkRelease<'_>,
    ) -> Result<(), Ended> {
        let (bytes, waiting) = (self.read.load(Ordering::Relaxed), self.taken - states);
        match (release.watch)(ReleaseProgress { bytes, states, waiting, stage }).is_break() {
            true => Err(Some(ReleaseError::Stopped)),
            false => Ok(()),
        }
    }
}
