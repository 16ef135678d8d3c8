//! What every provider makes of a refused call, and what it tells of it.

use crate::fake::FAKES;
use crate::server::{Reply, Server};
use crate::support::{KEY, asking, failure};
use ambit_runtime::llm::ModelFailureKind;
use ambit_runtime::{Error, ErrorCode};
use serde_json::json;
use std::time::Duration;

fn refusal(status: u16) -> Reply {
    Reply::json(status, "{\"error\":{\"message\":\"No.\"}}")
}

#[tokio::test]
async fn a_status_says_whether_to_try_again() {
    let cases = [
        (400, ModelFailureKind::Permanent, ErrorCode::LlmError),
        (401, ModelFailureKind::Unusable, ErrorCode::LlmError),
        (402, ModelFailureKind::Unusable, ErrorCode::LlmError),
        (403, ModelFailureKind::Unusable, ErrorCode::LlmError),
        (404, ModelFailureKind::Unusable, ErrorCode::LlmError),
        (408, ModelFailureKind::Temporary, ErrorCode::LlmError),
        (
            429,
            ModelFailureKind::RateLimited,
            ErrorCode::LlmRateLimited,
        ),
        (500, ModelFailureKind::Temporary, ErrorCode::LlmError),
        (503, ModelFailureKind::Temporary, ErrorCode::LlmError),
        (529, ModelFailureKind::Temporary, ErrorCode::LlmError),
    ];
    for fake in FAKES {
        let replies = cases.iter().map(|(status, ..)| refusal(*status)).collect();
        let (_server, model) = fake.serve(replies).await;
        for (status, kind, code) in &cases {
            let failed = failure(&*model, &asking("hi")).await;
            let message = format!("connector \"test.model\": the provider answered {status}: No.");
            assert_eq!((&failed.kind, &failed.message), (kind, &message));
            assert_eq!(Error::from(failed).code, *code);
        }
    }
}

#[tokio::test]
async fn what_a_body_says_is_told_whatever_its_shape() {
    let long = "x".repeat(900);
    let cut = format!(": {}…", "x".repeat(500));
    let cases = [
        ("", ""),
        ("{\"message\":\"one\"}", ": one"),
        ("{\"error\":\"two\"}", ": two"),
        ("[{\"error\":{\"message\":\"three\"}}]", ": three"),
        ("{\"detail\":\"four\"}", ": four"),
        ("<html>\n five\n</html>", ": <html> five </html>"),
        ("{\"other\":6}", ": {\"other\":6}"),
        (&long, &cut),
    ];
    for (body, said) in cases {
        let (_server, model) = FAKES[0].serve(vec![Reply::json(400, body)]).await;
        let failed = failure(&*model, &asking("hi")).await;
        let message = format!("connector \"test.model\": the provider answered 400{said}");
        assert_eq!(failed.message, message);
    }
}

#[tokio::test]
async fn when_to_come_again_is_read_in_every_form() {
    let seconds = |seconds| Some(Duration::from_secs(seconds));
    for fake in FAKES {
        let replies = vec![
            refusal(429).with("retry-after", "7"),
            refusal(429)
                .with("retry-after-ms", "1500")
                .with("retry-after", "2"),
            refusal(503).with("retry-after", "Fri, 31 Dec 2100 23:59:59 GMT"),
            refusal(429).with("retry-after", "soon"),
            refusal(429).with("retry-after", "-3"),
            refusal(429).with("retry-after", "Fri, 31 Dec 1999 23:59:59 GMT"),
            refusal(429),
        ];
        let (_server, model) = fake.serve(replies).await;
        let mut after = Vec::new();
        for _ in 0..7 {
            after.push(failure(&*model, &asking("hi")).await.retry_after);
        }
        let far = after.remove(2).expect("a date in the future");
        assert!(far > Duration::from_secs(1_000_000_000), "{far:?}");
        let half = Some(Duration::from_millis(1500));
        assert_eq!(after, [seconds(7), half, None, None, None, None]);
    }
}

#[tokio::test]
async fn googles_form_of_it_is_in_the_body() {
    let body = r#"{"error":{"code":429,"message":"Quota","status":"RESOURCE_EXHAUSTED","details":[
        {"@type":"type.googleapis.com/google.rpc.QuotaFailure"},
        {"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"12.5s"}]}}"#;
    let (_server, model) = FAKES[3].serve(vec![Reply::json(429, body)]).await;
    let failed = failure(&*model, &asking("hi")).await;
    assert_eq!(failed.retry_after, Some(Duration::from_millis(12_500)));
}

#[tokio::test]
async fn a_refused_key_is_told_apart_whatever_the_status() {
    let google = r#"{"error":{"code":400,"message":"API key not valid.","status":"INVALID_ARGUMENT","details":[
        {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID","domain":"googleapis.com"}]}}"#;
    let (_server, model) = FAKES[3].serve(vec![Reply::json(400, google)]).await;
    let failed = failure(&*model, &asking("hi")).await;
    assert_eq!(failed.kind, ModelFailureKind::Unusable);
    for name in [
        "authentication_error",
        "billing_error",
        "permission_error",
        "not_found_error",
    ] {
        let event = format!(
            "data: {{\"type\":\"error\",\"error\":{{\"type\":\"{name}\",\"message\":\"No.\"}}}}\n\n"
        );
        let (_server, model) = FAKES[2].serve(vec![Reply::stream(&event)]).await;
        let failed = failure(&*model, &asking("hi")).await;
        assert_eq!(failed.kind, ModelFailureKind::Unusable, "{name}");
    }
}

#[tokio::test]
async fn a_refused_content_is_told_apart() {
    let body = r#"{"error":{"message":"Filtered","type":null,"code":"content_filter"}}"#;
    let (_server, model) = FAKES[0].serve(vec![Reply::json(400, body)]).await;
    let failed = failure(&*model, &asking("hi")).await;
    assert_eq!(failed.kind, ModelFailureKind::ContentFilter);
    assert_eq!(Error::from(failed).code, ErrorCode::LlmContentFilter);
}

#[tokio::test]
async fn a_call_that_is_too_long_for_its_model_is_told_apart() {
    let openai = r#"{"error":{"message":"Too many tokens.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}"#;
    let anthropic = r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 208310 tokens > 200000 maximum"}}"#;
    let google = r#"{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}"#;
    let vllm = r#"{"object":"error","message":"This model's maximum context length is 4096 tokens. However, you requested 5000 tokens","type":"BadRequestError","code":400}"#;
    for (fake, body) in [
        (&FAKES[0], openai),
        (&FAKES[2], anthropic),
        (&FAKES[3], google),
    ] {
        let replies = vec![
            Reply::json(400, body),
            Reply::stream(&format!("data: {body}\n\n")),
        ];
        let (_server, model) = fake.serve(replies).await;
        for _ in 0..2 {
            let failed = failure(&*model, &asking("hi")).await;
            assert_eq!(failed.kind, ModelFailureKind::TooLong, "{failed}");
            assert!(!failed.is_repeatable() && !failed.is_of_connector());
            assert_eq!(Error::from(failed).code, ErrorCode::LimitExceeded);
        }
    }
    let (_server, model) = FAKES[0].serve(vec![Reply::json(400, vllm)]).await;
    let failed = failure(&*model, &asking("hi")).await;
    assert_eq!(failed.kind, ModelFailureKind::TooLong, "{failed}");
}

#[tokio::test]
async fn g072_a_failure_that_is_cut_holds_no_part_of_a_secret() {
    for fake in FAKES {
        for before in 490..500 {
            let said = format!("{}{KEY}", "x".repeat(before));
            let body = json!({"error": {"message": said}}).to_string();
            let (_server, model) = fake.serve(vec![Reply::json(401, &body)]).await;
            let told = failure(&*model, &asking("hi")).await.to_string();
            assert!(told.contains("xxx*"), "{told}");
            assert!(!told.contains(&KEY[..5]), "{told}");
        }
    }
}

#[tokio::test]
async fn g072_no_failure_repeats_a_secret() {
    let secrets = [
        KEY,
        "canary-header",
        "canary-extra-body-value",
        "canary-pass",
    ];
    for fake in FAKES {
        let said = format!("bad: {}", secrets.join(" and "));
        let body = json!({"error": {"message": said, "type": "server_error"}}).to_string();
        let stream =
            format!("data: {{\"type\":\"error\",\"error\":{{\"message\":\"{said}\"}}}}\n\n");
        let unreadable = format!("data: {KEY}\n\n");
        let replies = [
            Reply::json(401, &body),
            Reply::json(200, &said),
            Reply::stream(&stream),
            Reply::stream(&unreadable),
        ];
        let server = Server::start(replies.to_vec()).await;
        let host = server
            .address
            .replace("http://", "http://user:canary-pass@");
        let more = json!({"host": host, "headers": {"x-more": "Token canary-header"},
            "extra_body": {"own": ["canary-extra-body-value"]}});
        let model = fake.open(&server, more);
        for _ in replies {
            let failed = failure(&*model, &asking("hi")).await;
            let told = format!("{failed} {failed:?}");
            assert!(told.contains("***"), "{told}");
            for secret in secrets {
                assert!(!told.contains(secret), "{told}");
            }
        }
    }
}
