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

/// A sign of an encoding, and its place.
type Sign = (u8, (usize, usize));

/// Undoes Base64 of both alphabets, whatever space is in it, wherever its groups begin: a view for each
/// of the four places.
pub(super) fn base64<'v>(view: &'v View<'v>, plausible: Plausible) -> Vec<View<'static>> {
    let mut texts: Vec<Texts<'v>> = (0..4).map(|_| Texts::new(view, plausible)).collect();
    let fewest = plausible.shortest * 4 / 3;
    let mut signs: Vec<Sign> = Vec::new();
    let mut decode = |signs: &mut Vec<Sign>| {
        if signs.len() >= fewest {
            for (skipped, text) in texts.iter_mut().enumerate() {
                for group in signs.get(skipped..).unwrap_or_default().chunks(4) {
                    for pair in group.windows(2).enumerate() {
                        let (at, [first, second]) = pair else { continue };
                        let byte = match at {
                            0 => first.0 << 2 | second.0 >> 4,
                            1 => first.0 << 4 | second.0 >> 2,
                            _ => first.0 << 6 | second.0,
                        };
                        text.push(byte, (first.1.0, second.1.1));
                    }
                }
                text.end();
            }
        }
        signs.clear();
    };
    for (at, byte) in view.bytes().iter().enumerate() {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            byte if byte.is_ascii_whitespace() => continue,
            _ => {
                decode(&mut signs);
                continue;
            }
        };
        let place = view.place(at..at + 1);
        signs.push((value, (place.start, place.end)));
    }
    decode(&mut signs);
    texts.into_iter().filter_map(Texts::finish).collect()
}

/// Undoes hexadecimal, whatever stands between the digits: spaces, colons, commas, quotes, `0x`. Two
/// views, since the first digit of a row can be the second of a byte.
pub(super) fn hexadecimal<'v>(view: &'v View<'v>, plausible: Plausible) -> Vec<View<'static>> {
    let mut texts: Vec<Texts<'v>> = (0..2).map(|_| Texts::new(view, plausible)).collect();
    let mut signs: Vec<Sign> = Vec::new();
    let mut decode = |signs: &mut Vec<Sign>| {
        if signs.len() >= plausible.shortest * 2 {
            for (skipped, text) in texts.iter_mut().enumerate() {
                for pair in signs.get(skipped..).unwrap_or_default().chunks_exact(2) {
                    let [high, low] = pair else { continue };
                    text.push(high.0 << 4 | low.0, (high.1.0, low.1.1));
                }
                text.end();
            }
        }
        signs.clear();
    };
    let bytes = view.bytes();
    for (at, byte) in bytes.iter().enumerate() {
        let value = match byte {
            b'0' if matches!(bytes.get(at + 1), Some(b'x' | b'X')) => continue,
            b'x' | b'X' if at > 0 && bytes.get(at - 1) == Some(&b'0') => continue,
            b'0'..=b'9' => byte - b'0',
            b'a'..=b'f' => byte - b'a' + 10,
            b'A'..=b'F' => byte - b'A' + 10,
            b':' | b',' | b'-' | b'.' | b'_' | b'"' | b'\'' => continue,
            byte if byte.is_ascii_whitespace() => continue,
            _ => {
                decode(&mut signs);
                continue;
            }
        };
        let place = view.place(at..at + 1);
        signs.push((value, (place.start, place.end)));
    }
    decode(&mut signs);
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
