//! What all transports are told, and how a message becomes a request.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use veilwalk_live::{Live, NotAName, Request, WalkName};

use crate::desk::Refill;
use crate::owntracks::Tracks;
use crate::pattern::Pattern;
use crate::shell::{Refused, Shell};

/// How messages are written.
#[derive(Debug)]
pub enum Form {
    /// As the shell reads them.
    Shell,
    /// Locations as the app OwnTracks sends them, on a clock.
    OwnTracks(Box<Tracks>),
}

/// What is read from a broker, and what is done with it.
pub struct Source {
    /// Which topics.
    pub pattern: Pattern,
    /// How messages are written.
    pub form: Form,
    /// Who we are: the broker keeps under this name what was not acknowledged.
    pub client: String,
    /// How long a step waits for those before it.
    pub patience: Duration,
    /// The longest message, in bytes.
    pub longest: usize,
    /// Where requests go.
    pub live: Live,
    /// Who reads messages and tells what happens.
    pub shell: Arc<dyn Shell>,
    /// Becomes true when the service stops.
    pub stop: watch::Receiver<bool>,
}

/// Waits until the service stops. If nobody can stop it any more, it has.
pub(crate) async fn stopped(mut stop: watch::Receiver<bool>) {
    let _ = stop.wait_for(|stop| *stop).await;
}

impl std::fmt::Debug for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Source").field("pattern", &self.pattern).finish_non_exhaustive()
    }
}

/// What a message comes to.
pub(crate) enum Read {
    /// To be asked.
    Ask(Request, Option<Refill>),
    /// To be refused.
    Refuse(WalkName, Refused),
    /// Nothing to answer: a message of another kind, or to a topic that is not read any more.
    Nothing,
}

impl Source {
    /// A connection is new: answers may have been lost with the one before.
    #[cfg(feature = "mqtt")]
    pub(crate) fn begin_again(&mut self) {
        if let Form::OwnTracks(tracks) = &mut self.form {
            tracks.begin_again();
        }
    }

    /// An answer as it is published: with the walk, where the topic does not say which it is.
    #[cfg(feature = "mqtt")]
    pub(crate) fn named(&self, walk: &WalkName, payload: Vec<u8>) -> Vec<u8> {
        match (&self.form, payload.strip_prefix(b"{")) {
            (Form::OwnTracks(_), Some(fields)) => {
                let mut named =
                    format!("{{\"walk\":{},", serde_json::json!(walk.as_str())).into_bytes();
                named.extend_from_slice(fields);
                named
            }
            _ => payload,
        }
    }

    /// Reads a message.
    pub(crate) fn read(&mut self, topic: &str, payload: &[u8]) -> Read {
        let Some(name) = self.pattern.walk(topic) else { return Read::Nothing };
        // An empty message takes back one that was retained.
        if payload.is_empty() {
            return Read::Nothing;
        }
        let walk: WalkName = match name.parse() {
            Ok(walk) => walk,
            Err(NotAName) => {
                let nobody: WalkName = "?".parse().expect("a name");
                return Read::Refuse(nobody, Refused::new("name", NotAName.to_string()));
            }
        };
        if payload.len() > self.longest {
            let error = format!("the message is longer than {} bytes", self.longest);
            return Read::Refuse(walk, Refused::new("too-long", error));
        }
        let read = match &mut self.form {
            Form::Shell => {
                self.shell.read(walk.clone(), payload).map(|request| Some((request, None)))
            }
            Form::OwnTracks(tracks) => tracks.read(walk.as_str(), payload),
        };
        match read {
            Ok(Some((request, refill))) => Read::Ask(request, refill),
            Ok(None) => Read::Nothing,
            Err(refused) => Read::Refuse(walk, refused),
        }
    }
}
