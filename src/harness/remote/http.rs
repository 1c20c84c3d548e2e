//! Sending a request, and reading its answer, whole or as a stream.

use super::{Key, Settings, Wire, distinct, refusal};
use crate::domain::chain;
use crate::harness::model::{BoxFuture, Identity, Listener, Model, ModelError, ModelTurn, Request};
use crate::upstream::remote::{Events, client, content_type};
use reqwest::header::CONTENT_TYPE;
use reqwest::{Client, Response, Url};
use serde_json::Value;
use std::future::Future;
use tokio::time::timeout;

/// The most that is read of one answer, in bytes.
const MOST: usize = 64 * 1024 * 1024;

/// The most that is read of a refusal.
const MOST_OF_REFUSAL: usize = 64 * 1024;

/// A model behind HTTP, asked once for each answer.
pub struct RemoteModel {
    wire: Wire,
    client: Client,
    url: String,
    key: Key,
    identity: Identity,
    settings: Settings,
}

impl RemoteModel {
    /// A model below a base URL.
    ///
    /// # Errors
    /// Where no HTTP client can be set up.
    pub fn new(
        wire: Wire,
        base: &Url,
        key: Key,
        identity: Identity,
        settings: Settings,
    ) -> reqwest::Result<RemoteModel> {
        let path = (wire.path)(&identity.model, settings.stream);
        let url = format!("{}{path}", base.as_str().trim_end_matches('/'));
        Ok(RemoteModel { wire, client: client(base)?, url, key, identity, settings })
    }

    async fn ask(&self, request: Request<'_>) -> Result<ModelTurn, ModelError> {
        let body = (self.wire.write)(&request, &self.identity.model, &self.settings);
        let mut post = self.client.post(&self.url).header(CONTENT_TYPE, "application/json");
        for (name, value) in (self.wire.headers)(&self.key) {
            post = post.header(name, value);
        }
        let unreachable = |error| ModelError::Unreachable(self.told(error));
        let response = self.waited(post.body(body.to_string()).send()).await?.map_err(unreachable)?;
        let status = response.status();
        if !status.is_success() {
            let headers = response.headers().clone();
            // A refusal that breaks off is one all the same.
            let (body, _) = self.text(response, MOST_OF_REFUSAL).await?;
            return Err(self.hidden(refusal::of_status(status.as_u16(), &headers, &body)));
        }
        // Some servers answer as a whole whatever they are asked for.
        let mut turn = if content_type(response.headers()) == "text/event-stream" {
            self.streamed(response, request.listener).await?
        } else {
            let (text, broken) = self.text(response, MOST).await?;
            if let Some(reason) = broken {
                return Err(ModelError::Broken(reason));
            }
            let value = serde_json::from_str(&text)
                .map_err(|error| ModelError::Malformed(format!("it is no JSON: {error}")))?;
            let turn = self.read(&value)?;
            if let Some(listener) = request.listener {
                listener.text(&turn.text);
            }
            turn
        };
        distinct(&mut turn, request.messages);
        Ok(turn)
    }

    fn read(&self, value: &Value) -> Result<ModelTurn, ModelError> {
        if let Some(error) = value.get("error").filter(|error| !error.is_null()) {
            return Err(self.hidden(refusal::in_stream(error)));
        }
        (self.wire.read)(value).map_err(ModelError::Malformed)
    }

    async fn streamed(
        &self,
        mut response: Response,
        listener: Option<&dyn Listener>,
    ) -> Result<ModelTurn, ModelError> {
        let (mut events, mut assembly) = (Events::of_every_kind(), (self.wire.assemble)());
        let mut size = 0;
        loop {
            let chunk = self.waited(response.chunk()).await?;
            let Some(chunk) = chunk.map_err(|error| ModelError::Broken(self.told(error)))? else { break };
            size += chunk.len();
            if size > MOST {
                return Err(ModelError::Malformed(format!("it is longer than {MOST} bytes")));
            }
            for event in events.push(&chunk) {
                if event.data.trim_ascii() == b"[DONE]" {
                    continue;
                }
                let data: Value = serde_json::from_slice(&event.data)
                    .map_err(|error| ModelError::Malformed(format!("an event is no JSON: {error}")))?;
                let piece = assembly.event(&data).map_err(|error| self.hidden(error))?;
                if let Some(listener) = listener.filter(|_| !piece.is_empty()) {
                    listener.text(&piece);
                }
            }
        }
        match assembly.whole() {
            Some(value) => self.read(&value),
            None => Err(ModelError::Broken("its end did not come".to_owned())),
        }
    }

    /// A body, and why it broke off, where it did.
    async fn text(
        &self,
        mut response: Response,
        most: usize,
    ) -> Result<(String, Option<String>), ModelError> {
        let mut bytes = Vec::new();
        let broken = loop {
            match self.waited(response.chunk()).await? {
                Ok(Some(chunk)) if bytes.len() + chunk.len() <= most => bytes.extend_from_slice(&chunk),
                Ok(Some(_)) => break Some(format!("it is longer than {most} bytes")),
                Ok(None) => break None,
                Err(error) => break Some(self.told(error)),
            }
        };
        Ok((String::from_utf8_lossy(&bytes).into_owned(), broken))
    }

    async fn waited<T>(&self, wait: impl Future<Output = T>) -> Result<T, ModelError> {
        timeout(self.settings.silence, wait).await.map_err(|_| {
            ModelError::Unreachable(format!("nothing came for {} s", self.settings.silence.as_secs()))
        })
    }

    /// An error with its causes, without the URL, which may hold a password.
    fn told(&self, error: reqwest::Error) -> String {
        self.key.hidden(&chain(&error.without_url()))
    }

    fn hidden(&self, error: ModelError) -> ModelError {
        match error {
            ModelError::Refused { status, message, retry_after } => {
                ModelError::Refused { status, message: self.key.hidden(&message), retry_after }
            }
            ModelError::TooLong(message) => ModelError::TooLong(self.key.hidden(&message)),
            ModelError::Quota(message) => ModelError::Quota(self.key.hidden(&message)),
            other => other,
        }
    }
}

impl Model for RemoteModel {
    fn respond<'a>(&'a self, request: Request<'a>) -> BoxFuture<'a, Result<ModelTurn, ModelError>> {
        Box::pin(self.ask(request))
    }

    fn identity(&self) -> Identity {
        self.identity.clone()
    }
}
