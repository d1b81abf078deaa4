//! Where random bits come from, by flags.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::Args;
use veilwalk::Source;
use veilwalk::random::{ReleaseId, Secret};

use super::{Input, any_whole, is_same_file, read_bytes};

/// The operating system's randomness, or randomness that repeats itself.
#[derive(Debug, Args)]
#[command(next_help_heading = "Release")]
pub(crate) struct RandomnessArgs {
    /// Take randomness from this number: reproducible, and NOT private
    #[arg(long, value_name = "NUMBER", conflicts_with = "key_file",
          value_parser = any_whole::<u64>())]
    seed: Option<u64>,

    /// Derive randomness from the secret in this file and from the id of the run, so that the run can be
    /// repeated with --release-id
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,

    /// Repeat the run with this id: the same walks with the same key or seed give what they gave.
    /// Every other run draws an id of its own and prints it. Never give the id of a run
    /// to other walks: the two outputs together would show where the walks differ
    #[arg(long, value_name = "ID")]
    release_id: Option<ReleaseId>,
}

impl RandomnessArgs {
    /// The source that was asked for. Reads the secret, if there is one.
    pub(crate) fn source(&self) -> Result<Source> {
        if self.release_id.is_some() && self.key_file.is_none() && self.seed.is_none() {
            bail!(
                "--release-id repeats a run, and that needs the randomness it was made with: give the \
                 --key-file (or --seed) of that run too. Without them randomness comes from the \
                 operating system, and nothing can repeat it"
            );
        }
        Ok(match (&self.key_file, self.seed) {
            (Some(path), _) => {
                let bytes = read_bytes(path).context(
                    "--key-file takes a file of secret bytes; make one with `head -c 32 /dev/urandom`",
                )?;
                let secret = Secret::new(&bytes);
                let secret = secret.with_context(|| path.display().to_string())?;
                let id = self.release_id.map_or_else(ReleaseId::random, Ok)?;
                Source::keyed(secret, id)
            }
            (None, Some(seed)) => match self.release_id {
                Some(id) => Source::seeded_with_id(seed, id),
                None => Source::seeded(seed),
            },
            (None, None) => Source::system(),
        })
    }

    /// Whether any of it was given.
    pub(crate) fn is_given(&self) -> bool {
        self.seed.is_some() || self.key_file.is_some() || self.release_id.is_some()
    }

    /// The secret, if it is in a file.
    pub(crate) fn input(&self) -> Option<Input<'_>> {
        self.key_file.as_deref().map(|path| (path, "the secret"))
    }

    /// Refuses a secret that is something else as well: the chain is public, and randomness must not
    /// depend on the walks.
    pub(crate) fn refuse_known_secret(&self, others: &[Input<'_>]) -> Result<()> {
        let Some(secret) = &self.key_file else { return Ok(()) };
        for (input, what) in others {
            if is_same_file(secret, input) {
                bail!(
                    "{}: this is {what}, and no secret; make one with `head -c 32 /dev/urandom`",
                    secret.display()
                );
            }
        }
        Ok(())
    }
}
