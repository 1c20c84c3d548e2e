//! Lists of tools, page by page: that which a client is given, and that which the proxy asks a process
//! for that took the place of another.

use super::super::message::{ToolsResult, View, present};
use super::words::id_key;
use super::{Action, Engine, Pending, PendingKind};
use crate::domain::{ConnectionId, RawJson, json};
use crate::trace::{Event, RequiredFields};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use std::borrow::Cow;

/// How many pages of a list are asked for: a server that always names a further one has no list.
const MOST_PAGES: usize = 1000;

/// A page of a list.
pub(super) struct Page<'a> {
    tools: Vec<&'a RawValue>,
    /// The cursor of the page after it.
    pub next: Option<&'a RawValue>,
}

impl<'a> Page<'a> {
    pub fn of(view: &View<'a>) -> Option<Page<'a>> {
        let result: ToolsResult<'_> = serde_json::from_str(view.result?.get()).ok()?;
        let tools = result.tools.and_then(|tools| serde_json::from_str(tools.get()).ok());
        let next = result.next_cursor.filter(|cursor| cursor.get() != "null");
        Some(Page { tools: tools.unwrap_or_default(), next })
    }
}

/// The pages of a list that have come so far.
#[derive(Default)]
pub(super) struct Pages {
    pages: usize,
    tools: Vec<String>,
    pub names: Vec<String>,
    /// The fields that each tool needs.
    pub required: RequiredFields,
}

/// The list of a process that took the place of another, as far as it has come.
#[derive(Default)]
pub(super) struct Found {
    epoch: String,
    pages: Pages,
}

/// What is looked at of a listed tool.
#[derive(Deserialize)]
struct Listed<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow, default, rename = "inputSchema", deserialize_with = "present")]
    schema: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
struct Schema {
    #[serde(default)]
    required: Vec<String>,
}

impl Pages {
    pub fn add(&mut self, page: &Page<'_>) {
        self.pages += 1;
        for tool in &page.tools {
            self.tools.push(json::canonical(tool.get()));
            let Ok(Listed { name, schema }) = serde_json::from_str(tool.get()) else { continue };
            let schema = schema.and_then(|schema| serde_json::from_str(schema.get()).ok());
            let Schema { required: mut fields } = schema.unwrap_or_default();
            fields.sort();
            self.names.push(name.clone().into_owned());
            self.required.insert(name.into_owned(), fields);
        }
    }

    /// SHA-256 over the canonical form of the whole list.
    pub fn revision(&self) -> String {
        crate::domain::digest(&format!("[{}]", self.tools.join(",")))
    }
}

impl Engine {
    /// Asks a process that took the place of another for its tools, in the words of its client: whether it
    /// is the one that a scenario is about must not depend on what an agent does.
    pub(super) fn ask_for_the_catalogue(&mut self, connection: ConnectionId, actions: &mut Vec<Action>) {
        let Some(epoch) = self.epochs.binding(connection).map(|binding| binding.epoch) else { return };
        let Some(state) = self.connections.get_mut(&connection) else { return };
        // Its client may be gone when the answer comes.
        state.rebuild.found = Found { epoch, pages: Pages::default() };
        self.ask_for_a_page(connection, None, actions);
    }

    fn ask_for_a_page(
        &mut self,
        connection: ConnectionId,
        cursor: Option<&RawValue>,
        actions: &mut Vec<Action>,
    ) {
        let Some(state) = self.connections.get_mut(&connection) else { return };
        let Found { epoch, pages } = &state.rebuild.found;
        let page = pages.pages;
        let request = state.rebuild.list_request.as_deref();
        // No client counts in epochs.
        let id = format!("\"list-{epoch}-{page}\"");
        let Some(message) = request.and_then(|request| reworded(request, &id, cursor)) else { return };
        let Ok(id) = RawJson::parse(&id) else { return };
        let pending = Pending { id: id.clone(), kind: PendingKind::Catalogue };
        state.pending.entry(id_key(id.get())).or_default().push_back(pending);
        actions.push(Action::ToUpstream { connection, message });
    }

    /// A page came that nobody but the proxy asked for.
    pub(super) fn catalogue_page(
        &mut self,
        connection: ConnectionId,
        view: &View<'_>,
        actions: &mut Vec<Action>,
    ) {
        // A process that is being replaced in its turn.
        if self.is_replacing(connection) {
            return;
        }
        let Some(state) = self.connections.get_mut(&connection) else { return };
        let Some(page) = Page::of(view) else { return };
        state.rebuild.found.pages.add(&page);
        if page.next.is_some() {
            if state.rebuild.found.pages.pages < MOST_PAGES {
                self.ask_for_a_page(connection, page.next, actions);
            }
            return;
        }
        let Found { epoch, pages } = std::mem::take(&mut state.rebuild.found);
        let revision = pages.revision();
        let found = Event::CatalogueFound { connection, revision, epoch, required: pages.required };
        actions.push(Action::Record(found));
    }
}

/// A client's request for the first page under another id, for the page at `cursor`. Nothing is to be told
/// to the client on the way.
fn reworded(request: &str, id: &str, cursor: Option<&RawValue>) -> Option<String> {
    let mut message: Map<String, Value> = serde_json::from_str(request).ok()?;
    message.insert("id".to_owned(), serde_json::from_str(id).ok()?);
    if let Some(Value::Object(meta)) = message.get_mut("params").and_then(|params| params.get_mut("_meta")) {
        meta.remove("progressToken");
    }
    if let Some(cursor) = cursor {
        let params = message.entry("params").or_insert_with(|| Value::Object(Map::new()));
        params.as_object_mut()?.insert("cursor".to_owned(), serde_json::from_str(cursor.get()).ok()?);
    }
    Some(Value::Object(message).to_string())
}
