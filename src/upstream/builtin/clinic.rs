//! `clinic`: the appointment desk of a medical practice.
//!
//! A doctor has two rooms, so that a slot takes two appointments: without `idempotent` the same
//! appointment twice is two records, and keeps somebody else out.

use super::fields::{Keys, cancelled, day, id_of, number, optional, same_text, text, tool};
use super::{Answer, Builtin, Desk, Identity, Object, Outcome, Setting, Settings, ToolDef, ToolKind};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The table's line.
pub(super) const CLINIC: Builtin = Builtin {
    name: "clinic",
    about: "A medical practice: patients, free slots, appointments",
    settings: &[
        Setting {
            name: "search",
            help: "Offer find_appointments, a look-up by patient and day without an appointment id",
            default: true,
        },
        Setting {
            name: "idempotent",
            help: "Declare idempotency_key: an appointment sent again with the same key is not made twice",
            default: false,
        },
    ],
    identity: Identity {
        name: "practice-calendar",
        title: "Practice calendar",
        version: "5.1.3",
        instructions: "Appointments of a medical practice. Days are YYYY-MM-DD, slots are every half hour from \
                       08:00 to 17:30, Monday to Friday. Patients are called by their full name.",
    },
    open: |settings| Box::new(Practice::new(settings)),
};

const FIRST_ID: u64 = 7001;
/// Appointments that a doctor can have at one time.
const ROOMS: usize = 2;

/// Full name, date of birth.
const PATIENTS: &[(&str, &str)] = &[
    ("Ada Lovelace", "1985-12-10"),
    ("Grace Hopper", "1976-12-09"),
    ("Emmy Noether", "1990-03-23"),
    ("Katherine Johnson", "1968-08-26"),
    ("Lise Meitner", "1959-11-07"),
];

const DOCTORS: &[&str] = &["Dr. Noor", "Dr. Weber"];

struct Practice {
    search: bool,
    idempotent: bool,
    /// By id, so that they are listed in the order in which they were made.
    appointments: BTreeMap<u64, Object>,
    keys: Keys,
}

impl Practice {
    fn new(settings: &Settings) -> Practice {
        Practice {
            search: settings.on("search"),
            idempotent: settings.on("idempotent"),
            appointments: BTreeMap::new(),
            keys: Keys::default(),
        }
    }

    fn create(&self, arguments: &Object) -> Result<Outcome, String> {
        if self.idempotent
            && let Some(record) = self.keys.answered("create_appointment", arguments)?
        {
            return Ok(Outcome::answered(&Value::Object(record.clone())));
        }
        let patient = patient(text(arguments, "patient")?)?;
        let doctor = doctor(text(arguments, "doctor")?)?;
        let (day, time) = (open_day(arguments)?, slot(text(arguments, "time")?)?);
        if self.taken(doctor, day, &time) >= ROOMS {
            return Err(format!(
                "{doctor} has no room left on {day} at {time}; list_free_slots shows what is free"
            ));
        }
        let id = self.appointments.last_key_value().map_or(FIRST_ID, |(last, _)| last + 1);
        let mut record = Object::new();
        for (name, value) in [("patient", patient), ("doctor", doctor), ("day", day), ("time", &time)] {
            record.insert(name.into(), value.into());
        }
        if let Some(reason) = optional(arguments, "reason")? {
            record.insert("reason".into(), reason.into());
        }
        record.insert("appointment_id".into(), format!("AP-{id}").into());
        record.insert("status".into(), "booked".into());
        Ok(Outcome::done("create_appointment", record))
    }

    fn taken(&self, doctor: &str, day: &str, time: &str) -> usize {
        let here = |record: &&Object| {
            same_text(record.get("doctor"), doctor)
                && same_text(record.get("day"), day)
                && same_text(record.get("time"), time)
                && same_text(record.get("status"), "booked")
        };
        self.appointments.values().filter(here).count()
    }

    fn free(&self, arguments: &Object) -> Result<Outcome, String> {
        let doctor = doctor(text(arguments, "doctor")?)?;
        let day = open_day(arguments)?;
        let free: Vec<String> = slots().filter(|time| self.taken(doctor, day, time) < ROOMS).collect();
        Ok(Outcome::answered(&json!({"doctor": doctor, "day": day, "free": free})))
    }

    fn find(&self, arguments: &Object) -> Result<Outcome, String> {
        let name = optional(arguments, "patient")?.map(patient).transpose()?;
        let day = optional(arguments, "day")?.map(|_| day(arguments, "day")).transpose()?;
        let found: Vec<&Object> = self
            .appointments
            .values()
            .filter(|record| name.is_none_or(|name| same_text(record.get("patient"), name)))
            .filter(|record| day.is_none_or(|day| same_text(record.get("day"), day)))
            .collect();
        Ok(Outcome::answered(&json!({"appointments": found})))
    }

    fn find_patients(&self, arguments: &Object) -> Result<Outcome, String> {
        let part = text(arguments, "name")?.to_lowercase();
        let found: Vec<Value> = PATIENTS
            .iter()
            .filter(|(name, _)| name.to_lowercase().contains(&part))
            .map(|(name, born)| json!({"patient": name, "date_of_birth": born}))
            .collect();
        Ok(Outcome::answered(&json!({"patients": found})))
    }

    fn cancel(&self, arguments: &Object) -> Result<Outcome, String> {
        self.by_id(arguments).map(|record| cancelled("cancel_appointment", record))
    }

    fn by_id(&self, arguments: &Object) -> Result<&Object, String> {
        let id = text(arguments, "appointment_id")?;
        number(id, "AP-")
            .and_then(|id| self.appointments.get(&id))
            .ok_or_else(|| format!("There is no appointment with the id \"{id}\""))
    }
}

impl Desk for Practice {
    fn tools(&self) -> Vec<ToolDef> {
        let patient = json!({"type": "string", "description": "Full name of the patient", "examples": ["Ada Lovelace"]});
        let day = json!({"type": "string", "format": "date", "pattern": "^\\d{4}-\\d{2}-\\d{2}$",
                         "description": "Day, as YYYY-MM-DD", "examples": ["2026-12-03"]});
        let doctor = json!({"type": "string", "enum": DOCTORS, "description": "The doctor"});
        let mut create = json!({
            "patient": patient, "doctor": doctor, "day": day,
            "time": {"type": "string", "pattern": "^\\d{2}:\\d{2}$",
                     "description": "Beginning of the slot, as HH:MM", "examples": ["09:30"]},
            "reason": {"type": "string", "description": "Why the patient comes, in a few words"}
        });
        if self.idempotent {
            create["idempotency_key"] = json!({
                "type": "string",
                "description": "A key of your choice for this appointment. Sending the same appointment again with \
                                the same key returns the first one and makes no second one.",
                "examples": ["lovelace-2026-12-03-0930"]
            });
        }
        let id = json!({"appointment_id": {"type": "string", "description": "Id of the appointment, as create_appointment returned it",
                                           "examples": ["AP-7001"]}});
        let mut tools = vec![
            tool(
                "create_appointment",
                "Give a patient an appointment with a doctor. Returns the appointment with its id.",
                ToolKind::Add,
                create,
                &["patient", "doctor", "day", "time"],
            ),
            tool(
                "list_free_slots",
                "List the times of a day at which a doctor is free.",
                ToolKind::Read,
                json!({"doctor": doctor, "day": day}),
                &["doctor", "day"],
            ),
            tool(
                "find_patients",
                "Find patients by a part of their name.",
                ToolKind::Read,
                json!({"name": {"type": "string", "description": "Part of the name", "examples": ["Lovelace"]}}),
                &["name"],
            ),
            tool(
                "get_appointment",
                "Show one appointment by its id.",
                ToolKind::Read,
                id.clone(),
                &["appointment_id"],
            ),
        ];
        if self.search {
            tools.push(tool(
                "find_appointments",
                "List appointments, optionally only those of a patient or of a day. No appointment id needed.",
                ToolKind::Read,
                json!({"patient": patient, "day": day}),
                &[],
            ));
        }
        tools.push(tool(
            "cancel_appointment",
            "Cancel an appointment by its id.",
            ToolKind::Change,
            id,
            &["appointment_id"],
        ));
        tools
    }

    fn decide(&self, tool: &str, arguments: &Object) -> Outcome {
        let outcome = match tool {
            "create_appointment" => self.create(arguments),
            "list_free_slots" => self.free(arguments),
            "find_patients" => self.find_patients(arguments),
            "get_appointment" => {
                self.by_id(arguments).map(|record| Outcome::answered(&Value::Object(record.clone())))
            }
            "find_appointments" if self.search => self.find(arguments),
            "cancel_appointment" => self.cancel(arguments),
            _ => return Outcome { effect: None, answer: Answer::NoSuchTool },
        };
        outcome.unwrap_or_else(Outcome::refused)
    }

    fn commit(&mut self, effect: &str, record: &Object, arguments: &Object) {
        let Some(id) = id_of(record, "appointment_id", "AP-") else { return };
        self.appointments.insert(id, record.clone());
        if effect == "create_appointment" {
            self.keys.keep(effect, arguments, record);
        }
    }
}

fn patient(name: &str) -> Result<&'static str, String> {
    PATIENTS
        .iter()
        .map(|(known, _)| *known)
        .find(|known| known.to_lowercase() == name.to_lowercase())
        .ok_or_else(|| {
            format!(
                "There is no patient called \"{name}\"; find_patients finds a patient by a part of the name"
            )
        })
}

/// People leave the title out, or its dot.
fn doctor(name: &str) -> Result<&'static str, String> {
    let plain = |name: &str| {
        let lower = name.to_lowercase();
        let words: Vec<&str> = lower
            .split([' ', '.'])
            .filter(|word| !word.is_empty() && *word != "dr" && *word != "doctor")
            .collect();
        words.join(" ")
    };
    DOCTORS
        .iter()
        .find(|known| plain(known) == plain(name))
        .copied()
        .ok_or_else(|| format!("There is no doctor called \"{name}\"; there are {}", DOCTORS.join(" and ")))
}

fn open_day(arguments: &Object) -> Result<&str, String> {
    let day = day(arguments, "day")?;
    let closed = day.parse::<jiff::civil::Date>().is_ok_and(|day| {
        matches!(day.weekday(), jiff::civil::Weekday::Saturday | jiff::civil::Weekday::Sunday)
    });
    if closed { Err(format!("The practice is closed on {day}, which is a weekend")) } else { Ok(day) }
}

fn slots() -> impl Iterator<Item = String> {
    (8..18).flat_map(|hour| [format!("{hour:02}:00"), format!("{hour:02}:30")])
}

fn slot(time: &str) -> Result<String, String> {
    let wanted = if time.len() == 4 { format!("0{time}") } else { time.to_owned() };
    slots().find(|slot| *slot == wanted).ok_or_else(|| {
        format!("There is no slot at \"{time}\"; slots are every half hour from 08:00 to 17:30, as HH:MM")
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::Case;
    use super::*;

    fn open(idempotent: bool) -> Case {
        Case::open(&CLINIC, &[("idempotent", idempotent)])
    }

    fn ada(time: &str) -> Value {
        json!({"patient": "Ada Lovelace", "doctor": "Dr. Noor", "day": "2026-12-03", "time": time})
    }

    #[test]
    fn the_same_appointment_twice_is_two_records_and_a_third_finds_no_room() {
        let mut case = open(false);
        let first = case.call("create_appointment", ada("09:30")).unwrap();
        let second = case.call("create_appointment", ada("9:30")).unwrap();
        assert_eq!(
            (&first["appointment_id"], &second["appointment_id"]),
            (&json!("AP-7001"), &json!("AP-7002"))
        );
        let refused = case.call("create_appointment", ada("09:30")).unwrap_err();
        assert!(refused.contains("no room left"), "{refused}");
        assert_eq!(case.effects.len(), 2);
        let free = case.call("list_free_slots", json!({"doctor": "noor", "day": "2026-12-03"})).unwrap();
        assert_eq!(free["free"].as_array().unwrap().len(), 19);
    }

    #[test]
    fn a_cancelled_appointment_makes_room_and_cancelling_twice_is_one_effect() {
        let mut case = open(false);
        case.call("create_appointment", ada("09:30")).unwrap();
        case.call("create_appointment", ada("09:30")).unwrap();
        for _ in 0..2 {
            let record = case.call("cancel_appointment", json!({"appointment_id": "AP-7001"})).unwrap();
            assert_eq!(record["status"], "cancelled");
        }
        assert_eq!(case.effects.len(), 3);
        case.call("create_appointment", ada("09:30")).unwrap();
    }

    #[test]
    fn what_a_practice_refuses_leaves_no_record() {
        let mut case = open(false);
        for (name, value, reason) in [
            ("patient", "Alan Turing", "There is no patient called \"Alan Turing\""),
            ("doctor", "Dr. Who", "There is no doctor called \"Dr. Who\"; there are Dr. Noor and Dr. Weber"),
            ("day", "2026-12-05", "The practice is closed on 2026-12-05, which is a weekend"),
            ("day", "3.12.2026", "day must be a day of the calendar as YYYY-MM-DD, not \"3.12.2026\""),
            ("time", "07:30", "There is no slot at \"07:30\""),
            ("time", " ", "time must not be empty"),
        ] {
            let mut appointment = ada("09:30");
            appointment[name] = value.into();
            let refused = case.call("create_appointment", appointment).unwrap_err();
            assert!(refused.starts_with(reason), "{refused}");
        }
        assert!(case.effects.is_empty());
    }

    #[test]
    fn appointments_are_found_by_patient_and_day_and_patients_by_a_part_of_the_name() {
        let mut case = open(false);
        case.call("create_appointment", ada("09:30")).unwrap();
        let of = |case: &mut Case, filter: Value| {
            case.call("find_appointments", filter).unwrap()["appointments"].as_array().unwrap().len()
        };
        assert_eq!(of(&mut case, json!({"patient": "ada lovelace", "day": "2026-12-03"})), 1);
        assert_eq!(of(&mut case, json!({"patient": "Grace Hopper"})), 0);
        let found = case.call("find_patients", json!({"name": "lovel"})).unwrap();
        assert_eq!(found["patients"][0]["patient"], "Ada Lovelace");
    }

    #[test]
    fn a_key_holds_where_it_is_declared() {
        let mut case = open(true);
        let mut keyed = ada("09:30");
        keyed["idempotency_key"] = "k".into();
        let first = case.call("create_appointment", keyed.clone()).unwrap();
        assert_eq!(case.call("create_appointment", keyed.clone()).unwrap(), first);
        keyed["time"] = "10:00".into();
        assert!(case.call("create_appointment", keyed).unwrap_err().contains("other parameters"));
        assert_eq!(case.effects.len(), 1);
    }
}
