//! Figures for Prometheus. Each is a count of requests, steps, walks or batches, or the time of batches, told
//! coarsely: none is of one of the chain's states.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};

use veilwalk_live::{BATCH_SECONDS, Figures};

/// Requests by the class of their status. Finer counts would tell refusals apart by what came in.
#[derive(Debug, Default)]
pub(super) struct Requests {
    classes: [AtomicU64; 3],
}

const CLASSES: [&str; 3] = ["answered", "refused", "failed"];

impl Requests {
    pub(super) fn count(&self, status: u16) {
        let class = match status {
            ..400 => 0,
            400..500 => 1,
            _ => 2,
        };
        self.classes[class].fetch_add(1, Ordering::Relaxed);
    }
}

/// All figures as text.
pub(super) fn text(figures: &Figures, requests: &Requests) -> String {
    let mut text = String::new();
    let mut family = |name: &str, kind: &str, help: &str, values: &[(String, String)]| {
        let _ = writeln!(text, "# HELP veilwalk_{name} {help}\n# TYPE veilwalk_{name} {kind}");
        for (labels, value) in values {
            let _ = writeln!(text, "veilwalk_{name}{labels} {value}");
        }
    };
    let classes = CLASSES.iter().zip(&requests.classes);
    let classes = classes.map(|(class, count)| {
        (format!("{{outcome=\"{class}\"}}"), count.load(Ordering::Relaxed).to_string())
    });
    family("requests_total", "counter", "Requests by outcome.", &classes.collect::<Vec<_>>());
    for (name, kind, help, value) in [
        ("steps_released_total", "counter", "Steps that were released.", figures.released()),
        (
            "steps_replayed_total",
            "counter",
            "Steps that came again and got the answer that is stored.",
            figures.replayed(),
        ),
        ("walks_started_total", "counter", "Walks that were started.", figures.started()),
        ("walks_ended_total", "counter", "Walks that were ended.", figures.ended()),
        ("walks_open", "gauge", "Walks that are open.", figures.open()),
    ] {
        family(name, kind, help, &[(String::new(), value.to_string())]);
    }
    let bounds = BATCH_SECONDS.iter().map(f64::to_string).chain(["+Inf".to_owned()]);
    let counts = figures.batches_up_to();
    let help = "Time of a batch of requests, with its wait for the disk.";
    let buckets = bounds.zip(counts);
    let buckets =
        buckets.map(|(bound, count)| (format!("_bucket{{le=\"{bound}\"}}"), count.to_string()));
    let mut batches: Vec<(String, String)> = buckets.collect();
    batches.push(("_sum".to_owned(), figures.batch_seconds().to_string()));
    batches.push(("_count".to_owned(), counts[BATCH_SECONDS.len()].to_string()));
    family("batch_seconds", "histogram", help, &batches);
    text
}
