//! Walks that come and go through a message broker.
//!
//! A broker delivers at least once: messages come twice, late, out of order, and again after anything was restarted. The
//! [engine](veilwalk_live) makes that harmless. What is left to do here is to lose nothing: a message is
//! acknowledged only when its answer is on the disk and the broker has the answer. If anything ends before, the message
//! comes again, gets the answer that is stored, and that is published again. Consumers see an answer once or more, and
//! always the same one.
//!
//! - [`mqtt`]: a persistent session, QoS 1 in both directions;
//! - [`nats`]: a durable consumer of JetStream, and answers with a message id, by which the server drops repeats;
//! - [`Pattern`]: which topics are read, which walk each is about, where answers go;
//! - [`Tracks`]: locations of the app OwnTracks, on a clock;
//! - [`Shell`]: what whoever starts it gives: how messages are read and written.
//!
//! # Privacy
//!
//! A released state leaves only as an answer of the engine, which is one release of each step. Refusals are published too, and say nothing of
//! what came: no state, and no part of a message. Whether a state is one of the chain's does show, as it does over HTTP.
//! When an answer is published tells when its message came.

mod address;
mod desk;
#[cfg(feature = "mqtt")]
pub mod mqtt;
#[cfg(feature = "nats")]
pub mod nats;
mod owntracks;
mod pattern;
mod shell;
mod source;
mod tls;

pub use address::{Address, AddressError, Encryption, Login, Protocol};
pub use owntracks::{Location, States, Tracks, TracksError};
pub use pattern::{Pattern, PatternError, Syntax};
pub use shell::{News, Refused, Shell};
pub use source::{Form, Source};
pub use tls::TlsError;

#[cfg(all(test, feature = "mqtt", feature = "nats"))]
mod tests {
    use super::*;

    /// They run as tasks of a runtime with several threads.
    #[test]
    fn transports_can_go_from_thread_to_thread() {
        fn can<F: Send>(_: impl Fn(&'static Address, &'static Login, Source) -> F) {}
        can(mqtt::run);
        can(|address, login, source| nats::run(address, login, "", source));
    }
}
