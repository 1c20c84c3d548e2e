//! Spans to a collector: OTLP over HTTP, as JSON. Where to is said by OpenTelemetry's own variables.

use super::{ERROR, Kind, Span};
use crate::domain::percent_decoded;
use crate::harness::remote::Environment;
use crate::upstream::remote::client;
use reqwest::Url;
use reqwest::header::CONTENT_TYPE;
use serde_json::{Value, json};
use std::time::Duration;

/// How long a collector may take: nobody waits for it but the end of the agent.
const PATIENCE: Duration = Duration::from_secs(10);

/// A collector.
#[derive(Debug, Clone)]
pub struct Collector {
    url: Url,
    headers: Vec<(String, String)>,
    service: String,
    /// What else is told of where the spans come from: name and value.
    resource: Vec<(String, String)>,
}

/// Why spans do not reach a collector.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// Its address.
    #[error("{variable} is not the URL of a collector: {reason}")]
    Url {
        /// The variable.
        variable: &'static str,
        /// Why not.
        reason: String,
    },
    /// It was not reached.
    #[error("the collector cannot be reached: {0}")]
    Unreachable(String),
    /// It did not take them.
    #[error("the collector answered {0}")]
    Refused(u16),
}

impl Collector {
    /// The collector that the environment names, if it names one.
    ///
    /// # Errors
    /// Where its address is none.
    pub fn of(environment: Environment<'_>) -> Result<Option<Collector>, ExportError> {
        const OWN: &str = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT";
        const ALL: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
        let (variable, text) = match (environment(OWN), environment(ALL)) {
            (Some(url), _) => (OWN, url),
            (None, Some(base)) => (ALL, format!("{}/v1/traces", base.trim_end_matches('/'))),
            (None, None) => return Ok(None),
        };
        let bad = |reason: String| ExportError::Url { variable, reason };
        let url = Url::parse(&text).map_err(|error| bad(error.to_string()))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(bad("http://… or https://… is wanted".to_owned()));
        }
        let headers = environment("OTEL_EXPORTER_OTLP_HEADERS").unwrap_or_default();
        let pairs = headers.split(',').filter_map(|pair| pair.split_once('='));
        let headers = pairs.map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned())).collect();
        let service = environment("OTEL_SERVICE_NAME").unwrap_or_else(|| "nochmal-agent".to_owned());
        let resource = environment("OTEL_RESOURCE_ATTRIBUTES").unwrap_or_default();
        let pairs = resource.split(',').filter_map(|pair| pair.split_once('='));
        let resource =
            pairs.map(|(name, value)| (name.trim().to_owned(), percent_decoded(value.trim()))).collect();
        Ok(Some(Collector { url, headers, service, resource }))
    }

    /// Sends spans, once.
    ///
    /// # Errors
    /// Where they do not reach it.
    pub async fn send(&self, spans: &[Span]) -> Result<(), ExportError> {
        let unreachable = |error: reqwest::Error| ExportError::Unreachable(error.without_url().to_string());
        let mut post = client(&self.url)
            .map_err(unreachable)?
            .post(self.url.clone())
            .timeout(PATIENCE)
            .header(CONTENT_TYPE, "application/json");
        for (name, value) in &self.headers {
            post = post.header(name, value);
        }
        let response = post.body(self.body(spans).to_string()).send().await.map_err(unreachable)?;
        match response.status() {
            status if status.is_success() => Ok(()),
            status => Err(ExportError::Refused(status.as_u16())),
        }
    }

    fn body(&self, spans: &[Span]) -> Value {
        let own = [("service.name", self.service.as_str()), ("service.version", env!("CARGO_PKG_VERSION"))];
        let given = self.resource.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let given = given.filter(|(name, _)| own.iter().all(|(own, _)| own != name));
        let all: Vec<Value> =
            own.into_iter().chain(given).map(|(name, value)| attribute(name, &json!(value))).collect();
        let resource = json!({"attributes": all});
        let spans: Vec<Value> = spans.iter().map(span).collect();
        json!({"resourceSpans": [{"resource": resource, "scopeSpans": [{"scope": {"name": "nochmal"}, "spans": spans}]}]})
    }
}

fn span(span: &Span) -> Value {
    // Internal, or a client of another process.
    let kind = if span.kind == Kind::Model { 3 } else { 1 };
    let attributes: Vec<Value> = span.attributes.iter().map(|(name, value)| attribute(name, value)).collect();
    let mut told = json!({
        "traceId": span.trace_id, "spanId": span.span_id, "name": span.name, "kind": kind,
        // 64 bits are a text in this JSON.
        "startTimeUnixNano": span.start_unix_nano.to_string(), "endTimeUnixNano": span.end_unix_nano.to_string(),
        "attributes": attributes,
        "status": {"code": if span.attributes.contains_key(ERROR) { 2 } else { 0 }},
    });
    if let Some(parent) = &span.parent_span_id {
        told["parentSpanId"] = parent.as_str().into();
    }
    told
}

fn attribute(name: &str, value: &Value) -> Value {
    json!({"key": name, "value": any(value)})
}

fn any(value: &Value) -> Value {
    match value {
        Value::Bool(flag) => json!({"boolValue": flag}),
        Value::Number(number) if number.is_u64() || number.is_i64() => {
            json!({"intValue": number.to_string()})
        }
        Value::Number(number) => json!({"doubleValue": number}),
        Value::Array(values) => json!({"arrayValue": {"values": values.iter().map(any).collect::<Vec<_>>()}}),
        Value::String(text) => json!({"stringValue": text}),
        other => json!({"stringValue": other.to_string()}),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::Router;
    use axum::extract::State;
    use axum::http::{HeaderMap, StatusCode};
    use axum::routing::post;
    use serde_json::Map;
    use tokio::sync::mpsc;

    fn collector(variables: &[(&str, &str)]) -> Result<Option<Collector>, ExportError> {
        let environment = |name: &str| {
            variables.iter().find(|(other, _)| *other == name).map(|(_, value)| (*value).to_owned())
        };
        Collector::of(&environment)
    }

    fn sample() -> Span {
        let attributes = json!({"gen_ai.request.model": "m", "gen_ai.usage.input_tokens": 9, "nochmal.cut": true,
                                "gen_ai.response.finish_reasons": ["stop"], ERROR: "529"});
        Span {
            trace_id: "0".repeat(32),
            span_id: "1".repeat(16),
            parent_span_id: Some("2".repeat(16)),
            kind: Kind::Model,
            name: "chat m".into(),
            start_unix_nano: u64::MAX - 1,
            end_unix_nano: u64::MAX,
            attributes: attributes.as_object().cloned().unwrap_or_else(Map::new),
        }
    }

    #[test]
    fn the_collector_is_named_by_opentelemetrys_own_variables() {
        assert!(collector(&[]).unwrap().is_none());
        let all = collector(&[("OTEL_EXPORTER_OTLP_ENDPOINT", "http://localhost:4318/")]).unwrap().unwrap();
        assert_eq!(
            (all.url.as_str(), all.service.as_str()),
            ("http://localhost:4318/v1/traces", "nochmal-agent")
        );
        let own = [
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://a"),
            ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://b/t"),
        ];
        assert_eq!(collector(&own).unwrap().unwrap().url.as_str(), "http://b/t");
        let error = collector(&[("OTEL_EXPORTER_OTLP_ENDPOINT", "localhost:4317")]).unwrap_err().to_string();
        assert!(error.starts_with("OTEL_EXPORTER_OTLP_ENDPOINT is not the URL of a collector"), "{error}");
    }

    #[tokio::test]
    async fn spans_arrive_as_a_collector_reads_them() {
        let (told, mut hears) = mpsc::unbounded_channel::<(Option<String>, Value)>();
        let take = |State(told): State<mpsc::UnboundedSender<(Option<String>, Value)>>,
                    headers: HeaderMap,
                    body: String| async move {
            let key = headers.get("x-key").and_then(|value| value.to_str().ok()).map(str::to_owned);
            let refused = body.contains("refuse");
            told.send((key, serde_json::from_str(&body).unwrap())).unwrap();
            if refused { StatusCode::TOO_MANY_REQUESTS } else { StatusCode::OK }
        };
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let router = Router::new().route("/v1/traces", post(take)).with_state(told);
        tokio::spawn(async move { axum::serve(listener, router).await });
        let variables = [
            ("OTEL_EXPORTER_OTLP_ENDPOINT", url.as_str()),
            ("OTEL_EXPORTER_OTLP_HEADERS", "x-key=abc, y=z"),
            ("OTEL_RESOURCE_ATTRIBUTES", "nochmal.run.id=ab-r001, team=front%2Cdesk%, service.name=other"),
        ];
        let there = collector(&variables).unwrap().unwrap();
        there.send(&[sample()]).await.unwrap();
        let (key, body) = hears.recv().await.unwrap();
        assert_eq!(key.as_deref(), Some("abc"));
        let attributes = body["resourceSpans"][0]["resource"]["attributes"].as_array().unwrap();
        let told: Vec<(&str, &str)> = attributes
            .iter()
            .map(|one| (one["key"].as_str().unwrap(), one["value"]["stringValue"].as_str().unwrap()))
            .collect();
        let version = env!("CARGO_PKG_VERSION");
        assert_eq!(
            told,
            [
                ("service.name", "nochmal-agent"),
                ("service.version", version),
                ("nochmal.run.id", "ab-r001"),
                ("team", "front,desk%")
            ]
        );
        let span = &body["resourceSpans"][0]["scopeSpans"][0]["spans"][0];
        assert_eq!((&span["kind"], &span["status"]["code"]), (&json!(3), &json!(2)));
        assert_eq!(span["endTimeUnixNano"], json!(u64::MAX.to_string()));
        let attributes = span["attributes"].to_string();
        assert!(
            attributes.contains(r#"{"key":"gen_ai.usage.input_tokens","value":{"intValue":"9"}}"#),
            "{attributes}"
        );
        assert!(attributes.contains(r#"{"arrayValue":{"values":[{"stringValue":"stop"}]}}"#), "{attributes}");
        let error = there.send(&[Span { name: "refuse".into(), ..sample() }]).await.unwrap_err();
        assert_eq!(error.to_string(), "the collector answered 429");
    }
}
