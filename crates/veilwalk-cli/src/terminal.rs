//! How the command speaks: results on standard output, everything else on standard error, colour
//! only where someone is looking.

use std::fmt::Display;
use std::io::{self, Write};

use anstyle::{AnsiColor, Style};
use anyhow::Result;
use comfy_table::{ContentArrangement, Table, presets};
use veilwalk_io::{WriteError, WriteErrorKind};

const ERROR: Style = AnsiColor::Red.on_default().bold();
const WARNING: Style = AnsiColor::Yellow.on_default().bold();

/// Prints a result.
pub(crate) fn print(text: impl Display) -> Result<()> {
    let mut out = anstream::stdout().lock();
    let written = writeln!(out, "{text}").and_then(|()| out.flush());
    Ok(written.map_err(|error| WriteError::new("standard output", WriteErrorKind::Io(error)))?)
}

/// Says what went wrong.
pub(crate) fn error(error: &anyhow::Error) {
    anstream::eprintln!("{ERROR}error{ERROR:#}: {error:#}");
}

/// Says what the user should know before relying on the result.
pub(crate) fn warning(message: impl Display) {
    anstream::eprintln!("{WARNING}warning{WARNING:#}: {message}");
}

/// Says what was done.
pub(crate) fn note(message: impl Display) {
    anstream::eprintln!("{message}");
}

/// Whether an error is only that the reader of a pipe has gone.
pub(crate) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        let io = cause.downcast_ref::<io::Error>();
        let write = cause.downcast_ref::<WriteError>();
        io.is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe)
            || write.is_some_and(WriteError::is_broken_pipe)
    })
}

/// A table without rules, the same in a terminal and in a pipe.
pub(crate) fn table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(header.to_vec());
    table
}

/// The table as text, without the space around its lines.
pub(crate) fn lines(table: &Table) -> String {
    let lines: Vec<String> = table.lines().map(|line| line.trim_end().to_owned()).collect();
    let indent = lines.iter().map(|l| l.len() - l.trim_start().len()).min().unwrap_or(0);
    lines.iter().map(|line| &line[indent..]).collect::<Vec<_>>().join("\n")
}

/// A remark under a table, set in and on as many lines as it takes.
pub(crate) fn wrapped(text: &str) -> String {
    const WIDTH: usize = 96;
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().expect("there is a line");
        if line.is_empty() {
            line.push_str(word);
        } else if line.chars().count() + 1 + word.chars().count() <= WIDTH {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines.iter().map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n")
}
