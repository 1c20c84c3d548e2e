//! Tools for tests.

use crate::harness::message::ToolSpec;
use serde_json::{Value, json};

pub fn tool(name: &str, schema: Value) -> ToolSpec {
    ToolSpec { name: name.into(), input_schema: schema.as_object().cloned().unwrap(), ..ToolSpec::default() }
}

/// A hotel, as an agent without annotations sees it.
pub fn hotel(search: bool) -> Vec<ToolSpec> {
    let id = json!({"type": "object", "properties": {"booking_id": {"type": "string"}}, "required": ["booking_id"]});
    let mut tools = vec![
        tool(
            "create_booking",
            json!({"type": "object",
                   "properties": {"guest": {"type": "string", "examples": ["Ada Lovelace"]},
                                  "room": {"type": "integer", "examples": [12]},
                                  "date": {"type": "string", "format": "date", "examples": ["2026-12-03"]},
                                  "idempotency_key": {"type": "string"}},
                   "required": ["guest", "room", "date"]}),
        ),
        tool("get_booking", id.clone()),
        tool("cancel_booking", id),
    ];
    if search {
        tools.push(tool(
            "find_bookings",
            json!({"type": "object", "properties": {"guest": {"type": "string"}, "date": {"type": "string"}}}),
        ));
    }
    tools
}

/// The tools of `@modelcontextprotocol/server-memory`.
pub fn memory() -> Vec<ToolSpec> {
    let list = |name: &str, properties: Value, required: Value| {
        json!({"type": "object", "required": [name], "properties": {
            name: {"type": "array", "items": {"type": "object", "properties": properties, "required": required}}}})
    };
    let text = json!({"type": "string", "description": "The name of the entity"});
    let texts = json!({"type": "array", "items": {"type": "string"}, "description": "Contents"});
    let relation = list(
        "relations",
        json!({"from": text, "to": text, "relationType": text}),
        json!(["from", "to", "relationType"]),
    );
    vec![
        tool(
            "create_entities",
            list(
                "entities",
                json!({"name": text, "entityType": text, "observations": texts}),
                json!(["name", "entityType", "observations"]),
            ),
        ),
        tool("create_relations", relation.clone()),
        tool(
            "add_observations",
            list(
                "observations",
                json!({"entityName": text, "contents": texts}),
                json!(["entityName", "contents"]),
            ),
        ),
        tool(
            "delete_entities",
            json!({"type": "object", "properties": {"entityNames": texts}, "required": ["entityNames"]}),
        ),
        tool("delete_relations", relation),
        tool("read_graph", json!({"type": "object", "properties": {}})),
        tool(
            "search_nodes",
            json!({"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}),
        ),
        tool("open_nodes", json!({"type": "object", "properties": {"names": texts}, "required": ["names"]})),
    ]
}

/// Some tools of `@kazuph/mcp-taskmanager`.
pub fn tasks() -> Vec<ToolSpec> {
    let text = json!({"type": "string"});
    let list = json!({"type": "array", "items": {"type": "object",
        "properties": {"title": text, "description": text}, "required": ["title", "description"]}});
    let schema = |properties: Value, required: Value| json!({"type": "object", "properties": properties, "required": required});
    vec![
        tool(
            "request_planning",
            schema(
                json!({"originalRequest": text, "splitDetails": text, "tasks": list}),
                json!(["originalRequest", "tasks"]),
            ),
        ),
        tool("get_next_task", schema(json!({"requestId": text}), json!(["requestId"]))),
        tool(
            "mark_task_done",
            schema(json!({"requestId": text, "taskId": text}), json!(["requestId", "taskId"])),
        ),
        tool("list_requests", json!({"type": "object", "properties": {}})),
        tool(
            "add_tasks_to_request",
            schema(json!({"requestId": text, "tasks": list}), json!(["requestId", "tasks"])),
        ),
    ]
}
