//! Who may ask: whoever brings a token of the file.
//!
//! Tokens are kept and compared as hashes. How long a comparison takes then says nothing about them.

use std::path::Path;

use anyhow::{Context, Result, bail};

/// Shorter ones can be guessed.
const SHORTEST: usize = 16;

/// The tokens of a file.
pub(super) struct Tokens(Vec<blake3::Hash>);

impl Tokens {
    /// Reads a file with a token on each line; empty lines and those that begin with `#` are left out.
    pub(super) fn read(path: &Path) -> Result<Self> {
        let name = path.display();
        let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {name}"))?;
        let mut hashes = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            let token = line.trim();
            if token.is_empty() || token.starts_with('#') {
                continue;
            }
            if token.len() < SHORTEST || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
                bail!(
                    "{name}:{number}: a token has {SHORTEST} characters at least, without spaces, such as \
                     `openssl rand -hex 32` prints"
                );
            }
            hashes.push(blake3::hash(token.as_bytes()));
        }
        if hashes.is_empty() {
            bail!("{name}: there is no token in it; put one on a line");
        }
        Ok(Self(hashes))
    }

    /// Which of them the value of an `Authorization` header has.
    pub(super) fn find(&self, header: Option<&[u8]>) -> Option<usize> {
        let (scheme, token) = header.and_then(|header| header.split_at_checked(7))?;
        let hash = blake3::hash(token.trim_ascii());
        // Hashes are compared in constant time, and all of them.
        let numbered = self.0.iter().enumerate();
        let known =
            numbered.fold(None, |known, (at, &each)| if each == hash { Some(at) } else { known });
        known.filter(|_| scheme.eq_ignore_ascii_case(b"bearer "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_of_the_file_is_allowed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tokens");
        std::fs::write(&path, "# for ann\nann-0123456789abcdef\n\n  bob-0123456789abcdef \n")
            .unwrap();
        let tokens = Tokens::read(&path).unwrap();
        for good in ["Bearer ann-0123456789abcdef", "bearer bob-0123456789abcdef"] {
            assert!(tokens.find(Some(good.as_bytes())).is_some(), "{good}");
        }
        for bad in ["", "Bearer", "Bearer ", "Bearer # for ann", "Basic! ann-0123456789abcdef"] {
            assert!(tokens.find(Some(bad.as_bytes())).is_none(), "{bad}");
        }
        assert!(tokens.find(None).is_none());
        for (text, words) in [("", "no token"), ("\nshort", ":2: a token"), ("#x", "no token")] {
            std::fs::write(&path, text).unwrap();
            let error = Tokens::read(&path).err().unwrap().to_string();
            assert!(error.contains(words), "{error}");
        }
    }
}
