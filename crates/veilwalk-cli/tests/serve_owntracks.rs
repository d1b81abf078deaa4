//! `veilwalk serve --owntracks` with a real broker: locations as the app sends them, with cells and with a map.
#![cfg(unix)]

mod common;

use std::time::{SystemTime, UNIX_EPOCH};

use common::running::{body, mosquitto, publish, serve, subscribe};
use common::{Folder, stderr};
use serde_json::{Value, json};

#[test]
fn locations_of_owntracks_are_steps_of_a_clock() {
    let folder = Folder::new();
    let Some((_broker, port)) = mosquitto(&folder, "allow_anonymous true") else { return };
    // Two cells of about 350 m, in Paris and San Francisco.
    folder.write("places.csv", "from,to,probability\n8928308280fffff,891fb467603ffff,1\n891fb467603ffff,8928308280fffff,1\n");
    let Some(listener) =
        subscribe(port, &["-t", "owntracks/+/+/released", "-t", "owntracks/+/+/refused"])
    else {
        return;
    };
    let url = format!("mqtt://127.0.0.1:{port}");
    let flags = ["--chain", "places.csv", "--epsilon", "1", "--substitutions", "2"];
    let more = ["--mqtt", &url, "--owntracks", "--cells", "h3:9", "--tick", "1h"];
    let service = serve(folder.root(), &flags, &more);
    service.line("reading mqtt://");
    // Yesterday, at three o'clock.
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let day = now / 86_400 * 86_400 - 86_400;
    let send = |time: u64, lat: f64, lon: f64| {
        let message = json!({ "_type": "location", "lat": lat, "lon": lon, "tst": time, "acc": 9, "tid": "an" });
        publish(port, &["-t", "owntracks/ann/phone", "-m", &message.to_string()]);
    };
    send(day + 3 * 3600 + 60, 37.775_938_728_915_946, -122.417_950_630_187_99);
    let steps: Vec<Value> =
        (0..4).map(|_| body(&listener.line("owntracks/ann/phone/released {"))).collect();
    assert!(steps.iter().enumerate().all(|(number, step)| step["step"] == number), "{steps:?}");
    let walk = steps[0]["walk"].as_str().unwrap();
    assert!(
        walk.starts_with("ann/phone/20") && steps.iter().all(|step| step["walk"] == walk),
        "{walk}"
    );
    // Later in the same hour, and the same message again: the same step, and nothing new.
    for seconds in [120, 60] {
        send(day + 3 * 3600 + seconds, 37.775_938_728_915_946, -122.417_950_630_187_99);
        let again = body(&listener.line("owntracks/ann/phone/released {"));
        assert_eq!((&again["state"], &again["replayed"]), (&steps[3]["state"], &json!(true)));
    }
    // Somewhere the chain does not know.
    send(day + 4 * 3600, 0.0, 0.0);
    let refused = listener.line("owntracks/ann/phone/refused {");
    assert_eq!(body(&refused)["code"], "unknown-state");
    publish(port, &["-t", "owntracks/ann/phone", "-m", r#"{"_type":"lwt","tst":1}"#]);
    service.stop();
}

const TOWN: &str = include_str!("../../../docs/samples/roads/town.osm");

#[test]
fn with_a_map_a_location_is_the_nearest_street_in_the_direction_of_the_course() {
    let folder = Folder::with("town.osm", TOWN);
    let made = folder.run(["chain", "osm", "town.osm", "-o", "town.model"]).success();
    assert!(stderr(&made).contains("78 states"));
    let Some((_broker, port)) = mosquitto(&folder, "allow_anonymous true") else { return };
    let Some(listener) =
        subscribe(port, &["-t", "owntracks/+/+/released", "-t", "owntracks/+/+/refused"])
    else {
        return;
    };
    let url = format!("mqtt://127.0.0.1:{port}");
    // So much noise that there is none: what was observed is the real street.
    let flags = [
        "--chain",
        "town.model",
        "--epsilon",
        "60",
        "--substitutions",
        "1",
        "--mechanism",
        "tight",
    ];
    let more = ["--mqtt", &url, "--owntracks", "--map", "town.model", "--tick", "1h"];
    let service = serve(folder.root(), &flags, &more);
    service.line("reading mqtt://");
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let day = now / 86_400 * 86_400 - 86_400;
    // First Street goes both ways, Second Street east alone; the last is a kilometre away from all.
    for (hour, (lat, lon, moving, street)) in [
        (42.500_02, 1.500_6, json!({ "cog": 90, "vel": 20 }), Some("w100-11>12")),
        (42.500_02, 1.500_6, json!({ "cog": 265, "vel": 20 }), Some("w100-12>11")),
        (42.500_02, 1.500_6, json!({ "cog": 265, "vel": 0 }), Some("w100-11>12")),
        (42.500_02, 1.500_6, json!({}), Some("w100-11>12")),
        (42.500_9, 1.500_6, json!({ "cog": 270, "vel": 20 }), Some("w101-21>22")),
        (42.52, 1.52, json!({}), None),
    ]
    .into_iter()
    .enumerate()
    {
        let time = day + 3600 * hour as u64 + 60;
        let mut message = json!({ "_type": "location", "lat": lat, "lon": lon, "tst": time });
        message.as_object_mut().unwrap().extend(moving.as_object().unwrap().clone());
        publish(port, &["-t", "owntracks/ann/phone", "-m", &message.to_string()]);
        let answer = body(&listener.line(" {"));
        match street {
            Some(street) => {
                assert_eq!((&answer["step"], &answer["observed"]), (&json!(hour), &json!(street)));
            }
            None => assert_eq!(answer["code"], "unknown-state"),
        }
    }
    service.stop();
}
