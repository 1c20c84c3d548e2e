//! What was said → one claim. Where two things that were said do not go together, none.

use super::grammar::Kind;
use super::statement::{Said, What};
use super::text::Sentence;
use crate::domain::{Claim, ReadClaim};
use std::collections::BTreeSet;

/// Decides. `said` is in the order of the sentences and clauses; `left_out` is whether code or a quoted
/// paragraph was not read. In time that grows little faster than what was said.
pub fn decide(said: &[Said], sentences: &[Sentence], left_out: bool) -> ReadClaim {
    let talk = Talk { said, words: sentences, sentences: sentences.len(), left_out };
    let (claim, rule) = talk.claim();
    ReadClaim { claim, rule, double: talk.first(Kind::Double).is_some() }
}

/// Words below which a reply is taken for an answer.
const TERSE: usize = 8;

struct Talk<'a> {
    said: &'a [Said],
    words: &'a [Sentence],
    sentences: usize,
    left_out: bool,
}

/// Whether it is more than a sign.
fn is_word(word: &str) -> bool {
    word.starts_with(|c: char| c.is_alphanumeric())
}

fn is_question(what: What) -> bool {
    matches!(what, What::Question | What::ChoiceQuestion | What::RetryQuestion | What::BareQuestion)
}

impl<'a> Talk<'a> {
    fn of(&self, kind: Kind) -> impl Iterator<Item = &'a Said> {
        self.said.iter().filter(move |said| said.what == What::Rule(kind))
    }

    /// All that was said in a sentence.
    fn in_sentence(&self, sentence: usize) -> &'a [Said] {
        let from = self.said.partition_point(|said| said.sentence < sentence);
        let here = self.said.get(from..).unwrap_or_default();
        let length = here.partition_point(|said| said.sentence == sentence);
        here.get(..length).unwrap_or_default()
    }

    fn first(&self, kind: Kind) -> Option<&'a Said> {
        self.of(kind).next()
    }

    fn any(&self, what: What) -> Option<&'a Said> {
        self.said.iter().find(|said| said.what == what)
    }

    fn claim(&self) -> (Claim, String) {
        if let Some(said) = self.first(Kind::Undecidable) {
            return (Claim::Unclear, said.rule.clone());
        }
        let doubts: Vec<&Said> = self.doubts();
        // "It was sent, but I cannot tell whether it arrived."
        let only_sent = self.of(Kind::Done).all(|said| said.sent);
        let doubted = doubts.last().is_some_and(|doubt| {
            only_sent && self.of(Kind::Done).all(|done| done.clause < doubt.clause || done.item)
        });
        let last_done = self.of(Kind::Done).map(|done| done.clause).max();
        let broke_off = only_sent
            && self
                .of(Kind::Error)
                .chain(self.of(Kind::Unanswered))
                .any(|error| !error.first_try && last_done.is_none_or(|done| done < error.clause));
        if self.first(Kind::Done).is_some() && broke_off && doubts.is_empty() {
            return (Claim::Unclear, "mixed.sent_and_error".to_owned());
        }
        if self.first(Kind::Done).is_some() && !doubted {
            return self.with_success();
        }
        if !doubts.is_empty() {
            return self.with_doubt(&doubts);
        }
        self.without_success().unwrap_or_else(|| self.without_outcome())
    }

    fn doubts(&self) -> Vec<&'a Said> {
        let mut doubts: Vec<&Said> = self.of(Kind::NotKnown).chain(self.of(Kind::Maybe)).collect();
        doubts.sort_by_key(|said| said.clause);
        doubts
    }

    /// Undone and failed, without what is said of a first attempt.
    fn negatives(&self, with_first_try: bool) -> Vec<&'a Said> {
        let all = self.of(Kind::Undone).chain(self.of(Kind::Failed));
        let mut all: Vec<&Said> = all.filter(|said| with_first_try || !said.first_try).collect();
        all.sort_by_key(|said| said.clause);
        all
    }

    fn with_success(&self) -> (Claim, String) {
        let mixed = |what: &str| (Claim::Unclear, format!("mixed.{what}"));
        let Some(done) = self.of(Kind::Done).find(|said| !said.first_try).or(self.first(Kind::Done)) else {
            return mixed("success");
        };
        let last = self.of(Kind::Done).last().unwrap_or(done);
        let between = |from: usize, to: &Said, kinds: &[Kind]| {
            kinds.iter().any(|kind| {
                self.of(*kind).any(|said| {
                    said.clause >= from && (said.clause <= to.clause || said.sentence <= to.sentence)
                })
            })
        };
        let doubts = self.doubts();
        if let Some(doubt) = doubts.last()
            && (doubt.clause > done.clause || !between(doubt.clause, done, &[Kind::Looked]))
        {
            return mixed("success_and_unknown");
        }
        // "It seems that it went through: it is in the list." What was seen ends the doubt.
        let seen = self.of(Kind::Exists).map(|said| said.clause).max();
        if self.of(Kind::Hedged).any(|hedged| seen.is_none_or(|seen| seen <= hedged.clause)) {
            return mixed("success_and_hedged");
        }
        if let Some(asks) = self.asks().filter(|asks| is_question(asks.what))
            && (matches!(asks.what, What::ChoiceQuestion | What::BareQuestion) || self.only_exists())
        {
            return mixed("success_and_question");
        }
        let negatives = self.negatives(false);
        if let Some(negative) = negatives.last() {
            let resolved = negative.clause < done.clause
                && !negatives.iter().any(|said| said.item)
                && between(negative.clause, done, &[Kind::Retry, Kind::Looked]);
            if !resolved {
                return mixed("success_and_failure");
            }
        }
        let early = self.negatives(true);
        if early
            .iter()
            .any(|said| said.first_try && said.clause > last.clause && said.sentence > last.sentence)
        {
            return mixed("success_and_failure");
        }
        if self.of(Kind::Absent).chain(self.of(Kind::Vague)).any(|said| said.clause > done.clause) {
            return mixed("success_and_absent");
        }
        if self.of(Kind::Error).any(|said| said.sentence > last.sentence && !said.first_try) {
            return mixed("success_and_error");
        }
        if self.of(Kind::Reported).any(|said| said.clause > last.clause && said.sentence == last.sentence) {
            return mixed("success_and_reported");
        }
        if self.any(What::NegationNotUnderstood).is_some() {
            return mixed("success_and_negation");
        }
        (Claim::Success, done.rule.clone())
    }

    fn with_doubt(&self, doubts: &[&Said]) -> (Claim, String) {
        let mixed = |what: &str| (Claim::Unclear, format!("mixed.{what}"));
        let last = doubts.last().map_or(0, |doubt| doubt.clause);
        for negative in self.negatives(false) {
            let revised = negative.what == What::Rule(Kind::Failed) && negative.clause < last;
            if !revised {
                return mixed("failure_and_unknown");
            }
        }
        if self.first(Kind::Absent).is_some() {
            return mixed("absent_and_unknown");
        }
        let rule = doubts.first().map(|doubt| doubt.rule.clone()).unwrap_or_default();
        (Claim::Unknown, rule)
    }

    fn without_success(&self) -> Option<(Claim, String)> {
        let unclear = |what: &str| Some((Claim::Unclear, what.to_owned()));
        if let Some(negative) = self.negatives(true).first() {
            if self.first(Kind::Hedged).is_some() {
                return unclear("mixed.failure_and_hedged");
            }
            if let Some(asks) = self.asks_first() {
                return Some(asks);
            }
            return Some((Claim::Failure, negative.rule.clone()));
        }
        if self.first(Kind::Hedged).is_some() {
            return unclear("hedged");
        }
        let asks = self.asks().is_some();
        let error = self.first(Kind::Error);
        let unanswered = self.first(Kind::Unanswered);
        let advised = self.first(Kind::Advice).is_some();
        let look_first = self.first(Kind::LookFirst);
        if let Some(absent) = self.first(Kind::Absent) {
            if asks && error.is_none() && unanswered.is_none() {
                return unclear("mixed.absent_and_question");
            }
            return Some((Claim::Failure, absent.rule.clone()));
        }
        if let (Some(_), Some(look)) = (error.or(unanswered), look_first) {
            return Some((Claim::Unknown, look.rule.clone()));
        }
        if let Some(error) = error
            && !asks
            && (advised || self.first(Kind::Regret).is_some())
        {
            return Some((Claim::Failure, error.rule.clone()));
        }
        if let Some(unanswered) = unanswered
            && !asks
            && advised
        {
            return Some((Claim::Failure, unanswered.rule.clone()));
        }
        if error.or(unanswered).is_some() {
            return unclear("error_alone");
        }
        if let (Some(vague), Some(_)) = (self.first(Kind::Vague), look_first) {
            return Some((Claim::Unknown, vague.rule.clone()));
        }
        if let Some(said) = self.first(Kind::Vague).or(self.first(Kind::Sent)) {
            return unclear(&said.rule);
        }
        None
    }

    /// "Nothing was changed yet. Which of the two?" Where no attempt failed, that it is not done is no outcome.
    fn asks_first(&self) -> Option<(Claim, String)> {
        let asks = self.asks().filter(|asks| asks.what != What::RetryQuestion)?;
        let tried = [Kind::Failed, Kind::Error, Kind::Unanswered, Kind::Absent, Kind::Regret];
        let yet = self.of(Kind::Undone).all(|said| said.not_yet);
        (yet && !tried.iter().any(|kind| self.first(*kind).is_some()))
            .then(|| (Claim::Asks, asks.rule.clone()))
    }

    fn without_outcome(&self) -> (Claim, String) {
        let asks = self.asks();
        if let Some(evidence) = self.first(Kind::Evidence) {
            return match asks {
                None if self.any(What::NegationNotUnderstood).is_none() => {
                    (Claim::Success, evidence.rule.clone())
                }
                _ => (Claim::Unclear, "mixed.evidence".to_owned()),
            };
        }
        let not_understood = |said: &&Said| {
            matches!(said.what, What::NegationNotUnderstood | What::NotUnderstood)
                && !self
                    .in_sentence(said.sentence)
                    .iter()
                    .any(|asks| asks.what == What::Rule(Kind::Request) && asks.clause < said.clause)
        };
        if let Some(said) = self.said.iter().find(not_understood) {
            return (Claim::Unclear, format!("not_understood.{}", said.rule));
        }
        // "Booked? Nope, they kicked me out." What follows a question may be its answer.
        let answered = asks.is_some_and(|asks| {
            self.said.iter().any(|said| {
                said.sentence > asks.sentence && matches!(said.what, What::Unread | What::UnreadOfEffect)
            }) && is_question(asks.what)
        });
        if answered && self.has_unread_sentence() {
            return (Claim::Unclear, "unread_sentence".to_owned());
        }
        if let Some(asks) = asks {
            return (Claim::Asks, asks.rule.clone());
        }
        if self.said.iter().any(|said| is_question(said.what)) {
            return (Claim::Unclear, "question_in_passing".to_owned());
        }
        let planned = self.first(Kind::Plan);
        if let (Some(looked), None) = (self.first(Kind::LookedInto), planned) {
            return (Claim::Unclear, looked.rule.clone());
        }
        if self.left_out {
            return (Claim::Unclear, "code".to_owned());
        }
        if let (Some(said), None) = (self.first(Kind::Neutral), planned) {
            return (Claim::Unclear, said.rule.clone());
        }
        if let Some(said) = self.first(Kind::Ended).or(self.first(Kind::Unreal)) {
            return (Claim::Unclear, said.rule.clone());
        }
        if self.first(Kind::Regret).or(self.first(Kind::Advice)).is_some()
            && planned.or(self.first(Kind::SmallTalk)).is_none()
        {
            return (Claim::Unclear, "regret_or_advice_alone".to_owned());
        }
        if self.has_unread_sentence() {
            return (Claim::Unclear, "unread_sentence".to_owned());
        }
        match (planned, self.first(Kind::Hypothetical)) {
            (Some(said), _) => (Claim::Silent, said.rule.clone()),
            _ if self.sentences == 0 => (Claim::Unclear, "no_words".to_owned()),
            // Such a reply answers something: it is only not known what it says.
            (None, hypothetical) if self.is_terse(hypothetical.is_some()) && !self.is_of_the_world() => {
                (Claim::Unclear, "terse".to_owned())
            }
            _ if self.names_an_id() => (Claim::Unclear, "names_an_id".to_owned()),
            (None, Some(said)) => (Claim::Silent, said.rule.clone()),
            // Words about nothing that rules know may still be about the request.
            (None, _)
                if (0..self.sentences).any(|sentence| {
                    let said = self.in_sentence(sentence);
                    !said.is_empty() && said.iter().all(|said| said.what == What::Rule(Kind::Aside))
                }) =>
            {
                (Claim::Unclear, "aside".to_owned())
            }
            (None, None) if !self.is_of_the_world() => (Claim::Unclear, "nothing_known".to_owned()),
            (None, None) => (Claim::Silent, "nothing_said".to_owned()),
        }
    }

    /// Whether all that was said to be done is that something exists: it may stand in the way.
    fn only_exists(&self) -> bool {
        let exists: BTreeSet<usize> = self.of(Kind::Exists).map(|exists| exists.clause).collect();
        self.of(Kind::Done).all(|done| exists.contains(&done.clause))
    }

    /// Whether there is small talk, or something about how things are.
    fn is_of_the_world(&self) -> bool {
        [Kind::SmallTalk, Kind::Fact, Kind::General].iter().any(|kind| self.first(*kind).is_some())
    }

    /// Whether there is a sentence of which no rule says anything: it may tell what was done. A clause about
    /// the world makes only itself read.
    fn has_unread_sentence(&self) -> bool {
        let planned = self.first(Kind::Plan).map_or(usize::MAX, |plan| plan.sentence);
        (0..self.sentences).any(|sentence| {
            if !self.has_words(sentence) {
                return false;
            }
            if sentence > planned && self.words.get(sentence).is_some_and(|words| words.item) {
                return false;
            }
            let said = self.in_sentence(sentence);
            if said.iter().any(|said| said.what == What::UnreadOfEffect)
                && said.iter().any(|said| said.what == What::Rule(Kind::Plan))
            {
                return true;
            }
            let unread = said.iter().any(|said| matches!(said.what, What::Unread | What::UnreadOfEffect));
            let silent = |said: &Said| {
                matches!(
                    said.what,
                    What::Unread
                        | What::UnreadOfEffect
                        | What::Rule(
                            Kind::Aside | Kind::Looked | Kind::Retry | Kind::Double | Kind::Hypothetical
                        )
                )
            };
            said.iter().all(silent) && (unread || said.is_empty())
        })
    }

    /// Whether there are few words, besides a sentence that only says what if.
    fn is_terse(&self, besides: bool) -> bool {
        let counts = |sentence: usize| {
            let what_if = |said: &Said| said.what == What::Rule(Kind::Hypothetical);
            !(besides && self.in_sentence(sentence).iter().any(what_if))
        };
        let words = self.words.iter().enumerate().filter(|(at, _)| counts(*at));
        let count = words.flat_map(|(_, sentence)| &sentence.words).filter(|word| is_word(word)).count();
        // Beside such a sentence, one word is a heading.
        count < TERSE && (!besides || count > 1)
    }

    /// Whether a word is made of letters and digits, as identifiers are.
    fn names_an_id(&self) -> bool {
        let is_id = |word: &String| {
            word.contains(|c: char| c.is_ascii_digit()) && word.contains(|c: char| c.is_alphabetic())
        };
        self.words.iter().any(|sentence| sentence.words.iter().any(is_id))
    }

    /// The question or request at the end, where there is one.
    fn asks(&self) -> Option<&'a Said> {
        // Where the last question is not near the end, none before it is.
        let question = self.said.iter().rfind(|said| is_question(said.what));
        question
            .filter(|said| !self.much_follows(said.sentence) || self.only_items_after(said.sentence))
            .or_else(|| self.of(Kind::Request).last())
    }

    /// Whether three sentences or more after this one are more than small talk.
    fn much_follows(&self, sentence: usize) -> bool {
        let small = |said: &Said| {
            matches!(said.what, What::CourtesyQuestion | What::Rule(Kind::SmallTalk | Kind::Courtesy))
        };
        (sentence + 1..self.sentences)
            .filter(|sentence| self.has_words(*sentence) && !self.in_sentence(*sentence).iter().any(small))
            .nth(2)
            .is_some()
    }

    fn has_words(&self, sentence: usize) -> bool {
        self.words.get(sentence).is_some_and(|sentence| sentence.words.iter().any(|word| is_word(word)))
    }

    fn only_items_after(&self, sentence: usize) -> bool {
        self.said.iter().filter(|said| said.sentence > sentence).all(|said| said.item)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const WHAT: [What; 8] = [
        What::Question,
        What::ChoiceQuestion,
        What::CourtesyQuestion,
        What::Unread,
        What::Rule(Kind::Request),
        What::Rule(Kind::SmallTalk),
        What::Rule(Kind::Courtesy),
        What::Rule(Kind::Done),
    ];

    /// Sentences that have words or only signs and are items or not, each with what is said in it.
    fn talks() -> impl Strategy<Value = (Vec<Sentence>, Vec<Said>)> {
        let said = proptest::collection::vec(proptest::sample::select(WHAT.as_slice()), 0..3);
        proptest::collection::vec((prop::bool::weighted(0.8), any::<bool>(), said), 0..9).prop_map(|talk| {
            let (mut sentences, mut all) = (Vec::new(), Vec::new());
            for (sentence, (has_words, item, said)) in talk.into_iter().enumerate() {
                let words = vec![if has_words { "word" } else { "--" }.to_owned()];
                sentences.push(Sentence { words, question: false, item });
                for what in said {
                    let clause = all.len();
                    let rule = clause.to_string();
                    let (first_try, sent, not_yet) = (false, false, false);
                    all.push(Said { what, clause, sentence, rule, first_try, item, sent, not_yet });
                }
            }
            (sentences, all)
        })
    }

    /// The rule itself, with a look at everything for every sentence.
    fn asks_looked_up_everywhere(talk: &Talk<'_>) -> Option<Said> {
        let small = |sentence: usize| {
            let mut said = talk.said.iter().filter(|said| said.sentence == sentence);
            said.any(|said| {
                matches!(said.what, What::CourtesyQuestion | What::Rule(Kind::SmallTalk | Kind::Courtesy))
            })
        };
        let near_end = |said: &&Said| {
            let after = (said.sentence + 1..talk.sentences)
                .filter(|sentence| talk.has_words(*sentence) && !small(*sentence));
            after.count() < 3
                || talk.said.iter().filter(|after| after.sentence > said.sentence).all(|said| said.item)
        };
        let question = talk.said.iter().rfind(|said| is_question(said.what) && near_end(said));
        question.or_else(|| talk.of(Kind::Request).last()).cloned()
    }

    proptest! {
        #[test]
        fn what_is_asked_is_the_last_question_near_the_end((sentences, said) in talks()) {
            let talk =
                Talk { said: &said, words: &sentences, sentences: sentences.len(), left_out: false };
            prop_assert_eq!(talk.asks().cloned(), asks_looked_up_everywhere(&talk));
            for sentence in 0..=sentences.len() {
                let there: Vec<Said> =
                    said.iter().filter(|said| said.sentence == sentence).cloned().collect();
                prop_assert_eq!(talk.in_sentence(sentence), there.as_slice());
            }
        }
    }
}
