//! The rules as data: word lists and patterns, read from the tables in `rules/`.
//!
//! ```text
//! words BE
//!   is are was were "has been"
//! done en.passive without NEG
//!   {BE} {ADV}? {DONE}
//! ```
//!
//! A line without indentation opens a word list, or a rule with its kind, its id and what must or
//! must not stand in the same clause. Indented lines are the words, or patterns of which one must
//! match. In a pattern `a|b` is either word, `stem*` any word that begins so, `{A|B|x}` a word of
//! one of the lists or `x`, `{#}` a word with a digit, `{~en}` and `{~de}` one that looks like a
//! past participle, `x?` may be missing, `..3` are up to three words, `..` any number, `^` and `$`
//! the clause's ends. Rules are tried in the order of the files.

use super::kind::KINDS;
pub use super::kind::Kind;
use super::text::fold;
use std::collections::HashMap;
use std::sync::LazyLock;

/// A rule.
#[derive(Debug, Clone)]
pub struct Rule {
    /// What it says.
    pub kind: Kind,
    /// Its name, e.g. `en.passive`.
    pub id: String,
    with: Vec<String>,
    without: Vec<String>,
    patterns: Vec<Vec<Element>>,
}

#[derive(Debug, Clone, PartialEq)]
enum Element {
    Start,
    End,
    Gap(usize),
    One { any: Vec<Alternative>, optional: bool },
}

#[derive(Debug, Clone, PartialEq)]
enum Alternative {
    Word(String),
    Stem(String),
    List(String),
    Digits,
    /// Looks like a past participle, and is no word of the list.
    Participle {
        german: bool,
        but: String,
    },
}

/// The entries of a word list by their first word, and those that are stems.
#[derive(Debug, Clone, Default)]
struct List {
    by_first: HashMap<String, Vec<Vec<String>>>,
    stems: Vec<String>,
}

/// All rules.
#[derive(Debug, Clone, Default)]
pub struct Grammar {
    lists: HashMap<String, List>,
    rules: Vec<Rule>,
    /// The places of the rules of a kind, in the order of the tables.
    by_kind: HashMap<Kind, Vec<usize>>,
}

const TABLES: &[&str] = &[
    include_str!("rules/verbs-en.txt"),
    include_str!("rules/verbs-de.txt"),
    include_str!("rules/en.txt"),
    include_str!("rules/de.txt"),
    include_str!("rules/signs.txt"),
];

/// The rules that come with the program.
pub static GRAMMAR: LazyLock<Grammar> = LazyLock::new(|| {
    let mut grammar = Grammar::default();
    for table in TABLES {
        // A test holds that the tables have no mistake; a line that had one would be left out.
        let _ = grammar.add(table);
    }
    grammar
});

impl Grammar {
    /// Adds a table; gives the lines that cannot be read.
    fn add(&mut self, table: &str) -> Vec<String> {
        let mut mistakes = Vec::new();
        let mut list: Option<String> = None;
        for (line, number) in table.lines().zip(1..) {
            let mut mistake = |what: &str| mistakes.push(format!("line {number}: {what}: {line}"));
            if line.trim().is_empty() || line.trim_start().starts_with("# ") {
                continue;
            }
            if !line.starts_with(' ') {
                let mut parts = line.split_whitespace();
                let (Some(kind), Some(name)) = (parts.next(), parts.next()) else {
                    mistake("a kind and a name");
                    continue;
                };
                list = (kind == "words").then(|| name.to_owned());
                if list.is_some() {
                    self.lists.entry(name.to_owned()).or_default();
                    continue;
                }
                let Some((_, kind)) = KINDS.iter().find(|(word, _)| *word == kind) else {
                    mistake("no such kind");
                    continue;
                };
                let (mut with, mut without) = (Vec::new(), Vec::new());
                let mut into = &mut with;
                for part in parts {
                    match part {
                        "with" => into = &mut with,
                        "without" => into = &mut without,
                        name => into.push(name.to_owned()),
                    }
                }
                self.by_kind.entry(*kind).or_default().push(self.rules.len());
                self.rules.push(Rule {
                    kind: *kind,
                    id: name.to_owned(),
                    with,
                    without,
                    patterns: Vec::new(),
                });
            } else if let Some(list) = list.as_ref().and_then(|list| self.lists.get_mut(list)) {
                entries(line).into_iter().for_each(|entry| list.add(&entry));
            } else if let Some(rule) = self.rules.last_mut() {
                match line.split_whitespace().map(element).collect::<Option<Vec<_>>>() {
                    Some(pattern) => rule.patterns.push(pattern),
                    None => mistake("no pattern"),
                }
            } else {
                mistake("before the first rule");
            }
        }
        mistakes
    }

    /// The rules of a kind that match the clause, with where each begins first.
    pub fn matches<'a>(
        &'a self,
        kind: Kind,
        words: &'a [String],
    ) -> impl Iterator<Item = (&'a Rule, std::ops::Range<usize>)> + 'a {
        self.of(kind).filter_map(move |(_, rule)| {
            let found = self.found(rule, words).min_by_key(|range| range.start);
            Some((rule, found?))
        })
    }

    /// The first rule of one of the kinds that matches, in the order of the tables.
    pub fn first(&self, kinds: &[Kind], words: &[String]) -> Option<(&Rule, std::ops::Range<usize>)> {
        let found = |kind: &Kind| {
            let mut rules = self.of(*kind);
            rules.find_map(|(place, rule)| Some((place, rule, self.find(rule, words)?)))
        };
        let first = kinds.iter().filter_map(found).min_by_key(|(place, ..)| *place);
        first.map(|(_, rule, range)| (rule, range))
    }

    /// The rules of a kind with their places.
    fn of(&self, kind: Kind) -> impl Iterator<Item = (usize, &Rule)> {
        let places = self.by_kind.get(&kind).into_iter().flatten();
        places.filter_map(|place| Some((*place, self.rules.get(*place)?)))
    }

    /// Whether a word of the list stands in the clause.
    pub fn has(&self, list: &str, words: &[String]) -> bool {
        (0..words.len()).any(|at| self.length(list, &words[at..]).is_some())
    }

    /// How many words of the list stand in the clause.
    pub fn count(&self, list: &str, words: &[String]) -> usize {
        (0..words.len()).filter(|at| self.length(list, &words[*at..]).is_some()).count()
    }

    /// Number of words of the longest entry of the list that `words` begins with.
    pub fn length(&self, list: &str, words: &[String]) -> Option<usize> {
        let (list, first) = (self.lists.get(list)?, words.first()?);
        let entries = list.by_first.get(first).map(Vec::as_slice).unwrap_or_default();
        let whole = entries.iter().filter(|entry| words.starts_with(entry)).map(Vec::len).max();
        whole.or_else(|| list.stems.iter().any(|stem| first.starts_with(stem.as_str())).then_some(1))
    }

    fn find(&self, rule: &Rule, words: &[String]) -> Option<std::ops::Range<usize>> {
        self.found(rule, words).next()
    }

    /// Where the patterns of the rule match, in their order.
    fn found<'a>(
        &'a self,
        rule: &'a Rule,
        words: &'a [String],
    ) -> impl Iterator<Item = std::ops::Range<usize>> + 'a {
        let applies = rule.with.iter().all(|list| self.has(list, words))
            && !rule.without.iter().any(|list| self.has(list, words));
        let patterns = if applies { rule.patterns.as_slice() } else { &[] };
        patterns.iter().filter(|pattern| may_match(pattern, words)).filter_map(move |pattern| {
            (0..=words.len()).find_map(|from| Some(from..self.end(pattern, words, from)?))
        })
    }

    /// Where a match of the pattern that begins at `at` ends.
    fn end(&self, pattern: &[Element], words: &[String], at: usize) -> Option<usize> {
        let Some((element, rest)) = pattern.split_first() else { return Some(at) };
        match element {
            // What stands after a colon begins anew.
            Element::Start => {
                let begins = at == 0 || words.get(at - 1).is_some_and(|word| word == ":");
                begins.then(|| self.end(rest, words, at)).flatten()
            }
            Element::End => (at == words.len()).then(|| self.end(rest, words, at)).flatten(),
            Element::Gap(most) => {
                let to = words.len().min(at.saturating_add(*most));
                (at..=to).find_map(|at| self.end(rest, words, at))
            }
            Element::One { any, optional } => {
                let here = words.get(at..).unwrap_or_default();
                let taken = any.iter().filter_map(|alternative| self.taken(alternative, here));
                let found = taken.into_iter().find_map(|taken| self.end(rest, words, at + taken));
                found.or_else(|| optional.then(|| self.end(rest, words, at)).flatten())
            }
        }
    }

    fn taken(&self, alternative: &Alternative, words: &[String]) -> Option<usize> {
        let first = words.first()?;
        match alternative {
            Alternative::Word(word) => (first == word).then_some(1),
            Alternative::Stem(stem) => first.starts_with(stem.as_str()).then_some(1),
            Alternative::List(list) => self.length(list, words),
            Alternative::Participle { german, but } => {
                (looks_like_participle(first, *german) && self.length(but, words).is_none()).then_some(1)
            }
            Alternative::Digits => first.contains(|c: char| c.is_ascii_digit()).then_some(1),
        }
    }
}

/// Whether the words hold what a pattern cannot do without: most patterns are ruled out by that.
fn may_match(pattern: &[Element], words: &[String]) -> bool {
    pattern.iter().all(|element| match element {
        Element::One { any, optional: false } => any.iter().any(|alternative| match alternative {
            Alternative::Word(word) => words.contains(word),
            _ => true,
        }),
        _ => true,
    })
}

impl List {
    fn add(&mut self, entry: &str) {
        let words: Vec<String> = entry.split(' ').map(fold).collect();
        match words.as_slice() {
            [word] if word.ends_with('*') => self.stems.push(word.trim_end_matches('*').to_owned()),
            [first, ..] => self.by_first.entry(first.clone()).or_default().push(words),
            [] => {}
        }
    }
}

/// The entries of a line of a word list; those of several words stand between quotation marks.
fn entries(line: &str) -> Vec<String> {
    let quoted = line.split('"').enumerate();
    let entries = quoted.flat_map(|(at, part)| match at % 2 {
        1 => vec![part.to_owned()],
        _ => part.split_whitespace().map(str::to_owned).collect(),
    });
    entries.collect()
}

fn looks_like_participle(word: &str, german: bool) -> bool {
    if german {
        let ending = word.ends_with('t') || word.ends_with("en");
        word.len() > 5
            && ((word.contains("ge") && ending && !word.ends_with("ungen")) || word.ends_with("iert"))
    } else {
        word.len() > 4 && word.ends_with("ed")
    }
}

fn element(text: &str) -> Option<Element> {
    match text {
        "^" => return Some(Element::Start),
        "$" => return Some(Element::End),
        ".." => return Some(Element::Gap(usize::MAX)),
        _ => {}
    }
    if let Some(most) = text.strip_prefix("..") {
        return Some(Element::Gap(most.parse().ok()?));
    }
    let (text, optional) = match text.strip_suffix('?') {
        Some(text) if !text.is_empty() => (text, true),
        _ => (text, false),
    };
    let any = match text.strip_prefix('{').map(|text| text.strip_suffix('}')) {
        Some(None) => return None,
        Some(Some("#")) => vec![Alternative::Digits],
        Some(Some("~en")) => vec![Alternative::Participle { german: false, but: "HARMLESS".to_owned() }],
        Some(Some("~de")) => vec![Alternative::Participle { german: true, but: "HARMLOS".to_owned() }],
        Some(Some(lists)) => lists
            .split('|')
            .map(|name| match name.chars().next() {
                Some(first) if first.is_lowercase() => Alternative::Word(fold(name)),
                _ => Alternative::List(name.to_owned()),
            })
            .collect(),
        None => text
            .split('|')
            .map(|word| match word.strip_suffix('*') {
                Some(stem) => Alternative::Stem(fold(stem)),
                None => Alternative::Word(fold(word)),
            })
            .collect(),
    };
    Some(Element::One { any, optional })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_have_no_mistake() {
        let mut grammar = Grammar::default();
        for table in TABLES {
            assert_eq!(grammar.add(table), Vec::<String>::new());
        }
        for rule in &grammar.rules {
            assert!(!rule.patterns.is_empty(), "{} has no pattern", rule.id);
            let lists = rule.patterns.iter().flatten().filter_map(|element| match element {
                Element::One { any, .. } => Some(any),
                _ => None,
            });
            let lists = lists.flatten().filter_map(|alternative| match alternative {
                Alternative::List(list) => Some(list),
                _ => None,
            });
            for list in lists.chain(&rule.with).chain(&rule.without) {
                assert!(grammar.lists.contains_key(list), "{}: no words {list}", rule.id);
            }
        }
    }

    #[test]
    fn a_pattern_has_alternatives_lists_gaps_and_ends() {
        let mut grammar = Grammar::default();
        let table = "words BE\n  is \"has been\"\ndone a without NEG\n  ^ the|a ..2 {BE} now? book* $\nwords NEG\n  not";
        assert_eq!(grammar.add(table), Vec::<String>::new());
        let holds = |text: &str| {
            let words: Vec<String> = text.split(' ').map(str::to_owned).collect();
            grammar.first(&[Kind::Done], &words).is_some()
        };
        assert!(holds("the room has been booked"));
        assert!(holds("note : the big room is now booked"));
        assert!(!holds("the room is booked today"));
        assert!(!holds("the room is not booked"));
    }
}
