//! A row of a release as text.
//!
//! A row is made of the same few pieces in every format: what stands before the name, the step, the
//! state and each kept value, and what ends the row. With them at hand a row is a handful of copies.

use crate::own_columns::{OBSERVED, OwnColumns, STATE, STEP};
use crate::walks::WalkFormat;

/// The pieces of a row.
#[derive(Clone, Debug)]
pub(crate) struct RowText {
    own: OwnColumns,
    escape: Escape,
    before_name: Vec<u8>,
    before_step: Vec<u8>,
    before_state: Vec<u8>,
    before_observed: Vec<u8>,
    before_kept: Vec<Vec<u8>>,
    /// How kept values are written, if not like the others.
    kept: Option<Escape>,
    end: Vec<u8>,
}

/// How a value is written.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Escape {
    /// As it is, or between quotes if this delimiter, a quote or a line's ending is in it.
    Quotes { delimiter: u8 },
    /// As a JSON string.
    Json,
    /// As it is, which is JSON.
    Nothing,
}

impl RowText {
    /// The pieces for a format of text, and these columns.
    pub(crate) fn new(format: WalkFormat, own: OwnColumns, kept: &[String]) -> Self {
        let key = |before: &str, column: &str| {
            let mut bytes = before.as_bytes().to_vec();
            Escape::Json.push(&mut bytes, column);
            bytes.push(b':');
            bytes
        };
        match format {
            WalkFormat::Ndjson => Self {
                own,
                escape: Escape::Json,
                before_name: key("{", "trajectory"),
                before_step: key(",", STEP),
                before_state: key(",", STATE),
                before_observed: key(",", OBSERVED),
                before_kept: kept.iter().map(|column| key(",", column)).collect(),
                kept: None,
                end: b"}\n".to_vec(),
            },
            _ => {
                let delimiter = if format == WalkFormat::Tsv { b'\t' } else { b',' };
                Self {
                    own,
                    escape: Escape::of(format),
                    before_name: Vec::new(),
                    before_step: vec![delimiter],
                    before_state: vec![delimiter],
                    before_observed: vec![delimiter],
                    before_kept: vec![vec![delimiter]; kept.len()],
                    kept: None,
                    end: b"\n".to_vec(),
                }
            }
        }
    }

    /// Kept values are JSON, and are written as they are where rows are.
    pub(crate) fn keep_json(&mut self) {
        if let Escape::Json = self.escape {
            self.kept = Some(Escape::Nothing);
        }
    }

    /// Rows of a table have one more field, which is empty unless the line is about an error.
    pub(crate) fn leave_room_for_error(&mut self) {
        if let Escape::Quotes { delimiter } = self.escape {
            self.end = vec![delimiter, b'\n'];
        }
    }

    /// A line that says what is wrong with a line of the input, where rows have so many fields before it.
    pub(crate) fn push_error(&self, out: &mut Vec<u8>, fields: usize, line: u64, code: &str) {
        match self.escape {
            Escape::Quotes { delimiter } => {
                out.extend(std::iter::repeat_n(delimiter, fields));
                self.escape.push(out, &format!("line {line}: {code}"));
                out.push(b'\n');
            }
            _ => {
                let object = serde_json::json!({ "error": code, "line": line });
                out.extend_from_slice(object.to_string().as_bytes());
                out.push(b'\n');
            }
        }
    }

    /// The line above the rows, if the format has one.
    pub(crate) fn header(&self, kept: &[String]) -> Vec<u8> {
        let Escape::Quotes { delimiter } = self.escape else { return Vec::new() };
        let mut line = Vec::new();
        let own = self.own.names().iter().copied();
        for column in own.chain(kept.iter().map(String::as_str)) {
            if !line.is_empty() {
                line.push(delimiter);
            }
            self.escape.push(&mut line, column);
        }
        line.push(b'\n');
        line
    }

    /// The start of all rows of a walk, up to the step.
    pub(crate) fn push_start(&self, out: &mut Vec<u8>, name: &str) {
        out.extend_from_slice(&self.before_name);
        self.escape.push(out, name);
        out.extend_from_slice(&self.before_step);
    }

    /// The state with what stands before it.
    pub(crate) fn push_state(&self, out: &mut Vec<u8>, label: &str) {
        out.extend_from_slice(&self.before_state);
        self.escape.push(out, label);
    }

    /// What was observed, with what stands before it.
    pub(crate) fn push_observed(&self, out: &mut Vec<u8>, label: &str) {
        out.extend_from_slice(&self.before_observed);
        self.escape.push(out, label);
    }

    /// The rest of a row.
    pub(crate) fn push_rest<'a>(&self, out: &mut Vec<u8>, kept: impl IntoIterator<Item = &'a str>) {
        for (before, value) in self.before_kept.iter().zip(kept) {
            out.extend_from_slice(before);
            self.kept.unwrap_or(self.escape).push(out, value);
        }
        out.extend_from_slice(&self.end);
    }
}

impl Escape {
    /// How a format of text writes values.
    pub(crate) fn of(format: WalkFormat) -> Self {
        match format {
            WalkFormat::Ndjson => Self::Json,
            WalkFormat::Tsv => Self::Quotes { delimiter: b'\t' },
            _ => Self::Quotes { delimiter: b',' },
        }
    }

    /// Appends a text.
    pub(crate) fn push(self, out: &mut Vec<u8>, text: &str) {
        match self {
            Self::Nothing => out.extend_from_slice(text.as_bytes()),
            Self::Json => {
                serde_json::to_writer(out, text)
                    .expect("a string is always JSON, and memory takes it");
            }
            Self::Quotes { delimiter } => {
                let special =
                    |&byte: &u8| matches!(byte, b'"' | b'\r' | b'\n') || byte == delimiter;
                if !text.as_bytes().iter().any(special) {
                    return out.extend_from_slice(text.as_bytes());
                }
                out.push(b'"');
                for &byte in text.as_bytes() {
                    if byte == b'"' {
                        out.push(b'"');
                    }
                    out.push(byte);
                }
                out.push(b'"');
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    proptest! {
        /// The csv crate says how a table is written.
        #[test]
        fn rows_are_those_of_the_csv_crate(
            fields in vec("[ab,\t\"\r\n é]{0,4}", 4..7),
            own in prop_oneof![Just(OwnColumns::Moves), Just(OwnColumns::Observations)],
            format in prop_oneof![Just(WalkFormat::Csv), Just(WalkFormat::Tsv)],
        ) {
            let delimiter = if format == WalkFormat::Tsv { b'\t' } else { b',' };
            let columns: Vec<String> = fields[3..].iter().map(|f| format!("k{f}")).collect();
            let text = RowText::new(format, own, &columns);
            let mut ours = text.header(&columns);
            text.push_start(&mut ours, &fields[0]);
            ours.extend_from_slice(b"7");
            text.push_state(&mut ours, &fields[1]);
            if own == OwnColumns::Observations {
                text.push_observed(&mut ours, &fields[2]);
            }
            text.push_rest(&mut ours, fields[3..].iter().map(String::as_str));

            let mut table = csv::WriterBuilder::new().delimiter(delimiter).from_writer(Vec::new());
            let names = own.names().iter().copied();
            table.write_record(names.chain(columns.iter().map(String::as_str))).unwrap();
            let mut row = vec![fields[0].as_str(), "7", &fields[1]];
            row.extend((own == OwnColumns::Observations).then_some(fields[2].as_str()));
            table.write_record(row.into_iter().chain(fields[3..].iter().map(String::as_str))).unwrap();
            prop_assert_eq!(ours, table.into_inner().unwrap());
        }
    }
}
