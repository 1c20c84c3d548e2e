//! A server with one of everything that the official conformance suite asks for, over stdio or,
//! with the address to listen at as its argument, over Streamable HTTP.

#![expect(deprecated, reason = "the suite asks for what later versions drop")]

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CompleteRequestParams, CompleteResult,
    ErrorData, GetPromptRequestParams, GetPromptResponse, GetPromptResult, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, ServerConfig, SetLevelRequestParams,
    SubscribeRequestParams, UnsubscribeRequestParams,
};
use rmcp::service::{RequestContext, RoleServer, ServiceExt};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ServerHandler, transport};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

const PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
const WAV: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA=";

#[derive(Clone)]
struct Everything;

fn read<T: DeserializeOwned>(value: Value) -> Result<T, ErrorData> {
    serde_json::from_value(value).map_err(|error| ErrorData::internal_error(error.to_string(), None))
}

fn failed(error: impl std::fmt::Display) -> ErrorData {
    ErrorData::internal_error(error.to_string(), None)
}

fn text(text: impl Into<String>) -> Value {
    json!({"type": "text", "text": text.into()})
}

/// Every tool: its name, and its schema where it takes something.
fn tools() -> Value {
    let plain = json!({"type": "object", "properties": {}});
    let tool = |name: &str, schema: &Value| json!({"name": name, "description": name, "inputSchema": schema});
    let one =
        |name: &str| json!({"type": "object", "properties": {name: {"type": "string"}}, "required": [name]});
    let mut tools: Vec<Value> = [
        "test_simple_text",
        "test_image_content",
        "test_audio_content",
        "test_embedded_resource",
        "test_multiple_content_types",
        "test_tool_with_logging",
        "test_tool_with_progress",
        "test_error_handling",
        "test_elicitation_sep1034_defaults",
        "test_elicitation_sep1330_enums",
        "test_reconnection",
    ]
    .into_iter()
    .map(|name| tool(name, &plain))
    .collect();
    tools.push(tool("test_sampling", &one("prompt")));
    tools.push(tool("test_elicitation", &one("message")));
    tools.push(tool(
        "json_schema_2020_12_tool",
        &json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "$defs": {"address": {"type": "object", "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}},
            "properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"}},
            "additionalProperties": false
        }),
    ));
    json!({ "tools": tools })
}

fn defaults() -> Value {
    json!({"type": "object", "properties": {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "default": true}
    }, "required": []})
}

fn enums() -> Value {
    let titled = |words: [&str; 3]| {
        let place = |n: usize| json!({"const": format!("value{}", n + 1), "title": words[n]});
        json!([place(0), place(1), place(2)])
    };
    json!({"type": "object", "properties": {
        "untitledSingle": {"type": "string", "enum": ["option1", "option2", "option3"]},
        "titledSingle": {"type": "string", "oneOf": titled(["First Option", "Second Option", "Third Option"])},
        "legacyEnum": {"type": "string", "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"]},
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": ["option1", "option2", "option3"]}},
        "titledMulti": {"type": "array", "items": {"anyOf": titled(["First Choice", "Second Choice", "Third Choice"])}}
    }, "required": []})
}

impl Everything {
    async fn content(
        &self,
        name: &str,
        arguments: &Value,
        context: &RequestContext<RoleServer>,
    ) -> Result<Value, ErrorData> {
        let resource = |uri: &str, kind: &str, body: &str| json!({"type": "resource", "resource": {"uri": uri, "mimeType": kind, "text": body}});
        let image = json!({"type": "image", "data": PNG, "mimeType": "image/png"});
        Ok(match name {
            "test_simple_text" => json!([text("This is a simple text response for testing.")]),
            "test_image_content" => json!([image]),
            "test_audio_content" => json!([{"type": "audio", "data": WAV, "mimeType": "audio/wav"}]),
            "test_embedded_resource" => {
                json!([resource(
                    "test://embedded-resource",
                    "text/plain",
                    "This is an embedded resource content."
                )])
            }
            "test_multiple_content_types" => {
                let mixed = r#"{"test":"data","value":123}"#;
                json!([
                    text("Multiple content types test:"),
                    image,
                    resource("test://mixed-content-resource", "application/json", mixed)
                ])
            }
            "test_tool_with_logging" => {
                for message in ["Tool execution started", "Tool processing data", "Tool execution completed"]
                {
                    let entry = read(json!({"level": "info", "data": message}))?;
                    context.peer.notify_logging_message(entry).await.map_err(failed)?;
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
                json!([text("Tool execution completed")])
            }
            "test_tool_with_progress" => {
                let token = context.meta.get_progress_token();
                for progress in [0, 50, 100] {
                    if let Some(token) = &token {
                        let step = json!({"progressToken": token, "progress": progress, "total": 100});
                        context.peer.notify_progress(read(step)?).await.map_err(failed)?;
                    }
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
                json!([text("done")])
            }
            "test_reconnection" => {
                tokio::time::sleep(Duration::from_millis(200)).await;
                json!([text("Reconnection test completed successfully")])
            }
            "test_sampling" => {
                let asked = json!({"messages": [{"role": "user", "content": text(arguments["prompt"].as_str().unwrap_or(""))}], "maxTokens": 100});
                let answer = context.peer.create_message(read(asked)?).await.map_err(failed)?;
                let answer = serde_json::to_value(answer).map_err(failed)?;
                json!([text(format!("LLM response: {}", answer["content"]["text"].as_str().unwrap_or("")))])
            }
            "test_elicitation" => {
                let schema = json!({"type": "object", "properties": {
                    "username": {"type": "string", "description": "User's response"},
                    "email": {"type": "string", "description": "User's email address"}
                }, "required": ["username", "email"]});
                let message = arguments["message"].as_str().unwrap_or("");
                json!([text(format!("User response: {}", self.elicit(message, schema, context).await?))])
            }
            "test_elicitation_sep1034_defaults" => {
                let answer = self.elicit("Please fill in", defaults(), context).await?;
                json!([text(format!("Elicitation completed: {answer}"))])
            }
            "test_elicitation_sep1330_enums" => {
                let answer = self.elicit("Please choose", enums(), context).await?;
                json!([text(format!("Elicitation completed: {answer}"))])
            }
            "json_schema_2020_12_tool" => json!([text("ok")]),
            other => return Err(ErrorData::invalid_params(format!("unknown tool {other}"), None)),
        })
    }

    async fn elicit(
        &self,
        message: &str,
        schema: Value,
        context: &RequestContext<RoleServer>,
    ) -> Result<String, ErrorData> {
        let asked = json!({"mode": "form", "message": message, "requestedSchema": schema});
        let answer = context.peer.create_elicitation(read(asked)?).await.map_err(failed)?;
        let answer = serde_json::to_value(answer).map_err(failed)?;
        Ok(format!("action={}, content={}", answer["action"].as_str().unwrap_or(""), answer["content"]))
    }
}

impl ServerHandler for Everything {
    fn get_info(&self) -> ServerConfig {
        let mut info = ServerConfig::default();
        let capabilities = json!({"tools": {"listChanged": true}, "resources": {"subscribe": true, "listChanged": true},
            "prompts": {"listChanged": true}, "logging": {}, "completions": {}});
        info.capabilities = serde_json::from_value(capabilities).unwrap_or_default();
        info
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        read(tools())
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if request.name == "test_error_handling" {
            let told = [text("This tool intentionally returns an error for testing")];
            let result: CallToolResult = read(json!({"isError": true, "content": told}))?;
            return Ok(result.into());
        }
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        let content = self.content(&request.name, &arguments, &context).await?;
        let result: CallToolResult = read(json!({ "content": content }))?;
        Ok(result.into())
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let resource = |name: &str, kind: &str| json!({"uri": format!("test://{name}"), "name": name, "description": name, "mimeType": kind});
        read(
            json!({"resources": [resource("static-text", "text/plain"), resource("static-binary", "image/png"),
            resource("watched-resource", "text/plain")]}),
        )
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        read(json!({"resourceTemplates": [{"uriTemplate": "test://template/{id}/data", "name": "template",
            "description": "a template", "mimeType": "application/json"}]}))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let uri = request.uri.as_str();
        let id = uri.strip_prefix("test://template/").and_then(|rest| rest.strip_suffix("/data"));
        let contents = match (uri, id) {
            ("test://static-binary", _) => json!({"uri": uri, "mimeType": "image/png", "blob": PNG}),
            ("test://static-text", _) => {
                json!({"uri": uri, "mimeType": "text/plain", "text": "This is the content of the static text resource."})
            }
            (_, Some(id)) => {
                let data = json!({"id": id, "templateTest": true, "data": format!("Data for ID: {id}")});
                json!({"uri": uri, "mimeType": "application/json", "text": data.to_string()})
            }
            _ => return Err(ErrorData::resource_not_found(format!("no resource {uri}"), None)),
        };
        let result: ReadResourceResult = read(json!({"contents": [contents]}))?;
        Ok(result.into())
    }

    async fn subscribe(
        &self,
        _: SubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn unsubscribe(
        &self,
        _: UnsubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn set_level(
        &self,
        _: SetLevelRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn complete(
        &self,
        _: CompleteRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        read(json!({"completion": {"values": ["paris", "park", "party"], "total": 150, "hasMore": true}}))
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let prompt = |name: &str, arguments: &[&str]| {
            let arguments: Vec<Value> = arguments
                .iter()
                .map(|name| json!({"name": name, "description": name, "required": true}))
                .collect();
            json!({"name": name, "description": name, "arguments": arguments})
        };
        read(json!({"prompts": [prompt("test_simple_prompt", &[]),
            prompt("test_prompt_with_arguments", &["arg1", "arg2"]),
            prompt("test_prompt_with_embedded_resource", &["resourceUri"]), prompt("test_prompt_with_image", &[])]}))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let given = serde_json::to_value(&request.arguments).map_err(failed)?;
        let given = |name: &str| given[name].as_str().unwrap_or("").to_owned();
        let contents = match request.name.as_str() {
            "test_simple_prompt" => vec![text("This is a simple prompt for testing.")],
            "test_prompt_with_arguments" => {
                vec![text(format!(
                    "Prompt with arguments: arg1='{}', arg2='{}'",
                    given("arg1"),
                    given("arg2")
                ))]
            }
            "test_prompt_with_embedded_resource" => vec![
                json!({"type": "resource", "resource": {"uri": given("resourceUri"), "mimeType": "text/plain",
                    "text": "Embedded resource content for testing."}}),
                text("Please process the embedded resource above."),
            ],
            "test_prompt_with_image" => vec![
                json!({"type": "image", "data": PNG, "mimeType": "image/png"}),
                text("Please analyze the image above."),
            ],
            other => return Err(ErrorData::invalid_params(format!("unknown prompt {other}"), None)),
        };
        let messages: Vec<Value> =
            contents.into_iter().map(|content| json!({"role": "user", "content": content})).collect();
        let result: GetPromptResult = read(json!({ "messages": messages }))?;
        Ok(result.into())
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let Some(address) = std::env::args().nth(1) else {
        Everything.serve(transport::stdio()).await?.waiting().await?;
        return Ok(());
    };
    let listener = tokio::net::TcpListener::bind(address).await?;
    let origin = format!("http://{}", listener.local_addr()?);
    writeln!(std::io::stderr(), "listening on {origin}/mcp")?;
    let config = StreamableHttpServerConfig::default().with_allowed_origins([origin]);
    let service =
        StreamableHttpService::new(|| Ok(Everything), Arc::new(LocalSessionManager::default()), config);
    axum::serve(listener, axum::Router::new().nest_service("/mcp", service)).await?;
    Ok(())
}
