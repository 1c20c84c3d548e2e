//! A text as it reads once an encoding is undone, and where each of its bytes came from.

use std::borrow::Cow;
use std::ops::Range;

/// Between two pieces that do not touch: stands in no secret that is looked for in a decoded text.
const APART: u8 = 1;

/// Bytes and their places in the text that they were made of.
#[derive(Debug, Clone)]
pub(super) struct View<'t> {
    bytes: Cow<'t, [u8]>,
    /// Where each byte came from; absent where the view is the text itself.
    from: Option<Vec<(usize, usize)>>,
}

impl<'t> View<'t> {
    /// A text itself.
    pub(super) fn of(text: &'t [u8]) -> View<'t> {
        View { bytes: Cow::Borrowed(text), from: None }
    }

    /// What it reads.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The place of some of its bytes in the text.
    pub(super) fn place(&self, of: Range<usize>) -> Range<usize> {
        let Some(from) = &self.from else { return of };
        let first = from.get(of.start).map_or(0, |place| place.0);
        let last = of.end.checked_sub(1).and_then(|last| from.get(last)).map_or(first, |place| place.1);
        first..last.max(first)
    }

    /// A part of it.
    pub(super) fn part(&self, part: Range<usize>) -> View<'_> {
        View {
            bytes: Cow::Borrowed(self.bytes.get(part.clone()).unwrap_or_default()),
            from: Some(part.map(|at| self.place_of(at)).collect()),
        }
    }

    fn place_of(&self, at: usize) -> (usize, usize) {
        let place = self.place(at..at + 1);
        (place.start, place.end)
    }
}

/// Makes a view out of another one.
pub(super) struct Builder<'v> {
    source: &'v View<'v>,
    bytes: Vec<u8>,
    from: Vec<(usize, usize)>,
}

impl<'v> Builder<'v> {
    pub(super) fn new(source: &'v View<'v>) -> Builder<'v> {
        Builder { source, bytes: Vec::new(), from: Vec::new() }
    }

    /// One byte that says what `of` said in the source.
    pub(super) fn push(&mut self, byte: u8, of: Range<usize>) {
        let place = self.source.place(of);
        self.placed(byte, (place.start, place.end));
    }

    /// The same, where the place is known already.
    pub(super) fn placed(&mut self, byte: u8, place: (usize, usize)) {
        self.bytes.push(byte);
        self.from.push(place);
    }

    /// The bytes of a character.
    pub(super) fn character(&mut self, character: char, of: Range<usize>) {
        for byte in character.encode_utf8(&mut [0; 4]).bytes() {
            self.push(byte, of.clone());
        }
    }

    /// A text of its own.
    pub(super) fn text(&mut self, text: &View<'_>) {
        for (at, byte) in text.bytes().iter().enumerate() {
            self.placed(*byte, text.place_of(at));
        }
    }

    /// What comes next does not touch what was there.
    pub(super) fn apart(&mut self) {
        if self.bytes.last().is_some_and(|last| *last != APART) {
            let end = self.from.last().map_or(0, |place| place.1);
            self.placed(APART, (end, end));
        }
    }

    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Forgets all behind `len`.
    pub(super) fn truncate(&mut self, len: usize) {
        self.bytes.truncate(len);
        self.from.truncate(len);
    }

    pub(super) fn finish(self) -> View<'static> {
        View { bytes: Cow::Owned(self.bytes), from: Some(self.from) }
    }
}
