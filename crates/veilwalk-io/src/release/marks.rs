//! Where the delimiters and newlines of a text stand.
//!
//! Rows are short, so a search that starts anew for each field spends its time on starting. Here 64
//! bytes become 64 bits at once, one for each byte that is sought, and fields end where bits are set.

/// The places of delimiters and newlines, ascending.
#[derive(Debug)]
pub(super) struct Marks<'a> {
    text: &'a [u8],
    delimiter: u8,
    /// Marks that are yet to be given out: bits above `base`.
    bits: u64,
    base: usize,
    /// Where the bytes start that have not been looked at.
    next: usize,
}

impl<'a> Marks<'a> {
    pub(super) fn new(text: &'a [u8], delimiter: u8) -> Self {
        Self { text, delimiter, bits: 0, base: 0, next: 0 }
    }

    #[cold]
    fn last_bits(&mut self) -> u64 {
        let rest = &self.text[self.next..];
        let sought = |byte: u8| byte == self.delimiter || byte == b'\n';
        rest.iter().rev().fold(0, |bits, &byte| bits << 1 | u64::from(sought(byte)))
    }
}

impl Iterator for Marks<'_> {
    type Item = usize;

    #[inline(always)]
    fn next(&mut self) -> Option<usize> {
        while self.bits == 0 {
            self.base = self.next;
            match self.text[self.next..].first_chunk() {
                Some(bytes) => {
                    self.bits = marked(bytes, self.delimiter);
                    self.next += bytes.len();
                }
                None if self.next == self.text.len() => return None,
                None => {
                    self.bits = self.last_bits();
                    self.next = self.text.len();
                }
            }
        }
        let place = self.base + self.bits.trailing_zeros() as usize;
        self.bits &= self.bits - 1;
        Some(place)
    }
}

/// A bit for each byte that is the delimiter or a newline.
fn marked(bytes: &[u8; 64], delimiter: u8) -> u64 {
    const LOW: u64 = 0x0101_0101_0101_0101;
    const SEVEN: u64 = 0x7f * LOW;
    /// Brings the lowest bits of all bytes together in the highest byte. No two of its products meet.
    const GATHER: u64 = 0x0102_0408_1020_4080;
    // The highest bit of each byte says whether the byte is not zero. Nothing carries over.
    let not_zero = |word: u64| ((word & SEVEN) + SEVEN) | word;
    let (delimiters, newlines) = (LOW * u64::from(delimiter), LOW * u64::from(b'\n'));
    let mut bits = 0;
    for (place, &word) in bytes.as_chunks::<8>().0.iter().enumerate() {
        let word = u64::from_le_bytes(word);
        let other = not_zero(word ^ delimiters) & not_zero(word ^ newlines);
        let found = (!other >> 7) & LOW;
        bits |= (found.wrapping_mul(GATHER) >> 56) << (8 * place);
    }
    bits
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn marks_are_where_the_bytes_are(
            text in vec(prop_oneof![Just(b','), Just(b'\n'), any::<u8>()], 0..300),
            delimiter in prop_oneof![Just(b','), Just(b'\t'), any::<u8>()],
        ) {
            let found: Vec<usize> = Marks::new(&text, delimiter).collect();
            let sought = |&place: &usize| text[place] == delimiter || text[place] == b'\n';
            let expected: Vec<usize> = (0..text.len()).filter(sought).collect();
            prop_assert_eq!(found, expected);
        }
    }
}
