//! What is configured as a secret is seen by nobody: not in answers, streams, lists, traces and measures, and in no line of
//! the log, whatever its level.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod lines;
mod provider;
#[path = "../http/site.rs"]
#[expect(dead_code, reason = "only a part of it is needed here")]
mod site;

use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use provider::Provider;
use reqwest::Method;
use serde_json::{Value, json};
use site::{Answer, Site};
use std::time::{SystemTime, UNIX_EPOCH};

/// What every secret of this test begins with.
const CANARY: &str = "CANARY";

const ISSUER_SECRET: &str = "CANARY-issuer-secret-of-32-letters";

const ENVIRONMENT: &str = "\
MODEL_KEY=CANARY-model-key
HEADER_KEY=CANARY-header
BODY_KEY=CANARY-body-of-more-than-16-letters
PROXY=http://ann:CANARY-proxy@127.0.0.1:1
HOST=http://ann:CANARY-host@127.0.0.1:1
ISSUER_SECRET=CANARY-issuer-secret-of-32-letters
TOOL_TOKEN=CANARY-tool-token
TOOL_HEADER=CANARY-tool-header
TOOL_VARIABLE=CANARY-tool-variable
";

const OPENAPI: &str = r#"{"auth": {"api_keys": true, "issuers": [{"issuer": "https://id.test", "audience": "ambit", "secret": "$ENV.ISSUER_SECRET"}]}}"#;

/// Everything that a script can see, sent, logged and thrown.
const DUMP: &str = r#"
    export function Create(ctx, messages, options) {
        const names = Object.getOwnPropertyNames(globalThis);
        const seen = JSON.stringify([ctx, options, names, Authorized(), messages]);
        ctx.Send(seen);
        console.error(seen);
        ctx.trace.Info(seen);
        ctx.memory.chat.Set("seen", seen);
        ctx.Send(http.Get("http://127.0.0.1:1/").message);
        throw new Exception(seen);
    }
"#;

fn connector(kind: &str, options: &Value) -> String {
    json!({"label": kind, "type": kind, "options": options}).to_string()
}

/// Each connector, by name: all refuse, with what they were sent in their words, or cannot be reached.
fn connectors(host: &str) -> Vec<(String, String)> {
    let with = |kind: &str| {
        let options = json!({
            "model": "m", "host": host, "key": "$ENV.MODEL_KEY", "headers": {"X-Vault": "$ENV.HEADER_KEY"},
            "extra_body": {"vault": "$ENV.BODY_KEY"},
        });
        connector(kind, &options)
    };
    let away = |host: &str, proxy: &str| {
        let options =
            json!({"model": "m", "host": host, "http_proxy": proxy, "key": "$ENV.MODEL_KEY"});
        connector("openai", &options)
    };
    vec![
        ("openai".to_owned(), with("openai")),
        ("anthropic".to_owned(), with("anthropic")),
        ("gemini".to_owned(), with("gemini")),
        ("proxied".to_owned(), away(host, "$ENV.PROXY")),
        ("away".to_owned(), away("$ENV.HOST", "")),
    ]
}

/// Each tool server, by name: all refuse, with what they were told in their words, or cannot be reached.
fn servers(host: &str) -> Vec<(String, Value)> {
    let over = |transport: &str, place: &str| {
        json!({
            "transport": transport, "url": format!("{place}/CANARY-tool-path?key=CANARY-tool-key"),
            "authorization_token": "$ENV.TOOL_TOKEN", "headers": {"X-Vault": "$ENV.TOOL_HEADER"},
        })
    };
    let away = "http://ann:CANARY-tool-password@127.0.0.1:1";
    let talk = "echo \"the key is $VAULT\" >&2; exit 1";
    let process = json!({
        "transport": "stdio", "command": "/bin/sh", "arguments": ["-c", talk], "env": {"VAULT": "$ENV.TOOL_VARIABLE"},
    });
    vec![
        ("tools-http".to_owned(), over("http", host)),
        ("tools-sse".to_owned(), over("sse", host)),
        ("tools-away".to_owned(), over("http", away)),
        ("tools-away-sse".to_owned(), over("sse", away)),
        ("tools-process".to_owned(), process),
    ]
}

async fn open(host: &str) -> Site {
    let mut files = vec![
        (".env".to_owned(), ENVIRONMENT.to_owned()),
        ("openapi/openapi.yao".to_owned(), OPENAPI.to_owned()),
        (
            "assistants/dump/package.yao".to_owned(),
            json!({"name": "Dump", "public": true, "connector": "openai"}).to_string(),
        ),
        ("assistants/dump/src/index.ts".to_owned(), DUMP.to_owned()),
    ];
    for (name, text) in connectors(host) {
        let package = json!({"name": name, "public": true, "connector": name});
        files.push((
            format!("assistants/{name}/package.yao"),
            package.to_string(),
        ));
        files.push((
            format!("assistants/{name}/prompts.yml"),
            "- role: system\n  content: The key is $ENV.MODEL_KEY.\n".to_owned(),
        ));
        files.push((format!("connectors/{name}.conn.yao"), text));
    }
    for (name, server) in servers(host) {
        let package = json!({"name": name, "public": true, "connector": "openai", "mcp": {"servers": [name]}});
        files.push((
            format!("assistants/{name}/package.yao"),
            package.to_string(),
        ));
        files.push((format!("mcps/{name}.mcp.yao"), server.to_string()));
    }
    let files: Vec<(&str, &str)> = files
        .iter()
        .map(|(name, text)| (name.as_str(), text.as_str()))
        .collect();
    Site::of(&files).await
}

fn token(secret: &str) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let claims =
        json!({"iss": "https://id.test", "aud": "ambit", "sub": "ann", "exp": now.as_secs() + 600});
    let key = EncodingKey::from_secret(secret.as_bytes());
    encode(&Header::new(Algorithm::HS256), &claims, &key).unwrap()
}

/// Everything that was said to clients, with where.
#[derive(Default)]
struct Said(Vec<(String, String)>);

impl Said {
    async fn get(&mut self, site: &Site, path: &str) -> Answer {
        let request = site.request(Method::GET, path);
        let answer = Answer::of(request.bearer_auth(token(ISSUER_SECRET))).await;
        self.keep(path, &answer);
        answer
    }

    fn keep(&mut self, place: &str, answer: &Answer) {
        let text = format!("{} {:?} {}", answer.status, answer.headers, answer.text);
        self.0.push((place.to_owned(), text));
    }

    fn with_canaries(&self) -> Vec<&(String, String)> {
        let all = self.0.iter();
        all.filter(|(_, text)| text.contains(CANARY)).collect()
    }
}

const LISTS: &[&str] = &[
    "/metrics",
    "/v1/models",
    "/v1/agent/assistants",
    "/v1/agent/assistants/dump",
    "/v1/chat/sessions",
    "/v1/contexts",
    "/v1/usage",
    "/v1/memory/chat/chat-dump",
];

/// Everything that is told of one turn.
async fn look_at(site: &Site, said: &mut Said, id: &str) {
    said.get(site, &format!("/v1/chat/requests/{id}")).await;
    let stream = format!("/v1/chat/requests/{id}/stream?accept=cui-web");
    said.get(site, &stream).await;
    for part in ["info", "nodes", "logs", "spaces", "events"] {
        let path = format!("/v1/trace/traces/{id}/{part}");
        let answer = said.get(site, &path).await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.text);
    }
}

const AGENTS: &[&str] = &[
    "dump",
    "openai",
    "anthropic",
    "gemini",
    "proxied",
    "away",
    "tools-http",
    "tools-sse",
    "tools-away",
    "tools-away-sse",
    "tools-process",
];

/// Asks each agent in each way, then looks at everything that is told of it.
async fn use_all(site: &Site, said: &mut Said) {
    for agent in AGENTS {
        for format in ["standard", "cui-web"] {
            for is_streaming in [false, true] {
                let body = json!({
                    "model": agent, "chat_id": format!("chat-{agent}"), "accept": format, "stream": is_streaming,
                    "messages": [{"role": "user", "content": "hi"}],
                });
                let request = site.request(Method::POST, "/v1/chat/completions");
                let request = request.bearer_auth(token(ISSUER_SECRET)).json(&body);
                let answer = Answer::of(request).await;
                said.keep(&format!("{agent} {format} {is_streaming}"), &answer);
                if let Some(id) = answer.header("x-ambit-request").map(str::to_owned) {
                    look_at(site, said, &id).await;
                }
            }
        }
        said.get(site, &format!("/v1/chat/sessions/chat-{agent}/messages"))
            .await;
    }
    for path in LISTS {
        said.get(site, path).await;
    }
}

#[tokio::test]
async fn g072_no_answer_stream_trace_measure_or_line_of_the_log_holds_a_secret() {
    lines::collect();
    let provider = Provider::open().await;
    let site = open(&provider.url).await;
    let mut said = Said::default();
    use_all(&site, &mut said).await;
    for wrong in [
        token("another secret of this test"),
        ISSUER_SECRET.to_owned(),
    ] {
        let request = site.request(Method::GET, "/v1/models");
        let answer = Answer::of(request.bearer_auth(wrong)).await;
        assert_eq!(answer.status, 401);
        said.keep("a wrong token", &answer);
    }
    // The secrets were in use, and the log was heard at every level.
    let sent = provider.sent();
    for secret in [
        "CANARY-model-key",
        "CANARY-header",
        "CANARY-body",
        "CANARY-tool-token",
        "CANARY-tool-header",
        "CANARY-tool-key",
    ] {
        assert!(sent.contains(secret), "{secret} was not sent: {sent}");
    }
    assert!(!lines::with("the key is ***").is_empty());
    let heard = lines::heard();
    for level in ["INFO", "WARN"] {
        assert!(heard.contains(level), "nothing was logged at {level}");
    }
    assert_eq!(said.with_canaries(), Vec::<&(String, String)>::new());
    assert_eq!(lines::with(CANARY), Vec::<String>::new());
}
