//! Ways to write bytes that leave nothing of them readable: Base64, hexadecimal, lists of numbers.
//!
//! Any text can be taken for one of these, and then says something by chance; only what could be a part
//! of a text is kept.

use super::view::{Builder, View};

/// What of decoded bytes can be text.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plausible {
    /// The fewest bytes in a row.
    pub(super) shortest: usize,
    /// Whether bytes beyond ASCII are text.
    pub(super) beyond_ascii: bool,
}

impl Plausible {
    fn is_text(self, byte: u8) -> bool {
        matches!(byte, b' '..=b'~' | b'\t' | b'\n' | b'\r' | 0) || self.beyond_ascii && byte >= 0x80
    }
}

/// Collects bytes, and keeps of them what can be text.
struct Texts<'v> {
    out: Builder<'v>,
    begun: usize,
    plausible: Plausible,
}

impl<'v> Texts<'v> {
    fn new(view: &'v View<'v>, plausible: Plausible) -> Texts<'v> {
        Texts { out: Builder::new(view), begun: 0, plausible }
    }

    fn push(&mut self, byte: u8, place: (usize, usize)) {
        if self.plausible.is_text(byte) {
            self.out.placed(byte, place);
        } else {
            self.end();
        }
    }

    /// What comes next does not follow on what was there.
    fn end(&mut self) {
        if self.out.len() - self.begun < self.plausible.shortest {
            self.out.truncate(self.begun);
        } else {
            self.out.apart();
        }
        self.begun = self.out.len();
    }

    fn finish(mut self) -> Option<View<'static>> {
        self.end();
        (self.out.len() > 0).then(|| self.out.finish())
    }
}

/// What stands at a place; behind the text, an end.
enum Read {
    /// A sign, which stands for so much.
    Sign(u8),
    /// Nothing: the next sign belongs to the same row.
    Between,
    /// The end of a row.
    End,
}

/// Undoes Base64 of both alphabets, whatever space is in it, wherever its groups begin: a view for each
/// of the four places.
pub(super) fn base64(view: &View<'_>, plausible: Plausible) -> Vec<View<'static>> {
    let read = |bytes: &[u8], at: usize| match bytes.get(at).copied().unwrap_or_default() {
        byte @ b'A'..=b'Z' => Read::Sign(byte - b'A'),
        byte @ b'a'..=b'z' => Read::Sign(byte - b'a' + 26),
        byte @ b'0'..=b'9' => Read::Sign(byte - b'0' + 52),
        b'+' | b'-' => Read::Sign(62),
        b'/' | b'_' => Read::Sign(63),
        byte if byte.is_ascii_whitespace() => Read::Between,
        _ => Read::End,
    };
    let byte = |at: usize, first: u8, second: u8| match at {
        0 => first << 2 | second >> 4,
        1 => first << 4 | second >> 2,
        _ => first << 6 | second,
    };
    rows(view, plausible, (4, plausible.shortest * 4 / 3), read, byte)
}

/// Undoes hexadecimal, whatever stands between the digits: spaces, colons, commas, quotes, `0x`. Two
/// views, since the first digit of a row can be the second of a byte.
pub(super) fn hexadecimal(view: &View<'_>, plausible: Plausible) -> Vec<View<'static>> {
    let read = |bytes: &[u8], at: usize| match bytes.get(at).copied().unwrap_or_default() {
        b'0' if matches!(bytes.get(at + 1), Some(b'x' | b'X')) => Read::Between,
        b'x' | b'X' if at > 0 && bytes.get(at - 1) == Some(&b'0') => Read::Between,
        byte @ b'0'..=b'9' => Read::Sign(byte - b'0'),
        byte @ b'a'..=b'f' => Read::Sign(byte - b'a' + 10),
        byte @ b'A'..=b'F' => Read::Sign(byte - b'A' + 10),
        b':' | b',' | b'-' | b'.' | b'_' | b'"' | b'\'' => Read::Between,
        byte if byte.is_ascii_whitespace() => Read::Between,
        _ => Read::End,
    };
    rows(view, plausible, (2, plausible.shortest * 2), read, |_, high, low| high << 4 | low)
}

/// What every row of signs says, where it is long enough: a view for each sign of it that can begin a group.
/// Two signs that follow one another in a group make a byte; which one, `byte` tells by the place of the first.
fn rows(
    view: &View<'_>,
    plausible: Plausible,
    (group, fewest): (usize, usize),
    read: impl Fn(&[u8], usize) -> Read,
    byte: impl Fn(usize, u8, u8) -> u8,
) -> Vec<View<'static>> {
    let mut texts: Vec<Texts<'_>> = (0..group).map(|_| Texts::new(view, plausible)).collect();
    let mut signs: Vec<(u8, (usize, usize))> = Vec::new();
    let bytes = view.bytes();
    for at in 0..=bytes.len() {
        match read(bytes, at) {
            Read::Sign(value) => {
                let place = view.place(at..at + 1);
                signs.push((value, (place.start, place.end)));
                continue;
            }
            Read::Between => continue,
            Read::End if signs.len() < fewest => {}
            Read::End => {
                for (skipped, text) in texts.iter_mut().enumerate() {
                    for signs in signs.get(skipped..).unwrap_or_default().chunks(group) {
                        for (at, pair) in signs.windows(2).enumerate() {
                            let [first, second] = pair else { continue };
                            text.push(byte(at, first.0, second.0), (first.1.0, second.1.1));
                        }
                    }
                    text.end();
                }
            }
        }
        signs.clear();
    }
    texts.into_iter().filter_map(Texts::finish).collect()
}

/// Undoes a list of decimal numbers, as some programs print bytes: `[115, 107, 45]`.
pub(super) fn decimal(view: &View<'_>, plausible: Plausible) -> Option<View<'static>> {
    let bytes = view.bytes();
    let mut text = Texts::new(view, plausible);
    let mut at = 0;
    let mut between = false;
    while let Some(byte) = bytes.get(at) {
        let digits = bytes.get(at..).unwrap_or_default();
        let count = digits.iter().take(4).take_while(|byte| byte.is_ascii_digit()).count();
        let number = digits.get(..count).and_then(|digits| std::str::from_utf8(digits).ok());
        match number.and_then(|number| number.parse::<u8>().ok()) {
            Some(number) => {
                let place = view.place(at..at + count);
                text.push(number, (place.start, place.end));
                at += count;
                between = false;
            }
            None => {
                // One comma or some space; anything else ends the list.
                let comma = matches!(byte, b',' | b';');
                if !(byte.is_ascii_whitespace() || comma && !between) {
                    text.end();
                }
                between |= comma;
                at += count.max(1);
            }
        }
    }
    text.finish()
}
