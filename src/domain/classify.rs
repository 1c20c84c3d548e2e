//! Which tools write, which read, and which nobody can tell (C1–C6).

use super::json::{Node, Tree, fold_key_name, fold_key_names};
use super::{ToolClass, ToolInfo};
use serde_json::value::RawValue;
use std::fmt;

/// The name patterns of writes (C4) where `--write-tools` gives no others.
pub const DEFAULT_WRITE_PATTERNS: [&str; 26] = [
    "write*",
    "create_*",
    "send_*",
    "submit_*",
    "post_*",
    "update_*",
    "insert_*",
    "book_*",
    "pay_*",
    "charge_*",
    "cancel_*",
    "delete_*",
    "confirm_*",
    "place_*",
    "add_*",
    "register_*",
    "schedule_*",
    "transfer_*",
    "refund_*",
    "reserve_*",
    "issue_*",
    "remove_*",
    "withdraw_*",
    "deposit_*",
    "purchase_*",
    "approve_*",
];

/// The first words of reads (C5).
pub const READ_PREFIXES: [&str; 15] = [
    "get", "list", "read", "search", "find", "fetch", "look_up", "lookup", "query", "check", "show",
    "describe", "count", "view", "status",
];

/// Prefixes of writes that begin like a read (C5).
pub const WRONG_GUESSES: [&str; 2] = ["check_in", "check_out"];

/// How the reason of a tool ends that both flags name.
const NAMED_TWICE: &str = "both name it";

/// Sorts an upstream's tools into classes.
#[derive(Debug, Clone)]
pub struct Classifier {
    write_globs: Option<Vec<String>>,
    read_globs: Vec<String>,
    key_names: Vec<String>,
}

/// A tool that both flags name: an error at start (C2).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// The tool.
    pub tool: String,
    /// The first glob of `--write-tools` that matches it.
    pub write_glob: String,
    /// The first glob of `--read-tools` that matches it.
    pub read_glob: String,
}

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "tool {} is named by --write-tools {} and by --read-tools {}; let only one of them name it",
            self.tool, self.write_glob, self.read_glob
        )
    }
}

impl Classifier {
    /// `write_globs` replaces the default write patterns (none: keep them), `read_globs` adds
    /// to the read prefixes; `*` is the only wild card and case counts (C2). `key_fields` are
    /// the names of key fields (J2), looked for in the tools' schemas.
    pub fn new(
        write_globs: Option<Vec<String>>,
        read_globs: Vec<String>,
        key_fields: Vec<String>,
    ) -> Classifier {
        Classifier { write_globs, read_globs, key_names: fold_key_names(&key_fields) }
    }

    /// The class of one entry of a `tools/list` answer, as the upstream wrote it. None where it
    /// is no object with a string as `name`: such a tool cannot be called.
    pub fn classify(&self, tool: &RawValue) -> Option<ToolInfo> {
        let tree = Tree::parse(tool.get())?;
        let name = string(&tree, tree.field(tree.root(), "name")?)?;
        let (class, reason) =
            self.by_flag(&name).or_else(|| by_annotation(&tree)).unwrap_or_else(|| self.by_name(&name));
        Some(ToolInfo { class, reason, key_fields: self.key_fields(&tree), tool: name })
    }

    /// The tools that both flags name (C2), in the order given.
    pub fn conflicts<S: AsRef<str>>(&self, tools: &[S]) -> Vec<Conflict> {
        let conflict = |tool: &S| {
            let tool = tool.as_ref();
            let (write_glob, read_glob) = (self.write_flag(tool)?, first_match(&self.read_globs, tool)?);
            Some(Conflict {
                tool: tool.to_owned(),
                write_glob: write_glob.to_owned(),
                read_glob: read_glob.to_owned(),
            })
        };
        tools.iter().filter_map(conflict).collect()
    }

    fn write_flag(&self, name: &str) -> Option<&str> {
        first_match(self.write_globs.as_deref().unwrap_or_default(), name)
    }

    fn by_flag(&self, name: &str) -> Option<(ToolClass, String)> {
        match (self.write_flag(name), first_match(&self.read_globs, name)) {
            (None, None) => None,
            (Some(glob), None) => Some((ToolClass::Write, format!("flag --write-tools {glob}"))),
            (None, Some(glob)) => Some((ToolClass::Read, format!("flag --read-tools {glob}"))),
            // A tool of a later list can still be named twice; neither flag is then to be believed.
            (Some(write), Some(read)) => Some((
                ToolClass::Unclassified,
                format!("flags --write-tools {write} and --read-tools {read} {NAMED_TWICE}"),
            )),
        }
    }

    fn by_name(&self, name: &str) -> (ToolClass, String) {
        let words = words(name);
        if self.write_globs.is_none() {
            let matches = |pattern: &&str| glob(pattern, name) || glob(pattern, &words);
            if let Some(pattern) = DEFAULT_WRITE_PATTERNS.into_iter().find(matches) {
                return (ToolClass::Write, format!("default write pattern {pattern}"));
            }
        }
        if let Some(guess) = WRONG_GUESSES.into_iter().find(|guess| begins_with_words(&words, guess)) {
            return (ToolClass::Unclassified, format!("{guess}_* looks like a read and is often a write"));
        }
        match READ_PREFIXES.into_iter().find(|prefix| begins_with_words(&words, prefix)) {
            Some(prefix) => (ToolClass::Read, format!("read prefix {prefix}")),
            None => (ToolClass::Unclassified, "no annotation, no pattern match".to_owned()),
        }
    }

    fn key_fields(&self, tree: &Tree) -> Vec<String> {
        let properties =
            tree.field(tree.root(), "inputSchema").and_then(|schema| tree.field(schema, "properties"));
        let names = properties.into_iter().flat_map(|properties| tree.children(properties));
        names
            .filter_map(|(escaped, _)| characters(escaped))
            .filter(|name| self.key_names.contains(&fold_key_name(name)))
            .collect()
    }
}

/// What to tell the user of the command line about a tool at start (C5, C6); none where its class
/// is known.
pub fn warning(info: &ToolInfo) -> Option<String> {
    let tool = &info.tool;
    let hint = if info.reason.ends_with(NAMED_TWICE) {
        "Let only one of the two flags name it".to_owned()
    } else {
        format!(
            "--read-tools {tool} makes it a read, --write-tools {tool} a write; \
             --write-tools replaces the default patterns, so name your other writes there too"
        )
    };
    unclassified(info, &hint)
}

/// The same for the author of a suite, whose upstream lists the tool.
pub fn warning_in_suite(upstream: &str, info: &ToolInfo) -> Option<String> {
    let tool = &info.tool;
    let hint = if info.reason.ends_with(NAMED_TWICE) {
        "Let only one of `tools.write` and `tools.read` name it".to_owned()
    } else {
        format!(
            "In the suite, `tools: {{read: [{tool}]}}` beside the upstream's command makes it a read, \
             `tools: {{write: [{tool}]}}` a write; `write` replaces the default patterns, so name your other \
             writes there too"
        )
    };
    unclassified(info, &hint).map(|warning| format!("upstream {upstream}: {warning}"))
}

fn unclassified(info: &ToolInfo, hint: &str) -> Option<String> {
    let ToolInfo { tool, reason, class, .. } = info;
    (*class == ToolClass::Unclassified).then(|| {
        format!("tool {tool} is unclassified ({reason}): its calls are passed through and not judged. {hint}")
    })
}

fn by_annotation(tree: &Tree) -> Option<(ToolClass, String)> {
    let annotations = tree.field(tree.root(), "annotations")?;
    let hint = |name: &str| match tree.node(tree.field(annotations, name)?) {
        Node::Bool(value) => Some(value),
        _ => None,
    };
    let class = |class, reason: &str| Some((class, format!("annotation {reason}")));
    match (hint("readOnlyHint"), hint("destructiveHint")) {
        (Some(true), _) => class(ToolClass::Read, "readOnlyHint=true"),
        (Some(false), _) => class(ToolClass::Write, "readOnlyHint=false"),
        (None, Some(true)) => class(ToolClass::Write, "destructiveHint=true"),
        (None, _) => None,
    }
}

fn string(tree: &Tree, node: usize) -> Option<String> {
    match tree.node(node) {
        Node::String(escaped) => characters(escaped),
        _ => None,
    }
}

/// None where a lone surrogate is among them: no Unicode text can carry it.
fn characters(escaped: &str) -> Option<String> {
    serde_json::from_str(&format!("\"{escaped}\"")).ok()
}

fn first_match<'g>(globs: &'g [String], name: &str) -> Option<&'g str> {
    globs.iter().map(String::as_str).find(|pattern| glob(pattern, name))
}

/// Whether the whole name matches; `*` stands for any characters, also for none. Pieces between
/// stars are taken at their first place, which suffices, so that nothing is tried twice.
pub(crate) fn glob(pattern: &str, name: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else {
        return pattern == name;
    };
    let Some(mut name) = name.strip_prefix(first) else {
        return false;
    };
    let (middle, last) = rest.rsplit_once('*').unwrap_or(("", rest));
    for piece in middle.split('*') {
        match name.split_once(piece) {
            Some((_, after)) => name = after,
            None => return false,
        }
    }
    name.ends_with(last)
}

/// The part of a name after its last dot, with camelCase and kebab-case turned into snake_case:
/// `bookings.createHTTPBooking` → `create_http_booking`.
fn words(name: &str) -> String {
    let name = name.rsplit('.').next().unwrap_or(name);
    let mut out = String::with_capacity(name.len() + 4);
    let mut before: Option<char> = None;
    let mut characters = name.chars().peekable();
    while let Some(character) = characters.next() {
        let next_is_small = characters.peek().is_some_and(|next| next.is_lowercase());
        let begins_a_word = character.is_uppercase()
            && before.is_some_and(|before| {
                before.is_lowercase() || before.is_numeric() || (before.is_uppercase() && next_is_small)
            });
        if begins_a_word {
            out.push('_');
        }
        match character {
            '-' => out.push('_'),
            _ => out.extend(character.to_lowercase()),
        }
        before = Some(character);
    }
    out
}

fn begins_with_words(words: &str, prefix: &str) -> bool {
    words.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
}

#[cfg(test)]
mod tests;
