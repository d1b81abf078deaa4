//! How often a client may ask.
//!
//! Each client has a time at which its requests so far would be over if they came evenly. One that is more than a second
//! ahead of that is told to wait. Clients are told apart by their tokens, or where there are none by their addresses.

use std::collections::HashMap;
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// So much may come at once.
const AHEAD: Duration = Duration::from_secs(1);
/// Clients that have not asked for long are forgotten beyond so many.
const MOST_CLIENTS: usize = 100_000;

/// Who asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Client {
    /// The token at this place of the file.
    Token(usize),
    Address(IpAddr),
}

impl Client {
    /// Of an address: who has one of IPv6 has all that share its first half.
    pub(super) fn at(address: IpAddr) -> Self {
        Self::Address(match address {
            IpAddr::V6(v6) => match v6.to_ipv4_mapped() {
                Some(v4) => v4.into(),
                None => IpAddr::V6((v6.to_bits() >> 64 << 64).into()),
            },
            v4 => v4,
        })
    }
}

/// The most requests a second of each client.
#[derive(Debug)]
pub(super) struct Rate {
    each: Duration,
    clients: Mutex<HashMap<Client, Instant>>,
}

impl Rate {
    pub(super) fn new(most: NonZeroU32) -> Self {
        Self { each: Duration::from_secs(1) / most.get(), clients: Mutex::default() }
    }

    /// Counts a request, or says how long this client has to wait.
    pub(super) fn take(&self, client: Client, now: Instant) -> Result<(), Duration> {
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if clients.len() >= MOST_CLIENTS {
            clients.retain(|_, even| *even > now);
        }
        let even = clients.get(&client).copied().unwrap_or(now).max(now);
        let ahead = even + self.each - now;
        if ahead > AHEAD.max(self.each) {
            return Err(ahead - AHEAD);
        }
        // Where even those that wait are too many, new ones have to.
        if clients.len() >= MOST_CLIENTS && !clients.contains_key(&client) {
            return Err(AHEAD);
        }
        clients.insert(client, even + self.each);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_has_so_many_requests_a_second_and_others_do_not_mind() {
        let rate = Rate::new(NonZeroU32::new(10).unwrap());
        let (one, other) = (Client::Token(0), Client::Token(1));
        let start = Instant::now();
        for _ in 0..10 {
            rate.take(one, start).unwrap();
        }
        let wait = rate.take(one, start).unwrap_err();
        assert!(wait <= Duration::from_millis(101), "{wait:?}");
        rate.take(other, start).unwrap();
        rate.take(one, start + wait).unwrap();
        rate.take(one, start + wait).unwrap_err();
        let mut taken = 0;
        for millisecond in 0..10_000 {
            let later = start + Duration::from_secs(10) + Duration::from_millis(millisecond);
            taken += u32::from(rate.take(one, later).is_ok());
        }
        assert!((100..=111).contains(&taken), "{taken}");
    }

    #[test]
    fn addresses_that_one_has_together_are_one() {
        let at = |text: &str| Client::at(text.parse().unwrap());
        assert_eq!(at("2001:db8::1"), at("2001:db8::ffff:1"));
        assert_ne!(at("2001:db8::1"), at("2001:db8:0:1::1"));
        assert_eq!(at("::ffff:192.0.2.1"), at("192.0.2.1"));
        assert_ne!(at("192.0.2.2"), at("192.0.2.1"));
    }
}
