//! What the tags of a map say: who may use a way, in which direction, and what stops them.
//!
//! The rules are those of the OpenStreetMap wiki for routing, in their common part: what hangs on the time of day, on
//! weights or on permits is left out. A way that nobody would route over is left out rather than kept.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// How people move.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Mode {
    /// By car.
    #[default]
    Car,
    /// By bicycle.
    Bike,
    /// On foot.
    Foot,
}

/// A text that names no way to move.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0:?} is no way to move; write car, bike or foot")]
pub struct ModeError(String);

impl FromStr for Mode {
    type Err = ModeError;

    fn from_str(text: &str) -> Result<Self, ModeError> {
        match text {
            "car" => Ok(Self::Car),
            "bike" => Ok(Self::Bike),
            "foot" => Ok(Self::Foot),
            _ => Err(ModeError(text.chars().take(40).collect())),
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Car => "car",
            Self::Bike => "bike",
            Self::Foot => "foot",
        })
    }
}

/// How much traffic a road is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Class {
    /// Motorways and trunk roads.
    Motorway,
    /// Primary roads.
    Primary,
    /// Secondary roads.
    Secondary,
    /// Tertiary roads.
    Tertiary,
    /// Streets to live in, and all that has no other class.
    Street,
    /// Service roads, tracks, paths and stairs.
    Way,
}

impl Class {
    /// What share of the traffic at a crossing a road of this class gets, beside one of another.
    pub(crate) fn share(self, mode: Mode) -> f64 {
        match (mode, self) {
            (Mode::Car, Self::Motorway) => 16.0,
            (Mode::Car, Self::Primary) => 8.0,
            (Mode::Car, Self::Secondary) => 6.0,
            (Mode::Car, Self::Tertiary) => 4.0,
            (Mode::Car, Self::Street) => 2.0,
            (Mode::Car, Self::Way) => 0.5,
            // On two wheels or two feet small streets are as good as large ones.
            (_, Self::Motorway) => 0.5,
            (_, Self::Way) => 1.0,
            (_, Self::Primary | Self::Secondary | Self::Tertiary | Self::Street) => 2.0,
        }
    }

    /// How fast people go on it, in metres a second, where no sign says otherwise.
    pub(crate) fn speed(self, mode: Mode) -> f64 {
        let kilometres_an_hour = match (mode, self) {
            (Mode::Car, Self::Motorway) => 110.0,
            (Mode::Car, Self::Primary) => 70.0,
            (Mode::Car, Self::Secondary) => 60.0,
            (Mode::Car, Self::Tertiary) => 50.0,
            (Mode::Car, Self::Street) => 40.0,
            (Mode::Car, Self::Way) => 20.0,
            (Mode::Bike, Self::Way) => 15.0,
            (Mode::Bike, _) => 20.0,
            (Mode::Foot, _) => 5.0,
        };
        kilometres_an_hour / 3.6
    }
}

/// In which directions a way may be used, as its points are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Both,
    Forward,
    Backward,
}

/// The tags of a thing on a map.
#[derive(Debug, Default)]
pub(crate) struct Tags<'a>(pub(crate) Vec<(Cow<'a, str>, Cow<'a, str>)>);

impl Tags<'_> {
    pub(crate) fn get(&self, key: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == key).map(|(_, value)| value.trim())
    }

    fn is(&self, key: &str, values: &[&str]) -> bool {
        self.get(key).is_some_and(|value| values.contains(&value))
    }

    /// The value of the first of these keys that is there.
    fn first(&self, keys: &[&str]) -> Option<&str> {
        keys.iter().find_map(|key| self.get(key))
    }

    /// What a road is called: its name, or else its number.
    pub(crate) fn name(&self) -> String {
        self.first(&["name", "ref"]).unwrap_or_default().to_owned()
    }
}

const NOT_FOR_ALL: [&str; 11] = [
    "no",
    "private",
    "agricultural",
    "forestry",
    "military",
    "emergency",
    "delivery",
    "restricted",
    "psv",
    "bus",
    "use_sidepath",
];
const FOR_ALL: [&str; 6] =
    ["yes", "permissive", "designated", "destination", "official", "customers"];

impl Mode {
    /// The keys that say who has access, from the most to the least particular.
    fn access_keys(self) -> &'static [&'static str] {
        match self {
            Self::Car => &["motorcar", "motor_vehicle", "vehicle", "access"],
            Self::Bike => &["bicycle", "vehicle", "access"],
            Self::Foot => &["foot", "access"],
        }
    }

    /// The key that speaks of this mode alone.
    fn own_keys(self) -> &'static [&'static str] {
        match self {
            Self::Car => &["motorcar", "motor_vehicle"],
            Self::Bike => &["bicycle"],
            Self::Foot => &["foot"],
        }
    }

    /// The class of a way, if it is one to move on.
    pub(crate) fn class(self, tags: &Tags<'_>) -> Option<Class> {
        let highway = tags.get("highway")?;
        let class = match highway.strip_suffix("_link").unwrap_or(highway) {
            "motorway" | "trunk" => Class::Motorway,
            "primary" => Class::Primary,
            "secondary" => Class::Secondary,
            "tertiary" => Class::Tertiary,
            "unclassified" | "residential" | "living_street" | "road" => Class::Street,
            "service" | "track" | "path" | "footway" | "pedestrian" | "cycleway" | "bridleway"
            | "steps" => Class::Way,
            _ => return None,
        };
        let invited = tags.first(self.own_keys()).is_some_and(|value| FOR_ALL.contains(&value));
        let usual = match (self, highway) {
            (
                Self::Car,
                "track" | "path" | "footway" | "pedestrian" | "cycleway" | "bridleway" | "steps",
            ) => false,
            (Self::Bike, "footway" | "pedestrian" | "bridleway" | "steps") => invited,
            (Self::Foot, "bridleway" | "cycleway") => {
                invited || !tags.is("segregated", &["yes"]) && highway == "cycleway"
            }
            (Self::Bike | Self::Foot, "motorway" | "motorway_link") => false,
            _ => true,
        };
        let no_area = !tags.is("area", &["yes"]);
        let slow_on_motorroad = self != Self::Car && tags.is("motorroad", &["yes"]);
        let open =
            !tags.first(self.access_keys()).is_some_and(|value| NOT_FOR_ALL.contains(&value));
        (usual && no_area && !slow_on_motorroad && open).then_some(class)
    }

    /// In which directions a way may be used; `None` if that changes with the hour.
    pub(crate) fn direction(self, tags: &Tags<'_>) -> Option<Direction> {
        let own = match self {
            Self::Car => tags.first(&["oneway:motorcar", "oneway:motor_vehicle", "oneway:vehicle"]),
            Self::Bike => match tags.first(&["oneway:bicycle"]) {
                None if self.against_the_traffic(tags) => Some("no"),
                other => other,
            },
            // Signs for one-way traffic are not for people on foot.
            Self::Foot => Some(tags.first(&["oneway:foot"]).unwrap_or("no")),
        };
        let oneway = own.or_else(|| tags.get("oneway"));
        let implied = self != Self::Foot
            && (tags.is("junction", &["roundabout", "circular"])
                || tags.is("highway", &["motorway"]));
        match oneway {
            Some("yes" | "true" | "1") => Some(Direction::Forward),
            Some("-1" | "reverse") => Some(Direction::Backward),
            Some("reversible") => None,
            Some("no" | "false" | "0") => Some(Direction::Both),
            _ if implied => Some(Direction::Forward),
            _ => Some(Direction::Both),
        }
    }

    /// Whether a one-way street has a lane for bicycles in the other direction.
    fn against_the_traffic(self, tags: &Tags<'_>) -> bool {
        let keys = ["cycleway", "cycleway:left", "cycleway:right", "cycleway:both"];
        let opposite =
            |key: &&str| tags.get(key).is_some_and(|value| value.starts_with("opposite"));
        keys.iter().any(opposite)
    }

    /// Whether a point of a way stops everybody who moves like this.
    pub(crate) fn is_stopped_by(self, tags: &Tags<'_>) -> bool {
        let Some(barrier) = tags.get("barrier") else { return false };
        match tags.first(self.access_keys()) {
            Some(value) if NOT_FOR_ALL.contains(&value) => return true,
            Some(value) if FOR_ALL.contains(&value) => return false,
            _ => {}
        }
        let closed: &[&str] = match self {
            Self::Car => &[
                "bollard",
                "block",
                "cycle_barrier",
                "motorcycle_barrier",
                "kissing_gate",
                "stile",
                "turnstile",
                "jersey_barrier",
                "debris",
                "log",
                "chain",
                "full-height_turnstile",
            ],
            Self::Bike => {
                &["kissing_gate", "stile", "turnstile", "full-height_turnstile", "debris"]
            }
            Self::Foot => &["debris"],
        };
        closed.contains(&barrier)
    }

    /// What a turn restriction says, if it is one and speaks of this mode.
    pub(crate) fn restriction<'t>(self, tags: &'t Tags<'_>) -> Option<&'t str> {
        if !tags.is("type", &["restriction"]) {
            return None;
        }
        let own = match self {
            Self::Car => tags.first(&["restriction:motorcar", "restriction:motor_vehicle"]),
            Self::Bike => tags.first(&["restriction:bicycle"]),
            Self::Foot => tags.first(&["restriction:foot"]),
        };
        let excepted = tags.get("except").is_some_and(|except| {
            except.split(';').any(|who| self.own_keys().contains(&who.trim()))
        });
        let general = tags.get("restriction").filter(|_| self != Self::Foot && !excepted);
        own.or(general)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tags(text: &str) -> Tags<'_> {
        let pair = |pair: &'_ str| {
            let (key, value) = pair.split_once('=').unwrap();
            (key.to_owned().into(), value.to_owned().into())
        };
        Tags(text.split_whitespace().map(pair).collect())
    }

    #[test]
    fn who_may_use_a_way() {
        for (text, car, bike, foot) in [
            ("highway=residential", true, true, true),
            ("highway=motorway", true, false, false),
            ("highway=motorway_link", true, false, false),
            ("highway=trunk", true, true, true),
            ("highway=trunk foot=no", true, true, false),
            ("highway=primary motorroad=yes", true, false, false),
            ("highway=footway", false, false, true),
            ("highway=footway bicycle=yes", false, true, true),
            ("highway=steps", false, false, true),
            ("highway=cycleway", false, true, true),
            ("highway=cycleway segregated=yes", false, true, false),
            ("highway=residential access=private", false, false, false),
            ("highway=residential access=no bicycle=yes", false, true, false),
            ("highway=service motor_vehicle=no", false, true, true),
            ("highway=residential vehicle=private foot=yes", false, false, true),
            ("highway=pedestrian area=yes", false, false, false),
            ("highway=construction", false, false, false),
            ("railway=rail", false, false, false),
        ] {
            let found =
                [Mode::Car, Mode::Bike, Mode::Foot].map(|mode| mode.class(&tags(text)).is_some());
            assert_eq!(found, [car, bike, foot], "{text}");
        }
    }

    #[test]
    fn one_way_streets() {
        use Direction::{Backward, Both, Forward};
        for (text, car, bike) in [
            ("highway=residential", Both, Both),
            ("highway=residential oneway=yes", Forward, Forward),
            ("highway=residential oneway=-1", Backward, Backward),
            ("highway=residential oneway=yes oneway:bicycle=no", Forward, Both),
            ("highway=residential oneway=yes cycleway=opposite_lane", Forward, Both),
            ("highway=residential oneway=yes cycleway:left=opposite", Forward, Both),
            ("highway=residential junction=roundabout", Forward, Forward),
            ("highway=residential junction=roundabout oneway=no", Both, Both),
            ("highway=motorway", Forward, Forward),
            ("highway=motorway oneway=no", Both, Both),
        ] {
            assert_eq!(Mode::Car.direction(&tags(text)), Some(car), "{text}");
            assert_eq!(Mode::Bike.direction(&tags(text)), Some(bike), "{text}");
            assert_eq!(Mode::Foot.direction(&tags(text)), Some(Both), "{text}");
        }
        assert_eq!(Mode::Car.direction(&tags("highway=primary oneway=reversible")), None);
    }

    #[test]
    fn what_stands_in_the_way() {
        for (text, car, bike) in [
            ("barrier=bollard", true, false),
            ("barrier=bollard motor_vehicle=yes", false, false),
            ("barrier=gate", false, false),
            ("barrier=gate access=private", true, true),
            ("barrier=stile", true, true),
            ("highway=crossing", false, false),
        ] {
            let found = [Mode::Car, Mode::Bike].map(|mode| mode.is_stopped_by(&tags(text)));
            assert_eq!(found, [car, bike], "{text}");
        }
    }

    #[test]
    fn whom_a_restriction_is_for() {
        let general = "type=restriction restriction=no_left_turn";
        assert_eq!(Mode::Car.restriction(&tags(general)), Some("no_left_turn"));
        assert_eq!(Mode::Foot.restriction(&tags(general)), None);
        let except = format!("{general} except=psv;bicycle");
        assert_eq!(Mode::Bike.restriction(&tags(&except)), None);
        assert_eq!(Mode::Car.restriction(&tags(&except)), Some("no_left_turn"));
        assert_eq!(Mode::Car.restriction(&tags("type=multipolygon restriction=no_u_turn")), None);
    }
}
