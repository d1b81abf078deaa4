//! What helps against an error, in flags.

use veilwalk::error::Remedy;

pub(crate) fn as_flag(remedy: Remedy) -> &'static str {
    match remedy {
        Remedy::Normalize => "--normalize",
        Remedy::LargestComponent => "--largest-component",
        Remedy::NewSecret => "`head -c 32 /dev/urandom`",
        Remedy::CompileModel => "`veilwalk chain compile CHAIN -o MODEL`",
        Remedy::WriteMechanism => "`veilwalk tune -o FILE`",
        Remedy::ReleaseWithLedger => "a release with --ledger",
        Remedy::MigrateLedger => "`veilwalk ledger migrate OLD -o NEW`",
        Remedy::WriteManifest => "`veilwalk privatize -o`",
        Remedy::TrajectoryColumn => "--trajectory-column",
        Remedy::StateColumn => "--state-column",
        Remedy::KeepColumns => "--keep",
        Remedy::PersonColumn => "--person-column",
        Remedy::TimeColumn => "--time-column",
        Remedy::LatitudeColumn => "--latitude-column",
        Remedy::LongitudeColumn => "--longitude-column",
        Remedy::Cells => "--cells h3:9",
        Remedy::MaxStates => "--max-states",
        Remedy::TimeZone => "--timezone",
        Remedy::Grouped => "--grouped",
        Remedy::Radius => "--radius",
        Remedy::Substitutions => "--substitutions 1 (or more)",
        Remedy::Rule => "--rule",
        Remedy::ExactScale => "--calibrate exact",
        Remedy::Blocks => "--block",
        Remedy::Places => "--places",
        Remedy::Metric => "--metric",
        Remedy::Distance => "--distance",
        Remedy::ChainWeight => "--chain-weight",
        Remedy::Candidates => "--candidates",
        Remedy::Weights => "--weights",
        Remedy::LeastShare => "--believed-from",
        Remedy::Track => "--track",
        Remedy::Typicality => "--typicality",
        Remedy::Lag => "--lag",
        _ => "another setting (see --help)",
    }
}
