//! Mechanism files, manifests, and what walks were prepared with.

use std::sync::{Arc, LazyLock};

use veilwalk::{Chain, Mechanism, Model};
use veilwalk_io::{AtomicFile, Manifest, MechanismFile, Prepared};

use crate::{Outcome, scratch, taken};

/// A mechanism file.
pub(crate) fn mechanism(data: &[u8]) -> Outcome {
    static CREDIT: LazyLock<Arc<Model>> =
        LazyLock::new(|| Arc::new(Model::new(Chain::credit()).unwrap()));
    let Some(file) = taken(MechanismFile::read(&scratch::file("read.json", data))) else {
        return Outcome::Refused;
    };
    let path = scratch::path("written.json");
    file.write(&path).unwrap();
    assert_eq!(MechanismFile::read(&path).unwrap(), file);
    let (design, promise, calibration) = file.parts().unwrap();
    let tracking = file.tracking().unwrap();
    if let Some(made) = taken(Mechanism::new(CREDIT.clone(), design, promise)) {
        let _ = taken(file.compare_scales(&made));
        let made = match tracking {
            Some(tracking) => made.tracking(tracking),
            None => made,
        };
        if let Some(described) = MechanismFile::describing(&made, calibration) {
            described.write(&path).unwrap();
            assert_eq!(MechanismFile::read(&path).unwrap(), described);
        }
    }
    Outcome::Accepted
}

/// A manifest; the same bytes also as what walks were prepared with.
pub(crate) fn manifest(data: &[u8]) -> Outcome {
    let release = scratch::path("out.csv");
    scratch::file("out.csv.manifest.json", data);
    let manifest = taken(Manifest::read_for(&release));
    if let Some(manifest) = &manifest {
        manifest.prepare_for(&release).unwrap().commit().unwrap();
        assert_eq!(&Manifest::read_for(&release).unwrap(), manifest);
    }
    let walks = scratch::path("walks.csv");
    scratch::file("walks.csv.prepared.json", data);
    let prepared = taken(Prepared::read_for(&walks)).flatten();
    if let Some(prepared) = &prepared {
        prepared.commit_with(AtomicFile::create(&walks).unwrap(), &walks).unwrap();
        // Which walks it is about is found when they get their name.
        let found = Prepared::read_for(&walks).unwrap().unwrap();
        assert_eq!(Prepared { walks: prepared.walks.clone(), ..found }, *prepared);
    }
    manifest.map(|_| ()).or(prepared.map(|_| ())).into()
}
