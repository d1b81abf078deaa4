//! What was sent and what came back: the rules, and how long it took.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use serde_json::Value;

/// All steps of a run.
#[derive(Debug)]
pub(crate) struct Record {
    begun: Instant,
    /// How long the service was driven.
    took: Option<Duration>,
    sent: HashMap<(u64, u64), Instant>,
    states: HashMap<(u64, u64), String>,
    /// Answers that came once more.
    again: u64,
    times: Vec<Duration>,
}

impl Record {
    pub(crate) fn new() -> Self {
        let (took, sent, states, again, times) = Default::default();
        Self { begun: Instant::now(), took, sent, states, again, times }
    }

    pub(crate) fn begun(&self) -> Instant {
        self.begun
    }

    pub(crate) fn sent(&mut self, walk: u64, step: u64) {
        self.sent.insert((walk, step), Instant::now());
    }

    /// How many steps have no answer.
    pub(crate) fn open(&self) -> usize {
        self.sent.len() - self.states.len()
    }

    /// Adds an answer such as `{"step": 3, "state": "B"}`.
    pub(crate) fn answer(&mut self, walk: u64, answer: &Value) -> Result<()> {
        let (Some(step), Some(state)) = (answer["step"].as_u64(), answer["state"].as_str()) else {
            bail!("this is no answer: {answer}");
        };
        let Some(sent) = self.sent.get(&(walk, step)) else {
            bail!("an answer to step {step} of walk {walk}, which was never sent");
        };
        match self.states.get(&(walk, step)) {
            Some(first) if first == state => self.again += 1,
            Some(first) => {
                bail!("step {step} of walk {walk} was released as {first} and as {state}")
            }
            None => {
                self.times.push(sent.elapsed());
                self.states.insert((walk, step), state.to_owned());
            }
        }
        Ok(())
    }

    /// All answers are there.
    pub(crate) fn over(&mut self) {
        self.took = Some(self.begun.elapsed());
    }

    /// Takes over the record of another connection.
    pub(crate) fn join(&mut self, other: Self) {
        self.sent.extend(other.sent);
        self.states.extend(other.states);
        self.times.extend(other.times);
        self.again += other.again;
    }

    /// Prints what was measured, if the rules were kept.
    pub(crate) fn report(mut self, name: &str) -> Result<()> {
        if self.open() > 0 {
            bail!("{} of {} steps were never answered", self.open(), self.sent.len());
        }
        let took = self.took.unwrap_or_else(|| self.begun.elapsed()).as_secs_f64();
        self.times.sort_unstable();
        let part = |share: f64| {
            let place = ((self.times.len() as f64 * share) as usize)
                .min(self.times.len().saturating_sub(1));
            self.times.get(place).map_or(0.0, |time| time.as_secs_f64() * 1e3)
        };
        let (steps, again) = (self.states.len(), self.again);
        let rate = steps as f64 / took;
        println!(
            "{name}: {steps} steps in {took:.1} s, {rate:.0} a second, p50 {:.1} ms, p99 {:.1} ms, {again} answers came \
             once more, each step has one answer",
            part(0.5),
            part(0.99),
        );
        Ok(())
    }
}
