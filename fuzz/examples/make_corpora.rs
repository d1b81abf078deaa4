//! Writes the parts of the corpora that are not text: `cargo run -p veilwalk-fuzz --example make_corpora`. They have to be
//! made again when a format changes.

use std::path::{Path, PathBuf};

use veilwalk::chain::Coordinates;
use veilwalk::chain::Places;
use veilwalk::{Chain, Mechanism, Model, Preset, Promise};
use veilwalk_io::{Compression, WalkFormat, WalkWriter, chain_to_bytes, write_model};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let corpus = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("corpus");
    let put = |place: &str, bytes: &[u8]| -> std::io::Result<()> {
        let path = corpus.join(place);
        std::fs::create_dir_all(path.parent().unwrap_or(Path::new(".")))?;
        std::fs::write(path, bytes)
    };
    for (place, session) in veilwalk_fuzz::sessions().iter().enumerate() {
        put(&format!("session/good-{place:02}"), session)?;
    }
    put("ledger/good-two-persons", &veilwalk_fuzz::ledger())?;

    let chain = Chain::credit();
    let states: Vec<_> = chain.states().collect();
    let walks = |format, compression| -> Result<Vec<u8>, veilwalk_io::WriteError> {
        let mut out = WalkWriter::new(Vec::new(), "walks", format, compression, &chain)?;
        out.write_walk("first", &states[2..6])?;
        out.write_walk("second, \"quoted\"", &states[..2])?;
        out.finish()
    };
    put("csv/good-gzip", &walks(WalkFormat::Csv, Compression::Gzip)?)?;
    put("ndjson/good-zstd", &walks(WalkFormat::Ndjson, Compression::Zstd)?)?;

    let places = Places {
        coordinates: states
            .iter()
            .map(|s| Coordinates::from_degrees(48.0, s.index() as f64).ok())
            .collect(),
        names: Some(states.iter().map(|&state| format!("no. {}", chain.label(state))).collect()),
        ..Places::default()
    };
    let placed = chain.clone().with_places(places)?;
    put("model/good-chain-alone", &chain_to_bytes(&placed)?)?;
    let folder = std::env::temp_dir().join(format!("veilwalk-corpora-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let path = folder.join("model");
    let model = std::sync::Arc::new(Model::new(chain)?);
    write_model(&model, &[], &path)?;
    put("model/good-tables", &std::fs::read(&path)?)?;
    let promise = Promise::within_radius("1".parse()?, "3.5".parse()?);
    Mechanism::new(model.clone(), Preset::Cell.design(), promise)?;
    write_model(&model, model.all_certified(), &path)?;
    put("model/good-cells", &std::fs::read(&path)?)?;
    std::fs::remove_dir_all(&folder)?;
    Ok(())
}
