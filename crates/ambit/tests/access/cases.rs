//! A request for every route, and who may expect what of it. A new route gets a row here.

use serde_json::{Value, json};

/// Route, path and whom it is for; then `shows` where those who may see Ann's words are shown some, `endless` where the answer
/// has no end, and the name of a body. In paths `{chat}` and the like stand for Ann's.
const CASES: &str = "
GET /healthz | /healthz | anybody
GET /readyz | /readyz | anybody
GET /openapi.json | /openapi.json | caller
GET /metrics | /metrics | operator
GET /.well-known/oauth-protected-resource | /.well-known/oauth-protected-resource | anybody
GET /.well-known/oauth-protected-resource/:base/mcp | /.well-known/oauth-protected-resource/v1/mcp | anybody
POST /mcp | /mcp | caller | tools

GET /session | /session | known
POST /session | /session | known 201
DELETE /session | /session | known 204
POST /session/act-as | /session/act-as | operator 201 | empty
GET /keys | /keys | operator
POST /keys | /keys | operator 400 | empty
DELETE /keys/:id | /keys/none | operator 404
GET /access/rules | /access/rules | operator
POST /access/explain | /access/explain | operator | question

GET /data/models | /data/models | operator
GET /data/models/:id | /data/models/none | operator 404
POST /data/models/:id/query | /data/models/none/query | operator 404 | empty

GET /app/problems | /app/problems | refused 403
GET /app/agents | /app/agents | refused 403
GET /app/agents/:id | /app/agents/hello | refused 403
GET /app/agents/:id/files/* | /app/agents/hello/files/prompts.yml | refused 403
POST /app/agents/:id/prompts | /app/agents/hello/prompts | refused 403
GET /app/agents/:id/tools | /app/agents/hello/tools | refused 403
POST /app/agents/:id/tools/:name | /app/agents/hello/tools/none | refused 403
POST /app/agents/:id/hooks/:hook | /app/agents/hello/hooks/Create | refused 403
GET /system | /system | refused 403
GET /system/leases | /system/leases | refused 403
POST /system/doctor | /system/doctor | refused 403
POST /system/repair | /system/repair | refused 403

GET /models | /models | caller
GET /models/:id | /models/hello | caller
GET /models/:id | /models/anns | owner 200
GET /agent/assistants | /agent/assistants | caller
GET /agent/assistants | /agent/assistants?keywords=anns | caller
GET /agent/assistants/tags | /agent/assistants/tags | caller
GET /agent/assistants/:id | /agent/assistants/anns | owner 200
GET /agent/assistants/:id/info | /agent/assistants/anns/info | owner 200
POST /chat/completions | /chat/completions?assistant_id=hello | caller | chat
POST /chat/completions | /chat/completions?assistant_id=anns | owner 200 | chat
POST /agents/:assistant_id/chat/completions | /agents/hello/chat/completions | caller | chat
POST /agents/:assistant_id/chat/completions | /agents/anns/chat/completions | owner 200 | chat
POST /ag-ui | /ag-ui?assistant_id=hello | caller | run
POST /ag-ui/:assistant_id | /ag-ui/anns | owner 200 | run
POST /messages | /messages | caller | asked
POST /messages | /messages | owner 200 | asks anns
POST /messages/count_tokens | /messages/count_tokens | caller | asked
POST /messages/count_tokens | /messages/count_tokens | owner 200 | asks anns

GET /chat/sessions | /chat/sessions?pagesize=100 | caller | shows
GET /chat/sessions | /chat/sessions?keywords=canar&order_by=sort | caller | shows
GET /chat/sessions | /chat/sessions?q=canar* | caller | shows
GET /chat/sessions/:chat_id | /chat/sessions/{chat} | guest 200 | shows
PUT /chat/sessions/:chat_id | /chat/sessions/{chat} | guest 200 | sort
DELETE /chat/sessions/:chat_id | /chat/sessions/{chat} | guest 204
GET /chat/sessions/:chat_id/messages | /chat/sessions/{chat}/messages | guest 200 | shows
GET /chat/sessions/:chat_id/messages | /chat/sessions/{chat}/messages?q=canar* | guest 200 | shows
GET /chat/references/:request_id | /chat/references/{request} | guest 200
GET /chat/references/:request_id/:index | /chat/references/{request}/1 | nobody
GET /chat/requests | /chat/requests?limit=100 | caller
GET /chat/requests | /chat/requests?context={row} | caller
GET /chat/sessions/:chat_id | /chat/sessions/-?context={row} | guest 200 | shows
GET /chat/sessions/:chat_id/messages | /chat/sessions/-/messages?context={row} | guest 200 | shows
GET /memory/:space/:owner | /memory/chat/-?context={row} | guest 200 | shows
POST /chat/completions | /chat/completions?context={row} | guest 200 | asked
GET /trace/traces/:id/events | /trace/traces/{made}/events?brief=true | guest 200 | shows
GET /chat/requests/:request_id | /chat/requests/{request} | guest 200 | shows
GET /chat/requests/:request_id/stream | /chat/requests/{request}/stream?accept=cui-web | guest 200 | shows
DELETE /chat/requests/:request_id | /chat/requests/{request} | guest 202
POST /chat/requests/:request_id/cancel | /chat/requests/{request}/cancel | guest 202
POST /chat/completions/:context_id/append | /chat/completions/{context}/append | guest 409 | addition
POST /chat/completions/:context_id/append | /chat/completions/{request}/append | guest 409 | stop
POST /ai-sdk/chat | /ai-sdk/chat?assistant_id=hello | caller | ui
POST /ai-sdk/chat | /ai-sdk/chat?assistant_id=anns | owner 200 | ui
POST /ai-sdk/:assistant_id/chat | /ai-sdk/hello/chat | caller | ui
POST /ai-sdk/:assistant_id/chat | /ai-sdk/anns/chat | owner 200 | ui
GET /ai-sdk/chat/:chat_id/stream | /ai-sdk/chat/{chat}/stream | refused 204
DELETE /ai-sdk/chat/:chat_id/stream | /ai-sdk/chat/{chat}/stream | refused 204
GET /ai-sdk/chat/:chat_id/messages | /ai-sdk/chat/{chat}/messages | guest 200 | shows
GET /ai-sdk/:assistant_id/chat/:chat_id/stream | /ai-sdk/hello/chat/{chat}/stream | refused 204
DELETE /ai-sdk/:assistant_id/chat/:chat_id/stream | /ai-sdk/hello/chat/{chat}/stream | refused 204
GET /ai-sdk/:assistant_id/chat/:chat_id/messages | /ai-sdk/hello/chat/{chat}/messages | guest 200 | shows
GET /usage | /usage?group_by=model | caller | shows
GET /usage | /usage?context={row} | guest 200

POST /responses | /responses | caller | response
POST /responses | /responses | owner 200 | hers
POST /responses | /responses | guest 200 | going_on
POST /responses | /responses | guest 200 | conversing
POST /responses/input_tokens | /responses/input_tokens | caller | response
POST /responses/input_tokens | /responses/input_tokens | owner 200 | hers
POST /responses/input_tokens | /responses/input_tokens | guest 200 | going_on
POST /responses/input_tokens | /responses/input_tokens | guest 200 | conversing
POST /responses/compact | /responses/compact | refused 422 | empty
GET /responses/:response_id | /responses/resp_{request} | guest 200 | shows
DELETE /responses/:response_id | /responses/resp_{request} | guest 200
POST /responses/:response_id/cancel | /responses/resp_{request}/cancel | guest 200 | empty
GET /responses/:response_id/input_items | /responses/resp_{request}/input_items | guest 200 | shows
POST /conversations | /conversations | caller | empty
GET /conversations/:conversation_id | /conversations/conv_{row} | guest 200
POST /conversations/:conversation_id | /conversations/conv_{row} | guest 200 | metadata
DELETE /conversations/:conversation_id | /conversations/conv_{row} | guest 200
GET /conversations/:conversation_id/items | /conversations/conv_{row}/items | guest 200 | shows
POST /conversations/:conversation_id/items | /conversations/conv_{row}/items | guest 200 | items
GET /conversations/:conversation_id/items/:item_id | /conversations/conv_{row}/items/msg_{request}_U1 | guest 200 | shows
DELETE /conversations/:conversation_id/items/:item_id | /conversations/conv_{row}/items/msg_{request}_U1 | guest 200

GET /contexts | /contexts?limit=100 | caller
GET /contexts/values | /contexts/values?field=user | caller
GET /contexts/:id | /contexts/{row} | guest 200
GET /contexts/:id/items | /contexts/{row}/items | guest 200 | shows
POST /contexts/:id/clear | /contexts/{row}/clear | guest 204
DELETE /contexts/:id | /contexts/{row} | guest 204
POST /contexts/clear | /contexts/clear | caller | dry
POST /contexts/remove | /contexts/remove | caller | dry
GET /events | /events | caller | endless

GET /memory/:space | /memory/user | caller
GET /memory/:space | /memory/team | caller
GET /memory/:space/:owner | /memory/chat/{chat} | guest 200 | shows
GET /memory/:space/:owner | /memory/user/ann | namesake | shows
GET /memory/:space/:owner | /memory/team/red | team
GET /memory/:space/search | /memory/user/search | caller
GET /memory/:space/:owner/search | /memory/chat/{chat}/search | guest 200 | shows
GET /memory/:space/:owner/search | /memory/user/ann/search?q=canar* | namesake | shows
GET /memory/:space/keys/:key | /memory/user/keys/never | nobody
PUT /memory/:space/keys/:key | /memory/user/keys/mine | caller | value
DELETE /memory/:space/keys/:key | /memory/user/keys/mine | caller
GET /memory/:space/:owner/keys/:key | /memory/chat/{chat}/keys/{key} | guest 200 | shows
GET /memory/:space/:owner/keys/:key | /memory/user/ann/keys/{key} | owner 200 | shows
PUT /memory/:space/:owner/keys/:key | /memory/chat/{chat}/keys/mine | guest 204 | value
DELETE /memory/:space/:owner/keys/:key | /memory/chat/{chat}/keys/mine | guest 204

GET /kb/collections | /kb/collections?pagesize=100 | caller | shows
POST /kb/collections | /kb/collections | refused 400 | nameless
GET /kb/collections/:collection_id | /kb/collections/anns-kb | owner 200 | shows
PUT /kb/collections/:collection_id | /kb/collections/anns-kb | owner 200 | described
DELETE /kb/collections/:collection_id | /kb/collections/anns-kb | owner 204
GET /kb/collections/:collection_id/exists | /kb/collections/anns-kb/exists | caller
PUT /kb/collections/:collection_id/metadata | /kb/collections/anns-kb/metadata | owner 200 | metadata
GET /kb/collections/:collection_id/documents | /kb/collections/anns-kb/documents | owner 200 | shows
POST /kb/collections/:collection_id/documents | /kb/collections/anns-kb/documents | owner 202 | text
POST /kb/collections/:collection_id/documents/file | /kb/collections/anns-kb/documents/file | owner 200 | text
POST /kb/collections/:collection_id/documents/text | /kb/collections/anns-kb/documents/text | owner 200 | text
POST /kb/collections/:collection_id/documents/url | /kb/collections/anns-kb/documents/url | owner 422 | page
POST /kb/collections/:collection_id/documents/file/async | /kb/collections/anns-kb/documents/file/async | owner 202 | text
POST /kb/collections/:collection_id/documents/text/async | /kb/collections/anns-kb/documents/text/async | owner 202 | text
POST /kb/collections/:collection_id/documents/url/async | /kb/collections/anns-kb/documents/url/async | owner 202 | page
POST /kb/collections/:collection_id/reindex | /kb/collections/anns-kb/reindex | owner 400 | tiny
GET /kb/collections/:collection_id/events | /kb/collections/anns-kb/events | owner 200 | endless
DELETE /kb/collections/:collection_id/documents/:document_id | /kb/collections/anns-kb/documents/anns-doc | owner 204
GET /kb/documents | /kb/documents | caller | shows
DELETE /kb/documents | /kb/documents?document_ids=none | caller
GET /kb/documents/:document_id | /kb/documents/anns-doc | owner 200 | shows
PUT /kb/documents/:document_id | /kb/documents/anns-doc | owner 202 | metadata
DELETE /kb/documents/:document_id | /kb/documents/anns-doc | owner 204
GET /kb/documents/:document_id/file | /kb/documents/anns-doc/file | owner 200 | shows
GET /kb/documents/:document_id/text | /kb/documents/anns-doc/text | owner 200 | shows
GET /kb/documents/:document_id/segments | /kb/documents/anns-doc/segments | owner 200 | shows
GET /kb/documents/:document_id/segments/:segment_id | /kb/documents/anns-doc/segments/{chunk} | owner 200 | shows
PUT /kb/documents/:document_id/segments/weights | /kb/documents/anns-doc/segments/weights | owner 200 | weights
PUT /kb/documents/:document_id/segments/scores | /kb/documents/anns-doc/segments/scores | owner 200 | scores
GET /kb/documents/:document_id/segments/:segment_id/votes | /kb/documents/anns-doc/segments/{chunk}/votes | owner 200
POST /kb/documents/:document_id/segments/:segment_id/votes | /kb/documents/anns-doc/segments/{chunk}/votes | owner 200 | votes
DELETE /kb/documents/:document_id/segments/:segment_id/votes | /kb/documents/anns-doc/segments/{chunk}/votes?vote_ids=x | owner 200
GET /kb/documents/:document_id/segments/:segment_id/hits | /kb/documents/anns-doc/segments/{chunk}/hits | owner 200
DELETE /kb/documents/:document_id/segments/:segment_id/hits | /kb/documents/anns-doc/segments/{chunk}/hits?hit_ids=x | owner 200
POST /kb/documents/:document_id/segments/:segment_id/hits | /kb/documents/anns-doc/segments/{chunk}/hits | owner 200 | empty
POST /kb/search | /kb/search | caller | looked
GET /kb/jobs | /kb/jobs | caller
GET /kb/jobs/:job_id | /kb/jobs/{job} | owner 200
DELETE /kb/jobs/:job_id | /kb/jobs/{job} | owner 200
GET /kb/jobs/:job_id/events | /kb/jobs/{job}/events | owner 200

POST /store/batch | /store/batch | operator | stored
POST /store/search | /store/search | operator | stored_words

GET /chat/requests/:request_id/calls | /chat/requests/{request}/calls | guest 200
GET /calls/:id/manifest | /calls/{request}.call-0/manifest | guest 200
GET /calls/:id/blocks/:n | /calls/{request}.call-0/blocks/0 | refused 403
GET /calls/:id/tools/:n | /calls/{request}.call-0/tools/0 | refused 403
GET /calls/:id/request | /calls/{request}.call-0/request | refused 403

GET /trace/traces | /trace/traces?pagesize=100 | caller
GET /trace/traces | /trace/traces?chat_id={chat} | caller
GET /trace/traces/:id/info | /trace/traces/{made}/info | guest 200
GET /trace/traces/:id/nodes | /trace/traces/{made}/nodes | guest 200 | shows
GET /trace/traces/:id/nodes/:node | /trace/traces/{made}/nodes/n1 | guest 200 | shows
GET /trace/traces/:id/logs | /trace/traces/{made}/logs | guest 200 | shows
GET /trace/traces/:id/logs/:node | /trace/traces/{made}/logs/n1 | guest 200 | shows
GET /trace/traces/:id/spaces | /trace/traces/{made}/spaces | guest 200
GET /trace/traces/:id/spaces/:space | /trace/traces/{made}/spaces/s | nobody
GET /trace/traces/:id/events | /trace/traces/{made}/events | guest 200 | shows
";

/// Whom a route is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum For {
    /// Everybody, without credentials.
    Anybody,
    /// Every caller, whatever they are granted. The status is theirs.
    Known(u16),
    /// Every caller, with their own data.
    Caller,
    /// Those who may use Ann's conversation; to others it is not there. The status is theirs.
    Guest(u16),
    /// Those who may use Ann's memory, by her name; whoever has her name elsewhere has a memory too.
    Namesake,
    /// Ann, and those without limits in her tenant.
    Owner(u16),
    /// Members of Ann's team, and those without limits.
    Team,
    /// Nobody: there is no such thing.
    Nobody,
    /// Operators, with this status.
    Operator(u16),
    /// Nobody: it is refused with this status.
    Refused(u16),
}

/// A request.
pub struct Case {
    /// The route, as `operations` has it.
    pub route: &'static str,
    pub path: &'static str,
    pub body: Option<Value>,
    pub whose: For,
    /// Whether those who may see Ann's words are shown some.
    pub shows: bool,
    pub is_endless: bool,
}

/// Every route at least once.
pub fn cases() -> Vec<Case> {
    let rows = CASES.lines().filter(|row| !row.is_empty());
    rows.map(case).collect()
}

fn case(row: &'static str) -> Case {
    let cells: Vec<&str> = row.split(" | ").collect();
    let more = cells.get(3).copied();
    Case {
        route: cells[0],
        path: cells[1],
        whose: whose(cells[2]),
        shows: more == Some("shows"),
        is_endless: more == Some("endless"),
        body: more.and_then(body),
    }
}

fn whose(text: &str) -> For {
    let (word, status) = text.split_once(' ').unwrap_or((text, "200"));
    let status = status.parse().unwrap();
    match word {
        "anybody" => For::Anybody,
        "known" => For::Known(status),
        "caller" => For::Caller,
        "guest" => For::Guest(status),
        "namesake" => For::Namesake,
        "owner" => For::Owner(status),
        "team" => For::Team,
        "nobody" => For::Nobody,
        "operator" => For::Operator(status),
        "refused" => For::Refused(status),
        other => panic!("{other}"),
    }
}

fn body(name: &str) -> Option<Value> {
    Some(match name {
        "shows" | "endless" => return None,
        "chat" => {
            json!({"chat_id": "{chat}", "messages": [{"role": "user", "content": "what did I say?"}]})
        }
        "ui" => {
            json!({"id": "{chat}", "messages": [{"id": "m1", "role": "user", "parts": [{"type": "text", "text": "what did I say?"}]}]})
        }
        "run" => {
            let asked = json!({"id": "asked", "role": "user", "content": "what did I say?"});
            json!({"threadId": "{chat}", "runId": "r1", "messages": [asked]})
        }
        "asked" => json!({"model": "hello", "messages": [{"role": "user", "content": "hi"}]}),
        "asks anns" => json!({"model": "anns", "messages": [{"role": "user", "content": "hi"}]}),
        "response" => json!({"model": "hello", "input": "what did I say?"}),
        "hers" => json!({"model": "anns", "input": "what did I say?"}),
        "going_on" => {
            json!({"model": "hello", "input": "hi", "previous_response_id": "resp_{request}"})
        }
        "conversing" => json!({"model": "hello", "input": "hi", "conversation": "conv_{row}"}),
        "items" => json!({"items": [{"role": "user", "content": "and this"}]}),
        "sort" => json!({"sort": 7}),
        "addition" => {
            json!({"type": "graceful", "messages": [{"role": "user", "content": "and this"}]})
        }
        "stop" => json!({"type": "force"}),
        "dry" => json!({"dry_run": true}),
        "value" => json!({"value": 1}),
        "nameless" => json!({"name": "x"}),
        "described" => json!({"description": "x"}),
        "tiny" => json!({"chunk": {"size": 1}}),
        "metadata" => json!({"metadata": {"x": 1}}),
        "text" => json!({"name": "new.md", "text": "x"}),
        "page" => json!({"url": "http://127.0.0.1:1/x"}),
        "weights" => json!({"weights": []}),
        "scores" => json!({"scores": []}),
        "votes" => json!({"segments": []}),
        "empty" => json!({}),
        "tools" => json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}),
        "stored" => {
            json!({"space": "docs", "owner": "user", "ops": [{"op": "get", "key": "k"}]})
        }
        "stored_words" => json!({"space": "docs", "owner": "user", "query": "canar*"}),
        "question" => json!({"who": "own", "what": "GET /contexts"}),
        "looked" => json!({"query": "canar*"}),
        other => panic!("{other}"),
    })
}
