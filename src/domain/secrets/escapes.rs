//! Ways to write characters that leave the others as they are.

use super::view::{Builder, View};

/// Undoes what a backslash does in JSON, and in the strings of programs and shells. None where nothing
/// is written that way.
pub(super) fn backslash(view: &View<'_>) -> Option<View<'static>> {
    let bytes = view.bytes();
    if !bytes.contains(&b'\\') {
        return None;
    }
    let mut out = Builder::new(view);
    let mut at = 0;
    while let Some(byte) = bytes.get(at).copied() {
        let Some(following) = bytes.get(at + 1).copied().filter(|_| byte == b'\\') else {
            out.push(byte, at..at + 1);
            at += 1;
            continue;
        };
        let rest = bytes.get(at + 2..).unwrap_or_default();
        let simple = |out: &mut Builder<'_>, byte| {
            out.push(byte, at..at + 2);
            2
        };
        at += match following {
            b'n' => simple(&mut out, b'\n'),
            b't' => simple(&mut out, b'\t'),
            b'r' => simple(&mut out, b'\r'),
            b'b' => simple(&mut out, 8),
            b'f' => simple(&mut out, 12),
            // A line that goes on.
            b'\n' => 2,
            b'u' | b'U' | b'x' => match numbered(following, rest) {
                Some((Some(character), length)) => {
                    out.character(character, at..at + 2 + length);
                    2 + length
                }
                Some((None, length)) => {
                    let byte = hex_number(rest.get(..2).unwrap_or_default()).unwrap_or_default();
                    out.push(u8::try_from(byte).unwrap_or_default(), at..at + 2 + length);
                    2 + length
                }
                None => simple(&mut out, following),
            },
            other => simple(&mut out, other),
        };
    }
    Some(out.finish())
}

/// A character by its number, and how long the number is. No character: a byte of one.
fn numbered(kind: u8, rest: &[u8]) -> Option<(Option<char>, usize)> {
    if rest.first() == Some(&b'{') {
        let end = rest.iter().take(9).position(|byte| *byte == b'}')?;
        return Some((Some(char::from_u32(hex_number(rest.get(1..end)?)?)?), end + 1));
    }
    let length = match kind {
        b'x' => 2,
        b'u' => 4,
        _ => 8,
    };
    let number = hex_number(rest.get(..length)?)?;
    match kind {
        b'x' if number >= 0x80 => Some((None, 2)),
        b'u' if (0xD800..0xDC00).contains(&number) => {
            let low = rest.get(4..).filter(|rest| rest.starts_with(b"\\u")).and_then(|rest| rest.get(2..6));
            let low = low.and_then(hex_number).filter(|low| (0xDC00..0xE000).contains(low))?;
            let character = char::from_u32(0x10000 + ((number - 0xD800) << 10) + (low - 0xDC00))?;
            Some((Some(character), 10))
        }
        _ => Some((Some(char::from_u32(number)?), length)),
    }
}

fn hex_number(digits: &[u8]) -> Option<u32> {
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

/// Undoes `%41`.
pub(super) fn percent(view: &View<'_>) -> Option<View<'static>> {
    marked(view, b'%', |rest, at, out| {
        let decoded = rest.get(..2).and_then(hex_number).and_then(|number| u8::try_from(number).ok())?;
        out.push(decoded, at..at + 3);
        Some(3)
    })
}

/// A text in which `one` undoes what begins with a mark: it is told what follows the mark and where the
/// mark stands, and gives the length of what it undid, with the mark. None where it undid nothing.
fn marked(
    view: &View<'_>,
    mark: u8,
    one: impl Fn(&[u8], usize, &mut Builder<'_>) -> Option<usize>,
) -> Option<View<'static>> {
    let bytes = view.bytes();
    if !bytes.contains(&mark) {
        return None;
    }
    let mut out = Builder::new(view);
    let (mut at, mut changed) = (0, false);
    while let Some(byte) = bytes.get(at) {
        let rest = bytes.get(at + 1..).filter(|_| *byte == mark);
        match rest.and_then(|rest| one(rest, at, &mut out)) {
            Some(length) => {
                at += length;
                changed = true;
            }
            None => {
                out.push(*byte, at..at + 1);
                at += 1;
            }
        }
    }
    changed.then(|| out.finish())
}

/// The longest name of an entity that is known here.
const LONGEST_NAME: usize = 8;
/// Names for ASCII characters.
const ENTITIES: [(&str, char); 37] = [
    ("amp", '&'),
    ("lt", '<'),
    ("gt", '>'),
    ("quot", '"'),
    ("apos", '\''),
    ("nbsp", ' '),
    ("Tab", '\t'),
    ("NewLine", '\n'),
    ("excl", '!'),
    ("num", '#'),
    ("dollar", '$'),
    ("percnt", '%'),
    ("lpar", '('),
    ("rpar", ')'),
    ("ast", '*'),
    ("plus", '+'),
    ("comma", ','),
    ("hyphen", '-'),
    ("dash", '-'),
    ("period", '.'),
    ("sol", '/'),
    ("colon", ':'),
    ("semi", ';'),
    ("equals", '='),
    ("quest", '?'),
    ("commat", '@'),
    ("lsqb", '['),
    ("lbrack", '['),
    ("bsol", '\\'),
    ("rsqb", ']'),
    ("rbrack", ']'),
    ("Hat", '^'),
    ("lowbar", '_'),
    ("grave", '`'),
    ("lcub", '{'),
    ("verbar", '|'),
    ("rcub", '}'),
];

/// Undoes `&amp;`, `&#65;` and `&#x41;`.
pub(super) fn entities(view: &View<'_>) -> Option<View<'static>> {
    marked(view, b'&', |rest, at, out| {
        let (character, length) = entity(rest)?;
        out.character(character, at..at + 1 + length);
        Some(1 + length)
    })
}

/// The character that the text behind a `&` stands for, and that text's length.
fn entity(rest: &[u8]) -> Option<(char, usize)> {
    if rest.first() != Some(&b'#') {
        let end = rest.iter().take(LONGEST_NAME + 1).position(|byte| *byte == b';')?;
        let name = rest.get(..end)?;
        let (_, character) = ENTITIES.iter().find(|(known, _)| known.as_bytes() == name)?;
        return Some((*character, end + 1));
    }
    let hexadecimal = matches!(rest.get(1), Some(b'x' | b'X'));
    let from = if hexadecimal { 2 } else { 1 };
    let digits = rest.get(from..)?;
    let count = digits
        .iter()
        .take(LONGEST_NAME)
        .take_while(|byte| if hexadecimal { byte.is_ascii_hexdigit() } else { byte.is_ascii_digit() })
        .count();
    let digits = std::str::from_utf8(digits.get(..count)?).ok()?;
    let number = u32::from_str_radix(digits, if hexadecimal { 16 } else { 10 }).ok()?;
    let semicolon = usize::from(rest.get(from + count) == Some(&b';'));
    Some((char::from_u32(number)?, from + count + semicolon))
}

/// A text without its line breaks, and what indents the lines.
pub(super) fn line_breaks(view: &View<'_>) -> Option<View<'static>> {
    unbroken(view, None)
}

/// The same with a space in their place, as where whole words were wrapped.
pub(super) fn wrapped(view: &View<'_>) -> Option<View<'static>> {
    unbroken(view, Some(b' '))
}

fn unbroken(view: &View<'_>, by: Option<u8>) -> Option<View<'static>> {
    let bytes = view.bytes();
    let is_break = |byte: &u8| matches!(byte, b'\n' | b'\r');
    if !bytes.iter().any(is_break) {
        return None;
    }
    let mut out = Builder::new(view);
    let mut at = 0;
    while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
        let spaces = rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        if rest.iter().take(spaces).any(is_break) {
            by.iter().for_each(|by| out.push(*by, at..at + spaces));
            at += spaces;
            continue;
        }
        // All of the space at once: looked for anew at each of its bytes, it would take its square.
        for byte in rest.iter().take(spaces.max(1)) {
            out.push(*byte, at..at + 1);
            at += 1;
        }
    }
    Some(out.finish())
}

/// A text of two bytes a character, as one of one byte a character.
pub(super) fn wide(view: &View<'_>) -> Option<View<'static>> {
    let bytes = view.bytes();
    if !bytes.contains(&0) {
        return None;
    }
    let mut out = Builder::new(view);
    for (at, byte) in bytes.iter().enumerate().filter(|(_, byte)| **byte != 0) {
        out.push(*byte, at..at + 1);
    }
    Some(out.finish())
}
