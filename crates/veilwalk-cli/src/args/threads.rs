//! How many threads work.

use std::num::NonZeroUsize;

use anyhow::Result;
use clap::Args;
use rayon::ThreadPoolBuilder;

use super::whole;

/// Threads, by flag.
#[derive(Debug, Args)]
pub(crate) struct ThreadArgs {
    /// How many threads work; one for each core if not given. The result does not depend on it
    #[arg(long, value_name = "COUNT", value_parser = whole::<NonZeroUsize>(1..=1024))]
    threads: Option<NonZeroUsize>,
}

impl ThreadArgs {
    /// Lets parallel work have so many threads from here on.
    pub(crate) fn settle(&self) -> Result<()> {
        if let Some(threads) = self.threads {
            ThreadPoolBuilder::new().num_threads(threads.get()).build_global()?;
        }
        Ok(())
    }
}
