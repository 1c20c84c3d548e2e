//! Sentences → what each clause says. Here lies the scope of negations, conditions and doubts.

use super::grammar::{Grammar, Kind, Rule};
use super::text::Sentence;

/// One thing that was said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// What.
    pub what: What,
    /// Which clause of the reply, from 0.
    pub clause: usize,
    /// Which sentence of the reply, from 0.
    pub sentence: usize,
    /// The rule that found it.
    pub rule: String,
    /// It is said of an attempt that was not the last one.
    pub first_try: bool,
    /// In an item of a list.
    pub item: bool,
    /// The words tell of something that was sent off, which may have come to nothing.
    pub sent: bool,
    /// It is said of the time up to now: "nothing was booked yet".
    pub not_yet: bool,
}

/// What can be said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum What {
    /// What a rule says.
    Rule(Kind),
    /// A question that is not of mere courtesy.
    Question,
    /// A question of courtesy.
    CourtesyQuestion,
    /// A question which of several it should be.
    ChoiceQuestion,
    /// Whether it should be tried again.
    RetryQuestion,
    /// A question that is no offer of anything more.
    BareQuestion,
    /// Words of an outcome that no rule understands.
    NotUnderstood,
    /// Such words, with a negation.
    NegationNotUnderstood,
    /// A clause of which no rule says anything.
    Unread,
    /// Such a clause, with a word for what may have been asked for.
    UnreadOfEffect,
}

/// The kinds that say something of the outcome; the first rule that matches a clause decides.
const OUTCOMES: &[Kind] = &[
    Kind::Maybe,
    Kind::Hedged,
    Kind::Sent,
    Kind::Vague,
    Kind::Error,
    Kind::Unanswered,
    Kind::Absent,
    Kind::Undecidable,
    Kind::Undone,
    Kind::Failed,
    Kind::Done,
    Kind::Exists,
    Kind::Evidence,
];
/// The kinds that stand beside an outcome. They are looked for in a whole statement.
const BESIDE: &[Kind] =
    &[Kind::SmallTalk, Kind::Regret, Kind::Advice, Kind::LookFirst, Kind::Retry, Kind::Looked, Kind::Double];
const SCOPES: &[Kind] = &[Kind::NotKnown, Kind::Unreal, Kind::Hypothetical, Kind::LookedInto];

/// Reads the sentences of a reply.
pub fn said(grammar: &Grammar, sentences: &[Sentence]) -> Vec<Said> {
    let mut reader = Reader { grammar, said: Vec::new(), clause: 0, sentence: 0, item: false, colons: 0 };
    for (sentence, number) in sentences.iter().zip(0..) {
        reader.sentence = number;
        reader.item = sentence.item;
        reader.sentence(sentence);
    }
    reader.said
}

struct Reader<'a> {
    grammar: &'a Grammar,
    said: Vec<Said>,
    clause: usize,
    sentence: usize,
    item: bool,
    /// Statements after a colon that are open: a reply may have thousands of them.
    colons: usize,
}

impl Reader<'_> {
    fn say(&mut self, what: What, rule: &str, first_try: bool) {
        self.said.push(Said {
            what,
            clause: self.clause,
            sentence: self.sentence,
            rule: rule.to_owned(),
            first_try,
            item: self.item,
            sent: false,
            not_yet: false,
        });
    }

    fn sentence(&mut self, sentence: &Sentence) {
        let before = self.said.len();
        let (mut words, yes, no) = self.without_signs(&sentence.words);
        self.erase(&mut words);
        let mut words = words.as_slice();
        if sentence.question {
            let at = self.question_from(words);
            let (statement, question) = words.split_at(at);
            words = statement;
            self.statements(words);
            self.clause += 1;
            let leave = question.first().is_some_and(|first| {
                self.grammar.has("ASKS_LEAVE", std::slice::from_ref(first))
                    && !self.grammar.has("ELSE", question)
            });
            let courtesy = self.grammar.first(&[Kind::Courtesy], question).filter(|_| !leave);
            let courtesy = courtesy.map(|(rule, _)| rule.id.clone());
            match courtesy {
                Some(rule) => self.say(What::CourtesyQuestion, &rule, false),
                None if !self.grammar.has("QSTART", question) && self.grammar.has("VOCAB", question) => {
                    self.say(What::NotUnderstood, "question", false);
                }
                None if self.grammar.has("CHOICE", question) => {
                    self.say(What::ChoiceQuestion, "question", false)
                }
                None if self.grammar.has("RETRY_QUESTION", question) => {
                    self.say(What::RetryQuestion, "question", false);
                }
                None if !self.grammar.has("OFFER", question) => {
                    self.say(What::BareQuestion, "question", false);
                }
                None => self.say(What::Question, "question", false),
            }
        } else {
            self.statements(words);
        }
        self.signs(words.len(), before, yes, no);
        self.clause += 1;
    }

    /// A sign counts where the sentence has few other words, and contradicts what they say.
    fn signs(&mut self, words: usize, before: usize, yes: bool, no: bool) {
        let outcome = |said: &Said| matches!(said.what, What::Rule(kind) if OUTCOMES.contains(&kind) || kind == Kind::NotKnown);
        let outcomes: Vec<What> =
            self.said[before..].iter().filter(|said| outcome(said)).map(|said| said.what).collect();
        let weak = |what: &What| {
            matches!(what, What::Rule(Kind::Error | Kind::Unanswered | Kind::Vague | Kind::Sent))
        };
        let is_done = |what: &What| matches!(what, What::Rule(Kind::Done | Kind::Exists | Kind::Evidence));
        match (yes, no) {
            (true, true) => self.say(What::Rule(Kind::Undecidable), "sign.both", false),
            (true, false) if outcomes.iter().any(|what| !is_done(what)) => {
                self.say(What::Rule(Kind::Undecidable), "sign.contradicts", false);
            }
            (true, false) if outcomes.is_empty() && words <= 6 => {
                self.say(What::Rule(Kind::Done), "sign.yes", false)
            }
            (true, false) if outcomes.is_empty() => self.say(What::NotUnderstood, "sign.yes", false),
            (false, true) if outcomes.iter().any(is_done) => {
                self.say(What::Rule(Kind::Undecidable), "sign.contradicts", false);
            }
            (false, true) if outcomes.iter().all(weak) => {
                self.say(What::Rule(Kind::Failed), "sign.no", false)
            }
            _ => {}
        }
    }

    fn without_signs(&self, words: &[String]) -> (Vec<String>, bool, bool) {
        let is = |list: &str, word: &String| self.grammar.has(list, std::slice::from_ref(word));
        let yes = words.iter().any(|word| is("YES", word));
        let no = words.iter().any(|word| is("NO", word));
        let plain = words.iter().filter(|word| word.is_ascii() || word.starts_with(char::is_alphanumeric));
        (plain.cloned().collect(), yes, no)
    }

    fn erase(&self, words: &mut Vec<String>) {
        // Each round leaves out at least one word.
        while let Some((_, range)) =
            self.grammar.first(&[Kind::Erase], words).filter(|(_, range)| !range.is_empty())
        {
            words.drain(range);
        }
    }

    /// Where the question of a sentence begins: what stands before it is a statement.
    fn question_from(&self, words: &[String]) -> usize {
        let starts = |at: usize| self.grammar.has("QSTART", &words[at..=at]);
        let breaks = |word: &String| {
            let word = std::slice::from_ref(word);
            self.grammar.has("SPLIT", word)
                || self.grammar.has("CONTRAST", word)
                || self.grammar.has("AND", word)
        };
        (1..words.len())
            .find(|at| breaks(&words[at - 1]) && starts(*at))
            .filter(|_| !words.is_empty() && !starts(0))
            .unwrap_or(0)
    }

    /// The statements between contrasting words, each with the scopes within it.
    fn statements(&mut self, words: &[String]) {
        let is = |list: &str, word: &String| self.grammar.has(list, std::slice::from_ref(word));
        // "It is however only booked once": within a clause such a word contrasts nothing with it.
        let within = |at: usize| {
            is("MID_CONTRAST", &words[at])
                && at
                    .checked_sub(1)
                    .is_some_and(|before| is("FINITE_DE", &words[before]) || is("SUBJECT", &words[before]))
        };
        let kept: Vec<String> =
            (0..words.len()).filter(|at| !within(*at)).map(|at| words[at].clone()).collect();
        for part in kept.split(|word| is("CONTRAST", word)) {
            self.statement(part);
        }
    }

    fn statement(&mut self, words: &[String]) {
        if words.is_empty() {
            return;
        }
        for kind in BESIDE {
            if let Some(rule) = self.grammar.first(&[*kind], words).map(|(rule, _)| rule.id.clone()) {
                self.say(What::Rule(*kind), &rule, false);
            }
        }
        let first_try = self.grammar.first(&[Kind::FirstTry], words).is_some();
        let mut scopes: Vec<(&Rule, std::ops::Range<usize>)> =
            SCOPES.iter().flat_map(|kind| self.grammar.matches(*kind, words)).collect();
        // The one that begins first; doubt before a mere condition.
        scopes.sort_by_key(|(rule, range)| (range.start, SCOPES.iter().position(|kind| *kind == rule.kind)));
        let scope = scopes.first().map(|(rule, range)| (rule.kind, rule.id.clone(), range.clone()));
        match scope {
            Some((kind, rule, range)) => {
                // A doubt within a condition: what is doubted may be the outcome itself.
                if kind != Kind::NotKnown && self.grammar.first(&[Kind::NotKnown], words).is_some() {
                    self.say(What::NotUnderstood, "doubt_in_condition", first_try);
                }
                let told = kind == Kind::Hypothetical && self.tells_past(&words[range.start..]);
                let of_time = self.grammar.length("OF_TIME", &words[range.start..]).is_some();
                if told && !of_time {
                    self.say(What::NotUnderstood, "outcome_after_condition", first_try);
                }
                self.request(&words[..range.start]);
                self.clauses(&words[..range.start], first_try);
                self.say(What::Rule(kind), &rule, first_try);
                self.clause += 1;
                let after = after_comma(&words[range.start..]);
                if told && of_time {
                    self.clauses(after, first_try);
                } else if kind != Kind::NotKnown
                    && let Some((request, _)) = self.grammar.first(&[Kind::Request], after)
                    && self.grammar.length("PLEASE", after).is_some()
                {
                    self.say(What::Rule(Kind::Request), &request.id, first_try);
                }
                // "You asked me to cancel it: it no longer exists." What was to be said follows.
                if matches!(kind, Kind::Hypothetical | Kind::Unreal)
                    && self.colons < 3
                    && let Some(colon) = words.iter().skip(range.end).position(|word| word == ":")
                    && let Some(rest) = words.get(range.end + colon + 1..).filter(|rest| rest.len() > 2)
                {
                    self.colons += 1;
                    self.statement(rest);
                    self.colons -= 1;
                }
            }
            None => {
                self.request(words);
                self.clauses(words, first_try);
            }
        }
    }

    /// A request may run over what splits clauses: "let me know which of them".
    fn request(&mut self, words: &[String]) {
        if let Some((rule, _)) = self.grammar.first(&[Kind::Request], words) {
            self.say(What::Rule(Kind::Request), &rule.id, false);
        }
    }

    /// Whether what follows a condition is told as what happened: "once it was up, I booked it".
    fn tells_past(&self, scope: &[String]) -> bool {
        let after = after_comma(scope);
        let told = |kinds: &[Kind]| self.grammar.first(kinds, after).is_some();
        self.grammar.has("PAST", after)
            && !self.grammar.has("IRREAL", after)
            && told(&[Kind::Done, Kind::Exists, Kind::Undone, Kind::Failed, Kind::Error])
    }

    fn clauses(&mut self, words: &[String], first_try: bool) {
        let (mut from, mut at, mut reason) = (0, 0, false);
        while at < words.len() {
            // A label belongs to its value; what announces a whole sentence does not.
            let announces = words[at] == ":"
                && (at >= from + 2 || self.grammar.has("NO_OR_YES", &words[from..at]))
                && words.len() > at + 3;
            if let Some(length) = announces.then_some(1).or_else(|| self.splits(words, at)) {
                self.one_clause(&words[from..at], first_try, reason);
                reason = self.grammar.has("REASON", &words[at..at + length])
                    || (self.last_is(&[Kind::Failed, Kind::Undone])
                        && self.grammar.has("ALREADY", &words[at..words.len().min(at + 8)]))
                    || (words[at] == ":" && self.last_is(&[Kind::Failed, Kind::Undone]));
                at += length;
                from = at;
            } else {
                at += 1;
            }
        }
        self.one_clause(&words[from..], first_try, reason);
    }

    /// Number of words of the break at `at`, if there is one. An `and` between two verbs is none.
    fn splits(&self, words: &[String], at: usize) -> Option<usize> {
        if let Some(length) = self.grammar.length("SPLIT", &words[at..]) {
            // What is said in a clause with `that` belongs to the words before it.
            let joins = self.grammar.length("JOIN", words.get(at + length..).unwrap_or_default()).is_some();
            // "From 9 bis 12": before a number such a word is of the time.
            let of_time = words[at].starts_with(char::is_alphabetic)
                && words.get(at + length).is_some_and(|next| next.starts_with(|c: char| c.is_ascii_digit()));
            return (!joins && !of_time).then_some(length);
        }
        let length = self.grammar.length("AND", &words[at..])?;
        let next = words.get(at + length..).unwrap_or_default();
        // What has a subject of its own is a statement of its own.
        if self.grammar.length("SUBJECT", next).is_some() {
            return Some(length);
        }
        if self.grammar.has("OR", &words[at..at + length]) {
            return None;
        }
        let verb = (0..next.len().min(2)).any(|at| {
            let here = &next[at..];
            self.grammar.length("DONE", here).is_some() || self.grammar.length("GETAN", here).is_some()
        });
        (!verb).then_some(length)
    }

    /// Whether the last that was said, in this sentence, is of one of the kinds.
    fn last_is(&self, kinds: &[Kind]) -> bool {
        self.said.last().is_some_and(|said| {
            said.sentence == self.sentence && kinds.iter().any(|kind| said.what == What::Rule(*kind))
        })
    }

    /// A clause; `reason` is whether it only says why.
    fn one_clause(&mut self, words: &[String], first_try: bool, reason: bool) {
        if words.is_empty() {
            return;
        }
        self.clause += 1;
        let before = self.said.len();
        self.clause_alone(words, first_try, reason);
        if self.said.len() == before {
            let of_effect = ["EFFECT", "DING", "MATTER"].iter().any(|list| self.grammar.has(list, words));
            self.say(if of_effect { What::UnreadOfEffect } else { What::Unread }, "unread", first_try);
        }
    }

    fn clause_alone(&mut self, words: &[String], first_try: bool, reason: bool) {
        let grammar = self.grammar;
        if let Some((rule, _)) = grammar.first(&[Kind::Courtesy], words) {
            self.say(What::Rule(Kind::Courtesy), &rule.id, first_try);
        }
        if let Some((rule, _)) = grammar.first(&[Kind::Neutral, Kind::General, Kind::Ended], words) {
            self.say(What::Rule(rule.kind), &rule.id, first_try);
            return;
        }
        let negations = grammar.count("NEG", words) + grammar.count("NICHT", words);
        if let Some((rule, _)) = grammar.first(OUTCOMES, words) {
            if rule.kind == Kind::Exists {
                self.say(What::Rule(Kind::Exists), &rule.id, first_try);
            }
            let decided =
                matches!(rule.kind, Kind::Done | Kind::Exists | Kind::Undone | Kind::Failed | Kind::Absent);
            let kind = match rule.kind {
                _ if negations > 1 && decided => Kind::Undecidable,
                // "because it is already cancelled": why something is so, and not what was done.
                Kind::Done | Kind::Exists if reason && !self.last_is(&[Kind::Neutral]) => Kind::Sent,
                Kind::Exists => Kind::Done,
                kind => kind,
            };
            self.say(What::Rule(kind), &rule.id, first_try);
            let (sent, not_yet) = (grammar.has("SENT_OFF", words), grammar.has("NOT_YET", words));
            if let Some(said) = self.said.last_mut() {
                (said.sent, said.not_yet) = (sent, not_yet);
            }
            return;
        }
        if let Some((rule, _)) = grammar.first(&[Kind::Plan], words) {
            self.say(What::Rule(Kind::Plan), &rule.id, first_try);
        } else {
            let verb = grammar.first(&[Kind::UnknownVerb, Kind::Reported], words);
            if verb.as_ref().is_some_and(|(rule, _)| rule.kind == Kind::Reported) {
                self.say(What::Rule(Kind::Reported), "reported", first_try);
            }
            let verb = verb.map(|(rule, _)| rule.id.as_str());
            let Some(rule) = verb.or_else(|| grammar.has("VOCAB", words).then_some("words")) else {
                if let Some((rule, _)) = grammar.first(&[Kind::Fact, Kind::Aside], words) {
                    self.say(What::Rule(rule.kind), &rule.id, first_try);
                }
                return;
            };
            let what = if negations > 0 { What::NegationNotUnderstood } else { What::NotUnderstood };
            self.say(what, rule, first_try);
        }
    }
}

/// What follows the first comma or colon.
fn after_comma(words: &[String]) -> &[String] {
    words.iter().position(|word| word == "," || word == ":").map_or(&[], |at| &words[at + 1..])
}
