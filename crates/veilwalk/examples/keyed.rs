//! A release from a secret key: whoever runs it again gets the same walk, not a second release.
//!
//! ```text
//! cargo run --example keyed -- 'sixteen bytes or more' 000102030405060708090a0b0c0d0e0f sharp 2 3.5 north Baa A A
//! ```
//!
//! The words are the key, the release id (a new one for every run that is not a repetition), the mechanism, ε, the radius in nats, the walk's name and its states, on the
//! chain of credit ratings. The command, the Python package and Spark release the same.

use std::error::Error;
use std::sync::Arc;

use veilwalk::random::Secret;
use veilwalk::{Chain, Mechanism, Model, Preset, Promise, Session, Source, Start};

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [key, id, mechanism, epsilon, radius, name, walk @ ..] = words.as_slice() else {
        return Err(
            "give a key, a release id, a mechanism, epsilon, a radius, a name and a walk".into()
        );
    };
    let model = Arc::new(Model::new(Chain::credit())?);
    let promise = Promise::within_radius(epsilon.parse()?, radius.parse()?);
    let design = mechanism.parse::<Preset>()?.design();
    let mechanism = Arc::new(Mechanism::new(model.clone(), design, promise)?);
    let source = Source::keyed(Secret::new(key.as_bytes())?, id.parse()?);
    let mut session = Session::new(mechanism, &source, Start::Private, name)?;
    for state in walk {
        let released = session.release(model.chain().require(state)?)?;
        println!("{}", model.chain().label(released));
    }
    Ok(())
}
