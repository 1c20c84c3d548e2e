//! `booking`: the front desk of a small hotel.
//!
//! Without `idempotent` it has no unique constraint: the same booking twice is two records.

use super::fields::{Keys, cancelled, day, id_of, number, same_text, text, tool, whole};
use super::{Builtin, Desk, Identity, Object, Outcome, Setting, Settings, ToolDef, ToolKind};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The table's line.
pub(super) const BOOKING: Builtin = Builtin {
    name: "booking",
    about: "A small hotel: create, find and cancel bookings",
    settings: &[
        Setting {
            name: "search",
            help: "Offer find_bookings, a look-up without a booking id",
            default: true,
        },
        Setting {
            name: "idempotent",
            help: "Declare idempotency_key: a booking sent again with the same key is not made twice",
            default: false,
        },
        Setting { name: "guests", help: "Require the number of guests for a booking", default: false },
    ],
    identity: Identity {
        name: "hotel-front-desk",
        title: "Hotel front desk",
        version: "2.4.1",
        instructions: "Bookings of a small hotel with rooms 1 to 40. Dates are YYYY-MM-DD.",
    },
    open: |settings| Box::new(Hotel::new(settings)),
};

const ROOMS: std::ops::RangeInclusive<i64> = 1..=40;
const FIRST_ID: u64 = 1001;

struct Hotel {
    search: bool,
    idempotent: bool,
    guests: bool,
    /// By id, so that they are listed in the order in which they were made.
    bookings: BTreeMap<u64, Object>,
    keys: Keys,
}

impl Hotel {
    fn new(settings: &Settings) -> Hotel {
        Hotel {
            search: settings.on("search"),
            idempotent: settings.on("idempotent"),
            guests: settings.on("guests"),
            bookings: BTreeMap::new(),
            keys: Keys::default(),
        }
    }

    fn create(&self, arguments: &Object) -> Result<Outcome, String> {
        let guest = text(arguments, "guest")?;
        let room = room(arguments)?;
        let date = day(arguments, "date")?;
        let mut wanted = wanted(guest, room, date);
        if self.guests {
            wanted.insert("guests".into(), guests(arguments)?.into());
        }
        if self.idempotent
            && let Some(record) = self.keys.answered("create_booking", arguments)?
        {
            return Ok(Outcome::answered(&Value::Object(record.clone())));
        }
        let id = self.bookings.last_key_value().map_or(FIRST_ID, |(last, _)| last + 1);
        let mut record = wanted;
        record.insert("booking_id".into(), format!("BK-{id}").into());
        record.insert("status".into(), "confirmed".into());
        Ok(Outcome::done("create_booking", record))
    }

    fn get(&self, arguments: &Object) -> Result<Outcome, String> {
        self.by_id(arguments).map(|record| Outcome::answered(&Value::Object(record.clone())))
    }

    fn find(&self, arguments: &Object) -> Result<Outcome, String> {
        let guest = arguments.contains_key("guest").then(|| text(arguments, "guest")).transpose()?;
        let date = arguments.contains_key("date").then(|| day(arguments, "date")).transpose()?;
        let found: Vec<&Object> = self
            .bookings
            .values()
            .filter(|record| guest.is_none_or(|guest| same_text(record.get("guest"), guest)))
            .filter(|record| date.is_none_or(|date| same_text(record.get("date"), date)))
            .collect();
        Ok(Outcome::answered(&json!({"bookings": found})))
    }

    fn cancel(&self, arguments: &Object) -> Result<Outcome, String> {
        self.by_id(arguments).map(|record| cancelled("cancel_booking", record))
    }

    fn by_id(&self, arguments: &Object) -> Result<&Object, String> {
        let id = text(arguments, "booking_id")?;
        number(id, "BK-")
            .and_then(|id| self.bookings.get(&id))
            .ok_or_else(|| format!("There is no booking with the id \"{id}\""))
    }
}

impl Desk for Hotel {
    fn tools(&self) -> Vec<ToolDef> {
        let mut create = json!({
            "guest": {"type": "string", "description": "Full name of the guest", "examples": ["Ada Lovelace"]},
            "room": {"type": "integer", "minimum": ROOMS.start(), "maximum": ROOMS.end(),
                     "description": "Room number", "examples": [12]},
            "date": {"type": "string", "format": "date", "pattern": "^\\d{4}-\\d{2}-\\d{2}$",
                     "description": "Night of the stay, as YYYY-MM-DD", "examples": ["2026-12-03"]}
        });
        if self.idempotent {
            create["idempotency_key"] = json!({
                "type": "string",
                "description": "A key of your choice for this booking. Sending the same booking again with \
                                the same key returns the first booking and makes no second one.",
                "examples": ["lovelace-12-2026-12-03"]
            });
        }
        if self.guests {
            create["guests"] =
                json!({"type": "integer", "minimum": 1, "description": "Number of guests", "examples": [1]});
        }
        let id = json!({"booking_id": {"type": "string", "description": "Id of the booking, as create_booking returned it",
                                       "examples": ["BK-1001"]}});
        let filter = json!({
            "guest": {"type": "string", "description": "Full name of the guest", "examples": ["Ada Lovelace"]},
            "date": {"type": "string", "format": "date", "description": "Night of the stay, as YYYY-MM-DD",
                     "examples": ["2026-12-03"]}
        });
        let mut tools = vec![
            tool(
                "create_booking",
                "Book a room for a guest for one night. Returns the booking with its id.",
                ToolKind::Add,
                create,
                if self.guests { &["guest", "room", "date", "guests"] } else { &["guest", "room", "date"] },
            ),
            tool("get_booking", "Show one booking by its id.", ToolKind::Read, id.clone(), &["booking_id"]),
        ];
        if self.search {
            tools.push(tool(
                "find_bookings",
                "List bookings, optionally only those of a guest or of a date. No booking id needed.",
                ToolKind::Read,
                filter,
                &[],
            ));
        }
        tools.push(tool(
            "cancel_booking",
            "Cancel a booking by its id.",
            ToolKind::Change,
            id,
            &["booking_id"],
        ));
        tools
    }

    fn decide(&self, tool: &str, arguments: &Object) -> Outcome {
        let outcome = match tool {
            "create_booking" => self.create(arguments),
            "get_booking" => self.get(arguments),
            "find_bookings" if self.search => self.find(arguments),
            "cancel_booking" => self.cancel(arguments),
            _ => return Outcome { effect: None, answer: super::Answer::NoSuchTool },
        };
        outcome.unwrap_or_else(Outcome::refused)
    }

    fn commit(&mut self, effect: &str, record: &Object, arguments: &Object) {
        let Some(id) = id_of(record, "booking_id", "BK-") else { return };
        self.bookings.insert(id, record.clone());
        if effect == "create_booking" {
            self.keys.keep(effect, arguments, record);
        }
    }
}

fn wanted(guest: &str, room: i64, date: &str) -> Object {
    let mut wanted = Object::new();
    wanted.insert("guest".into(), guest.into());
    wanted.insert("room".into(), room.into());
    wanted.insert("date".into(), date.into());
    wanted
}

fn guests(arguments: &Object) -> Result<i64, String> {
    let value = arguments.get("guests").ok_or("guests is missing")?;
    value
        .as_i64()
        .filter(|guests| *guests >= 1)
        .ok_or_else(|| format!("guests must be 1 or more, not {value}"))
}

fn room(arguments: &Object) -> Result<i64, String> {
    match whole(arguments, "room")? {
        Some(room) if ROOMS.contains(&room) => Ok(room),
        Some(room) => {
            Err(format!("There is no room {room}; the rooms are {} to {}", ROOMS.start(), ROOMS.end()))
        }
        None => {
            let value = arguments.get("room").unwrap_or(&Value::Null);
            Err(format!("room must be a whole number from {} to {}, not {value}", ROOMS.start(), ROOMS.end()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Case;
    use super::*;

    fn open(search: bool, idempotent: bool) -> Case {
        Case::open(&BOOKING, &[("search", search), ("idempotent", idempotent)])
    }

    fn ada() -> Value {
        json!({"guest": "Ada Lovelace", "room": 12, "date": "2026-12-03"})
    }

    #[test]
    fn without_a_key_the_same_booking_twice_is_two_records() {
        let mut case = open(true, false);
        let first = case.call("create_booking", ada()).unwrap();
        let second = case.call("create_booking", ada()).unwrap();
        assert_eq!(first["booking_id"], "BK-1001");
        assert_eq!(second["booking_id"], "BK-1002");
        assert_eq!(case.effects.len(), 2);
    }

    #[test]
    fn a_key_is_nothing_to_a_hotel_without_idempotency() {
        let mut case = open(true, false);
        let mut keyed = ada();
        keyed["idempotency_key"] = "k".into();
        case.call("create_booking", keyed.clone()).unwrap();
        case.call("create_booking", keyed).unwrap();
        assert_eq!(case.effects.len(), 2);
    }

    #[test]
    fn the_same_key_gives_the_same_record_and_writes_nothing() {
        let mut case = open(true, true);
        let mut keyed = ada();
        keyed["idempotency_key"] = "k".into();
        let first = case.call("create_booking", keyed.clone()).unwrap();
        assert_eq!(case.call("create_booking", keyed.clone()).unwrap(), first);
        assert_eq!(case.effects.len(), 1);
        keyed["room"] = 13.into();
        assert!(case.call("create_booking", keyed).unwrap_err().contains("other parameters"));
        case.call("create_booking", ada()).unwrap();
        assert_eq!(case.effects.len(), 2);
    }

    #[test]
    fn invalid_input_is_refused_and_makes_no_record() {
        let mut case = open(true, false);
        for (name, value, reason) in [
            ("room", json!(0), "There is no room 0; the rooms are 1 to 40"),
            ("room", json!(41), "There is no room 41; the rooms are 1 to 40"),
            ("room", json!("12"), "room must be a whole number from 1 to 40, not \"12\""),
            ("room", json!(1.5), "room must be a whole number from 1 to 40, not 1.5"),
            (
                "date",
                json!("2026-02-30"),
                "date must be a day of the calendar as YYYY-MM-DD, not \"2026-02-30\"",
            ),
            (
                "date",
                json!("3.12.2026"),
                "date must be a day of the calendar as YYYY-MM-DD, not \"3.12.2026\"",
            ),
            ("date", json!("20261203"), "date must be a day of the calendar as YYYY-MM-DD, not \"20261203\""),
            ("guest", json!(" "), "guest must not be empty"),
            ("guest", json!(null), "guest is missing"),
            ("guest", json!(7), "guest must be a string, not 7"),
        ] {
            let mut booking = ada();
            booking[name] = value;
            assert_eq!(case.call("create_booking", booking).unwrap_err(), reason);
        }
        assert!(case.effects.is_empty());
    }

    #[test]
    fn bookings_are_found_by_guest_and_date() {
        let mut case = open(true, false);
        case.call("create_booking", ada()).unwrap();
        let found =
            case.call("find_bookings", json!({"guest": "ada lovelace", "date": "2026-12-03"})).unwrap();
        assert_eq!(found["bookings"][0]["room"], 12);
        assert_eq!(case.call("find_bookings", json!({"guest": "Ada"})).unwrap(), json!({"bookings": []}));
        assert_eq!(
            case.call("get_booking", json!({"booking_id": "BK-1001"})).unwrap()["guest"],
            "Ada Lovelace"
        );
        assert_eq!(open(false, false).call("find_bookings", json!({})).unwrap_err(), "no such tool");
    }

    #[test]
    fn cancelling_twice_is_one_effect() {
        let mut case = open(true, false);
        case.call("create_booking", ada()).unwrap();
        for _ in 0..2 {
            let record = case.call("cancel_booking", json!({"booking_id": "BK-1001"})).unwrap();
            assert_eq!(record["status"], "cancelled");
        }
        assert_eq!(case.effects.len(), 2);
        assert!(case.call("cancel_booking", json!({"booking_id": "BK-7"})).is_err());
    }

    #[test]
    fn a_key_is_declared_only_where_it_works() {
        for idempotent in [false, true] {
            let tools = open(true, idempotent).desk.tools();
            assert_eq!(tools[0].input["properties"].get("idempotency_key").is_some(), idempotent);
        }
    }
}
