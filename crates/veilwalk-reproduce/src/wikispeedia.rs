//! Wikispeedia: paths of the game as SNAP has them, or a table of clicks counted from them.
//!
//! In the archive a back-click is written `<`: it leads to the page before, which is the page that
//! was left for this one, so two of them in a row lead two pages back. Names of articles are
//! percent-encoded, and lines that start with `#` are remarks.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use percent_encoding::percent_decode_str;
use veilwalk::Chain;
use veilwalk::chain::{BuildOptions, ChainBuilder, Entries, Scope};
use veilwalk_report::counted;

use crate::Host;
use crate::ground::Ground;

const PATHS: &str = "paths_finished.tsv";
const FOLDER: &str = "wikispeedia_paths-and-graph";
const CATEGORIES: &str = "categories.tsv";

/// The chain, its map where the categories are beside the file, and the file that was read.
pub(crate) fn read(path: &Path, host: &dyn Host) -> Result<(Chain, Option<Ground>, PathBuf)> {
    let file = find(path)?;
    let text = std::fs::read_to_string(&file)
        .with_context(|| format!("cannot read {}", file.display()))?;
    let clicks = Clicks::read(&text).map_err(|error| anyhow!("{}{error}", file.display()))?;
    if clicks.beyond_the_first > 0 {
        host.warning(&format!(
            "{}: {} with a back-click on the first page left out",
            file.display(),
            counted(clicks.beyond_the_first, "path")
        ));
    }
    let chain = clicks.chain().with_context(|| file.display().to_string())?;
    let categories = file.with_file_name(CATEGORIES);
    let ground = match std::fs::read_to_string(&categories) {
        Ok(text) => Some(Ground::of_groups(&chain, &subjects(&text))),
        Err(_) => {
            host.note(&format!("no {}, so no map", categories.display()));
            None
        }
    };
    Ok((chain, ground, file))
}

/// The file itself, or the one in an unpacked archive.
fn find(path: &Path) -> Result<PathBuf> {
    if !path.is_dir() {
        return Ok(path.to_owned());
    }
    let places = [path.join(PATHS), path.join(FOLDER).join(PATHS)];
    places.into_iter().find(|file| file.is_file()).ok_or_else(|| {
        anyhow!(
            "{}: there is no {PATHS} in this folder; give the unpacked SNAP archive, that file, or \
             a table of clicks (from, to, count)",
            path.display()
        )
    })
}

/// Clicks from article to article, counted.
#[derive(Default)]
struct Clicks {
    articles: HashMap<String, usize>,
    labels: Vec<String>,
    /// In the order in which they were first seen.
    pairs: Vec<(usize, usize)>,
    counts: HashMap<(usize, usize), u64>,
    beyond_the_first: usize,
}

impl Clicks {
    /// Reads either kind of file; its first line that is not a remark tells which it is. An error
    /// starts with the place.
    fn read(text: &str) -> Result<Self> {
        let mut clicks = Self::default();
        let lines = text.lines().enumerate().map(|(k, line)| (k + 1, line.trim_end_matches('\r')));
        let lines = lines.filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'));
        let mut expected = None;
        for (number, line) in lines {
            let fields: Vec<&str> = line.split('\t').collect();
            let width = *expected.get_or_insert(fields.len());
            if fields.len() != width {
                bail!(
                    ", line {number}: {} where the lines before have {width}, with a tab between \
                     them",
                    counted(fields.len(), "field")
                );
            }
            match fields[..] {
                [from, to, count] => clicks.counted_line(number, from, to, count)?,
                [_, _, _, path, _] => clicks.path(number, path)?,
                _ => bail!(
                    ", line {number}: {} between tabs; expected three (from, to, count) or the \
                     five of {PATHS}",
                    counted(fields.len(), "field")
                ),
            }
        }
        if clicks.pairs.is_empty() {
            bail!(": there is no click in it; give the unpacked SNAP archive or a table of clicks");
        }
        Ok(clicks)
    }

    fn counted_line(&mut self, number: usize, from: &str, to: &str, count: &str) -> Result<()> {
        if self.pairs.is_empty() && count.eq_ignore_ascii_case("count") {
            return Ok(());
        }
        let count: u64 = count.trim().parse().map_err(|_| {
            anyhow!(", line {number}: the count {count:?} is not a whole number from 0 up")
        })?;
        let (from, to) = (self.article(number, from)?, self.article(number, to)?);
        self.add(from, to, count);
        Ok(())
    }

    fn path(&mut self, number: usize, path: &str) -> Result<()> {
        let mut open: Vec<usize> = Vec::new();
        let mut moves = Vec::new();
        for step in path.split(';') {
            if step == "<" {
                let left = open.pop();
                let (Some(left), Some(&back)) = (left, open.last()) else {
                    self.beyond_the_first += 1;
                    return Ok(());
                };
                moves.push((left, back));
            } else {
                let article = self.article(number, step)?;
                moves.extend(open.last().map(|&from| (from, article)));
                open.push(article);
            }
        }
        moves.into_iter().for_each(|(from, to)| self.add(from, to, 1));
        Ok(())
    }

    fn article(&mut self, number: usize, name: &str) -> Result<usize> {
        let label = decoded(name)
            .ok_or_else(|| anyhow!(", line {number}: {name:?} is not percent-encoded UTF-8"))?;
        if label.is_empty() {
            bail!(", line {number}: an article without a name");
        }
        if let Some(&place) = self.articles.get(&label) {
            return Ok(place);
        }
        self.articles.insert(label.clone(), self.labels.len());
        self.labels.push(label);
        Ok(self.labels.len() - 1)
    }

    fn add(&mut self, from: usize, to: usize, count: u64) {
        let pairs = &mut self.pairs;
        *self.counts.entry((from, to)).or_insert_with(|| {
            pairs.push((from, to));
            0
        }) += count;
    }

    fn chain(&self) -> Result<Chain> {
        let mut builder = ChainBuilder::new(Entries::Counts);
        let states: Vec<_> = self.labels.iter().map(|label| builder.state(label)).collect();
        for pair in &self.pairs {
            let count = self.counts[pair] as f64;
            builder.transition(states[pair.0], states[pair.1], count)?;
        }
        let options = BuildOptions { scope: Scope::LargestComponent, ..Default::default() };
        Ok(builder.build(options)?.0)
    }
}

fn decoded(name: &str) -> Option<String> {
    Some(percent_decode_str(name.trim()).decode_utf8().ok()?.into_owned())
}

/// The first top-level subject of every article that has one: `subject.History.…` is History.
fn subjects(text: &str) -> HashMap<String, String> {
    let mut subjects = HashMap::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let Some((article, category)) = line.split_once('\t') else { continue };
        let (Some(article), Some(subject)) = (decoded(article), category.split('.').nth(1)) else {
            continue;
        };
        subjects.entry(article).or_insert_with(|| subject.trim().to_owned());
    }
    subjects
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(clicks: &Clicks, from: &str, to: &str) -> u64 {
        let place = |label: &str| clicks.articles[label];
        clicks.counts.get(&(place(from), place(to))).copied().unwrap_or(0)
    }

    #[test]
    fn back_clicks_lead_to_the_page_before() {
        let text = "# remark\n\nid\t1\t2\tA;B;<;C;D;<;<;E\tNULL\n";
        let clicks = Clicks::read(text).unwrap();
        let moves = [("A", "B"), ("B", "A"), ("A", "C"), ("C", "D"), ("D", "C"), ("C", "A")];
        for (from, to) in moves {
            assert_eq!(count(&clicks, from, to), 1, "{from} to {to}");
        }
        assert_eq!(count(&clicks, "A", "E"), 1);
        assert_eq!(clicks.counts.values().sum::<u64>(), 7);
    }

    #[test]
    fn a_path_that_goes_back_too_far_is_left_out_and_counted() {
        let clicks = Clicks::read("i\t1\t2\t<;A;B\t3\ni\t1\t2\tA;B;A\t3\n").unwrap();
        assert_eq!(clicks.beyond_the_first, 1);
        assert_eq!(clicks.counts.values().sum::<u64>(), 2);
    }

    #[test]
    fn names_are_decoded_and_tables_are_read() {
        let clicks = Clicks::read("from\tto\tcount\n%C3%85land\tB\t3\nB\t%C3%85land\t1\n").unwrap();
        assert_eq!(count(&clicks, "Åland", "B"), 3);
        assert_eq!(clicks.chain().unwrap().len(), 2);
        let known = subjects("# x\n%C3%85land\tsubject.Geography.Europe\n%C3%85land\tsubject.X\n");
        assert_eq!(known["Åland"], "Geography");
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        let message = |text: &str| Clicks::read(text).err().unwrap().to_string();
        assert!(message("A\tB\tmany\n").contains("line 1: the count \"many\""));
        assert!(message("A\tB\t1\nA\tB\n").contains("line 2: 2 fields where"));
        assert!(message("A\tB\n").contains("line 1: 2 fields between tabs"));
        assert!(message("%FF\tB\t1\n").contains("line 1: \"%FF\" is not percent-encoded"));
        assert!(message("# only remarks\n").contains("no click in it"));
        assert!(message("i\t1\t2\tA;;B\t3\n").contains("line 1: an article without a name"));
    }
}
