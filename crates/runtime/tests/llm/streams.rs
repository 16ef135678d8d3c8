//! What every provider makes of its streams, good and bad.

use crate::fake::FAKES;
use crate::server::{End, Reply, Server};
use crate::support::{answer, asking, begin, failure, fold, pieces};
use ambit_runtime::llm::{ModelAnswer, ModelFailure, ModelFailureKind, Provider, TokenUsage};
use futures::StreamExt;
use serde_json::json;

/// The answer with the ids that are ours taken away, once they are known to be good.
fn without_own_ids(mut said: ModelAnswer, expected: &ModelAnswer) -> ModelAnswer {
    for (call, expected) in said.tool_calls.iter_mut().zip(&expected.tool_calls) {
        if expected.id.is_empty() {
            let is_plain = call.id.bytes().all(|byte| byte.is_ascii_alphanumeric());
            assert_eq!((call.id.len(), is_plain), (9, true), "{}", call.id);
            call.id.clear();
        }
    }
    said
}

#[tokio::test]
async fn recorded_streams_say_what_they_say() {
    for fake in FAKES {
        for (stream, expected) in fake.recorded() {
            let (_server, model) = fake.serve(vec![Reply::stream(stream)]).await;
            let said = answer(&*model, &asking("hi")).await;
            assert_eq!(without_own_ids(said, &expected), expected, "{}", fake.kind);
        }
    }
}

#[tokio::test]
async fn it_does_not_matter_where_chunks_are_cut() {
    for fake in FAKES {
        for (stream, expected) in fake.recorded() {
            for size in [1, 2, 3, 7, 50] {
                let reply = Reply::stream(stream).in_chunks(size);
                let (_server, model) = fake.serve(vec![reply]).await;
                let said = answer(&*model, &asking("hi")).await;
                assert_eq!(without_own_ids(said, &expected), expected, "{}", fake.kind);
            }
        }
    }
}

#[tokio::test]
async fn line_ends_comments_and_other_events_do_not_matter() {
    for fake in FAKES {
        let (stream, expected) = (fake.text.0.replace("\r\n", "\n"), fake.text.1());
        let variants = [
            stream.replace('\n', "\r\n"),
            stream.replace('\n', "\r"),
            stream.replace("\n\n", "\n\n: keep-alive\n\n"),
            stream.replace("data: ", "data:"),
            stream.replace("data: ", "id: 7\nretry: 100\ndata: "),
            stream.trim_end().to_owned(),
            format!("\u{feff}\n\n\n{stream}"),
        ];
        for variant in variants {
            let (_server, model) = fake.serve(vec![Reply::stream(&variant)]).await;
            let said = answer(&*model, &asking("hi")).await;
            assert_eq!(said, expected, "{}: {variant}", fake.kind);
        }
    }
}

#[tokio::test]
async fn an_answer_may_come_in_one_piece() {
    for fake in FAKES {
        let whole = fake.whole.unwrap();
        let (_server, model) = fake.serve(vec![Reply::json(200, whole).in_chunks(9)]).await;
        let expected = ModelAnswer {
            id: "x".to_owned(),
            model: "m".to_owned(),
            text: "Hi".to_owned(),
            usage: TokenUsage::of(1, 2),
            finish_reason: "stop".to_owned(),
            ..ModelAnswer::default()
        };
        assert_eq!(answer(&*model, &asking("hi")).await, expected);
    }
}

#[tokio::test]
async fn a_stream_without_its_end_is_broken() {
    for fake in FAKES {
        let shown = format!("{}{}", fake.start, fake.hi);
        let half = format!("{shown}{}", &fake.hi[..fake.hi.len() / 2]);
        for stream in [&shown, &half] {
            for end in [End::Whole, End::Cut] {
                let reply = Reply::stream(stream).ending(end);
                let (_server, model) = fake.serve(vec![reply]).await;
                let (said, failed) = pieces(&*model, &asking("hi")).await;
                let failed = failed.unwrap();
                assert_eq!(fold(&said).text, "Hi");
                assert_eq!(
                    failed.kind,
                    ModelFailureKind::Broken,
                    "{}: {failed}",
                    fake.kind
                );
            }
        }
    }
}

#[tokio::test]
async fn a_stream_that_ends_before_it_shows_anything_may_be_tried_again() {
    for fake in FAKES {
        for stream in ["", ": wait\n\n", fake.start] {
            for end in [End::Whole, End::Cut, End::Gone] {
                let reply = Reply::stream(stream).ending(end);
                let (_server, model) = fake.serve(vec![reply]).await;
                let failed = failure(&*model, &asking("hi")).await;
                assert_eq!(failed.kind, ModelFailureKind::Temporary, "{}", fake.kind);
            }
        }
    }
}

#[tokio::test]
async fn a_chunk_that_cannot_be_read_breaks_the_stream() {
    for fake in FAKES {
        for chunk in ["{\"choices\": [", "oops", "[]", "17", "\"text\"", "null"] {
            let stream = format!("{}data: {chunk}\n\n{}", fake.hi, fake.hi);
            let (_server, model) = fake.serve(vec![Reply::stream(&stream)]).await;
            let failed = failure(&*model, &asking("hi")).await;
            let message =
                format!("connector \"test.model\": the provider sent what cannot be read: {chunk}");
            assert_eq!(
                (failed.kind, failed.message),
                (ModelFailureKind::Broken, message)
            );
        }
    }
}

#[tokio::test]
async fn an_error_in_mid_stream_is_told_and_may_be_tried_again_only_if_nothing_was_shown() {
    for fake in FAKES {
        for (before, kind) in [
            (fake.start.to_owned(), ModelFailureKind::Temporary),
            (
                format!("{}{}", fake.start, fake.hi),
                ModelFailureKind::Broken,
            ),
        ] {
            // The last empty line may be missing.
            let stream = before + fake.overloaded.trim_end();
            let (_server, model) = fake.serve(vec![Reply::stream(&stream)]).await;
            let failed = failure(&*model, &asking("hi")).await;
            let message = "connector \"test.model\": the provider reported an error: Overloaded";
            assert_eq!((failed.kind, failed.message.as_str()), (kind, message));
        }
    }
}

/// Time stands still for what is known to have come, and then goes on by itself to the next limit.
#[tokio::test]
async fn a_provider_that_says_nothing_is_not_waited_for_longer_than_its_time() {
    for fake in FAKES {
        let start = Reply::stream(fake.start).ending(End::Silence);
        let shown = Reply::stream(&format!("{}{}", fake.start, fake.hi)).ending(End::Silence);
        for (reply, pieces, kind) in [
            (
                start.clone().ending(End::NoHead),
                0,
                ModelFailureKind::Temporary,
            ),
            (start, 1, ModelFailureKind::Temporary),
            (shown, 2, ModelFailureKind::Broken),
        ] {
            let server = Server::start(vec![reply]).await;
            let model = fake.open(&server, json!({"timeout": "30s"}));
            let failed = silence(&server, &*model, pieces).await;
            let message = "connector \"test.model\": the provider said nothing for 30s";
            assert_eq!((failed.kind, failed.message.as_str()), (kind, message));
        }
    }
}

/// The failure behind so many pieces.
async fn silence(server: &Server, model: &dyn Provider, pieces: usize) -> ModelFailure {
    let call = asking("hi");
    if pieces == 0 {
        let stop = async {
            server.was_asked().await;
            tokio::time::pause();
        };
        let (begun, ()) = tokio::join!(begin(model, &call), stop);
        tokio::time::resume();
        return begun.err().expect("a failure");
    }
    let mut stream = begin(model, &call).await.unwrap();
    for _ in 0..pieces {
        stream.next().await.unwrap().unwrap();
    }
    tokio::time::pause();
    let failed = stream.next().await.unwrap().unwrap_err();
    tokio::time::resume();
    failed
}
