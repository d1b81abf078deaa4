//! One error for programs that do not tell errors apart.
//!
//! Every function of this crate has an error of its own that says what can go wrong there. All of them turn
//! into [`Error`], so that `?` works in a function that returns it.

pub use crate::distance::CellsTooLarge;
pub use crate::model::{ModelChanged, TooLarge};
pub use crate::rational::RationalError;
pub use crate::remedy::{Remedy, word_remedies};

/// Any error of this crate.
///
/// ```
/// use veilwalk::{Chain, Error, Model, Promise};
///
/// fn promise() -> Result<(Model, Promise), Error> {
///     let model = Model::new(Chain::credit())?;
///     Ok((model, Promise::within_radius("1".parse()?, "3.5".parse()?)))
/// }
/// assert!(promise().is_ok());
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A chain that cannot be built.
    #[error(transparent)]
    Chain(#[from] crate::chain::ChainError),
    /// Numbers that are no initial distribution.
    #[error(transparent)]
    Initial(#[from] crate::chain::InitialError),
    /// Numbers that are no distribution of lengths.
    #[error(transparent)]
    WalkLengths(#[from] crate::chain::WalkLengthsError),
    /// A price of a private fit that is none.
    #[error(transparent)]
    FitTerms(#[from] crate::chain::FitTermsError),
    /// A private fit that cannot be made.
    #[error(transparent)]
    PrivateFit(#[from] crate::chain::PrivateFitError),
    /// A walk of two persons.
    #[error(transparent)]
    TwoPersons(#[from] crate::chain::TwoPersons),
    /// A label that the chain does not have.
    #[error(transparent)]
    UnknownState(#[from] crate::chain::UnknownState),
    /// A grid with too many crossings.
    #[error(transparent)]
    GridTooLarge(#[from] crate::chain::GridTooLarge),
    /// A stationary distribution that does not settle.
    #[error(transparent)]
    NotConverged(#[from] crate::chain::NotConverged),
    /// A chain too large for a table of all distances.
    #[error(transparent)]
    TooLarge(#[from] crate::model::TooLarge),
    /// A model whose file was changed while it was in use.
    #[error(transparent)]
    ModelChanged(#[from] crate::model::ModelChanged),
    /// Cells whose tables would not fit.
    #[error(transparent)]
    CellsTooLarge(#[from] crate::distance::CellsTooLarge),
    /// Walks that cannot be made to end in given places.
    #[error(transparent)]
    EndedWalks(#[from] crate::analysis::EndedWalksError),
    /// A text that is no number.
    #[error(transparent)]
    Number(#[from] crate::rational::RationalError),
    /// A parameter out of its range.
    #[error(transparent)]
    Parameter(#[from] crate::mechanism::ParameterError),
    /// A choice that does not exist.
    #[error(transparent)]
    UnknownName(#[from] crate::mechanism::UnknownName),
    /// A text that is no length of blocks.
    #[error(transparent)]
    BlockLength(#[from] crate::mechanism::NotABlockLength),
    /// A promise that no scale keeps.
    #[error(transparent)]
    Scale(#[from] crate::mechanism::ScaleError),
    /// Blocks that cannot be released.
    #[error(transparent)]
    Block(#[from] crate::mechanism::BlockError),
    /// A secret that is too short.
    #[error(transparent)]
    Secret(#[from] crate::random::SecretTooShort),
    /// A text that is no release id.
    #[error(transparent)]
    ReleaseId(#[from] crate::random::NotAReleaseId),
    /// No randomness from the operating system.
    #[error(transparent)]
    NoRandomness(#[from] crate::random::Unavailable),
    /// A forked process.
    #[error(transparent)]
    Forked(#[from] crate::random::Forked),
    /// A state number that the chain does not have.
    #[error(transparent)]
    NoSuchState(#[from] crate::session::NoSuchState),
    /// A real state that was not released.
    #[error(transparent)]
    Push(#[from] crate::session::PushError),
    /// A session that cannot be saved inside a block.
    #[cfg(feature = "serde")]
    #[error(transparent)]
    UnfilledBlock(#[from] crate::session::UnfilledBlock),
    /// A saved session that cannot be resumed.
    #[cfg(feature = "serde")]
    #[error(transparent)]
    Resume(#[from] crate::session::ResumeError),
    /// Real states that are not those of the saved session.
    #[cfg(feature = "serde")]
    #[error(transparent)]
    Replay(#[from] crate::session::ReplayError),
    /// A guarantee that cannot be computed.
    #[error(transparent)]
    Guarantee(#[from] crate::guarantee::GuaranteeError),
    /// A calibration that found no scale.
    #[error(transparent)]
    Calibration(#[from] crate::guarantee::CalibrationError),
    /// A certificate that does not hold.
    #[error(transparent)]
    Certificate(#[from] crate::guarantee::CertificateError),
    /// A model that is not that of its chain.
    #[error(transparent)]
    Model(#[from] crate::guarantee::ModelError),
    /// A guarantee that would protect nothing.
    #[error(transparent)]
    EmptyGuarantee(#[from] crate::guarantee::cover::EmptyGuarantee),
    /// Choices that do not go together.
    #[error(transparent)]
    Request(#[from] crate::request::RequestError),
    /// An analysis that cannot be made.
    #[error(transparent)]
    Plan(#[from] crate::analysis::PlanError),
    /// A text that is no aim.
    #[error(transparent)]
    Aim(#[from] crate::analysis::AimError),
    /// A search for the best mechanism that found none.
    #[error(transparent)]
    Tune(#[from] crate::analysis::TuneError),
    /// Long-run figures that cannot be computed.
    #[error(transparent)]
    LongRun(#[from] crate::analysis::long_run::LongRunError),
    /// An analysis that was stopped on request.
    #[error(transparent)]
    Stopped(#[from] crate::watch::Stopped),
}
