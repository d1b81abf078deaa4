//! Where states are, in files: lengths beside the moves of a chain, coordinates in a table of their own, and both in a
//! compiled model.

use std::fs;

use tempfile::TempDir;
use veilwalk::Model;
use veilwalk::chain::{BuildOptions, Chain, ChainHash, Coordinates, Places};
use veilwalk_io::{
    ReadError, chain_from_bytes, chain_to_bytes, read_chain_from, read_graph, read_model,
    read_places, write_chain, write_model, write_places,
};

const STREETS: &str = "from,to,count,length\n\
                       high,mill,3,120.5\nhigh,high,1,0\nmill,high,2,120.4999\n";
const PLACES: &str = "name,state,latitude,longitude\n\
                      \"Mill Lane, east\",mill,42.5071,1.5225\n,high,42.5063,1.5218\nold,gone,0,0\n";

fn streets(text: &str) -> Result<Chain, ReadError> {
    read_chain_from(text.as_bytes(), "streets.csv", BuildOptions::default()).map(|read| read.0)
}

fn placed(text: &str) -> Result<Chain, ReadError> {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("places.csv");
    fs::write(&path, text).unwrap();
    read_places(&path, streets(STREETS).unwrap())
}

#[test]
fn lengths_are_read_with_the_moves() {
    let chain = streets(STREETS).unwrap();
    let lengths = chain.places().unwrap().lengths.as_ref().unwrap();
    let millimetres: Vec<u32> = lengths.iter().map(|length| length.millimetres()).collect();
    // Each state's moves in the order of the states; what is below a millimetre is cut off.
    assert_eq!(millimetres, [0, 120_500, 120_499]);
    let mut written = Vec::new();
    write_chain(&chain, &mut written).unwrap();
    let text = String::from_utf8(written).unwrap();
    assert!(text.starts_with("from,to,probability,length\nhigh,high,0.25,0\n"), "{text}");
    assert_eq!(streets(&text).unwrap().hash(), chain.hash());
    let plain = STREETS.replace(",length", "").replace(",120.5\n", "\n");
    let plain = plain.replace(",0\n", "\n").replace(",120.4999\n", "\n");
    assert_ne!(streets(&plain).unwrap().hash(), chain.hash());
    let folder = TempDir::new().unwrap();
    let graph = folder.path().join("graph.csv");
    fs::write(&graph, "from,to,length\na,b,7\nb,a,8\n").unwrap();
    let (graph, _) = read_graph(&graph, BuildOptions::default()).unwrap();
    assert_eq!(graph.places().unwrap().lengths.as_ref().unwrap()[1].to_string(), "8");
}

#[test]
fn lengths_that_are_refused() {
    for (length, words) in [
        ("-3", "the length \"-3\" is negative"),
        ("", "the length \"\" is not a number"),
        ("about 7", "is not a number; write metres"),
        ("4000001", "is more than 4000 km"),
        ("1e9", "is not a number"),
    ] {
        let text = STREETS.replace("120.5\n", &format!("{length}\n"));
        let error = streets(&text).unwrap_err().to_string();
        assert!(error.starts_with("streets.csv, line 2: ") && error.contains(words), "{error}");
    }
    let error = streets("from,to,count,length,when\na,a,1,2,3\n").unwrap_err().to_string();
    assert!(error.contains("remove the column \"when\""), "{error}");
}

#[test]
fn places_are_read_for_every_state() {
    let chain = placed(PLACES).unwrap();
    let places = chain.places().unwrap();
    assert!(places.lengths.is_some(), "lengths stay");
    let high = Coordinates::from_degrees(42.5063, 1.5218).unwrap();
    let mill = Coordinates::from_degrees(42.5071, 1.5225).unwrap();
    assert_eq!(places.coordinates.as_deref(), Some([high, mill].as_slice()));
    let names = ["", "Mill Lane, east"].map(str::to_owned);
    assert_eq!(places.names.as_deref(), Some(names.as_slice()));
    let mut written = Vec::new();
    write_places(&chain, &mut written).unwrap();
    let text = String::from_utf8(written).unwrap();
    assert!(
        text.starts_with("state,latitude,longitude,name\nhigh,42.5063000,1.5218000,\n"),
        "{text}"
    );
    assert_eq!(placed(&text).unwrap().places(), chain.places());
    let nameless = placed("state\tlatitude\tlongitude\nhigh\t1\t2\nmill\t1\t2\n").unwrap();
    assert_eq!(nameless.places().unwrap().names, None);
}

#[test]
fn places_that_are_refused() {
    let on = |line: &str| format!("state,latitude,longitude\n{line}\n");
    for (text, place, words) in [
        (
            "state,latitude\nhigh,1\n".to_owned(),
            ", line 1: ",
            "accepted are state,latitude,longitude",
        ),
        ("state,latitude,longitude,when\n".to_owned(), ", line 1: ", "remove the column \"when\""),
        ("high,1,2\n".to_owned(), ", line 1: ", "rename its columns"),
        ("state;latitude;longitude\n".to_owned(), ", line 1: ", "separate the fields"),
        (on("other,1,2"), ": ", "no place for 2 of the chain's states: \"high\", \"mill\""),
        (on("high,1,2"), ": ", "no place for 1 of the chain's states: \"mill\""),
        (on("high,1,2\nhigh,1,2"), ", line 3: ", "already has line 2"),
        (on(",1,2"), ", line 2: ", "column \"state\" is empty"),
        (on("high,101.5,42.5"), ", line 2: ", "seem to be swapped"),
        (on("high,1.5,342.5"), ", line 2: ", "not between -180 and 180"),
        (on("high,north,2"), ", line 2: ", "the latitude \"north\" is not a number"),
    ] {
        let error = placed(&text).unwrap_err().to_string();
        assert!(error.contains(place) && error.contains(words), "{text}: {error}");
    }
}

fn with_lines() -> Chain {
    let chain = placed(PLACES).unwrap();
    let mut places = chain.places().unwrap().clone();
    let points = places.coordinates.clone().unwrap();
    places.lines = Some(vec![points.clone(), vec![points[1]]]);
    chain.with_places(places).unwrap()
}

#[test]
fn a_model_holds_all_of_it() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("streets.model");
    let chain = with_lines();
    write_model(&Model::new(chain.clone()).unwrap(), &[], &path).unwrap();
    let bytes = fs::read(&path).unwrap();
    assert_eq!(bytes[16..20], [2, 0, 0, 0], "a format that older programs refuse");
    let model = read_model(&path).unwrap();
    assert_eq!((model.hash(), model.chain().places()), (chain.hash(), chain.places()));
    let again = chain_from_bytes(&chain_to_bytes(&chain).unwrap()).unwrap();
    assert_eq!((again.hash(), again.places()), (chain.hash(), chain.places()));
    // Each part by itself.
    let all = chain.places().unwrap();
    for places in [
        Places { lengths: all.lengths.clone(), ..Places::default() },
        Places { coordinates: all.coordinates.clone(), ..Places::default() },
        Places { names: all.names.clone(), ..Places::default() },
        Places { lines: all.lines.clone(), ..Places::default() },
    ] {
        let chain = chain.clone().with_places(places.clone()).unwrap();
        let again = chain_from_bytes(&chain_to_bytes(&chain).unwrap()).unwrap();
        assert_eq!((again.hash(), again.places()), (chain.hash(), Some(&places)));
    }
}

/// Models and hashes of chains without places are what they were.
#[test]
fn without_places_nothing_changes() {
    let bytes = chain_to_bytes(&Chain::credit()).unwrap();
    assert_eq!(bytes[16..20], [1, 0, 0, 0]);
    let ChainHash(hash) = Chain::credit().hash();
    assert_eq!(hash[..4], CREDIT);
}

const CREDIT: [u8; 4] = [0x92, 0x2f, 0xc3, 0xb6];
