//! A server that speaks Streamable HTTP, as its client: addresses, requests, streams of events.

mod events;
pub(crate) mod mirror;
pub(super) mod probe;

pub(crate) use events::Events;

use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use reqwest::{Client, Response, Url, redirect, retry};
use std::time::Duration;

/// Names the session, where there is one.
pub(crate) const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
/// Names the version of MCP.
pub(crate) const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");

/// How long a connection may take to be made.
const CONNECT: Duration = Duration::from_secs(30);

/// A server's address, and what every request to it says.
#[derive(Debug, Clone)]
pub struct Remote {
    client: Client,
    url: Url,
    headers: HeaderMap,
}

/// Why a server cannot be spoken to over HTTP.
#[derive(Debug, thiserror::Error)]
pub enum RemoteError {
    /// Its address.
    #[error("`{url}` is not the URL of a server: {reason}")]
    Url {
        /// What was given.
        url: String,
        /// Why not.
        reason: String,
    },
    /// A header to send along, by its name: its value may be a key.
    #[error("the header `{0}` cannot be sent: its name or its value has characters that no header can have")]
    Header(String),
    /// TLS or the client as a whole.
    #[error("no HTTP client could be set up: {0}")]
    Client(#[from] reqwest::Error),
}

impl Remote {
    /// Takes the address of a server and headers (`NAME`, value) for every request.
    ///
    /// # Errors
    /// Where the URL is neither `http` nor `https`, or a header cannot be sent.
    pub fn new(url: &str, headers: &[(String, String)]) -> Result<Remote, RemoteError> {
        let bad = |reason: String| RemoteError::Url { url: url.to_owned(), reason };
        let parsed = Url::parse(url).map_err(|error| bad(error.to_string()))?;
        if !matches!(parsed.scheme(), "http" | "https") || !parsed.has_host() {
            return Err(bad("http://… or https://… is wanted".to_owned()));
        }
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            let bad = || RemoteError::Header(name.clone());
            let mut value: HeaderValue = value.parse().map_err(|_| bad())?;
            value.set_sensitive(true);
            map.append(name.parse::<HeaderName>().map_err(|_| bad())?, value);
        }
        Ok(Remote { client: client(&parsed)?, url: parsed, headers: map })
    }

    /// Its address, for people: without credentials.
    pub fn address(&self) -> String {
        let mut url = self.url.clone();
        let _ = url.set_password(None);
        let _ = url.set_username("");
        url.to_string()
    }

    /// Adds a header to every request, unless one of that name is there.
    pub(super) fn plant(&mut self, name: &'static str, value: &str) {
        if let Ok(mut value) = HeaderValue::from_str(value) {
            value.set_sensitive(true);
            self.headers.entry(HeaderName::from_static(name)).or_insert(value);
        }
    }

    /// Sends one message.
    pub(crate) async fn post(&self, body: String, headers: HeaderMap) -> reqwest::Result<Response> {
        let mut all = self.with(headers);
        all.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        all.insert(header::ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        self.client.post(self.url.clone()).headers(all).body(body).send().await
    }

    /// Opens a stream; the rest of a broken one after its last event.
    pub(crate) async fn stream(
        &self,
        headers: HeaderMap,
        last_event: Option<&str>,
    ) -> reqwest::Result<Response> {
        let mut all = self.with(headers);
        all.insert(header::ACCEPT, HeaderValue::from_static("text/event-stream"));
        if let Some(Ok(last)) = last_event.map(HeaderValue::from_str) {
            all.insert(LAST_EVENT, last);
        }
        self.client.get(self.url.clone()).headers(all).send().await
    }

    /// Ends a session.
    pub(crate) async fn delete(&self, headers: HeaderMap) -> reqwest::Result<Response> {
        self.client.delete(self.url.clone()).headers(self.with(headers)).send().await
    }

    fn with(&self, headers: HeaderMap) -> HeaderMap {
        let mut all = self.headers.clone();
        all.extend(headers);
        all
    }
}

/// A client for one address: nothing is asked again, nothing is sent elsewhere.
pub(crate) fn client(url: &Url) -> reqwest::Result<Client> {
    // It may be installed already, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut client = Client::builder()
        .redirect(redirect::Policy::none())
        .retry(retry::never())
        .connect_timeout(CONNECT)
        .tcp_nodelay(true);
    if url.scheme() == "http" {
        // Nothing is asked of the machine's certificates where none is needed.
        client = client.tls_certs_only([]);
    }
    if is_loopback(url) {
        client = client.no_proxy();
    }
    client.build()
}

fn is_loopback(url: &Url) -> bool {
    matches!(url.host_str(), Some("localhost" | "127.0.0.1" | "[::1]"))
}

/// The kind of a body, in lower case and without parameters.
pub(crate) fn content_type(headers: &HeaderMap) -> String {
    let value = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or("");
    value.split(';').next().unwrap_or("").trim().to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_addresses_and_headers_are_refused() {
        for url in ["", "localhost:80", "ftp://a/b", "http://", "/mcp"] {
            assert!(matches!(Remote::new(url, &[]), Err(RemoteError::Url { .. })), "{url}");
        }
        let bad = [("a b".to_owned(), "c".to_owned())];
        assert!(matches!(Remote::new("http://a/", &bad), Err(RemoteError::Header(_))));
    }

    #[test]
    fn an_address_is_shown_without_credentials() {
        let remote = Remote::new("http://me:secret@localhost:1/mcp", &[]).unwrap();
        assert_eq!(remote.address(), "http://localhost:1/mcp");
    }
}
