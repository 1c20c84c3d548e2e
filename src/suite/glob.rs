//! Globs that name tools.

use super::decode::{At, Decoder};
use super::diagnostics::shown;

/// Whether a glob can match a tool; where it cannot, that is said.
pub(super) fn can_match(decoder: &mut Decoder, glob: &At<String>) -> bool {
    if glob.value.trim().is_empty() {
        decoder.error(glob.span.clone(), "a tool's name is not empty");
        return false;
    }
    if glob.value.contains(['?', '[', ']', '{', '}', '(', ')', '|', '^', '$']) {
        decoder
            .error(glob.span.clone(), format!("{} cannot match a tool", shown(&glob.value)))
            .help("`*` stands for any text and is the only special character");
        return false;
    }
    true
}
