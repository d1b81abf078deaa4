//! Which label may have been meant: the one that a slip of the hand turns into what was written.
//!
//! A guess that is wrong is worse than none. Digits tell most labels with numbers in them apart, so a
//! slip is one of letters, and where several labels are one letter away none is named.

/// The label that was meant, as far as can be told.
pub(super) fn closest<'a>(labels: impl Iterator<Item = &'a str>, written: &str) -> Option<&'a str> {
    let written: Vec<char> = folded(written);
    let slips = labels.filter_map(|label| Some((slip(&folded(label), &written)?, label)));
    let slips: Vec<(Slip, &str)> = slips.collect();
    let of = |kind| slips.iter().filter(move |slip| slip.0 == kind).map(|slip| slip.1);
    let mut one_letter = of(Slip::OneLetter);
    let only = one_letter.next().filter(|_| one_letter.next().is_none());
    of(Slip::Case).next().or_else(|| of(Slip::Swapped).next()).or(only)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Slip {
    /// Capitals, or space around it.
    Case,
    /// Two neighbours have changed places.
    Swapped,
    /// A letter too many, too few, or another one.
    OneLetter,
}

fn folded(label: &str) -> Vec<char> {
    label.trim().chars().flat_map(char::to_lowercase).collect()
}

/// The one slip that lies between two labels.
fn slip(label: &[char], written: &[char]) -> Option<Slip> {
    /// Of shorter labels too many are one letter apart.
    const SHORTEST: usize = 4;
    let long = label.len().max(written.len()) >= SHORTEST;
    let same = label.iter().zip(written).take_while(|(a, b)| a == b).count();
    let (a, b) = (&label[same..], &written[same..]);
    let end = a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count();
    match (&a[..a.len() - end], &b[..b.len() - end]) {
        ([], []) => Some(Slip::Case),
        ([a, b], [c, d]) if (a, b) == (d, c) && !(a.is_numeric() && b.is_numeric()) => {
            Some(Slip::Swapped)
        }
        ([], [one]) | ([one], []) if long && !one.is_numeric() => Some(Slip::OneLetter),
        ([a], [b]) if long && !a.is_numeric() && !b.is_numeric() => Some(Slip::OneLetter),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meant<'a>(labels: &[&'a str], written: &str) -> Option<&'a str> {
        closest(labels.iter().copied(), written)
    }

    #[test]
    fn a_slip_of_the_hand_is_seen() {
        let places = ["Bridge", "Museum", "Old Town", "Ärzte"];
        for (written, label) in [
            (" bridge", "Bridge"),
            ("Birdge", "Bridge"),
            ("Bridg", "Bridge"),
            ("Bridhe", "Bridge"),
            ("Musseum", "Museum"),
            ("OldTown", "Old Town"),
            ("ärtze", "Ärzte"),
        ] {
            assert_eq!(meant(&places, written), Some(label), "{written}");
        }
        assert_eq!(meant(&places, "Mussseum"), None, "two letters are more than a slip");
    }

    #[test]
    fn the_likelier_slip_comes_first() {
        assert_eq!(meant(&["Tarin", "train", "TRAIN"], "Train"), Some("train"));
        assert_eq!(meant(&["Trains", "Tarin"], "Train"), Some("Tarin"));
    }

    #[test]
    fn no_guess_is_made_where_it_would_be_one() {
        // Numbers, short labels, and several that are as near.
        assert_eq!(meant(&["r12c7", "r12c8"], "r12c9"), None);
        assert_eq!(meant(&["r12c7"], "r21c7"), None);
        assert_eq!(meant(&["Baa", "Caa", "Aaa"], "Daa"), None);
        assert_eq!(meant(&["north", "forth"], "worth"), None);
        assert_eq!(meant(&[], "worth"), None);
    }
}
