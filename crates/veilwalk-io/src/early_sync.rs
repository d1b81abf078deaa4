//! A file that is brought to the disk while it is still being written.
//!
//! A file must be on the disk before it takes its name, and a large one takes a while to get there. A
//! thread of its own asks for that every few megabytes, so that little is left to wait for at the
//! end, and whoever writes does not wait at all.

use std::fs::File;
use std::io::{self, Write};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;

use tempfile::NamedTempFile;

/// A temporary file that is synced on the way.
#[derive(Debug)]
pub(crate) struct EarlySync {
    file: NamedTempFile,
    /// Bytes that were written since the last request.
    unsynced: usize,
    syncing: Option<Syncing>,
}

/// The thread that syncs, and the way to ask it to.
#[derive(Debug)]
struct Syncing {
    ask: SyncSender<()>,
    thread: JoinHandle<io::Result<()>>,
}

impl EarlySync {
    /// It is asked for each time this many bytes have been written.
    const EVERY: usize = 1 << 25;

    pub(crate) fn new(file: NamedTempFile) -> Self {
        Self { file, unsynced: 0, syncing: None }
    }

    /// Waits until everything is on the disk.
    pub(crate) fn finish(self) -> io::Result<NamedTempFile> {
        let Self { file, syncing, .. } = self;
        if let Some(Syncing { ask, thread }) = syncing {
            drop(ask);
            // What failed to reach the disk may be told only once: to that thread.
            match thread.join() {
                Ok(synced) => synced?,
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        file.as_file().sync_all()?;
        Ok(file)
    }

    /// Asks for a sync. Where there is no thread for it, the end will do.
    fn ask(&mut self) {
        self.unsynced = 0;
        if self.syncing.is_none() {
            self.syncing = self.file.as_file().try_clone().and_then(Syncing::start).ok();
        }
        if let Some(syncing) = &self.syncing {
            // If it has been asked already and not come to it, that will do. If it has failed, that
            // shows at the end.
            let _ = syncing.ask.try_send(());
        }
    }
}

impl Syncing {
    fn start(file: File) -> io::Result<Self> {
        let (ask, asked) = sync_channel(1);
        let sync = move || asked.into_iter().try_for_each(|()| file.sync_data());
        let thread = std::thread::Builder::new().name("sync".into()).spawn(sync)?;
        Ok(Self { ask, thread })
    }
}

impl Write for EarlySync {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.unsynced += written;
        if self.unsynced >= Self::EVERY {
            self.ask();
        }
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    #[test]
    fn what_was_synced_early_is_all_there() {
        let mut early = EarlySync::new(NamedTempFile::new().unwrap());
        let bytes: Vec<u8> = (0..=250).cycle().take(1 << 20).collect();
        for _ in 0..70 {
            early.write_all(&bytes).unwrap();
        }
        assert!(early.syncing.is_some());
        let mut read = Vec::new();
        File::open(early.finish().unwrap().path()).unwrap().read_to_end(&mut read).unwrap();
        assert!(read.len() == 70 << 20 && read.chunks(1 << 20).all(|chunk| chunk == bytes));
    }
}
