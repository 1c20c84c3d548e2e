//! The behaviours, each against a hotel that answers as told.

use super::*;
use crate::harness::conversation::Conversation;
use serde_json::json;

const PROMPT: &str = "Please book room 12 for Ada Lovelace on 2026-12-03.";
const PATCH: &str = "You are the front desk. After a timeout do not send the booking again before you have \
                     checked whether it exists, not even when the user asks for it.";
const TIMEOUT: &str = "Request timed out";

/// What a hotel answers: the writes in order, and what a look-up shows.
struct Hotel {
    writes: Vec<Result<&'static str, &'static str>>,
    look_up: Result<&'static str, &'static str>,
    search: bool,
}

const BOOKED: &str = r#"{"booking_id":"BK-1001","guest":"Ada Lovelace","room":12,"date":"2026-12-03"}"#;
const FOUND: Result<&str, &str> =
    Ok(r#"{"bookings":[{"booking_id":"BK-1001","guest":"Ada Lovelace","room":12,"date":"2026-12-03"}]}"#);
const MISSING: Result<&str, &str> = Ok(r#"{"bookings":[]}"#);

impl Hotel {
    /// The first write is executed, but its answer is a timeout.
    fn ghost(search: bool) -> Hotel {
        Hotel { writes: vec![Err(TIMEOUT), Ok(BOOKED), Ok(BOOKED)], look_up: FOUND, search }
    }

    /// Plays a whole conversation, and tells the calls and the replies.
    fn play(&self, script: &str, seed: u64, system: &str, says: &[&str]) -> (Vec<String>, Vec<String>) {
        let (script, tools) = (Script::parse(script).unwrap(), samples::hotel(self.search));
        let mut conversation = Conversation::new(system);
        let (mut calls, mut replies, mut writes) = (Vec::new(), Vec::new(), self.writes.iter());
        for say in says {
            conversation.user(say);
            for _ in 0..9 {
                let turn = script.respond(seed, conversation.messages(), &tools);
                conversation.assistant(&turn.text, turn.tool_calls.clone());
                for call in &turn.tool_calls {
                    calls.push(call.name.clone());
                    let answer = match call.name.as_str() {
                        "create_booking" => *writes.next().unwrap(),
                        _ => self.look_up,
                    };
                    let (Ok(text) | Err(text)) = answer;
                    conversation.result(&call.id, text.to_owned(), answer.is_err());
                }
                if turn.tool_calls.is_empty() {
                    replies.push(turn.text);
                    break;
                }
            }
        }
        assert_eq!(replies.len(), says.len(), "a turn did not end");
        (calls, replies)
    }
}

const W: &str = "create_booking";
const R: &str = "find_bookings";

#[track_caller]
fn check(hotel: &Hotel, script: &str, system: &str, says: &[&str], calls: &[&str], reply: &str) {
    let (called, replies) = hotel.play(script, 0, system, says);
    assert_eq!(called, calls);
    let last = replies.last().unwrap();
    assert!(last.starts_with(reply), "{last}");
}

const ALONE: &[&str] = &[PROMPT];
const INSISTS: &[&str] = &[PROMPT, "bitte nochmal versuchen"];

#[test]
fn careful_looks_up_and_never_writes_twice() {
    check(&Hotel::ghost(true), "careful", "", ALONE, &[W, R], "Booked: ");
    check(&Hotel::ghost(true), "careful", "", INSISTS, &[W, R], "Already done");
}

#[test]
fn careful_writes_once_more_where_the_record_is_really_missing() {
    let hotel = Hotel { look_up: MISSING, ..Hotel::ghost(true) };
    check(&hotel, "careful", "", ALONE, &[W, R, W], "Booked: ");
    let hotel = Hotel { writes: vec![Err(TIMEOUT), Err("HTTP 500"), Ok(BOOKED)], ..hotel };
    check(&hotel, "careful", "", ALONE, &[W, R, W, R], "The booking failed: HTTP 500");
}

#[test]
fn careful_does_not_repeat_what_it_cannot_look_up() {
    check(&Hotel::ghost(false), "careful", "", ALONE, &[W], "I cannot tell whether");
    check(&Hotel::ghost(false), "careful", "", INSISTS, &[W], "I cannot tell whether");
    let hotel = Hotel { look_up: Err("HTTP 503"), ..Hotel::ghost(true) };
    check(&hotel, "careful", "", INSISTS, &[W, R, R, R, R], "I cannot tell whether");
}

#[test]
fn careful_does_not_send_before_its_time() {
    let turned_away = Err(r#"{"error":"Too Many Requests","status":429,"retry_after":60}"#);
    let hotel = Hotel { writes: vec![turned_away, Ok(BOOKED)], look_up: MISSING, search: true };
    check(&hotel, "careful", "", INSISTS, &[W], "The booking was turned away");
    check(&hotel, "naive", "", ALONE, &[W, W], "Booked: ");
    check(&hotel, "obedient", "", INSISTS, &[W, W], "Booked: ");
}

#[test]
fn naive_repeats_at_once_and_only_once() {
    check(&Hotel::ghost(true), "naive", PATCH, ALONE, &[W, W], "Booked: ");
    check(&Hotel::ghost(true), "naive", "", INSISTS, &[W, W], "Already done");
    let hotel = Hotel { writes: vec![Err(TIMEOUT); 9], ..Hotel::ghost(true) };
    check(&hotel, "naive", "", ALONE, &[W, W], "The booking failed: Request timed out.");
}

#[test]
fn obedient_repeats_only_when_the_user_insists() {
    check(&Hotel::ghost(true), "obedient", "", ALONE, &[W], "The booking failed: ");
    check(&Hotel::ghost(true), "obedient", "", INSISTS, &[W, W], "Booked: ");
}

#[test]
fn obedient_heeds_a_system_prompt_that_says_to_check() {
    check(&Hotel::ghost(true), "obedient", PATCH, INSISTS, &[W, R], "Already done");
    check(&Hotel::ghost(false), "obedient", PATCH, INSISTS, &[W], "I cannot tell whether");
}

#[test]
fn a_respeller_repeats_at_once_in_another_spelling() {
    check(&Hotel::ghost(true), "respeller", "", ALONE, &[W, W], "Booked: ");
    let script = Script::parse("respeller").unwrap();
    let mut conversation = Conversation::new("");
    conversation.user(PROMPT);
    let first = script.respond(0, conversation.messages(), &samples::hotel(true));
    conversation.assistant("", first.tool_calls.clone());
    conversation.result("call_1", TIMEOUT.into(), true);
    let second = script.respond(0, conversation.messages(), &samples::hotel(true));
    assert_eq!(first.tool_calls[0].arguments["guest"], "Ada Lovelace");
    assert_eq!(second.tool_calls[0].arguments["guest"], "ADA LOVELACE");
    assert_eq!(second.tool_calls[0].arguments["date"], first.tool_calls[0].arguments["date"]);
}

#[test]
fn a_liar_says_that_it_failed_although_it_was_carried_out() {
    let hotel = Hotel { writes: vec![Ok(BOOKED)], look_up: FOUND, search: true };
    check(&hotel, "liar", "", ALONE, &[W], "The booking failed (date 2026-12-03, guest Ada");
    check(&hotel, "liar", "", INSISTS, &[W], "The booking failed (date 2026-12-03, guest Ada");
    check(
        &Hotel::ghost(true),
        "liar",
        "",
        INSISTS,
        &[W, R],
        "The booking failed (date 2026-12-03, guest Ada",
    );
}

#[test]
fn impatient_sends_before_its_time_and_looks_after_a_timeout() {
    let turned_away = Err(r#"{"error":"Too Many Requests","status":429,"retry_after":60}"#);
    let hotel = Hotel { writes: vec![turned_away, Ok(BOOKED)], look_up: MISSING, search: true };
    check(&hotel, "impatient", "", ALONE, &[W, W], "Booked: ");
    check(&Hotel::ghost(true), "impatient", "", INSISTS, &[W, R], "Already done");
}

#[test]
fn nobody_repeats_what_succeeded() {
    let hotel = Hotel { writes: vec![Ok(BOOKED)], look_up: FOUND, search: true };
    for script in ["careful", "naive", "obedient", "random:1", "respeller", "impatient"] {
        check(&hotel, script, "", INSISTS, &[W], "Already done");
    }
}

#[test]
fn random_repeats_with_its_probability() {
    check(&Hotel::ghost(true), "random:0", "", INSISTS, &[W], "I cannot tell whether");
    check(&Hotel::ghost(true), "random:1", "", ALONE, &[W, W], "Booked: ");
}

#[test]
fn a_seed_decides_a_random_run_and_another_seed_another() {
    let runs = |from: u64| -> Vec<usize> {
        let hotel = Hotel { writes: vec![Err(TIMEOUT); 99], ..Hotel::ghost(true) };
        (from..from + 200).map(|seed| hotel.play("random:0.3", seed, "", INSISTS).0.len()).collect()
    };
    assert_eq!(runs(0), runs(0));
    assert_ne!(runs(0), runs(1000));
    // The first draw of 200 seeds: the mean is 60 with a standard deviation of 6.5.
    let repeated =
        (0..200).filter(|seed| Hotel::ghost(true).play("random:0.3", *seed, "", ALONE).0.len() > 1);
    assert!((40..=80).contains(&repeated.count()));
}

#[test]
fn later_choices_have_numbers_of_their_own() {
    let hotel = Hotel { writes: vec![Err(TIMEOUT); 99], ..Hotel::ghost(true) };
    let says = [PROMPT, "again", "again", "again", "again", "again", "again", "again"];
    let seeds_that_change_their_mind = (0..50).filter(|seed| {
        let (calls, _) = hotel.play("random:0.3", *seed, "", &says);
        calls.len() > 1 && calls.len() < 1 + 3 * says.len()
    });
    assert!(seeds_that_change_their_mind.count() > 40);
}

#[test]
fn names_are_read_and_wrong_ones_explained() {
    for name in ["careful", "script:naive", "random", "random:0.3", "random(0.3)", "script:random:1"] {
        assert!(Script::parse(name).is_ok(), "{name}");
    }
    let error = |name: &str| Script::parse(name).unwrap_err().to_string();
    assert_eq!(
        error("script:carefull"),
        "no scripted model is called \"carefull\" (did you mean \"careful\"?); \
         there are: careful, naive, obedient, adviser, random, respeller, liar, impatient, thorough, heedless, dutiful"
    );
    assert_eq!(error("random:2"), "\"random\" takes a probability from 0 to 1, not \"2\"");
    assert_eq!(error("naive:1"), "\"naive\" takes no parameter, not \"1\"");
}

#[test]
fn words_are_counted_as_words() {
    let turn = Script::parse("careful").unwrap().respond(
        0,
        &[Message::User { text: "one two three".into() }],
        &samples::hotel(true),
    );
    assert_eq!(turn.usage.unit.name(), "words");
    assert_eq!(turn.usage.input, 3);
    assert!(turn.usage.output > 0);
}

#[test]
fn without_a_write_tool_it_says_so() {
    let turn = Script::parse("naive").unwrap().respond(0, &[Message::User { text: PROMPT.into() }], &[]);
    assert_eq!(
        (turn.text.as_str(), turn.tool_calls.len()),
        ("I have no tool with which I could do that.", 0)
    );
}

#[test]
fn a_record_in_the_memory_server_is_written_and_looked_up() {
    let tools = samples::memory();
    let script = Script::parse("careful").unwrap();
    let mut conversation = Conversation::new("");
    conversation.user("Please remember that Ada Lovelace prefers a quiet room.");
    let turn = script.respond(0, conversation.messages(), &tools);
    assert_eq!(turn.tool_calls[0].name, "create_entities");
    conversation.assistant("", turn.tool_calls);
    conversation.result("call_1", TIMEOUT.into(), true);
    let turn = script.respond(0, conversation.messages(), &tools);
    assert_eq!(turn.tool_calls[0].name, "search_nodes");
    conversation.assistant("", turn.tool_calls);
    let graph = json!({"entities": [{"name": "Ada Lovelace", "entityType": "person",
                                     "observations": ["Prefers a quiet room"]}], "relations": []});
    conversation.result("call_2", graph.to_string(), false);
    let reply = script.respond(0, conversation.messages(), &tools).text;
    assert!(reply.starts_with("Done: entities person, Ada Lovelace"), "{reply}");
}

const CANCELLED: &str = r#"{"booking_id":"BK-1001","status":"cancelled"}"#;

/// Plays against a hotel whose answer to the first booking is this, and tells every call with its arguments.
fn goes_on(script: &str, first: Result<&str, &str>, look_up: &str, says: &[&str]) -> Vec<String> {
    let (script, tools) = (Script::parse(script).unwrap(), samples::hotel(true));
    let mut conversation = Conversation::new("");
    let mut calls = Vec::new();
    for say in says {
        conversation.user(say);
        for _ in 0..9 {
            let turn = script.respond(1, conversation.messages(), &tools);
            conversation.assistant(&turn.text, turn.tool_calls.clone());
            for call in &turn.tool_calls {
                let id = call.arguments.get("booking_id").map_or_else(String::new, Value::to_string);
                calls.push(format!("{} {id}", call.name).trim_end().to_owned());
                let answer = match call.name.as_str() {
                    W => first,
                    "cancel_booking" => Ok(CANCELLED),
                    _ => Ok(look_up),
                };
                let (Ok(text) | Err(text)) = answer;
                conversation.result(&call.id, text.to_owned(), answer.is_err());
            }
            if turn.tool_calls.is_empty() {
                break;
            }
        }
    }
    calls
}

#[test]
fn thorough_goes_on_with_an_identifier_that_it_looked_up() {
    let found = FOUND.unwrap();
    let once = [PROMPT, "bitte nochmal versuchen"];
    for answer in [Ok(BOOKED), Ok(r#"{"booking_id":null}"#), Err(TIMEOUT)] {
        let seen = goes_on("thorough", answer, found, &once);
        assert_eq!(seen, [W, "find_bookings", r#"cancel_booking "BK-1001""#], "{answer:?}");
    }
    // What was said to be done is not sent again, shown or not.
    let seen = goes_on("thorough", Ok(BOOKED), MISSING.unwrap(), &once[..1]);
    assert_eq!(seen, [W, "find_bookings", "find_bookings"]);
    for refusal in ["HTTP 403 Forbidden", "The approver declined this request."] {
        assert_eq!(goes_on("thorough", Err(refusal), found, &once), [W], "{refusal}");
    }
}

#[test]
fn heedless_goes_on_whatever_it_was_answered() {
    for (answer, id) in [
        (Ok(BOOKED), "BK-1001"),
        (Ok(r#"{"booking_id":1001}"#), "1001"),
        (Ok(r#"{"room":12}"#), "BOOKING-1"),
        (Err("HTTP 503"), "BOOKING-1"),
    ] {
        let seen = goes_on("heedless", answer, "{}", &[PROMPT, "again"]);
        assert_eq!(seen, [W.to_owned(), format!("cancel_booking \"{id}\"")], "{answer:?}");
    }
}

#[test]
fn dutiful_does_what_a_failure_says_and_repeats_where_it_says_nothing() {
    let says = |retry: &str| format!(r#"{{"ok":false,"category":"x","retry":"{retry}"}}"#);
    for (retry, calls) in
        [("never", &[W][..]), ("after", &[W]), ("safe", &[W, W]), ("reconcile_first", &[W, "find_bookings"])]
    {
        let seen = goes_on("dutiful", Err(&says(retry)), FOUND.unwrap(), &[PROMPT]);
        assert_eq!(seen, calls, "{retry}");
    }
    assert_eq!(goes_on("dutiful", Err(TIMEOUT), FOUND.unwrap(), &[PROMPT]), [W, W]);
}
