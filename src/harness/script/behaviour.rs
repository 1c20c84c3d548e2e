//! What a scripted model does in which situation: a table.
//!
//! A behaviour is data. It says one step for each situation; what the situation is, is read
//! from the messages ([`super::reading`]), so that the same program works behind the agent
//! loop and behind an HTTP endpoint that keeps nothing between two requests.

use std::borrow::Cow;

/// Where a conversation stands, as the model sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Situation {
    /// The user asked for something that was not tried yet.
    Asked,
    /// The write just succeeded.
    Succeeded,
    /// The write just failed, or timed out.
    Failed,
    /// The write was just turned away with a time to wait.
    TurnedAway,
    /// The user speaks again, and nobody knows whether the write was carried out.
    Insisted,
    /// The user speaks again, after the write was turned away with a time to wait.
    Pressed,
    /// The user speaks again, and it is known that the write was carried out.
    Settled,
    /// A look-up shows the record.
    Found,
    /// A look-up works and shows that the record is not there.
    Missing,
    /// It cannot be looked up.
    Unclear,
    /// The write that follows on the first was carried out.
    Followed,
    /// The write that follows on the first failed.
    Stranded,
}

/// What a model does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Sends the write, for the first time or again with the same arguments (respelled where
    /// [`Behaviour::respells`]). Where the behaviour's repetitions are used up, it says
    /// [`Behaviour::spent`] instead.
    Write,
    /// Looks the record up with a tool that needs no identifier it never received; where there
    /// is none, or the look-ups fail, the situation becomes [`Situation::Unclear`].
    LookUp,
    /// Goes on with another write that needs the record's identifier (a cancellation). Where neither
    /// answer nor look-up gave one that can be used, it makes one up ([`Behaviour::invents`]) or says
    /// that nobody can tell. Where there is no such tool, it says that the write was carried out.
    FollowUp,
    /// Ends its turn with what it believes.
    Say(Belief),
}

/// What a model says that it believes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Belief {
    /// It was carried out.
    Done,
    /// It was carried out before; nothing was sent again.
    DoneBefore,
    /// It failed.
    Failed,
    /// It failed, and the user should try again later.
    Advised,
    /// It failed, although the answer says that it was carried out.
    Denied,
    /// Nobody can tell.
    Unknown,
    /// It was not carried out, and it is too early to send it again.
    Later,
}

/// An action, or a choice between two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Always this one.
    Do(Action),
    /// The first with the program's probability, else the second.
    Maybe(Action, Action),
}

use Action::{FollowUp, LookUp, Say, Write};
use Step::{Do, Maybe};

/// A program of model behaviour.
#[derive(Debug, Clone, PartialEq)]
pub struct Behaviour {
    /// Its name.
    pub name: Cow<'static, str>,
    /// One line of help.
    pub about: Cow<'static, str>,
    /// The behaviour that it turns into where the system prompt says to check before sending
    /// a write again.
    pub when_warned: Option<Cow<'static, str>>,
    /// Whether it fills an idempotency key where the tool declares one.
    pub keyed: bool,
    /// Whether a write that is sent again is spelled in another way.
    pub respells: bool,
    /// Whether it goes on with an identifier of its own making where it was given none that can be used.
    pub invents: bool,
    /// Whether it takes a refusal (401, 403, a person's no) for final, also where the user insists.
    pub heeds: bool,
    /// Whether it does what a failure's `retry` says, where the failure says one.
    pub obeys: bool,
    /// How often it sends the write again for one message of the user.
    pub repeats: u32,
    /// What it says where that is used up.
    pub spent: Belief,
    /// [`Situation::Succeeded`]
    pub succeeded: Step,
    /// [`Situation::Failed`]
    pub failed: Step,
    /// [`Situation::TurnedAway`]
    pub turned_away: Step,
    /// [`Situation::Insisted`]
    pub insisted: Step,
    /// [`Situation::Pressed`]
    pub pressed: Step,
    /// [`Situation::Settled`]
    pub settled: Step,
    /// [`Situation::Found`]
    pub found: Step,
    /// [`Situation::Missing`]
    pub missing: Step,
    /// [`Situation::Unclear`]
    pub unclear: Step,
}

/// The rules that most behaviours share: one that looks before it writes again.
const CAREFUL: Behaviour = Behaviour {
    name: Cow::Borrowed("careful"),
    about: Cow::Borrowed("Looks up before it sends anything again; where it cannot, says so"),
    when_warned: None,
    keyed: true,
    respells: false,
    invents: false,
    heeds: false,
    obeys: false,
    repeats: 1,
    spent: Belief::Failed,
    succeeded: Do(Say(Belief::Done)),
    failed: Do(LookUp),
    turned_away: Do(Say(Belief::Later)),
    insisted: Do(LookUp),
    // It has no clock, so it cannot know that the time has passed.
    pressed: Do(Say(Belief::Later)),
    settled: Do(Say(Belief::DoneBefore)),
    found: Do(Say(Belief::Done)),
    missing: Do(Write),
    unclear: Do(Say(Belief::Unknown)),
};

/// Every built-in behaviour, by name.
pub const BEHAVIOURS: &[Behaviour] = &[
    CAREFUL,
    Behaviour {
        name: Cow::Borrowed("naive"),
        about: Cow::Borrowed("Sends a failed write again at once, then reports"),
        keyed: false,
        failed: Do(Write),
        turned_away: Do(Write),
        insisted: Do(Write),
        pressed: Do(Write),
        ..CAREFUL
    },
    Behaviour {
        name: Cow::Borrowed("obedient"),
        about: Cow::Borrowed("Reports a failure, and sends the write again when the user asks for it"),
        when_warned: Some(Cow::Borrowed("careful")),
        keyed: false,
        failed: Do(Say(Belief::Failed)),
        turned_away: Do(Say(Belief::Failed)),
        insisted: Do(Write),
        pressed: Do(Write),
        ..CAREFUL
    },
    Behaviour {
        name: Cow::Borrowed("adviser"),
        about: Cow::Borrowed(
            "Reports a failure, tells the user to try again later, and then sends the write again",
        ),
        when_warned: Some(Cow::Borrowed("careful")),
        keyed: false,
        spent: Belief::Advised,
        failed: Do(Say(Belief::Advised)),
        turned_away: Do(Say(Belief::Advised)),
        insisted: Do(Write),
        pressed: Do(Write),
        ..CAREFUL
    },
    Behaviour {
        name: Cow::Borrowed("random"),
        about: Cow::Borrowed("Sends a failed write again with probability p (random:p, default 0.5)"),
        keyed: false,
        repeats: 3,
        failed: Maybe(Write, Say(Belief::Unknown)),
        turned_away: Maybe(Write, Say(Belief::Unknown)),
        insisted: Maybe(Write, Say(Belief::Unknown)),
        pressed: Maybe(Write, Say(Belief::Unknown)),
        ..CAREFUL
    },
    Behaviour {
        name: Cow::Borrowed("respeller"),
        about: Cow::Borrowed("Sends a failed write again at once, in another spelling"),
        keyed: false,
        respells: true,
        failed: Do(Write),
        turned_away: Do(Write),
        insisted: Do(Write),
        pressed: Do(Write),
        ..CAREFUL
    },
    Behaviour {
        name: Cow::Borrowed("liar"),
        about: Cow::Borrowed("Says that the write failed, although it was carried out"),
        succeeded: Do(Say(Belief::Denied)),
        settled: Do(Say(Belief::Denied)),
        found: Do(Say(Belief::Denied)),
        ..CAREFUL
    },
    Behaviour {
        name: Cow::Borrowed("impatient"),
        about: Cow::Borrowed("Sends a write again before the time that it was told to wait"),
        turned_away: Do(Write),
        pressed: Do(Write),
        ..CAREFUL
    },
    Behaviour {
        name: Cow::Borrowed("thorough"),
        about: Cow::Borrowed(
            "Looks up before it repeats a write or goes on with another, and takes a refusal for final",
        ),
        heeds: true,
        succeeded: Do(LookUp),
        found: Do(FollowUp),
        ..CAREFUL
    },
    Behaviour {
        name: Cow::Borrowed("heedless"),
        about: Cow::Borrowed(
            "Goes on with another write whatever it was answered, and makes an identifier up where it got none",
        ),
        keyed: false,
        invents: true,
        succeeded: Do(FollowUp),
        failed: Do(FollowUp),
        insisted: Do(Say(Belief::Unknown)),
        ..CAREFUL
    },
    Behaviour {
        name: Cow::Borrowed("dutiful"),
        about: Cow::Borrowed(
            "Does what a failure's `retry` says; where it says none, sends it again at once",
        ),
        keyed: false,
        obeys: true,
        failed: Do(Write),
        turned_away: Do(Write),
        insisted: Do(Write),
        pressed: Do(Write),
        ..CAREFUL
    },
];

/// The behaviour of that name.
pub fn find(name: &str) -> Option<&'static Behaviour> {
    BEHAVIOURS.iter().find(|behaviour| behaviour.name == name)
}

impl Behaviour {
    /// What it does in a situation.
    pub fn step(&self, situation: Situation) -> Step {
        match situation {
            Situation::Asked => Do(Write),
            Situation::Succeeded => self.succeeded,
            Situation::Failed => self.failed,
            Situation::TurnedAway => self.turned_away,
            Situation::Insisted => self.insisted,
            Situation::Pressed => self.pressed,
            Situation::Settled => self.settled,
            Situation::Found => self.found,
            Situation::Missing => self.missing,
            Situation::Unclear => self.unclear,
            Situation::Followed => Do(Say(Belief::Done)),
            Situation::Stranded => Do(Say(Belief::Unknown)),
        }
    }

    /// Whether a chance decides in that situation.
    pub fn is_chance(&self, situation: Situation) -> bool {
        matches!(self.step(situation), Maybe(..))
    }
}
