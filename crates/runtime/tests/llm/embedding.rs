//! Vectors of texts: what services are asked, what is made of good answers, and that bad ones give no vector.

use crate::server::{End, Reply, Server};
use crate::support::{KEY, connector};
use ambit_runtime::llm::embedding::{
    EmbeddingAnswer, EmbeddingCall, EmbeddingClient, EmbeddingError, EmbeddingErrorKind,
};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::time::Instant;

/// Too short to ask a second time.
const SHORT: Duration = Duration::from_millis(400);
/// Long enough to ask again, on a busy machine too.
const LONG: Duration = Duration::from_secs(60);

const TWO: &str = r#"{"object":"list","model":"m","data":[{"object":"embedding","index":1,"embedding":[0,1]},{"object":"embedding","index":0,"embedding":[1,0.5]}],"usage":{"prompt_tokens":7,"total_tokens":9}}"#;

struct Asking {
    kind: &'static str,
    texts: Vec<String>,
    dimensions: Option<u32>,
    time: Duration,
    options: Value,
}

impl Asking {
    /// For the vectors of two texts.
    fn two(kind: &'static str) -> Self {
        Self {
            kind,
            texts: vec!["one".to_owned(), "two".to_owned()],
            dimensions: None,
            time: LONG,
            options: json!({}),
        }
    }

    /// Asks a server that replies so.
    async fn of(&self, server: &Server) -> Result<EmbeddingAnswer, EmbeddingError> {
        let mut options = json!({"host": server.address, "model": "m", "key": KEY});
        let own = options.as_object_mut().unwrap();
        own.extend(self.options.as_object().unwrap().clone());
        let call = EmbeddingCall {
            connector: &connector(self.kind, options),
            dimensions: self.dimensions,
            texts: &self.texts,
            deadline: Instant::now() + self.time,
        };
        EmbeddingClient::default().embed(&call).await
    }
}

/// A failure after which the service is not asked a second time.
fn failed_once(status: u16, body: &str) -> Reply {
    // Longer than anybody waits.
    Reply::json(status, body).with("retry-after", "3600")
}

fn vectors(answer: &EmbeddingAnswer) -> Vec<Vec<f32>> {
    answer.vectors.clone()
}

#[tokio::test]
async fn a_service_is_asked_in_openais_words_with_the_connectors_key_and_headers() {
    for kind in ["openai", "ollama"] {
        let server = Server::start(vec![Reply::json(200, TWO)]).await;
        let asking = Asking {
            options: json!({"headers": {"X-Own": "1"}, "extra_body": {"user": "u"}}),
            dimensions: Some(2),
            ..Asking::two(kind)
        };
        let answer = asking.of(&server).await.unwrap();
        assert_eq!(vectors(&answer), [[1.0, 0.5], [0.0, 1.0]]);
        assert_eq!(answer.model, "m");
        let asked = server.only();
        assert_eq!(asked.path, "/v1/embeddings");
        assert_eq!(asked.headers["authorization"], format!("Bearer {KEY}"));
        assert_eq!(asked.headers["x-own"], "1");
        assert_eq!(
            asked.body,
            json!({"model": "m", "input": ["one", "two"], "encoding_format": "float", "dimensions": 2, "user": "u"})
        );
    }
}

#[tokio::test]
async fn all_three_forms_of_answers_are_read() {
    let ollama = r#"{"model":"m","embeddings":[[1,0.5],[0,1]],"prompt_eval_count":7}"#;
    let llama = r#"[{"index":1,"embedding":[[0,1]]},{"index":0,"embedding":[[1,0.5]]}]"#;
    for (body, tokens) in [(TWO, 7), (ollama, 7), (llama, 2)] {
        let server = Server::start(vec![Reply::json(200, body)]).await;
        let answer = Asking::two("openai").of(&server).await.unwrap();
        assert_eq!(vectors(&answer), [[1.0, 0.5], [0.0, 1.0]], "{body}");
        assert_eq!(answer.usage.prompt_tokens, tokens, "{body}");
        let record = answer.record("test.model").unwrap();
        assert_eq!(record.purpose.as_deref(), Some("search"));
        assert_eq!(record.provider_name.as_deref(), Some("test.model"));
        assert_eq!(record.model_name.as_deref(), Some("m"));
        assert_eq!(record.total_tokens, Some(tokens));
    }
}

/// Answers that hold no vectors, what was asked for, and why they are of no use.
const NONSENSE: &[(&str, Option<u32>, &str)] = &[
    ("", None, "is no list of vectors"),
    ("<html>", None, "is no list of vectors"),
    ("{}", None, "is no list of vectors"),
    (
        r#"{"data":[{"index":0,"embedding":"AAAA"}]}"#,
        None,
        "is no list",
    ),
    (
        r#"{"embeddings":[[1,null],[1,2]]}"#,
        None,
        "is no list of vectors",
    ),
    (
        r#"{"embeddings":[[1,NaN],[1,2]]}"#,
        None,
        "is no list of vectors",
    ),
    (
        r#"{"embeddings":[[1,1e999],[1,2]]}"#,
        None,
        "is no list of vectors",
    ),
    (
        r#"{"embeddings":[[1,1e300],[1,2]]}"#,
        None,
        "a number that is too large",
    ),
    (
        r#"{"embeddings":[[1,2]]}"#,
        None,
        "has 1 vectors for 2 texts",
    ),
    (
        r#"{"embeddings":[[1],[2],[3]]}"#,
        None,
        "has 3 vectors for 2 texts",
    ),
    (
        r#"{"embeddings":[[1,2],[1]]}"#,
        None,
        "vectors of different lengths",
    ),
    (
        r#"{"embeddings":[[1],[1]]}"#,
        Some(2),
        "vectors of 1 numbers where 2 were asked for",
    ),
    (
        r#"{"embeddings":[[1,2],[0,0]]}"#,
        None,
        "a vector without direction",
    ),
    (
        r#"{"embeddings":[[1,2],[1e-60,0]]}"#,
        None,
        "a vector without direction",
    ),
    (
        r#"{"embeddings":[[],[]]}"#,
        None,
        "a vector without direction",
    ),
    (
        r#"[{"index":0,"embedding":[1]},{"index":0,"embedding":[2]}]"#,
        None,
        "does not number",
    ),
    (
        r#"[{"index":1,"embedding":[1]},{"index":2,"embedding":[2]}]"#,
        None,
        "does not number",
    ),
    (
        r#"[{"index":0,"embedding":[[1],[2]]},{"index":1,"embedding":[2]}]"#,
        None,
        "is no list",
    ),
];

#[tokio::test]
async fn g206_nonsense_gives_no_vectors_and_may_be_over_later() {
    for (body, dimensions, why) in NONSENSE {
        refuses(body, *dimensions, why).await;
    }
    let huge = format!("[{}", "1,".repeat(17 << 20));
    refuses(&huge, None, "more than 33554432 bytes").await;
}

/// Such an answer fails as one that may be better later.
async fn refuses(body: &str, dimensions: Option<u32>, why: &str) {
    let server = Server::start(vec![Reply::json(200, body)]).await;
    let asking = Asking {
        dimensions,
        ..Asking::two("openai")
    };
    let error = asking.of(&server).await.unwrap_err();
    let shown = body.get(..60).unwrap_or(body);
    assert!(error.message.contains(why), "{shown}: {error}");
    assert_eq!(error.kind, EmbeddingErrorKind::Unavailable, "{shown}");
    assert!(error.message.starts_with("connector \"test.model\": "));
    assert_eq!(server.asked().len(), 1, "{shown}");
}

#[tokio::test]
async fn refused_texts_passing_troubles_and_wrong_settings_are_told_apart() {
    use EmbeddingErrorKind::{Permanent, Refused, Unavailable};
    let said = r#"{"error":{"message":"no"}}"#;
    for (status, kind) in [
        (302, Permanent),
        (400, Refused),
        (401, Permanent),
        (403, Permanent),
        (404, Permanent),
        (408, Unavailable),
        (413, Refused),
        (422, Refused),
        (429, Unavailable),
        (500, Unavailable),
        (503, Unavailable),
    ] {
        let server = Server::start(vec![failed_once(status, said)]).await;
        let error = Asking::two("openai").of(&server).await.unwrap_err();
        assert_eq!(error.kind, kind, "{status}");
        let expected = format!("connector \"test.model\": the provider answered {status}: no");
        assert_eq!(error.message, expected);
    }
    let server = Server::start(vec![Reply::json(200, said)]).await;
    let error = Asking::two("openai").of(&server).await.unwrap_err();
    assert_eq!(
        error.message,
        "connector \"test.model\": the provider reported an error: no"
    );
}

#[tokio::test]
async fn what_may_pass_is_tried_again_within_the_deadline() {
    let replies = vec![Reply::json(503, ""), Reply::json(200, TWO)];
    let server = Server::start(replies).await;
    let answer = Asking::two("openai").of(&server).await.unwrap();
    assert_eq!(vectors(&answer).len(), 2);
    assert_eq!(server.asked().len(), 2);
}

#[tokio::test]
async fn slow_cut_and_missing_answers_are_failures_that_may_pass() {
    for end in [End::Cut, End::Silence, End::NoHead, End::Gone] {
        let server = Server::start(vec![Reply::json(200, &TWO[..40]).ending(end)]).await;
        let asking = Asking {
            time: SHORT,
            ..Asking::two("openai")
        };
        let error = asking.of(&server).await.unwrap_err();
        assert_eq!(error.kind, EmbeddingErrorKind::Unavailable, "{error}");
    }
    let silent = Server::start(vec![Reply::json(200, TWO).ending(End::NoHead)]).await;
    let asking = Asking {
        options: json!({"timeout": "50ms"}),
        ..Asking::two("openai")
    };
    let error = asking.of(&silent).await.unwrap_err();
    assert_eq!(
        error.message,
        "connector \"test.model\": the provider said nothing for 50ms"
    );
}

#[tokio::test]
async fn g208_no_error_of_an_embedding_tells_a_secret() {
    let echo = format!(r#"{{"error":{{"message":"bad key {KEY} and secret-header"}}}}"#);
    for status in [200, 400, 401, 429, 500] {
        let server = Server::start(vec![failed_once(status, &echo)]).await;
        let asking = Asking {
            options: json!({"headers": {"X-Own": "secret-header"}}),
            ..Asking::two("openai")
        };
        let error = asking.of(&server).await.unwrap_err();
        assert!(error.message.contains("bad key *** and ***"), "{error}");
    }
}

#[tokio::test]
async fn scripted_connectors_hash_words_and_others_make_no_vectors() {
    let texts = ["red apples".to_owned(), "Red, apples!".to_owned()];
    let embed = async |kind: &str, dimensions: Option<u32>| {
        let call = EmbeddingCall {
            connector: &connector(kind, json!({})),
            dimensions,
            texts: &texts,
            deadline: Instant::now() + LONG,
        };
        EmbeddingClient::default().embed(&call).await
    };
    let answer = embed("scripted", None).await.unwrap();
    assert_eq!(answer.vectors[0], answer.vectors[1]);
    assert_eq!(answer.vectors[0].len(), 64);
    assert_eq!(
        (answer.model.as_str(), answer.usage.total_tokens),
        ("scripted", 4)
    );
    assert_eq!(
        embed("scripted", Some(8)).await.unwrap().vectors[0].len(),
        8
    );
    let error = embed("scripted", Some(70_000)).await.unwrap_err();
    assert_eq!(
        error.message,
        "connector \"test.model\": \"dimensions\" must be 1 to 65536"
    );
    let error = embed("anthropic", None).await.unwrap_err();
    assert_eq!(error.kind, EmbeddingErrorKind::Permanent);
    assert_eq!(
        error.message,
        "connector \"test.model\": type \"anthropic\" makes no embeddings; connectors of type openai, ollama, scripted make them"
    );
}
