//! Calling again, and when not to.

use crate::fake::FAKES;
use crate::server::{End, Reply, Server};
use crate::support::{asking, fold, open};
use ambit_runtime::llm::retry::{self, RetryNotice};
use ambit_runtime::llm::{
    AnswerPiece, AnswerStream, EncodedCall, ModelCall, ModelFailure, ModelFailureKind, Provider,
};
use async_trait::async_trait;
use futures::StreamExt;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::time::Instant;

/// A model that fails so often in this way and then says `ok`.
fn failing(times: usize, error: Value) -> Arc<dyn Provider> {
    let mut rule = json!({"match": {"times": times}});
    let own = rule.as_object_mut().unwrap();
    own.extend(error.as_object().unwrap().clone());
    open("scripted", json!({"rules": [rule, {"reply": "ok"}]}))
}

fn status(status: u16) -> Value {
    json!({"error": {"status": status, "message": "no"}})
}

struct Outcome {
    pieces: Vec<AnswerPiece>,
    failure: Option<ModelFailure>,
    retries: Vec<RetryNotice>,
    took: Duration,
}

impl Outcome {
    fn text(&self) -> String {
        fold(&self.pieces).text
    }

    fn kind(&self) -> Option<ModelFailureKind> {
        self.failure.as_ref().map(|failure| failure.kind)
    }
}

/// Time that stands still in the pauses between tries, so that they pass at once, and goes on while sockets are used.
#[derive(Clone, Default)]
struct Clock(Arc<AtomicBool>);

impl Clock {
    fn stop(&self) {
        if !self.0.swap(true, Ordering::SeqCst) {
            tokio::time::pause();
        }
    }

    fn go_on(&self) {
        if self.0.swap(false, Ordering::SeqCst) {
            tokio::time::resume();
        }
    }
}

struct Timed(Arc<dyn Provider>, Clock);

#[async_trait]
impl Provider for Timed {
    fn encode<'a>(&self, call: &'a ModelCall) -> Result<EncodedCall<'a>, ModelFailure> {
        self.0.encode(call)
    }

    async fn send(&self, encoded: &EncodedCall<'_>) -> Result<AnswerStream, ModelFailure> {
        self.1.go_on();
        self.0.send(encoded).await
    }
}

/// Calls a model over sockets.
async fn call_server(model: Arc<dyn Provider>, clock: Clock, time: Option<Duration>) -> Outcome {
    let stop = clock.clone();
    let outcome = noting(&Timed(model, clock.clone()), time, move || stop.stop()).await;
    clock.go_on();
    outcome
}

async fn call(provider: &dyn Provider, time: Option<Duration>) -> Outcome {
    noting(provider, time, || {}).await
}

async fn noting(
    provider: &dyn Provider,
    time: Option<Duration>,
    before_pause: impl Fn() + Send + Sync,
) -> Outcome {
    let start = Instant::now();
    let mut retries = Vec::new();
    let deadline = time.map(|time| start + time);
    let mut note = |retry: &RetryNotice| {
        retries.push(retry.clone());
        before_pause();
    };
    let call = asking("hi");
    let encoded = provider.encode(&call).unwrap();
    let begun = retry::call(provider, &encoded, deadline, &mut note).await;
    let (mut pieces, mut failure) = (Vec::new(), None);
    match begun {
        Err(failed) => failure = Some(failed),
        Ok(mut stream) => {
            while let Some(item) = stream.next().await {
                match item {
                    Ok(piece) => pieces.push(piece),
                    Err(failed) => failure = Some(failed),
                }
            }
        }
    }
    Outcome {
        pieces,
        failure,
        retries,
        took: start.elapsed(),
    }
}

#[tokio::test(start_paused = true)]
async fn g132_what_fails_for_now_is_called_three_times_with_growing_pauses() {
    for kind in [408, 429, 500, 502, 529] {
        let outcome = call(&*failing(2, status(kind)), None).await;
        assert_eq!((outcome.text().as_str(), outcome.failure), ("ok", None));
        let attempts: Vec<u32> = outcome.retries.iter().map(|retry| retry.attempt).collect();
        assert_eq!(attempts, [1, 2]);
        let pauses: Vec<Duration> = outcome.retries.iter().map(|retry| retry.pause).collect();
        let millis = Duration::from_millis;
        assert!(
            (millis(500)..millis(1000)).contains(&pauses[0]),
            "{pauses:?}"
        );
        assert!(
            (millis(1000)..millis(2000)).contains(&pauses[1]),
            "{pauses:?}"
        );
        let slept = pauses[0] + pauses[1];
        assert!(outcome.took >= slept && outcome.took < slept + millis(10));

        let outcome = call(&*failing(3, status(kind)), None).await;
        assert_eq!((outcome.retries.len(), outcome.pieces), (2, vec![]));
        assert!(outcome.failure.is_some());
    }
}

#[tokio::test(start_paused = true)]
async fn what_stays_wrong_is_not_called_again() {
    for (code, kind) in [
        (400, ModelFailureKind::Permanent),
        (401, ModelFailureKind::Unusable),
        (403, ModelFailureKind::Unusable),
        (404, ModelFailureKind::Unusable),
        (422, ModelFailureKind::Permanent),
    ] {
        let outcome = call(&*failing(1, status(code)), None).await;
        assert_eq!((outcome.kind(), outcome.retries), (Some(kind), vec![]));
    }
}

#[tokio::test(start_paused = true)]
async fn g115_a_stream_that_broke_off_is_not_begun_again() {
    let rule = |most: usize| json!({"reply": "one two", "cut_after": most});
    let unseen = call(&*failing(1, rule(0)), None).await;
    assert_eq!((unseen.text().as_str(), unseen.retries.len()), ("ok", 1));
    assert_eq!(unseen.failure, None);
    let seen = call(&*failing(1, rule(1)), None).await;
    assert_eq!((seen.text().as_str(), seen.retries.len()), ("one ", 0));
    assert_eq!(seen.kind(), Some(ModelFailureKind::Broken));
}

#[tokio::test]
async fn g040_each_try_sends_the_same_call_and_its_usage_and_start_are_seen_once() {
    for fake in FAKES {
        let cut = Reply::stream(fake.start).ending(End::Cut);
        let replies = vec![
            cut.clone(),
            cut.with("x-more", "1"),
            Reply::stream(fake.text.0),
        ];
        let (server, model) = fake.serve(replies).await;
        let outcome = call_server(model, Clock::default(), None).await;
        assert_eq!(outcome.failure, None, "{}", fake.kind);
        assert_eq!(fold(&outcome.pieces), fake.text.1());
        let starts = outcome.pieces.iter();
        let starts = starts.filter(|piece| matches!(piece, AnswerPiece::Start { .. }));
        assert_eq!(starts.count(), 1);
        let bodies: Vec<Value> = server.asked().into_iter().map(|asked| asked.body).collect();
        assert_eq!(bodies, vec![bodies[0].clone(); 3]);
    }
}

#[tokio::test]
async fn a_provider_says_how_long_to_wait_within_the_turns_time() {
    let replies = || {
        vec![
            Reply::json(429, "{}").with("retry-after", "20"),
            Reply::stream(FAKES[0].text.0),
        ]
    };
    let seconds = Duration::from_secs;
    for (time, after, expected) in [
        (None, "20", Some(seconds(20))),
        (Some(seconds(30)), "20", Some(seconds(20))),
        (Some(seconds(10)), "20", None),
        (None, "61", None),
    ] {
        let mut replies = replies();
        replies[0].headers[1].1 = after.to_owned();
        let server = Server::start(replies).await;
        let model = FAKES[0].open(&server, json!({}));
        let outcome = call_server(model, Clock::default(), time).await;
        let pauses: Vec<Duration> = outcome.retries.iter().map(|retry| retry.pause).collect();
        assert_eq!(pauses, Vec::from_iter(expected));
        let kind = expected.is_none().then_some(ModelFailureKind::RateLimited);
        assert_eq!(outcome.kind(), kind);
    }
}

#[tokio::test]
async fn g132_a_slow_start_is_tried_again() {
    let silent = Reply::stream("").ending(End::NoHead);
    let server = Server::start(vec![silent, Reply::stream(FAKES[0].text.0)]).await;
    let model = FAKES[0].open(&server, json!({"timeout": "30s"}));
    let clock = Clock::default();
    let stop = async {
        server.was_asked().await;
        clock.stop();
    };
    let (outcome, ()) = tokio::join!(call_server(model, clock.clone(), None), stop);
    assert_eq!((outcome.failure, outcome.retries.len()), (None, 1));
}

#[tokio::test(start_paused = true)]
async fn an_answer_without_anything_to_show_is_an_answer() {
    let outcome = call(&*open("scripted", json!({"rules": [{"reply": ""}]})), None).await;
    assert_eq!(outcome.failure, None);
    assert_eq!(outcome.pieces.len(), 3);
}
