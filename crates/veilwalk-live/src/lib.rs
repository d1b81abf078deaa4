//! Releases walks while they happen, and never releases a step twice.
//!
//! Messages come again: a client retries, a broker delivers twice, a service is restarted. A step that is
//! released a second time is a second look at the real state, and nobody has paid for it. So the answer to a
//! step is *on the disk before anybody sees it*, and a step that comes again gets the answer that is there, whatever
//! real state comes with it. A durable record makes a step unique; a clever seed could not, because a step that
//! comes again with another real state would get other bits.
//!
//! - [`Engine`]: (walk, number of the step, real state) in, released state out, a batch at a time; one
//!   transaction and one wait for the disk for each batch;
//! - [`Live`]: the engine on a thread of its own, for any number of callers. What comes in while the disk is
//!   waited for makes the next batch;
//! - [`Charging`]: what a walk costs, charged to a [ledger](veilwalk_ledger) when it starts.
//!
//! Nothing here knows of HTTP, of a broker or of standard input: those hand requests over and pass answers on.
//!
//! ```
//! use std::sync::Arc;
//! use veilwalk::{Chain, Mechanism, Model, Preset, Promise, Start};
//! use veilwalk_live::{Done, Engine, Limits, Refusal, Request};
//!
//! let model = Arc::new(Model::new(Chain::credit())?);
//! let promise = Promise::within_radius("1".parse()?, "3.5".parse()?);
//! let mechanism = Arc::new(Mechanism::new(model.clone(), Preset::Sharp.design(), promise)?);
//! let folder = tempfile::tempdir()?;
//! let mut engine = Engine::open(folder.path(), mechanism, Start::Private, Limits::default())?;
//!
//! let state = |label| model.chain().require(label);
//! let walk = "firm 12".parse()?;
//! let first = engine.answer(Request::step(&walk, 0, state("Caa")))?;
//! // The same step again, with another real state: the same answer.
//! let again = engine.answer(Request::step(&walk, 0, state("Aaa")))?;
//! let (Done::Answered(first), Done::Answered(again)) = (first, again) else { unreachable!() };
//! assert_eq!(first[0].state, again[0].state);
//! assert!(!first[0].replayed && again[0].replayed);
//! // A step that does not follow the last one.
//! let gap = engine.answer(Request::step(&walk, 7, state("Caa")));
//! assert!(matches!(gap, Err(Refusal::Gap { expected: 1, .. })));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Privacy
//!
//! A released step is drawn with the operating system's randomness, by the same
//! [`Releaser`](veilwalk::Releaser) that releases files, and each (walk, number) is shown at most once. What
//! was drawn and finds no room on the disk is kept in memory, and stored before anything else is drawn. So all that is
//! ever sent out of a walk is one release of that walk, and the mechanism's guarantee is the whole guarantee.
//!
//! A step is drawn anew in two cases. Neither is a second release: nobody has seen the first draw, and what becomes of it
//! decides nothing about the second. One is that the process ends, or the disk fails in a way that needs a restart,
//! before the answer is stored. What was held for a full disk is lost then too, and whoever sees that the disk is full
//! may learn that the first draw did not fit: how many bytes it takes, and no more. The other is that a ledger
//! refuses a walk of the same batch, which depends on what was charged before and not on what was drawn.
//!
//! Real states are never stored, and no refusal or figure depends on which of the chain's states came
//! in. What is stored is released states, observations that wait for a lag to pass, and what anybody can infer from
//! them. In blocks, real states wait until their block is full. They do so in memory and nowhere else: a step
//! counts as taken for good when its answer has come, and whoever sends steps keeps them until then. If the process ends before, nothing of
//! them was drawn, nothing was released, and the walk goes on where its last block ended.
//!
//! The names of walks that are over stay in the store for good. A late duplicate would otherwise start the walk
//! again, and release its first steps a second time.

mod cache;
mod charging;
mod delay;
mod engine;
mod figures;
mod live;
mod refusal;
mod request;
mod store;

pub use charging::Charging;
pub use delay::Delay;
pub use engine::{EndedWalk, Engine, Limits, OpenError};
pub use figures::{BATCH_SECONDS, Figures};
pub use live::{Live, Running};
pub use refusal::Refusal;
pub use request::{Answer, Ask, Done, NotAName, Request, Step, WalkName};
pub use store::{StoreError, Trouble};
