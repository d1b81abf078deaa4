//! Where a broker is, and who we are there.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use thiserror::Error;

/// Whether the connection is encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encryption {
    /// By TLS.
    Tls,
    /// Not at all.
    None,
}

/// What is spoken there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// MQTT 3.1.1: `mqtt://` and `mqtts://`.
    Mqtt,
    /// NATS: `nats://` and `tls://`.
    Nats,
}

/// The address of a broker, such as `mqtt://127.0.0.1:1883`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// What is spoken there.
    pub protocol: Protocol,
    /// A name, or an address.
    pub host: String,
    /// The port.
    pub port: u16,
    /// Whether the connection is encrypted.
    pub encryption: Encryption,
}

/// Text that is no address of a broker.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "{text:?} is not the address of a broker: {why}; write one such as mqtt://127.0.0.1:1883 or nats://127.0.0.1:4222"
)]
pub struct AddressError {
    text: String,
    why: &'static str,
}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        // What stands before an @ may be a password, so it is not shown.
        let shown = match text.rsplit_once('@') {
            Some((_, host)) => format!("…@{host}"),
            None => text.to_owned(),
        };
        let refused = |why| AddressError { text: shown.chars().take(200).collect(), why };
        let (scheme, rest) = text.split_once("://").ok_or_else(|| refused("it has no scheme"))?;
        let (protocol, encryption, port) = match scheme {
            "mqtt" => (Protocol::Mqtt, Encryption::None, 1883),
            "mqtts" => (Protocol::Mqtt, Encryption::Tls, 8883),
            "nats" => (Protocol::Nats, Encryption::None, 4222),
            "tls" => (Protocol::Nats, Encryption::Tls, 4222),
            _ => return Err(refused("the scheme is none of mqtt, mqtts, nats and tls")),
        };
        let rest = rest.strip_suffix('/').unwrap_or(rest);
        if rest.contains('@') {
            return Err(refused(
                "it has a name or a password in it, which others on the machine would see",
            ));
        }
        if rest.contains('/') {
            return Err(refused("something follows the port"));
        }
        // An address of IPv6 has colons too, and stands in brackets.
        let (host, port) = match rest.rsplit_once(':') {
            Some((host, digits)) if !digits.ends_with(']') => {
                (host, digits.parse().map_err(|_| refused("the port is not a number up to 65535"))?)
            }
            _ => (rest, port),
        };
        let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        if host.is_empty() || (bare.is_none() && host.contains(':')) {
            return Err(refused("it has no host, or one with colons and no brackets around it"));
        }
        Ok(Self { protocol, host: host.to_owned(), port, encryption })
    }
}

impl Address {
    /// Whether nobody but this machine sees what goes there.
    #[must_use]
    pub fn is_private(&self) -> bool {
        let bare = self.host.trim_start_matches('[').trim_end_matches(']');
        let loopback = bare.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback());
        self.encryption == Encryption::Tls || loopback || bare == "localhost"
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = match (self.protocol, self.encryption) {
            (Protocol::Mqtt, Encryption::None) => "mqtt",
            (Protocol::Mqtt, Encryption::Tls) => "mqtts",
            (Protocol::Nats, Encryption::None) => "nats",
            (Protocol::Nats, Encryption::Tls) => "tls",
        };
        write!(f, "{scheme}://{}:{}", self.host, self.port)
    }
}

/// Who we are at a broker.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Login {
    /// The name, if one is asked for.
    pub user: Option<String>,
    /// The password; without a name, a token.
    pub password: Option<String>,
    /// Certificates of whoever vouches for the broker, as PEM, instead of those the system trusts.
    pub authorities: Option<PathBuf>,
}

/// The password is not shown.
impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Login").field("user", &self.user).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_shown() {
        for (text, shown, private) in [
            ("mqtt://127.0.0.1", "mqtt://127.0.0.1:1883", true),
            ("mqtt://localhost:99/", "mqtt://localhost:99", true),
            ("mqtts://broker.example", "mqtts://broker.example:8883", true),
            ("mqtt://broker.example", "mqtt://broker.example:1883", false),
            ("nats://[::1]:7", "nats://[::1]:7", true),
            ("nats://[2001:db8::1]", "nats://[2001:db8::1]:4222", false),
            ("tls://10.0.0.1", "tls://10.0.0.1:4222", true),
        ] {
            let address: Address = text.parse().unwrap();
            assert_eq!((address.to_string().as_str(), address.is_private()), (shown, private));
        }
        for text in [
            "",
            "mqtt",
            "mqtt://",
            "http://a",
            "mqtt://a:b",
            "mqtt://a:70000",
            "mqtt://a/b",
            "nats://::1",
        ] {
            assert!(
                text.parse::<Address>().unwrap_err().to_string().contains("mqtt://127.0.0.1:1883"),
                "{text}"
            );
        }
        let error = "mqtt://ann:secret@a".parse::<Address>().unwrap_err().to_string();
        assert!(!error.contains("secret"), "{error}");
        let login = Login { password: Some("secret".to_owned()), ..Login::default() };
        assert!(!format!("{login:?}").contains("secret"));
    }
}
