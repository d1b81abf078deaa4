//! Damaged copies of good input, the same in every run.

/// Words that matter to some reader, to be put anywhere.
const WORDS: [&[u8]; 32] = [
    b"\"",
    b",",
    b"\t",
    b"\n",
    b"\r\n",
    b"\0",
    b"\xff",
    b"\xef\xbb\xbf",
    b"0",
    b"-1",
    b"1e999",
    b"nan",
    b"1/0",
    b"18446744073709551615",
    b"9223372036854775808",
    b"4294967295",
    b"0.1",
    b"null",
    b"{}",
    b"[",
    b"</event>",
    b"<!--",
    b"&#0;",
    b"<![CDATA[",
    b"\x1f\x8b",
    b"\x28\xb5\x2f\xfd",
    b"# ",
    b"2024-02-29T24:00:00Z",
    b"-90",
    b"180.0000001",
    b"\xf0\x9f\x9a\xb6",
    b"state",
];

/// An endless row of damaged copies.
#[derive(Clone, Debug)]
pub struct Mutations {
    corpus: Vec<Vec<u8>>,
    random: u64,
}

impl Mutations {
    /// Copies of these.
    ///
    /// # Panics
    ///
    /// If there are none.
    #[must_use]
    pub fn of(corpus: Vec<Vec<u8>>) -> Self {
        assert!(!corpus.is_empty(), "there is nothing to damage");
        Self { corpus, random: 5 }
    }

    fn below(&mut self, bound: usize) -> usize {
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.random >> 33) as usize % bound.max(1)
    }

    fn damage(&mut self, bytes: &mut Vec<u8>) {
        let at = self.below(bytes.len() + 1);
        let end = (at + 1 + self.below(32)).min(bytes.len());
        match self.below(7) {
            0 if at < bytes.len() => bytes[at] ^= 1 << self.below(8),
            1 if at < bytes.len() => bytes[at] = self.below(256) as u8,
            2 if at < end => drop(bytes.drain(at..end)),
            3 if at < end => {
                let twice = bytes[at..end].to_vec();
                let to = self.below(bytes.len());
                bytes.splice(to..to, twice);
            }
            4 => bytes.truncate(at),
            5 => {
                let other = self.below(self.corpus.len());
                let from = self.below(self.corpus[other].len() + 1);
                bytes.truncate(at);
                bytes.extend_from_slice(&self.corpus[other][from..]);
            }
            _ => {
                let word = WORDS[self.below(WORDS.len())];
                let to = if self.below(2) == 0 { at } else { end.max(at) };
                bytes.splice(at..to, word.iter().copied());
            }
        }
    }
}

impl Iterator for Mutations {
    type Item = Vec<u8>;

    fn next(&mut self) -> Option<Vec<u8>> {
        let choice = self.below(self.corpus.len());
        let mut bytes = self.corpus[choice].clone();
        for _ in 0..=self.below(4) {
            self.damage(&mut bytes);
        }
        Some(bytes)
    }
}
