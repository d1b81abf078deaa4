//! What helps against an error, in keyword arguments.

use veilwalk::error::Remedy;

pub(crate) fn as_keyword(remedy: Remedy) -> &'static str {
    match remedy {
        Remedy::Normalize => "normalize=True",
        Remedy::LargestComponent => "largest_component=True",
        Remedy::NewSecret => "secrets.token_bytes(32)",
        Remedy::CompileModel => "Chain.compile",
        Remedy::WriteMechanism => "Mechanism.save",
        Remedy::ReleaseWithLedger => "a release with ledger=",
        Remedy::MigrateLedger => "the command `veilwalk ledger migrate OLD -o NEW`",
        Remedy::WriteManifest => "Mechanism.write_manifest",
        Remedy::TrajectoryColumn => "trajectory=",
        Remedy::StateColumn => "state=",
        Remedy::KeepColumns => "keep=",
        Remedy::PersonColumn => "person=",
        Remedy::TimeColumn => "time=",
        Remedy::LatitudeColumn => "latitude=",
        Remedy::LongitudeColumn => "longitude=",
        Remedy::Cells => "cells=\"h3:9\"",
        Remedy::MaxStates => "max_states=",
        Remedy::TimeZone => "timezone=",
        Remedy::Radius => "radius=",
        Remedy::Substitutions => "substitutions=1 (or more)",
        Remedy::Rule => "rule=",
        Remedy::ExactScale => "calibrate=\"exact\"",
        Remedy::Blocks => "block=",
        Remedy::Places => "places=",
        Remedy::Metric => "metric=",
        Remedy::Distance => "distance=",
        Remedy::ChainWeight => "chain_weight=",
        Remedy::Candidates => "candidates=",
        Remedy::Weights => "weights=",
        Remedy::LeastShare => "believed_from=",
        Remedy::Track => "track=",
        Remedy::Typicality => "typicality=",
        Remedy::Lag => "lag=",
        _ => "another argument (see help())",
    }
}
