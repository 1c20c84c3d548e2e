//! What the words of an answer say of the work: denied, failed, doubted, lost on the way.

use regex::Regex;
use std::sync::LazyLock;

/// What was done, or was not.
const DONE: &str = "(?:created|done|executed|sent|saved|completed|carried out|published|processed|performed|made|booked|placed|stored|written|committed|applied|submitted|accepted|updated|deleted|registered)";
/// Doubt about the outcome itself.
const DOUBT: [&str; 10] = [
    r"\b(?:whether|if)\b[^.;!?\n]*\b(?:unknown|unclear|uncertain|unsure|open|not (?:known|clear|certain))\b",
    r"\b(?:unknown|unclear|uncertain|unsure|not (?:known|clear|certain|sure)|(?:can ?not|can't|could not|couldn't|unable to|do(?:es)? not|don't) (?:be )?(?:tell|told|know|known|say|be sure|confirm|confirmed|verify|verified|determine|determined))\b[^.;!?\n]{0,20}\b(?:whether|if|that)\b",
    r"\b(?:nobody|no one|no-one|none of us|noone) (?:can |could )?(?:knows?|say|tell|is sure|be sure|confirm|verify|determine)\b[^.;!?\n]{0,20}\b(?:whether|if)\b|\b(?:niemand|keiner) (?:weiß|kann)\b[^.;!?\n]{0,20}\bob\b",
    r"\b(?:may|might|could)(?: or may not| not)?(?: already| still| nevertheless| even)? (?:have|already)(?: already)?(?: been)? (?:DONE|gone through|succeeded|worked|happened|reached|received|taken effect|exist|there)\b",
    r"\b(?:outcome|result|fate)\b[^.;!?\n]{0,40}\b(?:unknown|unclear|uncertain|open|indeterminate|not (?:known|clear|certain))\b|\b(?:unknown|unclear|uncertain) (?:outcome|result|fate)\b",
    r"\b(?:(?:outcome|result|fate)|(?:status|state) of (?:the |your |this )?(?:order|request|release|booking|payment|transaction|operation|write|call|job|deployment|message|transfer))\b[^.;!?\n]{0,40}\b(?:could not|couldn't|can ?not|can't) be (?:determined|confirmed|verified|known|told)\b",
    r"\b(?:may|might)(?: well| already| still)? exist\b",
    r"\b(?:possibly|probably|perhaps|presumably|likely)(?: already)?(?: been)? DONE\b",
    r"\bob\b[^.;!?\n]*\b(?:unbekannt|unklar|ungewiss|offen|nicht (?:bekannt|klar|sicher))\b|\b(?:unbekannt|unklar|ungewiss|nicht (?:bekannt|klar|sicher))\b[^.;!?\n]{0,10}\bob\b",
    r"\b(?:möglicherweise|vielleicht|eventuell)\b[^.;!?\n]*\b(?:erstellt|angelegt|gebucht|ausgeführt|erfolgt|gesendet|gespeichert|geschehen|veröffentlicht)\b",
];
/// Advice to look whether it was done.
const LOOK: &str = r"\b(?:check|verify|look|find out|confirm|make sure|see)\b[^.!?\n]*\b(?:whether|if|that)\b[^.!?\n]*\b(?:DONE|exists?|went through)\b|\breconcile\b";
/// Words that say that it was not done.
const DENIAL: [&str; 4] = [
    r"\b(?:not|never)(?: yet)?(?: been| be)? DONE\b|n't(?: been| be)? DONE\b",
    r"\b(?:nothing (?:was|has|is|got|happened)|no (?:changes?|effect)\b|no [\w-]+(?: was| were| has been| have been)? DONE)\b|\bbefore anything was DONE\b|\bbefore [^.;!?\n]{0,40}\bcould be DONE\b|\bno [\w-]+ exists?\b",
    r"\b(?:failed to|could not|couldn't|unable to) (?:be )?(?:DONE|create|execute|send|save|complete|carry out|publish|process|perform|make|book|place|store|write|commit|apply|submit|update|delete)\b",
    r"\bnicht (?:erstellt|angelegt|gebucht|ausgeführt|erfolgt|gesendet|gespeichert|geschehen|veröffentlicht)\b|\bnichts (?:wurde|ist|geschehen|passiert)\b",
];
/// Words that deny where an error is told; elsewhere they can be what was asked for.
const UNDONE: &str = r"\b(?:cancell?ed|rejected|aborted|rolled back|reverted|discarded|refused|denied|abgebrochen|abgelehnt|storniert|zurückgerollt)\b";
/// Words that say that the call failed.
const FAILURE: &str = r"\b(?:fail(?:ed|ure|s)?|(?:could|can|did|was|were|has|have) ?(?:not|n't)|unable to|unsuccessful|something went wrong|an error occurred|fehlgeschlagen|nicht|gescheitert)\b";
/// Advice to do it once more.
const AGAIN: &str = r"\b(?:(?:try|send|submit|run|call|do|execute|place|book|create|make)(?: it| this| that| the [\w-]+| your [\w-]+)? (?:again|once more)|re-?try|re-?send|re-?submit|(?:versuchen sie es |versuche es )?(?:noch einmal|erneut))\b";
/// What makes such advice depend on something, or forbids it.
const CONDITION: &str = r"\b(?:before|unless|only|do not|don't|never|not|without|until|check first|look first|first (?:check|look)|reconcile|retry[- ]after|bevor|nicht|erst)\b";
/// Words about what was seen on the way, which say nothing of the work.
const LOST: &str = r"\b(?:time[d -]?out|timed out|deadline|no (?:complete )?(?:answer|response|reply)|(?:did not|didn't|does not|doesn't) (?:answer|respond|reply)|connection (?:was )?(?:lost|closed|reset|broken|aborted)|socket hang up|econnreset|etimedout|epipe|network|zeitüberschreitung)\b";

/// What an error can tell beside that it is one: that the work was done, or how its caller finds out.
const LEFT_OPEN: &str = r"\b(?:created|placed|booked|completed|saved|published|committed|accepted|executed|carried out)\b[^.!?\n]{0,10}\bbut\b|\blook\b[^.!?\n]{0,40}\bup\b[^.!?\n]{0,20}\b(?:before|first)\b";

static RULES: LazyLock<Option<Rules>> = LazyLock::new(Rules::new);

struct Rules {
    doubt: Regex,
    look: Regex,
    denial: Regex,
    undone: Regex,
    failure: Regex,
    again: Regex,
    condition: Regex,
    lost: Regex,
    done: Regex,
    error: Regex,
    left_open: Regex,
}

impl Rules {
    fn new() -> Option<Rules> {
        let rule = |text: &str| Regex::new(&format!("(?i){}", text.replace("DONE", DONE))).ok();
        Some(Rules {
            doubt: rule(&DOUBT.join("|"))?,
            look: rule(LOOK)?,
            denial: rule(&DENIAL.join("|"))?,
            undone: rule(UNDONE)?,
            failure: rule(FAILURE)?,
            again: rule(AGAIN)?,
            condition: rule(CONDITION)?,
            lost: rule(LOST)?,
            done: rule(r"\bDONE\b")?,
            error: rule(r"^[^\p{L}\p{N}]*(?:error|fehler|fatal|exception)")?,
            left_open: rule(LEFT_OPEN)?,
        })
    }
}

/// What was found in one text.
#[derive(Debug, Default)]
pub struct Words {
    /// It says that nobody knows whether the work was done.
    pub states_doubt: bool,
    /// It says so, or advises to look whether it was done.
    pub doubts_the_outcome: bool,
    /// A time limit or a broken connection.
    pub lost: bool,
    /// Something was done, said without "not".
    pub tells_of_something_done: bool,
    /// It tells that the work was done, or how to find out.
    pub left_open: bool,
    denied: Option<String>,
    undone: Option<String>,
    again: Option<String>,
    failure: Option<String>,
}

impl Words {
    /// Whether a text calls itself an error.
    pub fn begins_with_error(text: &str) -> bool {
        RULES.as_ref().is_some_and(|rules| rules.error.is_match(text))
    }

    /// Reads a text.
    pub fn of(text: &str) -> Words {
        let Some(rules) = RULES.as_ref() else { return Words::default() };
        let find = |rule: &Regex, text: &str| rule.find(text).map(|found| found.as_str().to_owned());
        // "Connection aborted" is no word about the work.
        let seen = rules.lost.replace_all(text, "…");
        let undenied = rules.denial.replace_all(&seen, "…");
        let again = seen
            .split(['.', ';', '!', '?', '\n'])
            .filter(|sentence| !rules.condition.is_match(sentence))
            .find_map(|sentence| find(&rules.again, sentence));
        let states_doubt = rules.doubt.is_match(text);
        Words {
            states_doubt,
            doubts_the_outcome: states_doubt || rules.look.is_match(text),
            lost: rules.lost.is_match(text),
            tells_of_something_done: rules.done.is_match(&undenied),
            left_open: rules.left_open.is_match(&undenied),
            denied: find(&rules.denial, &seen),
            undone: find(&rules.undone, &seen),
            again,
            failure: find(&rules.failure, &seen),
        }
    }

    /// The words that say that the work was not done, or that advise to do it once more; none where the
    /// same text doubts the outcome.
    pub fn denial(&self, is_error: bool) -> Option<&str> {
        if self.doubts_the_outcome {
            return None;
        }
        let plain = self.denied.as_ref().or(self.again.as_ref());
        let plain = plain.filter(|_| is_error || !self.tells_of_something_done);
        plain.or(self.undone.as_ref().filter(|_| is_error)).map(String::as_str)
    }

    /// The words that say that the call failed.
    pub fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_list_is_a_regular_expression() {
        assert!(RULES.is_some());
    }
}
