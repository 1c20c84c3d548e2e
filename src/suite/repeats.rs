//! `repeats:` – a number, or a rule that ends early.

use super::MAX_REPEATS;
use super::decode::{Decoder, Shape};
use super::diagnostics::shown;
use super::tree::{Key, Kind, Node};

/// When a cell may have fewer runs than planned.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stopping {
    /// Runs that every cell has in any case.
    pub min: u32,
    /// What ends it after that.
    pub until: Until,
}

/// What is known well enough.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Until {
    /// The confidence sequence of the cell's fail rate is at most so wide to either side.
    HalfWidth(f64),
    /// Every comparison of the cell with and without a patch shows an effect.
    Decided,
}

const REPEATS: Shape = Shape::new("a rule for the repeats", &["min", "max", "until"]);
const UNTIL: Shape = Shape::new("what ends the repeats", &["half_width"]);

/// The most runs of a cell, and the rule that may end it earlier.
pub(super) fn read(decoder: &mut Decoder, key: &Key, node: &Node) -> Option<(u32, Option<Stopping>)> {
    let bounds = 1..=u64::from(MAX_REPEATS);
    if !matches!(node.kind, Kind::Map(_)) {
        let fixed = decoder.whole(node, "`repeats`", bounds).and_then(|n| u32::try_from(n).ok());
        return fixed.map(|fixed| (fixed, None));
    }
    let fields = decoder.fields(node, key.span.clone(), &REPEATS)?;
    let example = "repeats: {min: 5, max: 40, until: {half_width: 0.15}}";
    let number = |name: &str, decoder: &mut Decoder| {
        let (_, node) = decoder.required(&fields, name, example)?;
        decoder.whole(node, &format!("`{name}`"), bounds.clone()).and_then(|n| u32::try_from(n).ok())
    };
    let (min, max) = (number("min", decoder), number("max", decoder));
    let until = decoder.required(&fields, "until", example).and_then(|(key, node)| until(decoder, key, node));
    let (min, max, until) = (min?, max?, until?);
    if min > max
        && let Some((key, _)) = fields.entry("min")
    {
        decoder.error(key.span.clone(), format!("`min` is {min}, and `max` only {max}"));
        return None;
    }
    Some((max, Some(Stopping { min, until })))
}

fn until(decoder: &mut Decoder, key: &Key, node: &Node) -> Option<Until> {
    if let Kind::Scalar { text, .. } = &node.kind {
        if text == "decided" {
            return Some(Until::Decided);
        }
        decoder
            .error(node.span.clone(), format!("{} ends no repeats", shown(text)))
            .help("write `decided`, or `{half_width: 0.15}`");
        return None;
    }
    let fields = decoder.fields(node, key.span.clone(), &UNTIL)?;
    let (_, node) = decoder.required(&fields, "half_width", "until: {half_width: 0.15}")?;
    let width = decoder.probability(node)?;
    if width <= 0.0 || width >= 0.5 {
        decoder
            .error(node.span.clone(), format!("a half width of {width} is reached never or at once"))
            .help("a share above 0 and below 0.5, such as 0.15");
        return None;
    }
    Some(Until::HalfWidth(width))
}
