//! Asking a model endpoint which models it has: one GET over plain HTTP, without a key. Endpoints
//! behind TLS are only connected to: their keys are for the agents, not for a look around.

use serde::Serialize;
use serde_json::Value;
use std::collections::{BTreeSet, HashMap};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// An endpoint that takes longer is as good as none for someone who waits for a table.
const PATIENCE: Duration = Duration::from_secs(2);
const MOST: u64 = 4 * 1024 * 1024;

/// What an endpoint answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Answered {
    /// Its models.
    Models(Vec<String>),
    /// It asks for a key.
    WantsKey,
    /// It is there, behind TLS, and was not asked.
    Connected,
    /// Why it did not answer.
    Not(String),
}

/// Asks every endpoint once, all at the same time.
pub(super) async fn all(urls: BTreeSet<String>) -> HashMap<String, Answered> {
    let asked = urls.into_iter().map(|url| {
        let of = url.clone();
        (url, tokio::spawn(async move { models(&of).await }))
    });
    // Spawned before the first is waited for.
    let asked: Vec<_> = asked.collect();
    let mut answers = HashMap::new();
    for (url, answer) in asked {
        answers.insert(url, answer.await.unwrap_or(Answered::Not("it was not asked".to_owned())));
    }
    answers
}

/// The models of the endpoint at a base URL.
async fn models(url: &str) -> Answered {
    match timeout(PATIENCE, ask(url)).await {
        Ok(Ok(answered)) => answered,
        Ok(Err(reason)) => Answered::Not(reason),
        Err(_) => Answered::Not(format!("no answer within {} s", PATIENCE.as_secs())),
    }
}

async fn ask(url: &str) -> Result<Answered, String> {
    let (secure, rest) = match (url.strip_prefix("http://"), url.strip_prefix("https://")) {
        (Some(rest), _) => (false, rest),
        (_, Some(rest)) => (true, rest),
        _ => return Err("it is no URL that begins with http:// or https://".to_owned()),
    };
    let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    let host = authority.rsplit('@').next().unwrap_or(authority);
    let has_port = host.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    let address =
        if has_port { host.to_owned() } else { format!("{host}:{}", if secure { 443 } else { 80 }) };
    let stream = TcpStream::connect(&address).await.map_err(|error| error.to_string())?;
    if secure {
        return Ok(Answered::Connected);
    }
    let base = path.split('?').next().unwrap_or_default().trim_end_matches('/');
    let version = base.ends_with("/v1") || base.ends_with("/v1beta");
    get(stream, host, &format!("{base}{}/models", if version { "" } else { "/v1" })).await
}

async fn get(mut stream: TcpStream, host: &str, path: &str) -> Result<Answered, String> {
    let request = format!("GET {path} HTTP/1.0\r\nHost: {host}\r\nAccept: application/json\r\n\r\n");
    stream.write_all(request.as_bytes()).await.map_err(|error| error.to_string())?;
    let mut bytes = Vec::new();
    stream.take(MOST).read_to_end(&mut bytes).await.map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&bytes);
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status: u16 = head
        .strip_prefix("HTTP/")
        .and_then(|rest| rest.split(' ').nth(1)?.parse().ok())
        .ok_or("it does not speak HTTP")?;
    match status {
        200 => Ok(names(body)
            .map_or_else(|| Answered::Not(format!("{path} is no list of models")), Answered::Models)),
        401 | 403 => Ok(Answered::WantsKey),
        status => Err(format!("{path} answered {status}")),
    }
}

/// The names in a list of models, as OpenAI's, Anthropic's and Gemini's endpoints give it. Some
/// servers send a chunked body even to HTTP/1.0, so the list is looked for inside of it.
fn names(body: &str) -> Option<Vec<String>> {
    let start = body.find('{')?;
    let list: Value = serde_json::Deserializer::from_str(&body[start..]).into_iter().next()?.ok()?;
    let models = list.get("data").or_else(|| list.get("models"))?.as_array()?;
    let name = |model: &Value| {
        let name = model.get("id").or_else(|| model.get("name"))?.as_str()?;
        Some(name.trim_start_matches("models/").to_owned())
    };
    Some(models.iter().filter_map(name).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::net::TcpListener;

    async fn served(answer: &'static str) -> Answered {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let server = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = [0; 1024];
            let read = stream.read(&mut request).await.unwrap();
            assert!(request[..read].starts_with(b"GET /v1/models HTTP/1.0\r\n"));
            stream.write_all(answer.as_bytes()).await.unwrap();
        });
        let answered = models(&url).await;
        server.await.unwrap();
        answered
    }

    #[tokio::test]
    async fn a_list_of_models_is_read_in_every_form() {
        let models = |names: &[&str]| Answered::Models(names.iter().map(|name| (*name).to_owned()).collect());
        let openai = served("HTTP/1.0 200 OK\r\n\r\n{\"data\":[{\"id\":\"qwen3:14b\"}]}").await;
        assert_eq!(openai, models(&["qwen3:14b"]));
        let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2c\r\n{\"models\":[{\"name\":\"models/gemini-9\"}]}\r\n0\r\n\r\n";
        assert_eq!(served(chunked).await, models(&["gemini-9"]));
    }

    #[tokio::test]
    async fn what_is_no_list_is_told() {
        assert_eq!(served("HTTP/1.1 401 Unauthorized\r\n\r\n").await, Answered::WantsKey);
        assert_eq!(
            served("HTTP/1.1 404 Not Found\r\n\r\n").await,
            Answered::Not("/v1/models answered 404".into())
        );
        assert_eq!(served("SSH-2.0\r\n").await, Answered::Not("it does not speak HTTP".into()));
        // Bound and not listening: nobody else is given the port.
        let nobody = tokio::net::TcpSocket::new_v4().unwrap();
        nobody.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let url = format!("http://{}", nobody.local_addr().unwrap());
        assert!(matches!(models(&url).await, Answered::Not(_)));
        assert!(matches!(models("localhost:11434").await, Answered::Not(_)));
    }
}
