//! Candidates and tracking as texts, for the files that say how a mechanism was made.

use veilwalk::mechanism::{CandidateKind, Candidates, LeastShare, StateWeights, Tracking};

/// Which states can be drawn.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct CandidateTexts {
    /// The kind.
    pub(crate) candidates: Option<String>,
    /// The weights, for all states.
    pub(crate) weights: Option<String>,
    /// The least share, for believed ones.
    pub(crate) believed_from: Option<String>,
}

/// How walks are made of observations.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct TrackTexts {
    /// What they are to be good at.
    pub(crate) track: Option<String>,
    /// What a nat of a move's own weight counts for.
    pub(crate) typicality: Option<String>,
    /// How many steps later a step is answered.
    pub(crate) lag: Option<u32>,
}

fn parsed<T: std::str::FromStr<Err: ToString>>(field: &str, text: &str) -> Result<T, String> {
    text.parse().map_err(|error: T::Err| format!("{field}: {}", error.to_string()))
}

impl CandidateTexts {
    pub(crate) fn of(candidates: Candidates) -> Self {
        let name = CandidateKind::of(candidates).name().to_owned();
        let (weights, believed_from) = match candidates {
            Candidates::Moves | Candidates::Plane => (None, None),
            Candidates::States(weights) => (Some(weights.name().to_owned()), None),
            Candidates::Believed(least) => (None, Some(least.to_string())),
        };
        Self { candidates: Some(name), weights, believed_from }
    }

    /// The same, without a word where it is what a file without these words means.
    pub(crate) fn of_other_than_moves(candidates: Candidates) -> Self {
        match candidates {
            Candidates::Moves => Self::default(),
            other => Self::of(other),
        }
    }

    /// The candidates that are meant: moves if nothing is said.
    ///
    /// # Errors
    ///
    /// A sentence, if a word is not one of those it may be, or does not go with another.
    pub(crate) fn read(&self) -> Result<Candidates, String> {
        let Self { candidates, weights, believed_from } = self;
        let kind = match candidates {
            None => CandidateKind::Moves,
            Some(name) => parsed("candidates", name)?,
        };
        match (kind, weights, believed_from) {
            (CandidateKind::Moves, None, None) => Ok(Candidates::Moves),
            (CandidateKind::Plane, None, None) => Ok(Candidates::Plane),
            (CandidateKind::States, Some(weights), None) => {
                Ok(Candidates::States(parsed::<StateWeights>("weights", weights)?))
            }
            (CandidateKind::Believed, None, Some(least)) => {
                Ok(Candidates::Believed(parsed::<LeastShare>("believed_from", least)?))
            }
            _ => Err(
                "candidates: `states` needs weights, `believed` needs believed_from, and `moves` and \
                      `plane` have neither"
                    .to_owned(),
            ),
        }
    }
}

impl TrackTexts {
    pub(crate) fn of(tracking: Tracking) -> Self {
        let Tracking { aim, gamma, lag } = tracking;
        let (track, typicality) = (Some(aim.name().to_owned()), Some(gamma.to_string()));
        Self { track, typicality, lag: Some(lag) }
    }

    /// How walks are made of the observations of these candidates; none where moves are drawn.
    ///
    /// # Errors
    ///
    /// A sentence, if a word is not one of those it may be, or something is said too much or is missing.
    pub(crate) fn read(&self, candidates: Candidates) -> Result<Option<Tracking>, String> {
        match (candidates, &self.track, &self.typicality, self.lag) {
            (Candidates::Moves, None, None, None) => Ok(None),
            (Candidates::Moves, ..) => Err(
                "track, typicality and lag are for observations, and the candidates are `moves`"
                    .to_owned(),
            ),
            (_, Some(aim), Some(gamma), Some(lag)) => {
                let (aim, gamma) = (parsed("track", aim)?, parsed("typicality", gamma)?);
                Ok(Some(Tracking { aim, gamma, lag }))
            }
            _ => Err("observations need track, typicality and lag".to_owned()),
        }
    }
}
