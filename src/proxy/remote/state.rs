//! What is known of a server and its session, and the headers that follow from it.

use crate::proxy::message::{CallParams, View};
use crate::proxy::splice::named;
use crate::upstream::remote::mirror::{self, Mirrored};
use crate::upstream::remote::{SESSION, VERSION};
use axum::http::{HeaderMap, HeaderValue, header};
use std::collections::HashMap;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

#[derive(Default)]
pub(super) struct State {
    /// The session that the server opened.
    pub(super) session: Option<HeaderValue>,
    /// The version that the handshake settled on.
    pub(super) version: Option<HeaderValue>,
    /// What a client that speaks HTTP itself sent along last.
    pub(super) client: Option<Arc<HeaderMap>>,
    pub(super) mirrored: Mirrored,
    /// Requests that run, by id.
    pub(super) open: HashMap<String, Open>,
    pub(super) last_request: u64,
    /// It has answered something.
    pub(super) serves: bool,
    /// Why the last request came to nothing, as long as the server has answered nothing at all.
    pub(super) trouble: Option<String>,
}

pub(super) struct Open {
    pub(super) number: u64,
    /// MCP 2026-07-28: closing its stream cancels it.
    pub(super) modern: bool,
    pub(super) cancel: CancellationToken,
}

impl State {
    pub(super) fn in_trouble(&mut self, what: String) {
        if !self.serves {
            self.trouble = Some(what);
        }
    }

    /// What a message says in its headers. A client that speaks HTTP itself has said it already.
    pub(super) fn headers(&self, client: Option<&HeaderMap>, view: Option<&View<'_>>) -> HeaderMap {
        let mut headers = HeaderMap::new();
        match (client, view, self.client.as_deref()) {
            (Some(client), Some(_), _) => headers.clone_from(client),
            // Streams and farewells come from us, on behalf of the client that spoke last.
            (_, None, Some(client)) => {
                for name in [header::AUTHORIZATION, header::COOKIE, header::USER_AGENT, VERSION] {
                    if let Some(value) = client.get(&name) {
                        headers.insert(name, value.clone());
                    }
                }
            }
            (_, view, _) => self.derive(view, &mut headers),
        }
        if let Some(session) = &self.session {
            headers.insert(SESSION, session.clone());
        }
        headers
    }

    /// The headers of a message whose client does not speak HTTP.
    fn derive(&self, view: Option<&View<'_>>, headers: &mut HeaderMap) {
        let method = view.and_then(|view| view.method.as_deref()).unwrap_or("");
        let names = named(view.and_then(|view| view.params));
        if let Some(version) = names.protocol_version() {
            if let Ok(version) = HeaderValue::from_str(version) {
                headers.insert(VERSION, version);
            }
            let name = match method {
                "tools/call" | "prompts/get" => names.name,
                "resources/read" | "resources/subscribe" | "resources/unsubscribe" => names.uri,
                "tasks/get" | "tasks/update" | "tasks/cancel" => names.task_id,
                _ => None,
            };
            let name = name.and_then(|name| serde_json::from_str::<String>(name.get()).ok());
            mirror::standard(method, name.as_deref(), headers);
            let call = view.filter(|_| method == "tools/call").and_then(|view| view.params);
            let call = call.and_then(|params| serde_json::from_str::<CallParams<'_>>(params.get()).ok());
            if let Some((call, arguments)) = call.and_then(|call| call.arguments.map(|given| (call, given))) {
                self.mirrored.add(&call.name, arguments, headers);
            }
        } else if method != "initialize"
            && let Some(version) = &self.version
        {
            headers.insert(VERSION, version.clone());
        }
    }
}
