//! Scripts that users write: YAML → a [`Behaviour`].
//!
//! ```yaml
//! script: patient              # its name
//! about: Looks twice before it asks
//! like: careful                # what holds for all that is not said; careful where absent
//! when_warned: careful         # what it turns into where the system prompt says to check first
//! keyed: true                  # fills an idempotency key where the tool declares one
//! respells: false              # spells a write that it sends again in another way
//! invents: false               # goes on with an identifier of its own making where it was given none
//! heeds: false                 # takes a refusal for final, also where the user insists
//! obeys: false                 # does what a failure's `retry` says, where it says one
//! repeats: 1                   # how often it sends a write again for one message of the user
//! spent: unknown               # what it says where that is used up
//! probability: 0.3             # of the first of two, where a step is a list of two
//! steps:
//!   failed: look_up            # write | look_up | follow_up | say done …
//!   insisted: [write, say unknown]
//! ```

use super::Script;
use super::behaviour::{self, Action, BEHAVIOURS, Behaviour, Belief, Step};
use crate::suite::decode::{Decoder, Fields, Shape};
use crate::suite::diagnostics::{Diagnostics, Source};
use crate::suite::tree::{self, Kind, Node};
use std::borrow::Cow;

const SCRIPT: Shape = Shape::new(
    "a script",
    &[
        "script",
        "about",
        "like",
        "when_warned",
        "keyed",
        "respells",
        "invents",
        "heeds",
        "obeys",
        "repeats",
        "spent",
        "probability",
        "steps",
    ],
)
.hints(&[
    ("name", "a script's name is written `script: NAME`"),
    ("failed", "situations belong below `steps`"),
    ("insisted", "situations belong below `steps`"),
]);

const STEPS: Shape = Shape::new(
    "a script's steps",
    &["succeeded", "failed", "turned_away", "insisted", "pressed", "settled", "found", "missing", "unclear"],
);

const BELIEFS: &[(&str, Belief)] = &[
    ("done", Belief::Done),
    ("done_before", Belief::DoneBefore),
    ("failed", Belief::Failed),
    ("denied", Belief::Denied),
    ("unknown", Belief::Unknown),
    ("later", Belief::Later),
    ("advised", Belief::Advised),
];

const ACTIONS: &[(&str, Action)] = &[
    ("write", Action::Write),
    ("look_up", Action::LookUp),
    ("follow_up", Action::FollowUp),
    ("say done", Action::Say(Belief::Done)),
    ("say done_before", Action::Say(Belief::DoneBefore)),
    ("say failed", Action::Say(Belief::Failed)),
    ("say denied", Action::Say(Belief::Denied)),
    ("say unknown", Action::Say(Belief::Unknown)),
    ("say later", Action::Say(Belief::Later)),
    ("say advised", Action::Say(Belief::Advised)),
];

/// Most repetitions for one message.
const MOST_REPEATS: u64 = 1000;

/// Reads a script.
///
/// # Errors
/// With every mistake of the file, each with its line and column.
pub fn parse(text: &str, file: &str) -> Result<Script, Diagnostics> {
    let source = Source::new(file, text);
    let (root, mistakes) = tree::parse(&source);
    let mut decoder = Decoder::new(&source, mistakes);
    let script = root.and_then(|root| {
        let anchor = source.rest_of_line(root.span.start);
        let fields = decoder.fields(&root, anchor, &SCRIPT)?;
        decode(&mut decoder, &fields)
    });
    match script {
        Some(script) if decoder.is_clean() => Ok(script),
        _ => {
            if decoder.is_clean() {
                decoder.error(0..0, "the file is empty").help("a script begins with `script: NAME`");
            }
            Err(decoder.finish())
        }
    }
}

fn decode(decoder: &mut Decoder, fields: &Fields<'_>) -> Option<Script> {
    let name = decoder.required(fields, "script", "script: patient");
    let name = name.and_then(|(_, node)| decoder.filled(node, "a name"));
    let like = fields.get("like").and_then(|node| built_in(decoder, node));
    let mut behaviour = like.or(behaviour::find("careful"))?.clone();
    if let Some(about) = fields.get("about").and_then(|node| decoder.text(node, "a line of help")) {
        behaviour.about = Cow::Owned(about.value);
    }
    if let Some(node) = fields.get("when_warned") {
        behaviour.when_warned = match &node.kind {
            Kind::Null => None,
            Kind::Scalar { text, .. } if text == "none" => None,
            _ => built_in(decoder, node).map(|other| other.name.clone()),
        };
    }
    for (name, place) in [
        ("keyed", &mut behaviour.keyed),
        ("respells", &mut behaviour.respells),
        ("invents", &mut behaviour.invents),
        ("heeds", &mut behaviour.heeds),
        ("obeys", &mut behaviour.obeys),
    ] {
        if let Some(value) = fields.get(name).and_then(|node| decoder.boolean(node)) {
            *place = value;
        }
    }
    let repeats = fields.get("repeats").and_then(|node| decoder.whole(node, "`repeats`", 0..=MOST_REPEATS));
    if let Some(repeats) = repeats.and_then(|repeats| u32::try_from(repeats).ok()) {
        behaviour.repeats = repeats;
    }
    if let Some(spent) = fields.get("spent").and_then(|node| decoder.choice(node, "belief", BELIEFS)) {
        behaviour.spent = spent;
    }
    let probability = fields.get("probability").and_then(|node| decoder.probability(node));
    if let Some((key, node)) = fields.entry("steps")
        && let Some(steps) = decoder.fields(node, key.span.clone(), &STEPS)
    {
        for (name, place) in places(&mut behaviour) {
            if let Some(step) = steps.get(name).and_then(|node| step(decoder, node)) {
                *place = step;
            }
        }
    }
    behaviour.name = Cow::Owned(name?.value);
    Some(Script { behaviour: Cow::Owned(behaviour), probability: probability.unwrap_or(0.5), says: None })
}

fn places(behaviour: &mut Behaviour) -> [(&'static str, &mut Step); 9] {
    [
        ("succeeded", &mut behaviour.succeeded),
        ("failed", &mut behaviour.failed),
        ("turned_away", &mut behaviour.turned_away),
        ("insisted", &mut behaviour.insisted),
        ("pressed", &mut behaviour.pressed),
        ("settled", &mut behaviour.settled),
        ("found", &mut behaviour.found),
        ("missing", &mut behaviour.missing),
        ("unclear", &mut behaviour.unclear),
    ]
}

fn built_in(decoder: &mut Decoder, node: &Node) -> Option<&'static Behaviour> {
    let known: Vec<(&str, &'static Behaviour)> =
        BEHAVIOURS.iter().map(|behaviour| (behaviour.name.as_ref(), behaviour)).collect();
    decoder.choice(node, "built-in behaviour", &known)
}

/// An action, or a list of two between which the probability decides.
fn step(decoder: &mut Decoder, node: &Node) -> Option<Step> {
    let Kind::Seq(items) = &node.kind else {
        return decoder.choice(node, "action", ACTIONS).map(Step::Do);
    };
    let actions: Vec<Action> =
        items.iter().filter_map(|item| decoder.choice(item, "action", ACTIONS)).collect();
    match (items.len(), &actions[..]) {
        (2, [first, second]) => Some(Step::Maybe(*first, *second)),
        (2, _) => None,
        (given, _) => {
            let message = format!("a step is one action, or a choice between two, not {given}");
            decoder.error(node.span.clone(), message).help("for example `[write, say unknown]`");
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUILT_IN: &str = include_str!("../../../tests/data/scripts.yaml");

    /// Every built-in behaviour can be written by a user, and is the same then.
    #[test]
    fn the_built_in_behaviours_can_be_written_as_files() {
        let files: Vec<&str> = BUILT_IN.split("---\n").collect();
        assert_eq!(files.len(), BEHAVIOURS.len());
        for (text, behaviour) in files.into_iter().zip(BEHAVIOURS) {
            let script = parse(text, "scripts.yaml").unwrap_or_else(|mistakes| panic!("{mistakes}"));
            assert_eq!(script.behaviour.as_ref(), behaviour);
        }
    }

    fn mistakes(text: &str) -> String {
        parse(text, "my.yaml").map(|_| ()).unwrap_err().to_string()
    }

    #[test]
    fn mistakes_are_told_with_line_column_and_what_was_meant() {
        insta::assert_snapshot!(mistakes(
            "script: mine\nlike: carefull\nrepeats: many\nprobability: 1.5\nspend: unknown\nsteps:\n  faild: write\n  insisted: [write, look, say done]\n  found: say dne\n"
        ));
        insta::assert_snapshot!(mistakes("failed: write\n"));
        assert!(mistakes("").contains("my.yaml"));
        assert!(mistakes("[1]").contains("my.yaml:1:1"));
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "[a-z:\\-\\[\\]{} \n\"']{0,80}") {
            let _ = parse(&text, "x.yaml");
            let _ = parse(&format!("script: a\nsteps:\n  failed: {text}\n"), "x.yaml");
        }
    }
}
