//! One row for each provider that is reached over HTTP: its recorded streams, what they say, and what it expects.

use crate::server::{Reply, Server};
use crate::support::{KEY, open, typed};
use ambit_runtime::chat::ToolCall;
use ambit_runtime::llm::{ModelAnswer, PROVIDERS, Provider, TokenUsage};
use serde_json::{Value, json};
use std::sync::Arc;

pub struct Fake {
    pub kind: &'static str,
    /// Where calls go, below the host.
    pub path: &'static str,
    /// The header with the key, and how it stands there.
    pub key: (&'static str, &'static str),
    pub text: (&'static str, fn() -> ModelAnswer),
    pub reasoning: (&'static str, fn() -> ModelAnswer),
    pub tools: (&'static str, fn() -> ModelAnswer),
    /// The beginning of a stream that has shown nothing yet.
    pub start: &'static str,
    /// An event behind it that shows `Hi`.
    pub hi: &'static str,
    /// An event with which the provider says in mid-stream that it is overloaded.
    pub overloaded: &'static str,
    /// The same text in one piece.
    pub whole: Option<&'static str>,
}

const OPENAI: Fake = Fake {
    kind: "openai",
    path: "/v1/chat/completions",
    key: ("authorization", "Bearer sk-canary-1234567890"),
    text: (include_str!("recorded/openai/text.sse"), openai_text),
    reasoning: (
        include_str!("recorded/openai/reasoning.sse"),
        openai_reasoning,
    ),
    tools: (include_str!("recorded/openai/tools.sse"), openai_tools),
    start: "data: {\"id\":\"x\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n",
    hi: "data: {\"id\":\"x\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hi\"}}]}\n\n",
    overloaded: "data: {\"error\":{\"message\":\"Overloaded\",\"type\":\"server_error\",\"code\":null}}\n\n",
    whole: Some(
        r#"{"id":"x","model":"m","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"Hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}}"#,
    ),
};

pub const FAKES: &[Fake] = &[
    OPENAI,
    Fake {
        kind: "ollama",
        ..OPENAI
    },
    Fake {
        kind: "anthropic",
        path: "/v1/messages",
        key: ("x-api-key", KEY),
        text: (include_str!("recorded/anthropic/text.sse"), anthropic_text),
        reasoning: (
            include_str!("recorded/anthropic/reasoning.sse"),
            anthropic_reasoning,
        ),
        tools: (
            include_str!("recorded/anthropic/tools.sse"),
            anthropic_tools,
        ),
        start: "data: {\"type\":\"message_start\",\"message\":{\"id\":\"x\",\"content\":[]}}\n\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n",
        hi: "data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"Hi\"}}\n\n",
        overloaded: "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n",
        whole: Some(
            r#"{"id":"x","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"Hi"}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":2}}"#,
        ),
    },
    Fake {
        kind: "gemini",
        path: "/v1beta/models/m:streamGenerateContent?alt=sse",
        key: ("x-goog-api-key", KEY),
        text: (include_str!("recorded/gemini/text.sse"), gemini_text),
        reasoning: (
            include_str!("recorded/gemini/reasoning.sse"),
            gemini_reasoning,
        ),
        tools: (include_str!("recorded/gemini/tools.sse"), gemini_tools),
        start: "data: {\"responseId\":\"x\",\"candidates\":[{\"content\":{\"role\":\"model\",\"parts\":[]}}]}\n\n",
        hi: "data: {\"candidates\":[{\"content\":{\"role\":\"model\",\"parts\":[{\"text\":\"Hi\"}]}}]}\n\n",
        overloaded: "data: {\"error\":{\"code\":503,\"message\":\"Overloaded\",\"status\":\"UNAVAILABLE\"}}\n\n",
        whole: Some(
            r#"{"responseId":"x","modelVersion":"m","candidates":[{"content":{"role":"model","parts":[{"text":"Hi"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":2,"totalTokenCount":3}}"#,
        ),
    },
];

impl Fake {
    /// A server that replies so, and the provider that calls it.
    pub async fn serve(&self, replies: Vec<Reply>) -> (Server, Arc<dyn Provider>) {
        let server = Server::start(replies).await;
        let model = self.open(&server, json!({}));
        (server, model)
    }

    pub fn open(&self, server: &Server, more: Value) -> Arc<dyn Provider> {
        let mut options = json!({"host": server.address, "model": "m", "key": KEY});
        let own = options.as_object_mut().unwrap();
        own.extend(more.as_object().unwrap().clone());
        open(self.kind, options)
    }

    /// Each recorded stream and what it says.
    pub fn recorded(&self) -> [(&'static str, ModelAnswer); 3] {
        [self.text, self.reasoning, self.tools].map(|(stream, answer)| (stream, answer()))
    }
}

#[test]
fn every_provider_has_a_fake() {
    let fakes = FAKES.iter().map(|fake| fake.kind);
    let mut fakes: Vec<&str> = fakes.chain(["scripted"]).collect();
    let mut kinds: Vec<&str> = PROVIDERS.iter().map(|row| row.kind).collect();
    fakes.sort_unstable();
    kinds.sort_unstable();
    assert_eq!(fakes, kinds);
}

fn usage(counts: [i64; 3], prompt: Value, completion: Value) -> TokenUsage {
    let details = |value: Value| value.as_object().unwrap().clone();
    TokenUsage {
        prompt_tokens: counts[0],
        completion_tokens: counts[1],
        total_tokens: counts[2],
        prompt_tokens_details: details(prompt),
        completion_tokens_details: details(completion),
    }
}

pub fn tool_call(id: &str, name: &str, arguments: &str) -> ToolCall {
    ToolCall {
        id: id.to_owned(),
        name: name.to_owned(),
        arguments: arguments.to_owned(),
        ..ToolCall::default()
    }
}

fn said(id: &str, model: &str, text: &str, finish_reason: &str) -> ModelAnswer {
    ModelAnswer {
        id: id.to_owned(),
        model: model.to_owned(),
        text: text.to_owned(),
        finish_reason: finish_reason.to_owned(),
        ..ModelAnswer::default()
    }
}

const THOUGHT: &str = "9.11 is smaller.";
const GREETING: &str = "Grüße 👋🏽 世界";

fn openai_text() -> ModelAnswer {
    let id = "chatcmpl-B9MBs8CjcvOU2jLn4n570S5qMJKcT";
    ModelAnswer {
        usage: usage(
            [19, 10, 29],
            json!({"cached_tokens": 4, "audio_tokens": 0}),
            json!({"reasoning_tokens": 0, "audio_tokens": 0, "accepted_prediction_tokens": 0, "rejected_prediction_tokens": 0}),
        ),
        ..said(id, "gpt-4.1-2025-04-14", GREETING, "stop")
    }
}

fn openai_reasoning() -> ModelAnswer {
    let id = "1f633d8bfc032625086f14113c411638";
    ModelAnswer {
        reasoning: THOUGHT.to_owned(),
        reasoning_parts: typed(vec![json!({"type": "reasoning_content"})].into()),
        usage: usage(
            [20, 47, 67],
            json!({"cached_tokens": 0}),
            json!({"reasoning_tokens": 42}),
        ),
        ..said(id, "deepseek-reasoner", "9.8", "stop")
    }
}

fn openai_tools() -> ModelAnswer {
    let id = "chatcmpl-BAQ1f2c9Hc4ls5VnTqv6DzQ0pWbPz";
    ModelAnswer {
        tool_calls: vec![
            tool_call(
                "call_qVeZ1LCuZ3DWFKLZ5wVl0Yd4",
                "weather__get",
                "{\"city\": \"Zürich\"}",
            ),
            tool_call(
                "call_8Vn3fYt2m0rLkM9sXo1aQbCd",
                "weather__get",
                "{\"city\": \"Oslo\"}",
            ),
        ],
        usage: TokenUsage::of(82, 48),
        ..said(id, "gpt-4.1-2025-04-14", "", "tool_calls")
    }
}

fn anthropic_text() -> ModelAnswer {
    let details = json!({"cached_tokens": 16, "cache_creation_tokens": 0});
    ModelAnswer {
        usage: usage([25, 12, 37], details, json!({})),
        ..said(
            "msg_01XFDUDYJgAACzvnptvVoYEL",
            "claude-sonnet-4-5-20250929",
            GREETING,
            "stop",
        )
    }
}

fn anthropic_reasoning() -> ModelAnswer {
    ModelAnswer {
        reasoning: THOUGHT.to_owned(),
        reasoning_parts: typed(
            vec![
                json!({"type": "thinking", "thinking": THOUGHT,
                "signature": "EqQBCgIYAhIM1gbcDa9GJwZA2b3hGgxBdjrkzLoky3dl1pkiMOYds"}),
                json!({"type": "redacted_thinking",
                "data": "EmwKAhgBEgy3va3pzix/LafPsn4aDFIT2Xlxh0L5L8rLVyIwxtE3rAFBa8cr3qpP"}),
            ]
            .into(),
        ),
        usage: TokenUsage::of(44, 77),
        ..said(
            "msg_013Zva2CMHLNnXjNJJKqJ2EF",
            "claude-sonnet-4-5-20250929",
            "9.8",
            "stop",
        )
    }
}

fn anthropic_tools() -> ModelAnswer {
    ModelAnswer {
        tool_calls: vec![
            tool_call(
                "toolu_01T1x1fJ34qAmk2tNTrN7Up6",
                "weather__get",
                "{\"city\": \"Zürich\"}",
            ),
            tool_call("toolu_01A09q90qw90lq917835lq9", "clock__now", "{}"),
        ],
        usage: TokenUsage::of(472, 89),
        ..said(
            "msg_014p7gG3wDgGV9EUtLvnow3U",
            "claude-sonnet-4-5-20250929",
            "Let me look.",
            "tool_calls",
        )
    }
}

fn gemini_text() -> ModelAnswer {
    ModelAnswer {
        usage: TokenUsage::of(7, 9),
        ..said(
            "mAitaLmkHPPlz7IPvtfUqQ4",
            "gemini-2.5-flash",
            GREETING,
            "stop",
        )
    }
}

fn gemini_reasoning() -> ModelAnswer {
    let signature =
        json!({"type": "thought_signature", "signature": "EqcDCqQDAdHtim8mkmFxcEd2Vw=="});
    ModelAnswer {
        reasoning: THOUGHT.to_owned(),
        reasoning_parts: typed(vec![signature].into()),
        usage: usage([20, 45, 65], json!({}), json!({"reasoning_tokens": 42})),
        ..said(
            "dRkgaeL7AoOJvdIP4uSX0Ag",
            "gemini-3-pro-preview",
            "9.8",
            "stop",
        )
    }
}

fn gemini_tools() -> ModelAnswer {
    ModelAnswer {
        reasoning_parts: typed(vec![
            json!({"type": "function_call", "call": 0, "signature": "CiQBjz1rX0tVZ3hXQ2VkZ2UK"}),
            json!({"type": "function_call", "call": 1, "id": "fc_2"}),
        ].into()),
        // The first one comes without an id: it gets one of ours.
        tool_calls: vec![
            tool_call("", "weather__get", "{\"city\":\"Zürich\"}"),
            tool_call("fc_2", "clock__now", "{}"),
        ],
        usage: usage(
            [96, 64, 160],
            json!({"cached_tokens": 11}),
            json!({"reasoning_tokens": 33}),
        ),
        ..said(
            "bhogaZCUIZ2rvdIPy5vZ8AQ",
            "gemini-3-pro-preview",
            "",
            "tool_calls",
        )
    }
}
