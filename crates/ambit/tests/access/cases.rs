//! A request for every route, and who may expect what of it. A new route gets a row here.

use serde_json::{Value, json};

/// Whom a route is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum For {
    /// Everybody, without credentials.
    Anybody,
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
    /// Operators.
    Operator,
}

/// A request. In its path `{chat}` and the like are replaced by Ann's.
pub struct Case {
    /// The route, as `operations` has it.
    pub route: &'static str,
    /// The path that is asked for.
    pub path: &'static str,
    pub body: Option<Value>,
    pub whose: For,
    /// Whether those who may see Ann's words are shown some.
    pub shows: bool,
    /// Whether the answer has no end.
    pub is_endless: bool,
}

fn case(route: &'static str, path: &'static str, whose: For) -> Case {
    Case {
        route,
        path,
        body: None,
        whose,
        shows: false,
        is_endless: false,
    }
}

impl Case {
    fn showing(self) -> Self {
        Self {
            shows: true,
            ..self
        }
    }

    fn with(self, body: Value) -> Self {
        Self {
            body: Some(body),
            ..self
        }
    }
}

fn chat() -> Value {
    json!({"chat_id": "{chat}", "messages": [{"role": "user", "content": "what did I say?"}]})
}

/// Every route at least once.
pub fn cases() -> Vec<Case> {
    let mut all = Vec::new();
    all.extend(of_operation());
    all.extend(of_agents());
    all.extend(of_chats());
    all.extend(of_contexts());
    all.extend(of_memory());
    all.extend(of_traces());
    all
}

fn of_operation() -> Vec<Case> {
    vec![
        case("GET /healthz", "/healthz", For::Anybody),
        case("GET /readyz", "/readyz", For::Anybody),
        case("GET /openapi.json", "/openapi.json", For::Caller),
        case("GET /metrics", "/metrics", For::Operator),
    ]
}

fn of_agents() -> Vec<Case> {
    let hello = "/models/hello";
    vec![
        case("GET /models", "/models", For::Caller),
        case("GET /models/:id", hello, For::Caller),
        case("GET /models/:id", "/models/anns", For::Owner(200)),
        case("GET /agent/assistants", "/agent/assistants", For::Caller),
        case(
            "GET /agent/assistants",
            "/agent/assistants?keywords=anns",
            For::Caller,
        ),
        case(
            "GET /agent/assistants/tags",
            "/agent/assistants/tags",
            For::Caller,
        ),
        case(
            "GET /agent/assistants/:id",
            "/agent/assistants/anns",
            For::Owner(200),
        ),
        case(
            "GET /agent/assistants/:id/info",
            "/agent/assistants/anns/info",
            For::Owner(200),
        ),
        case(
            "POST /chat/completions",
            "/chat/completions?assistant_id=hello",
            For::Caller,
        )
        .with(chat()),
        case(
            "POST /chat/completions",
            "/chat/completions?assistant_id=anns",
            For::Owner(200),
        )
        .with(chat()),
        case(
            "POST /agents/:assistant_id/chat/completions",
            "/agents/hello/chat/completions",
            For::Caller,
        )
        .with(chat()),
        case(
            "POST /agents/:assistant_id/chat/completions",
            "/agents/anns/chat/completions",
            For::Owner(200),
        )
        .with(chat()),
    ]
}

fn of_chats() -> Vec<Case> {
    let append = json!({"type": "graceful", "messages": [{"role": "user", "content": "and this"}]});
    let stop = json!({"type": "force"});
    vec![
        case(
            "GET /chat/sessions",
            "/chat/sessions?pagesize=100",
            For::Caller,
        )
        .showing(),
        case(
            "GET /chat/sessions",
            "/chat/sessions?keywords=canar&order_by=sort",
            For::Caller,
        )
        .showing(),
        case(
            "GET /chat/sessions/:chat_id",
            "/chat/sessions/{chat}",
            For::Guest(200),
        )
        .showing(),
        case(
            "PUT /chat/sessions/:chat_id",
            "/chat/sessions/{chat}",
            For::Guest(200),
        )
        .with(json!({"sort": 7})),
        case(
            "DELETE /chat/sessions/:chat_id",
            "/chat/sessions/{chat}",
            For::Guest(204),
        ),
        case(
            "GET /chat/sessions/:chat_id/messages",
            "/chat/sessions/{chat}/messages",
            For::Guest(200),
        )
        .showing(),
        case(
            "GET /chat/references/:request_id",
            "/chat/references/{request}",
            For::Guest(200),
        ),
        case(
            "GET /chat/references/:request_id/:index",
            "/chat/references/{request}/1",
            For::Nobody,
        ),
        case(
            "GET /chat/requests/:request_id",
            "/chat/requests/{request}",
            For::Guest(200),
        )
        .showing(),
        case(
            "GET /chat/requests/:request_id/stream",
            "/chat/requests/{request}/stream?accept=cui-web",
            For::Guest(200),
        )
        .showing(),
        case(
            "POST /chat/requests/:request_id/cancel",
            "/chat/requests/{request}/cancel",
            For::Guest(202),
        ),
        case(
            "POST /chat/completions/:context_id/append",
            "/chat/completions/{context}/append",
            For::Guest(409),
        )
        .with(append),
        case(
            "POST /chat/completions/:context_id/append",
            "/chat/completions/{request}/append",
            For::Guest(409),
        )
        .with(stop),
        case("GET /usage", "/usage?group_by=model", For::Caller).showing(),
        case("GET /usage", "/usage?context={row}", For::Guest(200)),
    ]
}

fn of_contexts() -> Vec<Case> {
    let dry = json!({"dry_run": true});
    vec![
        case("GET /contexts", "/contexts?limit=100", For::Caller),
        case("GET /contexts/:id", "/contexts/{row}", For::Guest(200)),
        case(
            "GET /contexts/:id/items",
            "/contexts/{row}/items",
            For::Guest(200),
        )
        .showing(),
        case(
            "POST /contexts/:id/clear",
            "/contexts/{row}/clear",
            For::Guest(204),
        ),
        case("DELETE /contexts/:id", "/contexts/{row}", For::Guest(204)),
        case("POST /contexts/clear", "/contexts/clear", For::Caller).with(dry.clone()),
        case("POST /contexts/remove", "/contexts/remove", For::Caller).with(dry),
        Case {
            is_endless: true,
            ..case("GET /events", "/events", For::Caller)
        },
    ]
}

fn of_memory() -> Vec<Case> {
    let value = json!({"value": 1});
    let chat_keys = "/memory/chat/{chat}/keys/mine";
    vec![
        case("GET /memory/:space", "/memory/user", For::Caller),
        case("GET /memory/:space", "/memory/team", For::Caller),
        case(
            "GET /memory/:space/:owner",
            "/memory/chat/{chat}",
            For::Guest(200),
        )
        .showing(),
        case(
            "GET /memory/:space/:owner",
            "/memory/user/ann",
            For::Namesake,
        )
        .showing(),
        case("GET /memory/:space/:owner", "/memory/team/red", For::Team),
        case(
            "GET /memory/:space/keys/:key",
            "/memory/user/keys/never",
            For::Nobody,
        ),
        case(
            "PUT /memory/:space/keys/:key",
            "/memory/user/keys/mine",
            For::Caller,
        )
        .with(value.clone()),
        case(
            "DELETE /memory/:space/keys/:key",
            "/memory/user/keys/mine",
            For::Caller,
        ),
        case(
            "GET /memory/:space/:owner/keys/:key",
            "/memory/chat/{chat}/keys/{key}",
            For::Guest(200),
        )
        .showing(),
        case(
            "GET /memory/:space/:owner/keys/:key",
            "/memory/user/ann/keys/{key}",
            For::Owner(200),
        )
        .showing(),
        case(
            "PUT /memory/:space/:owner/keys/:key",
            chat_keys,
            For::Guest(204),
        )
        .with(value),
        case(
            "DELETE /memory/:space/:owner/keys/:key",
            chat_keys,
            For::Guest(204),
        ),
    ]
}

fn of_traces() -> Vec<Case> {
    let one = |route, path| case(route, path, For::Guest(200));
    vec![
        case(
            "GET /trace/traces",
            "/trace/traces?pagesize=100",
            For::Caller,
        ),
        case(
            "GET /trace/traces",
            "/trace/traces?chat_id={chat}",
            For::Caller,
        ),
        one("GET /trace/traces/:id/info", "/trace/traces/{made}/info"),
        one("GET /trace/traces/:id/nodes", "/trace/traces/{made}/nodes").showing(),
        one(
            "GET /trace/traces/:id/nodes/:node",
            "/trace/traces/{made}/nodes/n1",
        )
        .showing(),
        one("GET /trace/traces/:id/logs", "/trace/traces/{made}/logs").showing(),
        one(
            "GET /trace/traces/:id/logs/:node",
            "/trace/traces/{made}/logs/n1",
        )
        .showing(),
        one(
            "GET /trace/traces/:id/spaces",
            "/trace/traces/{made}/spaces",
        ),
        case(
            "GET /trace/traces/:id/spaces/:space",
            "/trace/traces/{made}/spaces/s",
            For::Nobody,
        ),
        one(
            "GET /trace/traces/:id/events",
            "/trace/traces/{made}/events",
        )
        .showing(),
    ]
}
