//! A page with a map on it: one file that needs nothing else, no server and no network.
//!
//! The page holds the streets, the walks and what was estimated as numbers, and a small script that draws them. It
//! says what it shows: whether a real walk is on it, what was promised, and whose map it is.

mod data;

use std::fmt::Write;

use thiserror::Error;
use veilwalk::StateId;
use veilwalk::chain::Coordinates;
use veilwalk_report::{counted, escape, thousands};

use crate::ground::Ground;
use crate::walk::{Layer, Times};

const STYLE: &str = include_str!("style.css");
/// What the page does, in the order of its parts.
const SCRIPT: &str = concat!(
    include_str!("script/theme.js"),
    include_str!("script/places.js"),
    include_str!("script/walks.js"),
    include_str!("script/view.js"),
    include_str!("script/draw.js"),
    include_str!("script/play.js"),
    include_str!("script/legend.js"),
    include_str!("script/input.js"),
);
const BODY: &str = include_str!("body.html");

/// A walk on the page: of one name, in all kinds there are of it.
#[derive(Clone, Debug)]
pub struct DrawnWalk {
    /// The name of its trajectory.
    pub name: String,
    /// When its states were.
    pub times: Option<Times>,
    /// The released walk, the real one, and so on.
    pub paths: Vec<Path>,
    /// Where it was observed, where that is on points rather than states.
    pub observed: Vec<Coordinates>,
}

/// One kind of a walk.
#[derive(Clone, Debug)]
pub struct Path {
    /// What kind.
    pub layer: Layer,
    /// Its states.
    pub states: Vec<StateId>,
}

/// How often a state is visited, by an estimate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Visit {
    /// The state.
    pub state: StateId,
    /// Its share of all visits.
    pub share: f64,
    /// What it lies between, if that was estimated.
    pub interval: Option<(f64, f64)>,
}

/// A page in the making.
#[derive(Debug)]
pub struct MapPage<'g> {
    ground: &'g Ground<'g>,
    title: String,
    facts: Vec<(String, String)>,
    attribution: Option<String>,
    zone: Option<String>,
    walks: Vec<DrawnWalk>,
    visits: Vec<Visit>,
}

/// What is too much for a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PageError {
    /// More states in walks than a page plays smoothly.
    #[error(
        "the walks have {} in all, and a page draws up to {}; draw fewer of them",
        counted(*.states, "state"), thousands(*.most)
    )]
    TooManyStates {
        /// How many there are.
        states: usize,
        /// How many a page takes.
        most: usize,
    },
    /// More streets than a page draws smoothly.
    #[error(
        "the streets around these walks have {}, and a page draws up to {}; draw walks that are nearer together",
        counted(*.points, "point"), thousands(*.most)
    )]
    TooManyPoints {
        /// How many there are.
        points: usize,
        /// How many a page takes.
        most: usize,
    },
}

impl<'g> MapPage<'g> {
    /// The most states in all walks of a page.
    pub const MOST_STATES: usize = 400_000;
    /// The most points of streets on a page.
    pub const MOST_POINTS: usize = 1_500_000;

    /// A page with the streets alone.
    #[must_use]
    pub fn new(ground: &'g Ground<'g>, title: &str) -> Self {
        Self {
            ground,
            title: title.to_owned(),
            facts: Vec::new(),
            attribution: None,
            zone: None,
            walks: Vec::new(),
            visits: Vec::new(),
        }
    }

    /// Says something about what is shown: what, and how it is.
    pub fn fact(&mut self, what: &str, how: &str) {
        self.facts.push((what.to_owned(), how.to_owned()));
    }

    /// Says whose map it is.
    pub fn attribute(&mut self, attribution: &str) {
        self.attribution = Some(attribution.to_owned());
    }

    /// Shows times as clocks of this zone do; in UTC if there is none.
    pub fn show_times_in(&mut self, zone: &str) {
        self.zone = Some(zone.to_owned());
    }

    /// Adds a walk.
    pub fn push(&mut self, walk: DrawnWalk) {
        self.walks.push(walk);
    }

    /// Adds how often states are visited.
    pub fn visits(&mut self, visits: Vec<Visit>) {
        self.visits = visits;
    }

    fn paths(&self, layer: Layer) -> usize {
        let paths = self.walks.iter().flat_map(|walk| &walk.paths);
        paths.filter(|path| path.layer == layer).count()
    }

    /// The page as one file.
    ///
    /// # Errors
    ///
    /// If there is more to draw than a page takes.
    pub fn to_html(&self) -> Result<String, PageError> {
        let data = self.data()?;
        let title = escape(&self.title);
        let mut page = format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
             style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:\">\n\
             <link rel=\"icon\" href=\"data:,\">\n<title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n"
        );
        let (before, after) = BODY.split_once("{facts}").expect("the page has a place for facts");
        page += &before.replace("{title}", &title).replace("{notice}", &self.notice());
        for (what, how) in &self.facts {
            let _ = write!(page, "<dt>{}</dt><dd>{}</dd>", escape(what), escape(how));
        }
        page += after;
        let _ = write!(
            page,
            "<script type=\"application/json\" id=\"data\">{data}</script>\n<script>\n{SCRIPT}</script>\n\
             </body>\n</html>\n"
        );
        Ok(page)
    }

    /// What has to be known before anybody passes the page on.
    fn notice(&self) -> String {
        match self.paths(Layer::Real) {
            0 => String::new(),
            walks => format!(
                "<p class=\"warning\" role=\"note\"><strong>Not protected.</strong> This page shows {}. Do not pass \
                 it on.</p>",
                counted(walks, "real walk")
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ground::tests::{block, states};

    fn page(real: bool) -> String {
        let chain = block();
        let ground = Ground::of(&chain).unwrap();
        let mut page = MapPage::new(&ground, "A <b>");
        page.fact("promise", "ε = 1 & more");
        page.attribute("© </script> us");
        let walked = states(&chain, &["south", "east", "north <b>"]);
        let mut paths = vec![Path { layer: Layer::Released, states: walked.clone() }];
        if real {
            paths.push(Path { layer: Layer::Real, states: walked });
        }
        let times = Some(Times { first: 0, every: 60_000_000 });
        let (name, observed) = ("a</script><b>".to_owned(), Vec::new());
        page.push(DrawnWalk { name, times, paths, observed });
        page.visits(vec![Visit { state: StateId::new(1), share: 0.5, interval: None }]);
        page.to_html().unwrap()
    }

    #[test]
    fn a_page_with_real_walks_says_so() {
        assert!(
            page(true).contains("<strong>Not protected.</strong> This page shows 1 real walk.")
        );
        assert!(!page(false).contains("Not protected"));
    }

    #[test]
    fn text_cannot_break_the_page_and_nothing_is_fetched() {
        let html = page(true);
        assert!(html.contains("<title>A &lt;b&gt;</title>"));
        assert!(html.contains("<dt>promise</dt><dd>ε = 1 &amp; more</dd>"));
        assert_eq!(html.matches("</script>").count(), 2, "the two of the page itself");
        // The name of a kind of element, which no browser looks up.
        let html = html.replace("http://www.w3.org/2000/svg", "");
        for fetched in
            ["http://", "https://", "@import", "url(", "src=\"", "fetch(", "{title}", "{notice}"]
        {
            assert!(!html.contains(fetched), "{fetched}");
        }
    }

    #[test]
    fn too_much_is_refused() {
        let chain = block();
        let ground = Ground::of(&chain).unwrap();
        let mut page = MapPage::new(&ground, "much");
        let states = vec![StateId::new(0); MapPage::MOST_STATES + 1];
        let paths = vec![Path { layer: Layer::Released, states }];
        let (name, observed) = ("long".to_owned(), Vec::new());
        page.push(DrawnWalk { name, times: None, paths, observed });
        let error = page.to_html().unwrap_err().to_string();
        assert!(error.contains("400,001 states in all") && error.contains("draw fewer"), "{error}");
    }
}
