//! A thread that reads parts of the input ahead.

use std::sync::mpsc::{Receiver, sync_channel};

use super::input::{Part, Parts};
use crate::read_error::ReadError;

pub(super) type PartOrError = Result<Part, ReadError>;

/// Reads on a thread of its own. It is not waited for: if the release ends early while a pipe is
/// silent, the thread ends with the next byte or with the program.
pub(super) fn read_ahead(mut input: Parts, ahead: usize) -> Receiver<PartOrError> {
    let (send, parts) = sync_channel(ahead);
    std::thread::spawn(move || {
        while let Some(part) = input.next_part().transpose() {
            let last = part.is_err();
            if send.send(part).is_err() || last {
                return;
            }
        }
    });
    parts
}

/// Waits for one part, and takes what else is there.
pub(super) fn next_round(parts: &Receiver<PartOrError>, most: usize) -> Vec<PartOrError> {
    let first = parts.recv().into_iter();
    first.chain(parts.try_iter().take(most - 1)).collect()
}
