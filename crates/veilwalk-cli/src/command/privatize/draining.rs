//! Input of a stream, which SIGTERM and SIGHUP end in good order.
//!
//! A thread reads, so that whoever waits for input sees the signal too. What was read by then is answered; a last line
//! that had not come as a whole is left out.

use std::io::{self, Read};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use anyhow::Result;

/// Whether the stream was asked to end.
pub(super) static DRAINING: AtomicBool = AtomicBool::new(false);

/// How many pieces are read ahead.
const AHEAD: usize = 4;
const PIECE: usize = 1 << 16;
/// How soon a signal is seen.
const LOOK: Duration = Duration::from_millis(20);

/// Whether the stream was asked to end.
pub(super) fn is_draining() -> bool {
    DRAINING.load(Ordering::SeqCst)
}

/// Input that ends when the stream is asked to.
pub(super) struct Draining {
    pieces: Receiver<io::Result<Vec<u8>>>,
    piece: Vec<u8>,
    used: usize,
}

impl Draining {
    pub(super) fn new(input: impl Read + Send + 'static) -> Result<Self> {
        listen()?;
        let (sender, pieces) = sync_channel(AHEAD);
        let thread = thread::Builder::new().name("veilwalk input".to_owned());
        thread.spawn(move || read(input, &sender))?;
        Ok(Self { pieces, piece: Vec::new(), used: 0 })
    }
}

impl Read for Draining {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.used == self.piece.len() {
            match self.pieces.recv_timeout(LOOK) {
                Ok(piece) => (self.piece, self.used) = (piece?, 0),
                Err(RecvTimeoutError::Timeout) if !is_draining() => {}
                Err(_) => return Ok(0),
            }
        }
        let count = buffer.len().min(self.piece.len() - self.used);
        buffer[..count].copy_from_slice(&self.piece[self.used..][..count]);
        self.used += count;
        Ok(count)
    }
}

fn read(mut input: impl Read, pieces: &SyncSender<io::Result<Vec<u8>>>) {
    while !is_draining() {
        let mut piece = vec![0; PIECE];
        let read = match input.read(&mut piece) {
            Ok(0) => return,
            Ok(read) => {
                piece.truncate(read);
                Ok(piece)
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => Err(error),
        };
        let failed = read.is_err();
        if pieces.send(read).is_err() || failed {
            return;
        }
    }
}

#[cfg(unix)]
fn listen() -> Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    let (mut terminate, mut hang_up) = {
        let _entered = runtime.enter();
        (signal(SignalKind::terminate())?, signal(SignalKind::hangup())?)
    };
    thread::Builder::new().name("veilwalk signals".to_owned()).spawn(move || {
        runtime.block_on(async {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = hang_up.recv() => {}
            }
        });
        DRAINING.store(true, Ordering::SeqCst);
        // Further signals have nothing to add.
        loop {
            thread::park();
        }
    })?;
    Ok(())
}

#[cfg(not(unix))]
fn listen() -> Result<()> {
    Ok(())
}
