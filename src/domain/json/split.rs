//! The arguments of a call without its idempotency keys (J2).

use super::super::RawJson;
use super::canonical;
use super::tree::{Node, Tree, unescape};

/// The arguments of one call, taken apart by J2.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Split {
    /// Canonical form of the arguments without key fields. Two calls of one tool are the same
    /// operation exactly where these are equal.
    pub operation: String,
    /// The key fields in the order in which they were sent: name as sent, canonical value.
    pub keys: Vec<(String, String)>,
    /// The arguments as sent, without the key fields; for display.
    pub rest: RawJson,
}

/// Takes the key fields out of the arguments: on the top level only, names compared without
/// case, `-` and `_`. No arguments are the same as `{}`, and so is `null`, which some clients send
/// for them; arguments that are no object have no key fields.
pub fn split_keys(arguments: Option<&RawJson>, key_fields: &[String]) -> Split {
    let arguments = arguments.filter(|arguments| arguments.get() != "null");
    let text = arguments.map_or("{}", RawJson::get);
    let names = fold_key_names(key_fields);
    let mut kept = String::new();
    let mut keys: Vec<(String, String)> = Vec::new();
    for member in members(text) {
        let name = member.name().unwrap_or_default();
        if names.contains(&fold_key_name(&name)) {
            keys.retain(|(earlier, _)| *earlier != name);
            keys.push((name, canonical(member.value)));
        } else {
            kept.push(if kept.is_empty() { '{' } else { ',' });
            kept.push_str(member.text);
        }
    }
    kept.push_str(if kept.is_empty() { "{}" } else { "}" });
    match RawJson::parse(&kept) {
        Ok(rest) if !keys.is_empty() => Split { operation: canonical(&kept), keys, rest },
        _ => {
            let rest = arguments.cloned().or_else(|| RawJson::parse(text).ok());
            Split { operation: canonical(text), keys: Vec::new(), rest: rest.unwrap_or_else(RawJson::null) }
        }
    }
}

/// The names to look for, as [`fold_key_name`] makes them. A name of only `-` and `_` is none.
pub(crate) fn fold_key_names(key_fields: &[String]) -> Vec<String> {
    key_fields.iter().map(|name| fold_key_name(name)).filter(|name| !name.is_empty()).collect()
}

/// What is compared of a field's name (J2).
pub(crate) fn fold_key_name(name: &str) -> String {
    name.chars().filter(|c| !matches!(c, '-' | '_')).flat_map(char::to_lowercase).collect()
}

/// One member of the outermost object, as it was written.
struct Member<'t> {
    text: &'t str,
    key: &'t str,
    value: &'t str,
}

impl Member<'_> {
    fn name(&self) -> Option<String> {
        let plain = self.key.trim().strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
        if let Some(name) = plain.filter(|name| !name.contains('\\')) {
            return Some(name.to_owned());
        }
        let tree = Tree::parse(self.key)?;
        match tree.node(tree.root()) {
            Node::String(escaped) => Some(unescape(escaped)),
            _ => None,
        }
    }
}

/// The members of the object that `text` is; none where it is something else. Counts on the
/// text being JSON.
fn members(text: &str) -> Vec<Member<'_>> {
    let mut found = Vec::new();
    let Some(inside) = text.trim().strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) else {
        return found;
    };
    let (mut depth, mut quoted, mut escaped) = (0_usize, false, false);
    let (mut start, mut colon) = (0, None);
    let mut add = |start: usize, colon: Option<usize>, end: usize| {
        if let (Some(text), Some(colon)) = (inside.get(start..end), colon)
            && let (Some(key), Some(value)) = (inside.get(start..colon), inside.get(colon + 1..end))
        {
            found.push(Member { text: text.trim_end(), key, value });
        }
    };
    for (at, byte) in inside.bytes().enumerate() {
        if quoted {
            quoted = escaped || byte != b'"';
            escaped = !escaped && byte == b'\\';
            continue;
        }
        match byte {
            b'"' => quoted = true,
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            b':' if depth == 0 && colon.is_none() => colon = Some(at),
            b',' if depth == 0 => {
                add(start, colon, at);
                (start, colon) = (at + 1, None);
            }
            _ => {}
        }
    }
    add(start, colon, inside.len());
    found
}
