//! Real brokers on ports of their own, a service that can be killed, and somebody who sends and listens.
#![allow(dead_code, unused_imports, reason = "not every test uses all of it")]

mod broker;
mod service;
mod wire;

pub(crate) use broker::{Broker, Kind};
pub(crate) use service::{Service, child, engine};
pub(crate) use wire::Wire;

/// Pseudorandom words for the load; nothing that is released depends on them.
pub(crate) struct Words(pub(crate) u64);

impl Words {
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % bound
    }
}

/// Whether this is the case within some time.
pub(crate) fn within(time: std::time::Duration, mut is: impl FnMut() -> bool) -> bool {
    let until = std::time::Instant::now() + time;
    loop {
        if is() {
            return true;
        }
        if std::time::Instant::now() > until {
            return false;
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}
