//! How the command speaks: results on standard output, everything else on standard error, colour
//! only where someone is looking.

use std::fmt::Display;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use anstream::adapter::strip_str;
use anstyle::{AnsiColor, Style};
use anyhow::Result;
use clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;
use comfy_table::{ContentArrangement, Table, presets};
use veilwalk_io::{WriteError, WriteErrorKind};
use veilwalk_report::counted;

use crate::open_models;

const ERROR: Style = AnsiColor::Red.on_default().bold();
static LOG_AS_JSON: AtomicBool = AtomicBool::new(false);

const WARNING: Style = AnsiColor::Yellow.on_default().bold();

/// Prints a result, if the models it was computed from are still what they were.
pub(crate) fn print(text: impl Display) -> Result<()> {
    open_models::check()?;
    let mut out = anstream::stdout().lock();
    let written = writeln!(out, "{text}").and_then(|()| out.flush());
    Ok(written.map_err(|error| WriteError::new("standard output", WriteErrorKind::Io(error)))?)
}

/// Says what went wrong.
pub(crate) fn error(error: &anyhow::Error) {
    log("error", ERROR, format!("{error:#}"));
}

/// Says that the program was stopped, over the `^C` that a terminal shows.
pub(crate) fn stopped(error: &anyhow::Error) {
    if width().is_some() {
        anstream::eprint!("\r");
    }
    self::error(error);
}

/// Says what the user should know before relying on the result.
pub(crate) fn warning(message: impl Display) {
    log("warning", WARNING, message);
}

/// Says what was done.
pub(crate) fn note(message: impl Display) {
    match LOG_AS_JSON.load(Ordering::Relaxed) {
        true => say_json("note", &message.to_string()),
        false => say(message.to_string()),
    }
}

/// Says how many of some things there are, and what became of them; nothing of those of which there are none.
pub(crate) fn note_counts<const N: usize>(counts: [(u64, &str, &str); N]) {
    for (number, what, became) in counts {
        if number > 0 {
            note(format!("{} {became}", counted(number as usize, what)));
        }
    }
}

/// From here on every message is an object on a line of its own.
pub(crate) fn log_as_json() {
    LOG_AS_JSON.store(true, Ordering::Relaxed);
}

fn log(level: &str, style: Style, message: impl Display) {
    match LOG_AS_JSON.load(Ordering::Relaxed) {
        true => say_json(level, &message.to_string()),
        false => say(format!("{style}{level}{style:#}: {message}")),
    }
}

fn say_json(level: &str, message: &str) {
    let time = format!("{:.3}", jiff::Timestamp::now());
    let message = strip_str(message).to_string();
    eprintln!("{}", serde_json::json!({ "time": time, "level": level, "message": message }));
}

/// Says what is wrong with the flags, or prints the help that was asked for, and ends the program.
pub(crate) fn usage(error: &clap::Error) -> ! {
    if !error.use_stderr() || error.kind() == DisplayHelpOnMissingArgumentOrSubcommand {
        error.exit();
    }
    say(error.render().ansi().to_string().trim_end().to_owned());
    std::process::exit(error.exit_code());
}

/// Prints on standard error: on lines that fit where someone is looking, as it is in a pipe, so that
/// programs find what they look for.
fn say(text: String) {
    let text = match width() {
        Some(width) => filled(&text, width),
        None => text,
    };
    anstream::eprintln!("{text}");
}

/// How wide the terminal is, up to what is easily read; none if standard error is no terminal.
fn width() -> Option<usize> {
    const WIDEST: u16 = 100;
    let (width, _) = terminal_size::terminal_size_of(io::stderr())?;
    Some(width.0.min(WIDEST).into())
}

/// Breaks lines between words. A line that is set in stays as it is: it is there to be copied.
fn filled(text: &str, width: usize) -> String {
    let line = |line: &str| {
        if line.starts_with(' ') {
            return line.to_owned();
        }
        let (mut out, mut used) = (String::new(), 0);
        for (place, word) in line.split(' ').enumerate() {
            let length = strip_str(word).to_string().chars().count();
            let fits = used + 1 + length <= width;
            out.push_str(if place == 0 {
                ""
            } else if fits {
                " "
            } else {
                "\n"
            });
            used = if place > 0 && fits { used + 1 + length } else { length };
            out.push_str(word);
        }
        out
    };
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

/// The reader of a stream has gone. What was written before is released.
#[derive(Debug)]
pub(crate) struct OutputClosed;

impl OutputClosed {
    /// The status of a program that writes into a closed pipe, as shells have it.
    pub(crate) const STATUS: u8 = 141;
}

impl Display for OutputClosed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("whoever read this stream has gone; the rows that were written are released")
    }
}

impl std::error::Error for OutputClosed {}

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
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    filled(&words, WIDTH).lines().map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_broken_between_words() {
        assert_eq!(filled("one two three", 8), "one two\nthree");
        assert_eq!(filled("one two three", 13), "one two three");
        assert_eq!(filled("one two three", 3), "one\ntwo\nthree");
        assert_eq!(filled("unbreakable /a/long/path here", 12), "unbreakable\n/a/long/path\nhere");
        assert_eq!(filled("", 5), "");
        assert_eq!(filled("è è è", 3), "è è\nè", "letters count, not bytes");
    }

    #[test]
    fn what_is_set_in_stays_whole() {
        let text = "first line of it\n\n  veilwalk a command to copy\n\nand the rest";
        let expected = "first line\nof it\n\n  veilwalk a command to copy\n\nand the\nrest";
        assert_eq!(filled(text, 10), expected);
        assert_eq!(filled("two  spaces stay", 20), "two  spaces stay");
    }

    #[test]
    fn colours_take_no_room() {
        let text = format!("{ERROR}error{ERROR:#}: a b c");
        assert_eq!(strip_str(&filled(&text, 10)).to_string(), "error: a b\nc");
    }
}
