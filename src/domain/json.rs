//! JSON text compared as values (J1), and arguments taken apart into operation and keys (J2).
//!
//! Works on the text itself: nothing is rounded, dropped or nested too deeply, as it would be
//! by a parse into machine numbers and a recursive value. No function here recurses.

mod number;
mod split;
mod tree;

#[cfg(test)]
mod tests;

use sha2::{Digest, Sha256};

pub(crate) use number::push_value as push_number_value;
pub use split::{Split, split_keys};
pub(crate) use split::{fold_key_name, fold_key_names};
pub(crate) use tree::{Node, Tree, unescape};

/// The canonical form of a JSON text: two texts have the same one exactly where J1 calls their
/// values equal. It is itself JSON, without white space, with sorted keys; of keys sent twice
/// the last counts, as in the parsers behind the proxy.
///
/// Text that is not one JSON value comes back as it is, so that it equals only itself. So does
/// text of more than 512 MiB.
pub fn canonical(text: &str) -> String {
    match Tree::parse(text) {
        Some(tree) => tree.canonical(),
        None => text.to_owned(),
    }
}

/// SHA-256 of [`canonical`], as 64 lower-case hexadecimal digits.
pub fn digest(text: &str) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut out = String::with_capacity(64);
    for byte in Sha256::digest(canonical(text).as_bytes()) {
        for half in [byte >> 4, byte & 15] {
            out.push(char::from(DIGITS.get(usize::from(half)).copied().unwrap_or(b'?')));
        }
    }
    out
}
