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
use std::time::{Duration, Instant};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// How many messages wait for a client that does not listen; the oldest go first.
const MOST_KEPT: usize = 1_000;

/// How many broken-off answers a session keeps for a client that comes back for them, and how
/// many bytes of them.
const MOST_STORED: usize = 64;
const MOST_STORED_BYTES: usize = 64 << 20;

/// From this version on a stream begins with an event that has an id and nothing else.
const PRIMED: &str = "2025-11-25";

/// One session, or all requests without one.
pub(super) struct Client {
    pub connection: ConnectionId,
    pub closing: CancellationToken,
    /// Requests of several clients share its upstream, so their ids are replaced.
    pub shared: bool,
    /// When it was last heard of.
    used: Mutex<Instant>,
    mail: Mutex<Mail>,
}

#[expect(clippy::disallowed_methods, reason = "a session ends when nobody has used it for long")]
fn now() -> Instant {
    Instant::now()
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
    /// Answered requests whose stream can be taken up again, oldest first.
    stored: VecDeque<(u64, Vec<Arc<str>>)>,
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
    /// What was sent on its stream, for a client that comes back.
    sent: Vec<Arc<str>>,
    /// Its client may come back, since it has a session.
    keeps: bool,
    /// It is answered with a stream whose events have ids.
    resumable: bool,
    answers: mpsc::UnboundedSender<Delivery>,
}

pub(super) enum Delivery {
    /// The upstream has begun to answer with a stream.
    Begun,
    /// Something that belongs to the request but does not answer it.
    Interim(String),
    /// The connection breaks in place of the answer.
    Cut,
    /// The answer.
    Final(String, Option<Arc<Refusal>>),
}

impl Delivery {
    pub fn text(self) -> Option<String> {
        match self {
            Delivery::Begun | Delivery::Cut => None,
            Delivery::Interim(text) | Delivery::Final(text, _) => Some(text),
        }
    }
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
        Client { connection, closing, shared, used: Mutex::new(now()), mail: Mutex::new(Mail::default()) }
    }

    /// It was heard of.
    pub fn touch(&self) {
        *lock(&self.used) = now();
    }

    /// How long it has not been heard of.
    pub fn quiet(&self) -> Duration {
        lock(&self.used).elapsed()
    }

    /// Somebody waits at the other end of an answer, or of the session's stream.
    pub fn is_listened_to(&self) -> bool {
        let mail = lock(&self.mail);
        mail.posts.values().any(|post| !post.answers.is_closed())
            || mail.stream.as_ref().is_some_and(|stream| !stream.is_closed())
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
            sent: Vec::new(),
            keeps: !self.shared,
            resumable: false,
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

    /// Forgets a request; its id as it travels upstream, where it was not answered. One whose
    /// client may come back for the rest is kept.
    pub fn forget(&self, number: u64) -> Option<String> {
        let mut mail = lock(&self.mail);
        if mail.posts.get(&number).is_some_and(|post| post.resumable) {
            return None;
        }
        mail.posts.remove(&number).map(|post| post.id)
    }

    /// The id, as it travels upstream, of a request that was not answered and whose client may come back.
    pub fn kept(&self, number: u64) -> Option<String> {
        let mail = lock(&self.mail);
        mail.posts.get(&number).filter(|post| post.resumable).map(|post| post.id.clone())
    }

    /// Makes the stream of a request one that can be taken up again, where the protocol has that;
    /// whether it begins with an event of its own.
    pub fn make_resumable(&self, number: u64) -> Resumable {
        let mut mail = lock(&self.mail);
        let Some(version) = mail.protocol.clone().filter(|_| !self.shared) else { return Resumable::No };
        if let Some(post) = mail.posts.get_mut(&number) {
            post.resumable = true;
        }
        if version.as_str() >= PRIMED { Resumable::Primed } else { Resumable::Yes }
    }

    /// What a stream brought after an event, and what it still brings.
    pub fn resume(&self, number: u64, after: usize) -> Option<mpsc::UnboundedReceiver<Delivery>> {
        let (sender, receiver) = mpsc::unbounded_channel();
        let mut mail = lock(&self.mail);
        if let Some(post) = mail.posts.get_mut(&number) {
            for message in post.sent.iter().skip(after) {
                let _ = sender.send(Delivery::Interim(message.to_string()));
            }
            post.answers = sender;
            return Some(receiver);
        }
        let (_, sent) = mail.stored.iter().find(|(stored, _)| *stored == number)?;
        for message in sent.iter().skip(after) {
            let _ = sender.send(Delivery::Interim(message.to_string()));
        }
        Some(receiver)
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
        let Outgoing { message, carried, cut } = outgoing;
        let mut mail = lock(&self.mail);
        if let Some(id) = cut {
            let id = key(id.get());
            let number = mail.posts.iter().find(|(_, post)| post.id == id).map(|(number, _)| *number);
            // It is not kept: there is nothing to come back for.
            if let Some(post) = number.and_then(|number| mail.posts.remove(&number)) {
                let _ = post.answers.send(Delivery::Cut);
            }
            return;
        }
        if message.is_empty() {
            if let Some(Stream::Of(id)) = &carried.stream
                && let Some(post) = mail.posts.values().find(|post| post.events && post.id == *id)
            {
                let _ = post.answers.send(Delivery::Begun);
            }
            return;
        }
        let Ok(view) = View::parse(&message) else { return };
        if let (None, Some(id)) = (&view.method, view.id) {
            let id = key(id.get());
            let found = mail.posts.iter().find(|(_, post)| post.id == id).map(|(number, _)| *number);
            let Some(number) = found else { return };
            let Some(mut post) = mail.posts.remove(&number) else { return };
            if mail.protocol.is_none() {
                mail.protocol = introduction(view.result).protocol_version.map(Cow::into_owned);
            }
            let text = post.restored(&view, &message).unwrap_or(message);
            if post.resumable || !post.sent.is_empty() {
                post.sent.push(Arc::from(text.as_str()));
                mail.store(number, post.sent);
            }
            let _ = post.answers.send(Delivery::Final(text, carried.refusal));
            return;
        }
        mail.interim(&view, &message, carried.stream.as_ref(), self.shared);
    }
}

/// Whether a client can come back for the rest of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Resumable {
    No,
    Yes,
    /// Yes, and it is told its first event's id at once.
    Primed,
}

impl Post {
    /// Sends something that does not answer the request.
    fn send(&mut self, message: String) {
        if self.keeps {
            self.sent.push(Arc::from(message.as_str()));
        }
        let _ = self.answers.send(Delivery::Interim(message));
    }

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
    fn store(&mut self, number: u64, sent: Vec<Arc<str>>) {
        self.stored.push_back((number, sent));
        let bytes = |stored: &VecDeque<(u64, Vec<Arc<str>>)>| -> usize {
            stored.iter().flat_map(|(_, sent)| sent).map(|message| message.len()).sum()
        };
        while self.stored.len() > MOST_STORED || bytes(&self.stored) > MOST_STORED_BYTES {
            self.stored.pop_front();
        }
    }

    /// Hands out something that answers no request of the client.
    fn interim(&mut self, view: &View<'_>, message: &str, stream: Option<&Stream>, shared: bool) {
        let names = named(view.params);
        let token = names.progress_token.map(|token| key(token.get()));
        let subscription = names.subscription().map(|id| key(id.get()));
        let listening = |post: &Post| post.events && !post.answers.is_closed();
        let only = self.posts.values().filter(|post| listening(post)).count() == 1;
        let mut posts = self.posts.values_mut().filter(|post| post.events);
        let about = match stream {
            Some(Stream::Of(id)) => posts.find(|post| post.id == *id),
            Some(Stream::Own) => None,
            None if token.is_some() => posts.find(|post| post.token == token),
            None if subscription.is_some() => posts.find(|post| Some(&post.id) == subscription.as_ref()),
            // While one request is open everything goes along with it, so that the order is kept.
            None if only => posts.find(|post| listening(post)),
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
            post.send(text.unwrap_or_else(|| message.to_owned()));
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
        let oldest = self.posts.values_mut().find(|post| listening(post));
        match oldest.filter(|_| stream.is_none()) {
            Some(post) => post.send(message),
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
