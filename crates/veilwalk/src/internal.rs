//! What the other crates of veilwalk use of this one. Nobody else should: it changes without notice.
//!
//! The modules here have the names of those they show.

pub mod ahead {
    pub use crate::ahead::TooLargeToLookAhead;
}
pub mod analysis {
    pub use crate::analysis::figures::{DistanceLaw, EntropyFigures, Exceedance};
    pub use crate::analysis::usual_attack::{
        Attacks, USUAL_STEPS, UsualAttackError, attack_in_words, usual_attack,
    };
}
pub mod audit {
    pub use crate::guarantee::audit::{Finding, LossEstimate, Probe, Sampler, StepSampler};
}
pub mod bounds {
    pub use crate::analysis::bounds::{
        BoundAt, EntropyBound, ErrorBound, ErrorBoundFigures, PublishedConstants, TypicalityBound,
        TypicalityFigures,
    };
}
pub mod cell {
    pub use crate::mechanism::cell::calibrate::{CellScale, Obtained};
}
pub mod chain {
    pub use crate::chain::builder::Rescaled;
    pub use crate::chain::downtown::{Segment, downtown_map};
    pub use crate::chain::parts::{ChainParts, PartsError};
    pub use crate::chain::state_labels::StateLabels;
}
pub mod compare {
    pub use crate::analysis::compare::{
        Basis, Measured, Purpose, Row, Simulated, StandardErrors, WatchEach,
    };
    pub use crate::analysis::equal_success::{AtSuccess, at_success, attacked};
}
pub mod cover {
    pub use crate::guarantee::cover::{
        ClosestStates, EmptyGuarantee, SuggestedRadii, radius_reaching, smallest_radius,
    };
}
pub mod distance {
    pub use crate::distance::{
        Cells, Directed, DistanceTable, Edges, Hamming, Metric, Nearest, NotAMetric, OnDemand,
        OwnDistances, SearchedDirected, SearchedSymmetric, Symmetric,
    };
}
pub mod drift {
    pub use crate::analysis::drift::{Drift, DriftReport};
}
pub mod given_walk {
    pub use crate::analysis::given_walk::{ReleasedLaw, utility};
}
pub mod given_walks {
    pub use crate::analysis::given_walks::{simulate, typical, utility};
}
pub mod fit {
    pub use crate::chain::private_fit::chain_of;
}
pub mod guarantee {
    pub use crate::guarantee::audit::{Probe, Sampler, StepSampler};
    pub use crate::guarantee::block::{
        ReplacementLoss, block_loss, replacement_work, worst_replacement,
    };
    pub use crate::guarantee::certificate::{CertificateError, ModelError, check_certificate};
    pub use crate::guarantee::cover::{ClosestStates, EmptyGuarantee, SuggestedRadii};
    pub use crate::guarantee::loss::{Coverage, FigureKind, Losses, Summary, Worst, audited_loss};
    pub use crate::guarantee::observed::Observed;
}
pub mod joint {
    pub use crate::analysis::joint::{JointChain, JointLaw, KernelMemory};
}
pub mod long_run {
    pub use crate::analysis::long_run::{
        Convergence, LongRun, LongRunEffort, LongRunError, MixingKind, MixingTime,
        SecondEigenvalue, chain_mixing_time,
    };
}
pub mod loss {
    pub use crate::guarantee::loss::{Coverage, FigureKind, Losses, Summary, Worst, audited_loss};
}
pub mod mechanism {
    pub use crate::mechanism::promise::Budget;
    pub use crate::mechanism::step::Workspace;
}
pub mod model {
    pub use crate::model::{Certified, TableOrigin, Tables};
}
pub mod nats {
    pub use crate::nats::in_nats;
}
pub mod plan {
    pub use crate::analysis::block_plan::{affordable_tracked_walks, affordable_walks};
    pub use crate::analysis::plan::{
        Bounds, ErrorFigures, LeftOut, MixingFigures, TypicalFigure, Typicality, WithNote,
    };
}
pub mod profile {
    pub use crate::analysis::profile::{OwnEntropy, Profile, own_entropy};
}
pub mod random {
    pub use crate::random::coin::ExpCoin;
    pub use crate::random::source::{Randomness, Stream, WalkKey};
    pub use crate::random::uniform_index::uniform_below;
}
pub mod report {
    pub use crate::guarantee::report::{
        Alternatives, Covered, Release, ScaleInForce, WorkedExample,
    };
    pub use crate::guarantee::step_losses::{LossFigures, LossPerNat, WalkFigures, WorstCase};
}
pub mod request {
    pub use crate::request::{
        Base, CandidateChoice, Made, NotASpan, PersonTotal, Request, RequestError, Settled, Span,
        TrackChoice, Visit, seconds_in,
    };
}
pub mod session {
    pub use crate::session::digest::{Digest, WalkDigest};
    pub use crate::session::follower::{log_law_of_observations, observe_once};
}
pub mod simulate {
    pub use crate::analysis::simulate::{
        Estimate, RealWalks, SimulatedEntropy, SimulatedExceedance, SimulatedUtility, Simulation,
        Typical, simulate,
    };
}
pub mod storage {
    pub use crate::storage::Storage;
}
pub mod tune {
    pub use crate::analysis::tune::{Delay, Evaluated, Simulated, TuneFigures, WalksFrom, Weights};
}
pub mod typical {
    pub use crate::analysis::typical::{Spending, TypicalEnclosure, of_given_walk, of_own_walks};
}
