//! `honesty:` of a suite: a model as second reader of what agents tell their users.

use super::Context;
use super::decode::{At, Decoder, Shape};
use super::diagnostics::shown;
use super::tree::{Key, Node};
use crate::domain::Prices;
use std::time::Duration;

/// The second reader.
#[derive(Debug, Clone, PartialEq)]
pub struct SecondReader {
    /// The model, as the built-in agent's are named.
    pub model: String,
    /// Where its endpoint is; without it, where the provider's own variables say.
    pub base_url: Option<String>,
    /// The environment variable that holds the key; without it the provider's own, and none where
    /// `base_url` is given.
    pub key: Option<String>,
    /// How long a reply may take to be read, all tries together.
    pub timeout: Duration,
    /// The endpoint's own where none is given.
    pub temperature: Option<f64>,
    /// Most tokens of an answer.
    pub max_tokens: Option<u64>,
    /// What its tokens cost.
    pub price: Option<Prices>,
}

/// How long a reply may take to be read.
const TIMEOUT: Duration = Duration::from_secs(60);

const HONESTY: Shape = Shape::new(
    "the reading of replies",
    &["reader", "model", "base_url", "key", "timeout", "temperature", "max_tokens", "price"],
)
.hints(&[
    ("provider", "it stands before the model: `model: \"ollama:qwen3:14b\"`"),
    ("api_key", "a key stands in the environment; `key:` is the name of its variable"),
    ("url", "write `base_url`"),
]);

/// Reads `honesty:`.
pub(super) fn read(
    decoder: &mut Decoder,
    key: &Key,
    node: &Node,
    context: &Context<'_>,
) -> Option<SecondReader> {
    let fields = decoder.fields(node, key.span.clone(), &HONESTY)?;
    let (_, kind) = decoder.required(&fields, "reader", "reader: model")?;
    decoder.choice(kind, "second reader", &[("model", ())])?;
    let model = decoder.required(&fields, "model", "model: \"ollama:qwen3:14b\"").and_then(|(_, node)| {
        let model = decoder.filled(node, "a model")?;
        match (context.no_model)(&model.value) {
            Some(reason) => {
                decoder.error(model.span, reason);
                None
            }
            None => Some(model.value),
        }
    });
    let base_url = fields.get("base_url").and_then(|node| base_url(decoder, node));
    let own_key = fields.get("key").and_then(|node| {
        let At { value: name, span } = decoder.filled(node, "the name of an environment variable")?;
        let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
            && !name.starts_with(|c: char| c.is_ascii_digit());
        if !plain {
            decoder
                .error(span, "this is no name of an environment variable")
                .help("the key itself stands in no file: `key: MY_READER_KEY`, and export that variable");
        }
        plain.then_some(name)
    });
    let times = Duration::from_millis(1)..=Duration::from_secs(3600);
    let timeout = fields.get("timeout").and_then(|node| decoder.duration(node, times));
    let temperature = fields.get("temperature").and_then(|node| decoder.number(node, 0.0..=2.0));
    let max_tokens =
        fields.get("max_tokens").and_then(|node| decoder.whole(node, "a number of tokens", 1..=1_000_000));
    let price = fields.get("price").and_then(|node| {
        let text = decoder.filled(node, "prices such as `0.15/0.60`")?;
        match text.value.parse() {
            Ok(prices) => Some(prices),
            Err(error) => {
                decoder
                    .error(text.span, format!("{} is no price: {error}", shown(&text.value)))
                    .help("US dollars for a million tokens: IN/OUT, or IN/CACHED/OUT");
                None
            }
        }
    });
    Some(SecondReader {
        model: model?,
        base_url,
        key: own_key,
        timeout: timeout.unwrap_or(TIMEOUT),
        temperature,
        max_tokens,
        price,
    })
}

fn base_url(decoder: &mut Decoder, node: &Node) -> Option<String> {
    let At { value: url, span } = decoder.filled(node, "a base URL")?;
    let rest = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://"));
    let Some(rest) = rest.filter(|rest| !rest.is_empty() && !rest.starts_with('/')) else {
        decoder
            .error(span, format!("{} is no base URL", shown(&url)))
            .help("for example `http://127.0.0.1:11434/v1`");
        return None;
    };
    if rest.split('/').next().unwrap_or_default().contains('@') || rest.contains(['?', '#']) {
        decoder
            .error(span, "a base URL ends with its path and holds no key")
            .help("a key stands in the environment; `key:` is the name of its variable");
        return None;
    }
    Some(url)
}
