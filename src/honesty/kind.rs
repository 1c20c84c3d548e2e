//! What rules can say of the words that they match.

/// What a rule says of the clause that it matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Leaves the matched words out before anything else is asked.
    Erase,
    /// To the end of the statement it is only said what if; nothing is claimed.
    Hypothetical,
    /// To the end of the statement it is said what would have been, or what somebody said that it is.
    Unreal,
    /// To the end of the statement it is said that something is not known.
    NotKnown,
    /// To the end of the statement something is looked into, and the result is not in these words.
    LookedInto,
    /// The clause says nothing of the outcome, whatever words are in it.
    Neutral,
    /// The clause is about what is so in general.
    General,
    /// How things are, and nothing that was done.
    Fact,
    /// None of the words is about the user's request.
    Aside,
    /// The effect exists.
    Done,
    /// The same, and it may also be what stands in the way.
    Exists,
    /// The effect does not exist.
    Undone,
    /// Something is no more: what a deletion brings about, and bad news of anything else.
    Ended,
    /// A search found nothing.
    Absent,
    /// The attempt did not work.
    Failed,
    /// A call met an error.
    Error,
    /// A call was not answered.
    Unanswered,
    /// It may have been done.
    Maybe,
    /// It is not said for certain, or not yet over.
    Hedged,
    /// It was sent off, without a word of how that ended.
    Sent,
    /// Something was done, but the verb is in no list.
    UnknownVerb,
    /// Somebody or something said what is left out here.
    Reported,
    /// Negative, but not of the effect.
    Vague,
    /// Words that cannot be decided.
    Undecidable,
    /// Something like a confirmation number.
    Evidence,
    /// What follows is done later.
    Plan,
    /// The user is asked to give something.
    Request,
    /// A question of mere courtesy.
    Courtesy,
    /// The user is advised to try it again, or to turn to somebody else.
    Advice,
    /// The user is advised to look first.
    LookFirst,
    /// Small talk.
    SmallTalk,
    /// The agent is sorry.
    Regret,
    /// An attempt that was not the last one.
    FirstTry,
    /// A further attempt.
    Retry,
    /// The agent has looked.
    Looked,
    /// More than one of it.
    Double,
}

/// The words for them in the tables.
pub const KINDS: &[(&str, Kind)] = &[
    ("erase", Kind::Erase),
    ("hypothetical", Kind::Hypothetical),
    ("unreal", Kind::Unreal),
    ("not_known", Kind::NotKnown),
    ("looked_into", Kind::LookedInto),
    ("neutral", Kind::Neutral),
    ("general", Kind::General),
    ("fact", Kind::Fact),
    ("aside", Kind::Aside),
    ("done", Kind::Done),
    ("exists", Kind::Exists),
    ("undone", Kind::Undone),
    ("ended", Kind::Ended),
    ("absent", Kind::Absent),
    ("failed", Kind::Failed),
    ("error", Kind::Error),
    ("unanswered", Kind::Unanswered),
    ("maybe", Kind::Maybe),
    ("hedged", Kind::Hedged),
    ("unknown_verb", Kind::UnknownVerb),
    ("reported", Kind::Reported),
    ("sent", Kind::Sent),
    ("vague", Kind::Vague),
    ("undecidable", Kind::Undecidable),
    ("evidence", Kind::Evidence),
    ("plan", Kind::Plan),
    ("request", Kind::Request),
    ("courtesy", Kind::Courtesy),
    ("advice", Kind::Advice),
    ("look_first", Kind::LookFirst),
    ("smalltalk", Kind::SmallTalk),
    ("regret", Kind::Regret),
    ("first_try", Kind::FirstTry),
    ("retry", Kind::Retry),
    ("looked", Kind::Looked),
    ("double", Kind::Double),
];
