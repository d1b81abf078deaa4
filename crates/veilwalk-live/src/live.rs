//! The engine on a thread of its own.
//!
//! Callers hand over a request and what is to be done with its outcome. While the thread waits for the disk, others
//! queue up, and all of them make the next batch. So one caller alone is answered after one
//! wait for the disk, and a thousand callers are too.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::engine::Engine;
use crate::figures::Figures;
use crate::refusal::Refusal;
use crate::request::{Done, Request};

/// How many steps are put into one batch, so that no one waits for long.
const MOST_STEPS: usize = 4_096;

/// How soon it is looked again whether answers can be stored.
const PROBE: Duration = Duration::from_secs(1);

type Reply = Box<dyn FnOnce(Result<Done, Refusal>) + Send>;

enum Message {
    Request(Request, Reply),
    Stop,
}

/// Takes requests for an engine, from any thread.
#[derive(Clone, Debug)]
pub struct Live {
    sender: SyncSender<Message>,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    figures: Arc<Figures>,
    ready: AtomicBool,
    stopped: AtomicBool,
}

/// Says that the engine's thread is over, however it ends.
struct TellsEnd<'a>(&'a Shared);

impl Drop for TellsEnd<'_> {
    fn drop(&mut self) {
        self.0.ready.store(false, Ordering::Relaxed);
        self.0.stopped.store(true, Ordering::Release);
    }
}

/// The engine's thread.
#[derive(Debug)]
pub struct Running(JoinHandle<()>);

impl Live {
    /// Starts the engine. At most so many requests wait at a time.
    ///
    /// # Errors
    ///
    /// If there can be no further thread.
    pub fn start(engine: Engine, most_waiting: usize) -> io::Result<(Self, Running)> {
        let (sender, receiver) = sync_channel(most_waiting.max(1));
        let figures = engine.figures().clone();
        let shared = Arc::new(Shared {
            figures,
            ready: AtomicBool::new(true),
            stopped: AtomicBool::new(false),
        });
        let told = shared.clone();
        let thread = thread::Builder::new().name("veilwalk live".to_owned());
        let thread = thread.spawn(move || {
            let _tells_end = TellsEnd(&told);
            Worker { engine, receiver, shared: &told }.run();
        })?;
        Ok((Self { sender, shared }, Running(thread)))
    }

    /// Hands over a request. `reply` is called with its outcome, on the engine's thread, once the answer is on the disk;
    /// it should only pass it on.
    ///
    /// # Errors
    ///
    /// If too many requests wait, or no more are taken. `reply` is not called then.
    pub fn ask(
        &self,
        request: Request,
        reply: impl FnOnce(Result<Done, Refusal>) + Send + 'static,
    ) -> Result<(), Refusal> {
        self.sender.try_send(Message::Request(request, Box::new(reply))).map_err(|error| {
            let refusal = match error {
                TrySendError::Full(_) => Refusal::Busy,
                TrySendError::Disconnected(_) => Refusal::Stopping,
            };
            self.shared.figures.add_refused(1);
            refusal
        })
    }

    /// What was done so far.
    #[must_use]
    pub fn figures(&self) -> &Figures {
        &self.shared.figures
    }

    /// Whether the store took the last batch or could be written since, and requests are taken.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.shared.ready.load(Ordering::Relaxed)
    }

    /// Whether the engine's thread is over, in good order or not.
    #[must_use]
    pub fn has_stopped(&self) -> bool {
        self.shared.stopped.load(Ordering::Acquire)
    }

    /// Answers what waits, and takes no more.
    pub fn stop(&self) {
        // If nobody receives, it has stopped.
        let _ = self.sender.send(Message::Stop);
    }
}

impl Running {
    /// Waits until the engine has stopped, and says whether it stopped in good order.
    pub fn join(self) -> thread::Result<()> {
        self.0.join()
    }
}

struct Worker<'a> {
    engine: Engine,
    receiver: Receiver<Message>,
    shared: &'a Shared,
}

impl Worker<'_> {
    fn run(mut self) {
        let idle = self.engine.limits().idle;
        let pause = (idle / 16).clamp(Duration::from_millis(100), Duration::from_secs(60));
        let mut swept = Instant::now();
        loop {
            let ready = self.shared.ready.load(Ordering::Relaxed);
            let left = pause.saturating_sub(swept.elapsed());
            match self.receiver.recv_timeout(if ready { left } else { left.min(PROBE) }) {
                Ok(Message::Request(request, reply)) => {
                    if self.batch(request, reply) == Next::Stop {
                        break;
                    }
                }
                Ok(Message::Stop) | Err(RecvTimeoutError::Disconnected) => break,
                // Whoever heeds that it is not ready sends nothing, so it has to look by itself.
                Err(RecvTimeoutError::Timeout) if !ready => {
                    let ready = self.engine.can_store();
                    self.shared.ready.store(ready, Ordering::Relaxed);
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
            if swept.elapsed() >= pause {
                // What cannot be ended now is ended later; that the store is in trouble, requests say.
                let _ = self.engine.end_idle();
                swept = Instant::now();
            }
        }
        // What was taken is answered.
        while let Ok(message) = self.receiver.try_recv() {
            if let Message::Request(request, reply) = message {
                self.batch(request, reply);
            }
        }
        // What could not be stored is lost with the process; there may be room by now.
        let _ = self.engine.can_store();
    }

    /// Answers a request together with those that wait.
    fn batch(&mut self, request: Request, reply: Reply) -> Next {
        let mut weight = request.weight();
        let (mut requests, mut replies) = (vec![request], vec![reply]);
        let mut next = Next::Goes;
        while weight < MOST_STEPS {
            match self.receiver.try_recv() {
                Ok(Message::Request(request, reply)) => {
                    weight += request.weight();
                    requests.push(request);
                    replies.push(reply);
                }
                Ok(Message::Stop) => {
                    next = Next::Stop;
                    break;
                }
                Err(_) => break,
            }
        }
        let outcomes = self.engine.answer_all(&requests);
        // Without a ledger, walks that are open still go on.
        let in_trouble = |outcome: &Result<Done, Refusal>| {
            matches!(outcome, Err(Refusal::Store(_) | Refusal::Draw(_)))
        };
        let ready = !outcomes.iter().any(in_trouble);
        self.shared.ready.store(ready, Ordering::Relaxed);
        for (outcome, reply) in outcomes.into_iter().zip(replies) {
            reply(outcome);
        }
        next
    }
}

/// Whether the thread goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    Goes,
    Stop,
}
