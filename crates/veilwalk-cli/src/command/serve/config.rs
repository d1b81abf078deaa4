//! `--config FILE`: flags by their names in a TOML file.
//!
//! The file is translated into flags before they are read, so there is one list of flags, one place that says what they
//! mean, and no second spelling of any of them. A flag that is given as well wins.

use std::ffi::OsString;
use std::fs;
use std::ops::Range;
use std::path::Path;

use anyhow::{Context, Result, bail};
use clap::{ArgAction, Command};
use toml::de::{DeTable, DeValue};

/// The flag that names the file.
const CONFIG: &str = "config";

/// A command line with the flags of its configuration file, if it names one.
pub(crate) struct Configured {
    pub(crate) args: Vec<OsString>,
    /// The file's keys, each with its line.
    keys: Vec<(String, usize)>,
    file: String,
}

impl Configured {
    /// Reads the file that a command line of this command names, which follows the name of the command.
    pub(crate) fn read(command: &Command, args: Vec<OsString>) -> Result<Self> {
        let (keys, file) = Default::default();
        let Some(path) = value_of(&args, CONFIG) else { return Ok(Self { args, keys, file }) };
        let path = Path::new(&path);
        let file = path.display().to_string();
        let text = fs::read_to_string(path).with_context(|| format!("cannot read {file}"))?;
        let mut configured = Self { args, keys, file };
        configured.add(command, &text)?;
        Ok(configured)
    }

    fn add(&mut self, command: &Command, text: &str) -> Result<()> {
        let file = &self.file;
        let line_of = |place: Range<usize>| 1 + text[..place.start].matches('\n').count();
        let table = DeTable::parse(text).map_err(|error| {
            let line = error.span().map_or(1, line_of);
            anyhow::anyhow!("{file}, line {line}: {}", error.message())
        })?;
        let mut flags = Vec::new();
        for (key, value) in table.get_ref() {
            let (name, line) = (key.get_ref().as_ref(), line_of(key.span()));
            let known = |arg: &&clap::Arg| arg.get_long() == Some(name);
            let Some(arg) = command.get_arguments().find(known).filter(|_| name != CONFIG) else {
                bail!(
                    "{file}, line {line}: {name:?} is not known; keys are named like the flags of `veilwalk {}` \
                     (--help lists them)",
                    command.get_name()
                );
            };
            // A flag that is given wins.
            if is_given(&self.args, name) {
                continue;
            }
            let is_switch = matches!(arg.get_action(), ArgAction::SetTrue);
            for value in texts(value.get_ref()) {
                match (value.as_deref(), is_switch) {
                    (Some("true"), true) => flags.push(format!("--{name}").into()),
                    (Some("false"), true) => {}
                    (Some(value), false) => flags.push(OsString::from(format!("--{name}={value}"))),
                    (_, true) => bail!("{file}, line {line}: {name} is true or false"),
                    (None, false) => {
                        bail!(
                            "{file}, line {line}: {name} has to be a text, a number or a list of these"
                        )
                    }
                }
            }
            self.keys.push((name.to_owned(), line));
        }
        // After the program and the command.
        self.args.splice(2..2, flags);
        Ok(())
    }

    /// Where in the file the flags are that an error names.
    pub(crate) fn blame(&self, error: &str) -> Option<String> {
        let named = |key: &&(String, usize)| {
            let flag = format!("--{}", key.0);
            error.match_indices(&flag).any(|(at, _)| {
                let rest = error[at + flag.len()..].chars().next();
                !rest.is_some_and(|next| next.is_ascii_alphanumeric() || next == '-')
            })
        };
        let places: Vec<String> = self
            .keys
            .iter()
            .filter(named)
            .map(|(key, line)| format!("{}, line {line}: {key}", self.file))
            .collect();
        (!places.is_empty()).then(|| places.join("\n"))
    }
}

/// A value as the texts of flags, of which a list has several. None is what no flag can be.
fn texts(value: &DeValue<'_>) -> Vec<Option<String>> {
    let text = match value {
        DeValue::String(text) => Some(text.to_string()),
        DeValue::Integer(number) => Some(number.to_string()),
        DeValue::Float(number) => Some(number.to_string()),
        DeValue::Boolean(switch) => Some(switch.to_string()),
        DeValue::Array(list) => {
            return list.iter().flat_map(|value| texts(value.get_ref())).collect();
        }
        DeValue::Datetime(_) | DeValue::Table(_) => None,
    };
    vec![text]
}

fn is_given(args: &[OsString], name: &str) -> bool {
    let flag = format!("--{name}");
    args.iter().any(|arg| {
        arg.to_str().is_some_and(|arg| {
            arg.strip_prefix(&flag).is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
        })
    })
}

/// The value of a flag.
fn value_of(args: &[OsString], name: &str) -> Option<OsString> {
    let flag = format!("--{name}");
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        if arg.as_os_str() == flag.as_str() {
            return args.next().cloned();
        }
        let value = arg.to_str().and_then(|arg| arg.strip_prefix(&flag)?.strip_prefix('='));
        if let Some(value) = value {
            return Some(value.into());
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use clap::Arg;

    use super::*;

    fn configured(text: &str, given: &[&str]) -> Result<Vec<String>> {
        let flag = |name: &'static str| Arg::new(name).long(name);
        let command = Command::new("serve")
            .args([flag("epsilon"), flag("state"), flag("keep"), flag("config")])
            .arg(flag("check").action(ArgAction::SetTrue));
        let args = ["veilwalk", "serve"].iter().chain(given).map(OsString::from).collect();
        let (keys, file) = (Vec::new(), "f.toml".to_owned());
        let mut configured = Configured { args, keys, file };
        configured.add(&command, text)?;
        Ok(configured.args.into_iter().skip(2).map(|arg| arg.into_string().unwrap()).collect())
    }

    #[test]
    fn keys_become_flags() {
        let text =
            "# a comment\nepsilon = 0.10\nstate = \"a b\"\nkeep = [1, \"x\"]\ncheck = true\n";
        let mut flags = configured(text, &[]).unwrap();
        flags.sort();
        assert_eq!(flags, ["--check", "--epsilon=0.10", "--keep=1", "--keep=x", "--state=a b"]);
        assert!(configured("check = false", &[]).unwrap().is_empty());
        let given = configured("epsilon = 2\nstate = \"s\"", &["--epsilon", "1"]).unwrap();
        assert_eq!(given, ["--state=s", "--epsilon", "1"]);
        assert_eq!(configured("epsilon = 1_000", &[]).unwrap(), ["--epsilon=1000"]);
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        for (text, words) in [
            ("\nepsilom = 1", "line 2: \"epsilom\" is not known"),
            ("config = \"other\"", "line 1: \"config\" is not known"),
            ("epsilon = 1\nstate = ", "line 2"),
            ("[serve]\nepsilon = 1", "line 1: \"serve\" is not known"),
            ("epsilon = {a = 1}", "line 1: epsilon has to be"),
            ("check = 3", "line 1: check is true or false"),
            ("epsilon = 1\nepsilon = 2", "line 2"),
        ] {
            let error = configured(text, &[]).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
    }
}
