//! The formats of walks and releases, and how they are told apart.

use std::path::Path;

/// How rows are written in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WalkFormat {
    /// A header line, then one line for each row, with fields separated by commas.
    Csv,
    /// The same with tabs. A file that is read tells by its header which of the two it is.
    Tsv,
    /// One JSON object on each line.
    Ndjson,
}

impl WalkFormat {
    /// The format that a file's extension stands for: `.csv`, `.tsv`, and `.ndjson` or
    /// `.jsonl`.
    #[must_use]
    pub fn from_path(path: &Path) -> Option<Self> {
        let extension = path.extension()?.to_str()?.to_ascii_lowercase();
        match extension.as_str() {
            "csv" => Some(Self::Csv),
            "tsv" => Some(Self::Tsv),
            "ndjson" | "jsonl" => Some(Self::Ndjson),
            _ => None,
        }
    }

    /// The format of a file that starts with this line.
    pub(super) fn of_line(line: &str) -> Self {
        match line.trim_start().starts_with('{') {
            true => Self::Ndjson,
            false => Self::Csv,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extensions_tell_the_format() {
        let of = |name: &str| WalkFormat::from_path(Path::new(name));
        assert_eq!(of("a.csv"), Some(WalkFormat::Csv));
        assert_eq!(of("a.TSV"), Some(WalkFormat::Tsv));
        assert_eq!(of("b/a.ndjson"), Some(WalkFormat::Ndjson));
        assert_eq!(of("a.jsonl"), Some(WalkFormat::Ndjson));
        assert_eq!(of("a.txt"), None);
        assert_eq!(of("csv"), None);
    }
}
