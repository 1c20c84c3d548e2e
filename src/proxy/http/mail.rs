//! Which of a client's open HTTP answers a message belongs to.

use super::super::engine::{BATCH_VERSION, introduction};
use super::super::hub::{Outgoing, Refusal, Stream};
use super::super::message::View;
use super::super::splice::{key, named, replaced, with_id};
use super::lock;
use crate::domain::{ConnectionId, RawJson};
use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// How many messages wait for a client that does not listen; the oldest go first.
const MOST_KEPT: usize = 1_000;

/// One session, or all requests without one.
pub(super) struct Client {
    pub connection: ConnectionId,
    pub closing: CancellationToken,
    /// Requests of several clients share its upstream, so their ids are replaced.
    pub shared: bool,
    mail: Mutex<Mail>,
}

#[derive(Default)]
struct Mail {
    /// POSTs that wait for the answer to a request, oldest first.
    posts: BTreeMap<u64, Post>,
    last_post: u64,
    /// The stream that a client opened with GET.
    stream: Option<mpsc::UnboundedSender<String>>,
    /// What came while nobody listened.
    kept: VecDeque<String>,
    closed: bool,
    /// The version that the handshake settled on.
    protocol: Option<String>,
}

struct Post {
    /// The id as it travels upstream, canonical.
    id: String,
    /// The id as the client wrote it, where it was replaced.
    original: Option<RawJson>,
    /// The progress token as it travels upstream, canonical.
    token: Option<String>,
    /// The token as the client wrote it, where it was replaced.
    original_token: Option<RawJson>,
    /// It takes more than the answer.
    events: bool,
    answers: mpsc::UnboundedSender<Delivery>,
}

pub(super) enum Delivery {
    /// Something that belongs to the request but does not answer it.
    Interim(String),
    /// The answer.
    Final(String, Option<Arc<Refusal>>),
}

/// A request that waits for its answer.
pub(super) struct Expected {
    pub answers: mpsc::UnboundedReceiver<Delivery>,
    pub number: u64,
    /// The text that goes to the engine.
    pub message: String,
    /// The text before its id was replaced.
    pub original: Option<Arc<str>>,
}

impl Client {
    pub fn new(connection: ConnectionId, closing: CancellationToken, shared: bool) -> Client {
        Client { connection, closing, shared, mail: Mutex::new(Mail::default()) }
    }

    /// Registers a request. `tokens`: its progress token is replaced, too, where the client is shared.
    pub fn expect(&self, id: RawJson, body: String, events: bool, tokens: bool) -> Expected {
        let (sender, answers) = mpsc::unbounded_channel();
        let mut mail = lock(&self.mail);
        mail.last_post += 1;
        let number = mail.last_post;
        let mut post = Post {
            id: key(id.get()),
            original: None,
            token: None,
            original_token: None,
            events,
            answers: sender,
        };
        let mut message = None;
        if let Ok(view) = View::parse(&body)
            && let Some(token) = named(view.params).token_asked_for()
        {
            post.token = Some(key(token.get()));
            if self.shared && tokens {
                message = replaced(&body, token, &number.to_string());
                if message.is_some() {
                    post.original_token = Some(RawJson::from_raw(token));
                    post.token = Some(number.to_string());
                }
            }
        }
        let mut original = None;
        let mut text = message.unwrap_or_else(|| body.clone());
        if self.shared
            && let Some(renumbered) = with_id(&text, &number.to_string())
        {
            text = renumbered;
            post.id = number.to_string();
            post.original = Some(id);
            original = Some(Arc::from(body));
        }
        if mail.closed {
            // Nobody will answer: the sender is dropped here, which the receiver sees.
            return Expected { answers, number, message: text, original };
        }
        mail.posts.insert(number, post);
        Expected { answers, number, message: text, original }
    }

    /// Whether its version of MCP has batches (R9).
    pub fn has_batches(&self) -> bool {
        lock(&self.mail).protocol.as_deref() == Some(BATCH_VERSION)
    }

    /// Forgets a request; its id as it travels upstream, where it was not answered.
    pub fn forget(&self, number: u64) -> Option<String> {
        lock(&self.mail).posts.remove(&number).map(|post| post.id)
    }

    /// Opens the stream of the session, in place of an earlier one.
    pub fn listen(&self) -> mpsc::UnboundedReceiver<String> {
        let (sender, receiver) = mpsc::unbounded_channel();
        let mut mail = lock(&self.mail);
        for message in mail.kept.drain(..) {
            let _ = sender.send(message);
        }
        if !mail.closed {
            mail.stream = Some(sender);
        }
        receiver
    }

    /// Ends every open answer.
    pub fn close(&self) {
        *lock(&self.mail) = Mail { closed: true, ..Mail::default() };
    }

    pub fn deliver(&self, outgoing: Outgoing) {
        let Outgoing { message, carried } = outgoing;
        let mut mail = lock(&self.mail);
        let Ok(view) = View::parse(&message) else { return };
        if let (None, Some(id)) = (&view.method, view.id) {
            let id = key(id.get());
            let found = mail.posts.iter().find(|(_, post)| post.id == id).map(|(number, _)| *number);
            let Some(post) = found.and_then(|number| mail.posts.remove(&number)) else { return };
            if mail.protocol.is_none() {
                mail.protocol = introduction(view.result).protocol_version.map(Cow::into_owned);
            }
            let text = post.restored(&view, &message).unwrap_or(message);
            let _ = post.answers.send(Delivery::Final(text, carried.refusal));
            return;
        }
        mail.interim(&view, &message, carried.stream.as_ref(), self.shared);
    }
}

impl Post {
    /// An answer with the id that its client gave.
    fn restored(&self, view: &View<'_>, message: &str) -> Option<String> {
        let original = self.original.as_ref()?;
        let renamed = named(view.result)
            .subscription()
            .filter(|subscription| key(subscription.get()) == self.id)
            .and_then(|subscription| replaced(message, subscription, original.get()));
        with_id(renamed.as_deref().unwrap_or(message), original.get())
    }
}

impl Mail {
    /// Hands out something that answers no request of the client.
    fn interim(&mut self, view: &View<'_>, message: &str, stream: Option<&Stream>, shared: bool) {
        let names = named(view.params);
        let token = names.progress_token.map(|token| key(token.get()));
        let subscription = names.subscription().map(|id| key(id.get()));
        let posts = || self.posts.values().filter(|post| post.events);
        let about = match stream {
            Some(Stream::Of(id)) => posts().find(|post| post.id == *id),
            Some(Stream::Own) => None,
            None if token.is_some() => posts().find(|post| post.token == token),
            None if subscription.is_some() => posts().find(|post| Some(&post.id) == subscription.as_ref()),
            // While one request is open everything goes along with it, so that the order is kept.
            None if self.posts.len() == 1 => posts().next(),
            None => None,
        };
        if let Some(post) = about {
            let mut text = None;
            if let (Some(token), Some(original)) = (names.progress_token, &post.original_token) {
                text = replaced(message, token, original.get());
            } else if let (Some(id), Some(original)) = (names.subscription(), &post.original)
                && stream.is_none()
            {
                text = replaced(message, id, original.get());
            }
            let _ = post.answers.send(Delivery::Interim(text.unwrap_or_else(|| message.to_owned())));
            return;
        }
        if shared && (token.is_some() || subscription.is_some()) {
            return;
        }
        let mut message = message.to_owned();
        if let Some(stream) = &self.stream {
            match stream.send(message) {
                Ok(()) => return,
                // The client closed its stream; the message finds another way.
                Err(unsent) => message = unsent.0,
            }
        }
        let oldest = self.posts.values().find(|post| post.events);
        match oldest.filter(|_| stream.is_none()) {
            Some(post) => {
                let _ = post.answers.send(Delivery::Interim(message));
            }
            None if shared => {}
            None => {
                if self.kept.len() == MOST_KEPT {
                    self.kept.pop_front();
                }
                self.kept.push_back(message);
            }
        }
    }
}
