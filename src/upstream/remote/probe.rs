//! A session at a server over HTTP that is no agent's: for its tools before any agent comes (C5), and
//! for calls of one tool.

use super::{Events, Remote, SESSION, VERSION, content_type, mirror};
use crate::domain::{RawJson, chain};
use crate::upstream::probe::{
    MOST_PAGES, PROTOCOL, Page, ProbeError, Reply, call_params, introduction, modern_meta,
};
use axum::http::{HeaderMap, HeaderValue};
use serde_json::value::RawValue;
use std::time::Duration;

/// The first version without a handshake.
const MODERN: &str = "2026-07-28";

/// A session at a server.
pub(in crate::upstream) struct Talk {
    remote: Remote,
    headers: HeaderMap,
    next: u32,
    limit: Duration,
    /// What goes along with every request to a server that knows no handshake.
    meta: Option<String>,
}

impl Talk {
    /// Opens a session and asks for the tools. Each is as the server wrote it.
    pub(in crate::upstream) async fn open(
        remote: &Remote,
        limit: Duration,
    ) -> Result<(Talk, Vec<RawJson>), ProbeError> {
        let remote = remote.clone();
        let mut talk = Talk { remote, headers: HeaderMap::new(), next: 0, limit, meta: None };
        let listed = match talk.introduce().await {
            Ok(()) => talk.list().await,
            // A server that knows no handshake any more.
            Err(error @ (ProbeError::Refused { .. } | ProbeError::Http { .. })) => {
                talk.headers.insert(VERSION, HeaderValue::from_static(MODERN));
                talk.meta = Some(modern_meta());
                talk.list().await.map_err(|_| error)
            }
            Err(error) => Err(error),
        };
        match listed {
            Ok(tools) => Ok((talk, tools)),
            Err(error) => {
                talk.end().await;
                Err(error)
            }
        }
    }

    /// Calls a tool.
    pub(in crate::upstream) async fn call(
        &mut self,
        tool: &str,
        arguments: &str,
        limit: Duration,
    ) -> Result<RawJson, ProbeError> {
        self.limit = limit;
        if self.meta.is_some() {
            mirror::standard("tools/call", Some(tool), &mut self.headers);
        }
        let params = call_params(tool, arguments, self.meta.as_deref());
        self.ask("tools/call", &params).await
    }

    /// Ends the session, where there is one.
    pub(in crate::upstream) async fn end(self) {
        if self.headers.contains_key(&SESSION) {
            let _ = tokio::time::timeout(Duration::from_secs(1), self.remote.delete(self.headers)).await;
        }
    }

    async fn introduce(&mut self) -> Result<(), ProbeError> {
        let result = self.ask("initialize", &introduction()).await?;
        #[derive(serde::Deserialize)]
        struct Settled {
            #[serde(rename = "protocolVersion")]
            version: String,
        }
        let settled = serde_json::from_str::<Settled>(result.get()).ok();
        let version = settled.and_then(|settled| HeaderValue::from_str(&settled.version).ok());
        self.headers.insert(VERSION, version.unwrap_or(HeaderValue::from_static(PROTOCOL)));
        let initialized = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#.to_owned();
        let sent = self.remote.post(initialized, self.headers.clone()).await;
        sent.map(drop).map_err(|error| broken("initialize", &error))
    }

    async fn list(&mut self) -> Result<Vec<RawJson>, ProbeError> {
        if self.meta.is_some() {
            mirror::standard("tools/list", None, &mut self.headers);
        }
        let meta = self.meta.clone().unwrap_or_default();
        let mut tools = Vec::new();
        let mut params = format!("{{{meta}}}");
        for _ in 0..MOST_PAGES {
            let result = self.ask("tools/list", &params).await?;
            let page: Page<'_> = serde_json::from_str(result.get())
                .map_err(|error| ProbeError::NotMcp { method: "tools/list", reason: error.to_string() })?;
            tools.extend(page.tools.into_iter().map(RawJson::from_raw));
            let Some(cursor) = page.next_cursor else { break };
            let comma = if meta.is_empty() { "" } else { "," };
            params = format!(r#"{{"cursor":{}{comma}{meta}}}"#, cursor.get());
        }
        Ok(tools)
    }

    async fn ask(&mut self, method: &'static str, params: &str) -> Result<RawJson, ProbeError> {
        self.next += 1;
        let id = self.next.to_string();
        let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#);
        let limit = self.limit;
        tokio::time::timeout(limit, self.answer(method, &id, body)).await.map_err(|_| ProbeError::Silent {
            method,
            limit,
            noise: String::new(),
            stderr: String::new(),
        })?
    }

    async fn answer(&mut self, method: &'static str, id: &str, body: String) -> Result<RawJson, ProbeError> {
        let sent = self.remote.post(body, self.headers.clone()).await;
        let mut response = sent.map_err(|error| broken(method, &error))?;
        if method == "initialize"
            && let Some(session) = response.headers().get(&SESSION)
        {
            self.headers.insert(SESSION, session.clone());
        }
        let status = response.status();
        if status.is_success() && content_type(response.headers()) == "text/event-stream" {
            let mut events = Events::default();
            while let Some(chunk) = response.chunk().await.map_err(|error| broken(method, &error))? {
                for event in events.push(&chunk) {
                    if let Some(answer) = read(method, id, &event.data) {
                        return answer;
                    }
                }
            }
            return Err(ProbeError::Broken {
                method,
                reason: "the stream ended without an answer".to_owned(),
            });
        }
        let body = response.bytes().await.map_err(|error| broken(method, &error))?;
        match read(method, id, &body) {
            Some(answer) => answer,
            None if !status.is_success() => Err(ProbeError::Http { method, status: status.to_string() }),
            None => Err(ProbeError::NotMcp { method, reason: "it is not an answer of JSON-RPC".to_owned() }),
        }
    }
}

fn broken(method: &'static str, error: &dyn std::error::Error) -> ProbeError {
    ProbeError::Broken { method, reason: chain(error) }
}

fn read(method: &'static str, id: &str, bytes: &[u8]) -> Option<Result<RawJson, ProbeError>> {
    let reply: Reply<'_> = serde_json::from_slice(bytes).ok()?;
    if reply.method.is_some() || reply.id.map(RawValue::get) != Some(id) {
        return None;
    }
    Some(match (reply.result, reply.error) {
        (Some(result), _) => Ok(RawJson::from_raw(result)),
        (None, Some(error)) => Err(ProbeError::Refused { method, error: RawJson::from_raw(error) }),
        (None, None) => return None,
    })
}
