//! A reply as sentences of plain words: without Markdown, code and quotations, in lower case, with
//! `ä` as `ae`, and with English contractions written out.

/// One sentence, list item, heading or row of a table.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sentence {
    /// Its words. `:` `,` `(` `)` and `--` are words of their own; `"` stands for a quotation.
    pub words: Vec<String>,
    /// It ends with a question mark.
    pub question: bool,
    /// It is an item of a list or a row of a table.
    pub item: bool,
}

/// What a reply says in words.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Plain {
    /// In order.
    pub sentences: Vec<Sentence>,
    /// Code or a quoted paragraph was left out.
    pub left_out: bool,
}

/// Bytes of a reply that are read: the head and the tail of a longer one say what came out.
const MOST: usize = 20_000;
/// Characters that a quotation within a line may have.
const QUOTATION: usize = 300;

/// Characters that are read of the word behind a full stop: no month has so many.
const FOLLOWING: usize = 32;

/// Takes a reply apart.
pub fn plain(reply: &str, months: impl Fn(&str) -> bool) -> Plain {
    let mut plain = Plain::default();
    let reply = reply.replace(['\u{a0}', '\u{202f}', '\u{2009}'], " ");
    let flat = flat_json(&reply);
    let lines = joined(flat.as_deref().unwrap_or(&reply), &mut plain.left_out);
    for line in lines {
        let (text, item) = without_markup(&line);
        for (sentence, question) in sentences(&text, &months) {
            let words = words(&sentence);
            if !words.is_empty() {
                plain.sentences.push(Sentence { words, question, item });
            }
        }
    }
    plain
}

/// Folds what is only a matter of spelling: case, umlauts, typographic apostrophes.
pub fn fold(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    for c in text.chars().flat_map(char::to_lowercase) {
        match c {
            'ä' => folded.push_str("ae"),
            'ö' => folded.push_str("oe"),
            'ü' => folded.push_str("ue"),
            'ß' => folded.push_str("ss"),
            'é' | 'è' => folded.push('e'),
            '’' | '‘' | 'ʼ' | '´' | '′' | '＇' => folded.push('\''),
            // The marks that follow a letter or an emoji and change only how it looks.
            '\u{0308}' => folded.push('e'),
            '\u{fe0f}' | '\u{200d}' | '\u{ad}' => {}
            c => folded.push(c),
        }
    }
    folded
}

/// A JSON object as lines `key: value`.
fn flat_json(reply: &str) -> Option<String> {
    let reply = reply.trim();
    if !reply.starts_with('{') {
        return None;
    }
    let serde_json::Value::Object(object) = serde_json::from_str(reply).ok()? else { return None };
    let lines = object.iter().map(|(key, value)| match value {
        serde_json::Value::String(text) => format!("{}: {text}", key.replace('_', " ")),
        other => format!("{}: {other}", key.replace('_', " ")),
    });
    Some(lines.collect::<Vec<_>>().join("\n"))
}

/// The lines of a text without code and quoted paragraphs; those that a sentence runs over are one.
fn joined(reply: &str, left_out: &mut bool) -> Vec<String> {
    let shortened;
    let reply = if reply.len() > MOST {
        let half =
            |at: usize| (at..reply.len()).find(|at| reply.is_char_boundary(*at)).unwrap_or(reply.len());
        let (head, tail) = (half(MOST / 2), half(reply.len() - MOST / 2));
        shortened = format!("{}\n{}", &reply[..head], &reply[tail..]);
        &shortened
    } else {
        reply
    };
    let mut lines: Vec<String> = Vec::new();
    let mut in_code = false;
    for line in reply.lines() {
        let line = line.trim();
        if line.starts_with("```") || line.starts_with("~~~") {
            in_code = !in_code;
            *left_out = true;
            lines.push(String::new());
        } else if in_code {
        } else if let Some(flat) = flat_json(line) {
            lines.extend(flat.lines().map(str::to_owned));
            lines.push(String::new());
        } else if line.starts_with('>') {
            *left_out = true;
            lines.push(String::new());
        } else {
            let goes_on = line.starts_with(|c: char| c.is_lowercase());
            match lines.last_mut().filter(|last| {
                goes_on && !last.is_empty() && !last.ends_with(['.', '!', '?', ':', '|']) && last.len() > 40
            }) {
                Some(last) => {
                    last.push(' ');
                    last.push_str(line);
                }
                None => lines.push(line.to_owned()),
            }
        }
    }
    lines
}

/// A line without its Markdown, and whether it is an item of a list or a row of a table.
fn without_markup(line: &str) -> (String, bool) {
    let (mut rest, mut item) = (line, false);
    rest = rest.trim_start_matches('#').trim_start();
    for mark in ["- ", "* ", "• ", "+ ", "– ", "— "] {
        if let Some(after) = rest.strip_prefix(mark) {
            (rest, item) = (after.trim_start(), true);
            break;
        }
    }
    let digits = rest.chars().take_while(char::is_ascii_digit).count();
    if (1..=2).contains(&digits)
        && let Some(after) = rest[digits..].strip_prefix(". ").or_else(|| rest[digits..].strip_prefix(") "))
        && !item
    {
        (rest, item) = (after.trim_start(), true);
    }
    let mut text = rest.to_owned();
    if text.starts_with('|') {
        item = true;
        let cells: Vec<&str> = text.trim_matches('|').split('|').map(str::trim).collect();
        if cells.iter().all(|cell| cell.chars().all(|c| matches!(c, '-' | ':' | ' '))) {
            return (String::new(), true);
        }
        text = cells.join(" : ");
    }
    for (mark, sign) in [("[x]", "✅"), ("[X]", "✅"), ("[ ]", "⬜")] {
        if item && text.starts_with(mark) {
            text = format!("{sign} {}", &text[mark.len()..]);
        }
    }
    (without_quotations(&without_pairs(&text)), item)
}

/// Without `**`, `__`, `~~` and what stands between the latter, HTML tags and the targets of links.
fn without_pairs(text: &str) -> String {
    let mut text = text.replace("**", "").replace("__", "");
    while let Some(from) = text.find("~~") {
        let to = text[from + 2..].find("~~").map_or(text.len(), |at| from + 2 + at + 2);
        text.replace_range(from..to, "");
    }
    while let Some(at) = text.find("](") {
        let to = text[at..].find(')').map_or(text.len(), |end| at + end + 1);
        text.replace_range(at..to, "");
    }
    let mut plain = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some(from) = rest.find('<') {
        let tag = rest[from + 1..].starts_with(|c: char| c.is_ascii_alphabetic() || c == '/');
        plain.push_str(&rest[..from]);
        match rest[from..].find('>').filter(|_| tag) {
            Some(to) => {
                plain.push(' ');
                rest = &rest[from + to + 1..];
            }
            None => {
                plain.push(' ');
                rest = &rest[from + 1..];
            }
        }
    }
    plain.push_str(rest);
    plain
}

/// Each quotation as the one word `"`. Code within a line is one where it has several words.
fn without_quotations(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let chars: Vec<char> = text.chars().collect();
    let mut at = 0;
    while let Some(&open) = chars.get(at) {
        let closes: &[char] = match open {
            '"' => &['"', '“', '”'],
            '“' => &['”', '"', '“'],
            '„' => &['“', '”', '"'],
            '«' => &['»'],
            '»' => &['«'],
            '`' => &['`'],
            _ => &[],
        };
        let inside = chars.get(at + 1..).unwrap_or_default();
        let end = inside.iter().take(QUOTATION).position(|c| closes.contains(c));
        match end {
            Some(end) if open == '`' && !inside[..end].contains(&' ') => {
                out.extend(inside[..end].iter().map(|c| if *c == '.' { '_' } else { *c }));
                at += end + 2;
            }
            // The full stop of what is quoted often ends the sentence, too.
            Some(end) => {
                out.push_str(" \" ");
                if inside[..end].last().is_some_and(|c| matches!(c, '.' | '!'))
                    && chars.get(at + end + 2).is_none_or(|c| *c == ' ')
                    && chars.get(at + end + 3).is_none_or(|c| c.is_uppercase())
                {
                    out.push_str(". ");
                }
                at += end + 2;
            }
            None => {
                out.push(if open == '`' { ' ' } else { open });
                at += 1;
            }
        }
    }
    out
}

/// Cuts a line into sentences; each with whether it is a question.
fn sentences(line: &str, months: impl Fn(&str) -> bool) -> Vec<(String, bool)> {
    let chars: Vec<char> = line.chars().collect();
    let (mut found, mut from) = (Vec::new(), 0);
    for (at, c) in chars.iter().enumerate() {
        let next = chars.get(at + 1);
        let at_end = next
            .is_none_or(|c| c.is_whitespace() || matches!(c, ')' | '"' | '*' | '_' | '.' | '!' | '?'))
            || next.is_some_and(|c| !c.is_alphanumeric() && !c.is_ascii());
        let ends = match c {
            '!' | '?' => at_end,
            ';' | '…' => true,
            '.' => {
                at_end
                    && !matches!(next, Some('?' | '!'))
                    && !is_abbreviation(&chars[from..at], &chars[at + 1..], &months)
            }
            _ => false,
        };
        if ends && at >= from {
            found.push((chars[from..at].iter().collect(), *c == '?'));
            from = at + 1;
        }
    }
    found.push((chars.get(from..).unwrap_or_default().iter().collect(), false));
    found.retain(|(text, _): &(String, bool)| text.chars().any(|c| !c.is_whitespace()));
    found
}

fn is_abbreviation(before: &[char], after: &[char], months: impl Fn(&str) -> bool) -> bool {
    let of_word = |c: &&char| c.is_alphanumeric() || **c == '.';
    let last: String = before.iter().rev().take_while(of_word).collect();
    let last = last.chars().rev().collect::<String>().to_lowercase();
    // A line can be one word of dots, and is asked at every one of them.
    let next = after.iter().skip_while(|c| c.is_whitespace()).take_while(of_word);
    let next: String = next.take(FOLLOWING).collect();
    if last.chars().all(|c| c.is_ascii_digit()) && !last.is_empty() {
        return months(&fold(&next));
    }
    const ALWAYS: &[&str] = &[
        "z.b", "z", "b", "d.h", "d", "u.a", "bzw", "nr", "dr", "mr", "mrs", "ms", "prof", "st", "e.g", "i.e",
        "ca", "inkl", "approx", "vs", "evtl", "ggf", "str", "hr", "fr",
    ];
    match last.as_str() {
        // `no.` is a number or a negation; `p.m.` may end a sentence.
        "no" | "ref" => next.starts_with(|c: char| c.is_ascii_digit()),
        "etc" | "usw" | "p.m" | "a.m" => next.starts_with(char::is_lowercase),
        last => ALWAYS.contains(&last),
    }
}

/// The folded words of a sentence.
fn words(sentence: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut open = String::new();
    let folded = fold(sentence);
    let chars: Vec<char> = folded.chars().collect();
    let inner = |at: usize| {
        let beside = |at: Option<usize>| at.and_then(|at| chars.get(at)).is_some_and(|c| c.is_alphanumeric());
        beside(at.checked_sub(1)) && beside(Some(at + 1))
    };
    for (at, c) in chars.iter().enumerate() {
        match c {
            c if c.is_alphanumeric() || *c == '_' => open.push(*c),
            '\'' | '-' | '.' | '/' | '@' | ':' | ',' if inner(at) && (*c != ',' || is_number(&chars, at)) => {
                open.push(*c);
            }
            c => {
                close(&mut open, &mut words);
                match c {
                    ':' | ',' | '(' | ')' | '"' => words.push(c.to_string()),
                    '–' | '—' | '-' | '→' => words.push("--".to_owned()),
                    c if !c.is_ascii() && !c.is_whitespace() => words.push(c.to_string()),
                    _ => {}
                }
            }
        }
    }
    close(&mut open, &mut words);
    words
}

fn is_number(chars: &[char], at: usize) -> bool {
    chars.get(at + 1).is_some_and(char::is_ascii_digit)
}

/// Adds a word, with its contraction written out.
fn close(open: &mut String, words: &mut Vec<String>) {
    if open.is_empty() {
        return;
    }
    let word = std::mem::take(open);
    let word = word.trim_matches('_');
    const WHOLE: &[(&str, &[&str])] = &[
        ("cannot", &["can", "not"]),
        ("can't", &["can", "not"]),
        ("cant", &["can", "not"]),
        ("won't", &["will", "not"]),
        ("shan't", &["shall", "not"]),
        ("ain't", &["is", "not"]),
        ("couldnt", &["could", "not"]),
        ("didnt", &["did", "not"]),
        ("doesnt", &["does", "not"]),
        ("dont", &["do", "not"]),
        ("wasnt", &["was", "not"]),
        ("isnt", &["is", "not"]),
        ("hasnt", &["has", "not"]),
        ("havent", &["have", "not"]),
        ("ive", &["i", "have"]),
        ("let's", &["let", "us"]),
    ];
    if let Some((_, parts)) = WHOLE.iter().find(|(whole, _)| *whole == word) {
        words.extend(parts.iter().map(|part| (*part).to_owned()));
        return;
    }
    const ENDS: &[(&str, &str)] =
        &[("n't", "not"), ("'ve", "have"), ("'re", "are"), ("'ll", "will"), ("'d", "would"), ("'m", "am")];
    for (end, full) in ENDS {
        if let Some(stem) = word.strip_suffix(end).filter(|stem| !stem.is_empty()) {
            words.extend([stem.to_owned(), (*full).to_owned()]);
            return;
        }
    }
    // `'s` is the verb after a pronoun and a mere ending after a name.
    if let Some(stem) = word.strip_suffix("'s") {
        words.push(stem.to_owned());
        const BEFORE_A_VERB: &[&str] = &[
            "it",
            "that",
            "there",
            "here",
            "he",
            "she",
            "what",
            "everything",
            "all",
            "this",
            "booking",
            "order",
            "payment",
            "refund",
            "appointment",
            "meeting",
            "invoice",
            "ticket",
        ];
        if BEFORE_A_VERB.contains(&stem) {
            words.push("is".to_owned());
        } else if ["gibt", "geht", "hat", "ist", "wird", "wurde"].contains(&stem) {
            words.push("es".to_owned());
        }
        return;
    }
    if !word.is_empty() {
        words.push(word.to_owned());
    }
}
