//! What bodies of requests look like: one for each operation that takes one.

use super::operations;
use serde_json::{Value, json};
use utoipa::openapi::{OpenApi, RefOr};

/// A body that an operation takes, by the operation's id.
fn body(id: &str) -> Option<Value> {
    let messages = json!([{"role": "user", "content": "Hello"}]);
    let body = match id {
        "explain_request" => json!({"who": "user", "what": "GET /chat/sessions"}),
        "run" | "run_by" => json!({
            "threadId": "billing", "runId": "run-1", "messages": [{"id": "m1", "role": "user", "content": "Hello"}],
            "tools": [], "context": [], "state": {}, "forwardedProps": {},
        }),
        "complete" => json!({"model": "welcome", "stream": true, "messages": messages}),
        "complete_by" => json!({"stream": true, "messages": messages}),
        "send" | "send_to" => json!({
            "id": "billing", "trigger": "submit-message",
            "messages": [{"id": "m1", "role": "user", "parts": [{"type": "text", "text": "Hello"}]}],
        }),
        "try_agent_hook" => json!({"messages": messages, "memory": "scratch"}),
        "render_agent_prompts" => json!({"locale": "en", "mode": "chat"}),
        "try_agent_tool" => json!({"arguments": {"id": "A-1"}}),
        "append_messages" => json!({"type": "graceful", "messages": messages}),
        "change_chat" => json!({"title": "An order that is late"}),
        "clear_contexts" | "remove_contexts" => {
            json!({"user": "ann", "chat": "billing", "dry_run": true})
        }
        "create_conversation" | "change_conversation" => json!({"metadata": {"topic": "orders"}}),
        "create_items" => {
            json!({"items": [{"type": "message", "role": "user", "content": "Hello"}]})
        }
        "query_data_model" => json!({
            "select": ["id", "number"], "wheres": [{"column": "state", "op": "=", "value": "open"}], "page": 1, "pagesize": 20,
        }),
        "make_key" => json!({"user_id": "ann", "label": "notebook"}),
        "serve_tools" => json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}),
        "put_own_value" | "put_owned_value" => json!({"value": {"language": "en"}, "ttl": "30d"}),
        "create_message" => {
            json!({"model": "welcome", "max_tokens": 500, "stream": true, "messages": messages})
        }
        "count_tokens" => json!({"model": "welcome", "messages": messages}),
        "create_response" => json!({"model": "welcome", "input": "Hello", "stream": true}),
        "count_input" => json!({"model": "welcome", "input": "Hello"}),
        "act_as" => json!({"user_id": "ann", "roles": ["user"]}),
        "run_batch" => {
            json!({"space": "notes", "owner": "user", "ops": [{"op": "put", "key": "a", "value": {"text": "Hello"}}]})
        }
        "search_items" => json!({"space": "notes", "owner": "user", "query": "hello", "limit": 5}),
        _ => return of_knowledge(id),
    };
    Some(body)
}

/// The same for the operations of collections.
fn of_knowledge(id: &str) -> Option<Value> {
    let body = match id {
        "create_collection" => json!({"id": "books", "name": "Books"}),
        "change_collection" => json!({"name": "Books", "share": "team"}),
        "add_documents" | "add_text" | "begin_text" | "change_document" | "add_file"
        | "begin_file" => {
            json!({"text": "Goods are taken back within 30 days.", "name": "returns.md"})
        }
        "add_url" | "begin_url" => json!({"url": "https://example.com/returns"}),
        "change_metadata" => json!({"metadata": {"year": 2026}}),
        "reindex_collection" => json!({"chunk": {"size": 200, "overlap": 20}}),
        "set_scores" => json!({"scores": [{"id": "CHUNK", "score": 0.5}]}),
        "set_weights" => json!({"weights": [{"id": "CHUNK", "weight": 2.0}]}),
        "add_hits" => json!({"segments": [{"source": "app", "query": "returns"}]}),
        "vote" => json!({"segments": [{"vote": "positive"}]}),
        "search_collections" => {
            json!({"query": "When are goods taken back?", "collections": ["books"], "limit": 5})
        }
        _ => return None,
    };
    Some(body)
}

/// The document in which operations say what a body looks like.
pub fn with_bodies(mut document: OpenApi) -> OpenApi {
    for operation in operations(&mut document) {
        let id = operation.operation_id.as_deref().unwrap_or_default();
        let Some(RefOr::T(request)) = &mut operation.request_body else {
            continue;
        };
        if let Some(RefOr::T(content)) = request.content.get_mut("application/json") {
            content.example = body(id);
        }
    }
    document
}
