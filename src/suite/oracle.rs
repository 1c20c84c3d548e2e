//! `oracle:` of an upstream: how the runner learns what it really holds, before and after a run.
//!
//! ```yaml
//! oracle: {command: [python3, count.py, "{{ run.dir }}/memory.jsonl"]}
//! oracle: {tool: list_tasks, args: {status: all}, records: /tasks}
//! oracle: {sqlite: "{{ run.dir }}/app.db", query: "SELECT * FROM orders"}
//! ```

use super::decode::{Decoder, Fields, Shape};
use super::diagnostics::shown;
use super::effects::{self, Wanted};
use super::template::{self, Names};
use super::tree::{Key, Node};

/// How the runner learns what an upstream really holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Oracle {
    /// A program that prints a JSON list of records, or their number.
    Command {
        /// Program and arguments, each a template.
        command: Vec<String>,
    },
    /// A read tool of the upstream itself.
    Tool {
        /// Its name.
        tool: String,
        /// Its arguments.
        args: Vec<(String, Wanted)>,
        /// JSON Pointer to the records in its answer; empty for all of it.
        records: String,
    },
    /// A query of an SQLite file.
    Sqlite {
        /// Template of the file's path.
        file: String,
        /// The query; every row is a record.
        query: String,
    },
}

const ORACLE: Shape = Shape::new("an oracle", &["command", "tool", "args", "records", "sqlite", "query"])
    .hints(&[
        ("sql", "the file stands under `sqlite`, the query under `query`"),
        ("path", "the file stands under `sqlite`"),
        ("url", "an oracle is a `command`, a `tool` or an `sqlite` file"),
    ]);

/// Reads `oracle:`.
pub(super) fn read(decoder: &mut Decoder, key: &Key, node: &Node, names: &Names) -> Option<Oracle> {
    let fields = decoder.fields(node, key.span.clone(), &ORACLE)?;
    let given: Vec<_> =
        ["command", "tool", "sqlite"].iter().filter_map(|kind| Some((*kind, fields.entry(kind)?))).collect();
    let (kind, node) = match given.as_slice() {
        [(kind, (_, node))] => (*kind, *node),
        [] => {
            decoder
                .error(key.span.clone(), "an oracle needs `command`, `tool` or `sqlite`")
                .help("for example `{command: [python3, count.py, \"{{ run.dir }}/data.json\"]}`");
            return None;
        }
        [(_, (first, _)), (_, (second, _)), ..] => {
            decoder
                .error(second.span.clone(), "an oracle is one of `command`, `tool` and `sqlite`")
                .related(first.span.clone(), "the other one");
            return None;
        }
    };
    for (field, partner) in [("args", "tool"), ("records", "tool"), ("query", "sqlite")] {
        if kind != partner
            && let Some((key, _)) = fields.entry(field)
        {
            decoder.error(key.span.clone(), format!("{} goes only with {}", shown(field), shown(partner)));
        }
    }
    match kind {
        "command" => command(decoder, node, names),
        "tool" => tool(decoder, &fields, node, names),
        _ => sqlite(decoder, &fields, node, names),
    }
}

fn command(decoder: &mut Decoder, node: &Node, names: &Names) -> Option<Oracle> {
    let words = decoder.texts(node, "a list: the program and its arguments")?;
    for word in &words {
        template::check(decoder, word, names);
    }
    if words.first().is_none_or(|program| program.value.trim().is_empty()) {
        decoder.error(node.span.clone(), "the command is empty").help("for example `[python3, count.py]`");
        return None;
    }
    Some(Oracle::Command { command: words.into_iter().map(|word| word.value).collect() })
}

fn tool(decoder: &mut Decoder, fields: &Fields<'_>, node: &Node, names: &Names) -> Option<Oracle> {
    let tool = decoder.filled(node, "the name of a tool");
    let args = effects::wanted(decoder, fields, "args", names);
    let records = match fields.get("records") {
        Some(node) => {
            let pointer = decoder.text(node, "a JSON Pointer")?;
            if !pointer.value.is_empty() && !pointer.value.starts_with('/') {
                decoder
                    .error(pointer.span, format!("{} is no JSON Pointer", shown(&pointer.value)))
                    .help(format!("write `/{}`", pointer.value.replace('.', "/")));
                return None;
            }
            pointer.value
        }
        None => String::new(),
    };
    Some(Oracle::Tool { tool: tool?.value, args: args?, records })
}

fn sqlite(decoder: &mut Decoder, fields: &Fields<'_>, node: &Node, names: &Names) -> Option<Oracle> {
    let file = decoder.filled(node, "the path of an SQLite file");
    if let Some(file) = &file {
        template::check(decoder, file, names);
    }
    let query = decoder
        .required(fields, "query", "query: \"SELECT * FROM orders\"")
        .and_then(|(_, node)| decoder.filled(node, "a query"));
    if let Some(query) = &query {
        template::check(decoder, query, names);
    }
    Some(Oracle::Sqlite { file: file?.value, query: query?.value })
}
