//! Services that fail: what is tried again, and what is said.

use crate::fake::{Fake, each};
use crate::server::{Reply, ReplyEnd};
use crate::support::{KEY, asking, search};
use futures::future::join_all;
use serde_json::{Value, json};

/// Bytes of the largest answer.
const MOST: usize = 4 << 20;

/// How a search ends, and how often the service was asked. What fails says nothing of the service's words.
async fn outcome(fake: &'static Fake, replies: Vec<Reply>) -> (Result<usize, String>, usize) {
    outcome_with(fake, replies, json!({})).await
}

async fn outcome_with(
    fake: &'static Fake,
    replies: Vec<Reply>,
    more: Value,
) -> (Result<usize, String>, usize) {
    let (server, settings) = fake.serve_with(replies, more).await;
    let answer = search(&settings, &asking("canary of the query")).await;
    if let Err(error) = &answer {
        for part in ["canary", "127.0.0.1", "/search", "body"] {
            assert!(!error.contains(part), "{error}");
        }
    }
    (
        answer.map(|answer| answer.items.len()),
        server.requests().len(),
    )
}

/// A failure that repeats all it knows.
fn failing(status: u16) -> Reply {
    Reply::json(
        status,
        format!("{{\"error\": \"canary of the body, key {KEY}\"}}"),
    )
}

#[tokio::test]
async fn g208_errors_name_provider_and_status_and_never_key_address_or_body() {
    each(|fake| async move {
        let check = format!("check {}", fake.variable);
        let cases = [
            (400, "request refused"),
            (401, check.as_str()),
            (402, "limit reached"),
            (403, check.as_str()),
            (404, "request refused"),
            (408, "request refused"),
            (422, "request refused"),
            (429, "limit reached"),
            (432, "limit reached"),
            (433, "limit reached"),
            (501, "unavailable"),
        ];
        let ended = cases.map(|(status, _)| outcome(fake, vec![failing(status), fake.reply()]));
        let expected = cases.map(|(status, what)| {
            let error = format!("{}: {status}, {what}", fake.provider);
            (Err(error), 1)
        });
        assert_eq!(join_all(ended).await, expected);
    })
    .await;
}

#[tokio::test]
async fn failures_that_may_pass_are_tried_three_times() {
    each(|fake| async move {
        let cases = [500, 502, 503, 504].map(|status| (status, failing(status)));
        let limited = failing(429).with("retry-after", "0");
        let cases = cases.into_iter().chain([(429, limited)]);
        let ended = cases.clone().map(|(_, reply)| outcome(fake, vec![reply]));
        let expected = cases.map(|(status, _)| {
            let what = if status == 429 {
                "limit reached"
            } else {
                "unavailable"
            };
            (Err(format!("{}: {status}, {what}", fake.provider)), 3)
        });
        assert_eq!(join_all(ended).await, expected.collect::<Vec<_>>());
    })
    .await;
}

#[tokio::test]
async fn an_answer_to_the_second_or_third_try_counts() {
    each(|fake| async move {
        let found = (fake.items)().len();
        let gone = fake.reply().ending(ReplyEnd::Gone);
        let cases = [
            (vec![failing(503), fake.reply()], 2),
            (vec![failing(500), failing(504), fake.reply()], 3),
            (vec![failing(429).with("retry-after", "1"), fake.reply()], 2),
            (vec![gone.clone(), fake.reply()], 2),
            (
                vec![fake.reply().ending(ReplyEnd::Cut), gone, fake.reply()],
                3,
            ),
        ];
        let tries = cases.each_ref().map(|(_, tries)| (Ok(found), *tries));
        let ended = cases.map(|(replies, _)| outcome(fake, replies));
        assert_eq!(join_all(ended).await, tries);
    })
    .await;
}

#[tokio::test]
async fn a_limit_is_not_waited_for_longer_than_two_seconds() {
    each(|fake| async move {
        let replies = ["3", "3600", "-1", "soon", "Wed, 21 Oct 2015 07:28:00 GMT"];
        let replies =
            replies.map(|after| vec![failing(429).with("retry-after", after), fake.reply()]);
        let ended = join_all(replies.map(|replies| outcome(fake, replies))).await;
        let expected = (Err(fake.error("429, limit reached")), 1);
        assert_eq!(ended, vec![expected; 5]);
    })
    .await;
}

#[tokio::test]
async fn no_try_begins_when_the_time_is_nearly_over() {
    each(|fake| async move {
        let more = json!({"timeout": "190ms"});
        let gone = fake.reply().ending(ReplyEnd::Gone);
        let (ended, tries) = outcome_with(fake, vec![gone, fake.reply()], more).await;
        // On a machine that stands still the time is over before the first answer.
        let expected = ["the connection failed", "timed out"].map(|what| Err(fake.error(what)));
        assert!(expected.contains(&ended) && tries <= 1, "{ended:?} {tries}");
    })
    .await;
}

#[tokio::test]
async fn connections_that_break_are_tried_three_times() {
    each(|fake| async move {
        let ends = [ReplyEnd::Gone, ReplyEnd::Cut];
        let ended = ends.map(|end| outcome(fake, vec![fake.reply().ending(end)]));
        let expected = (Err(fake.error("the connection failed")), 3);
        assert_eq!(join_all(ended).await, vec![expected; 2]);
    })
    .await;
}

#[tokio::test]
async fn services_that_are_too_slow_are_left() {
    each(|fake| async move {
        let ends = [ReplyEnd::Silence, ReplyEnd::NoHead];
        let ended = ends.map(|end| {
            let replies = vec![fake.reply().ending(end)];
            outcome_with(fake, replies, json!({"timeout": "500ms"}))
        });
        let ended = join_all(ended).await.into_iter().map(|(ended, _)| ended);
        let expected = Err(fake.error("timed out"));
        assert_eq!(ended.collect::<Vec<_>>(), vec![expected; 2]);
    })
    .await;
}

#[tokio::test]
async fn answers_of_another_form_are_unreadable() {
    each(|fake| async move {
        let json = [
            "",
            "canary",
            "{",
            "null",
            "7",
            "\"x\"",
            "[]",
            "{}",
            "{\"canary\": 1}\u{0}",
        ];
        let mut replies: Vec<Reply> = json.iter().map(|body| Reply::json(200, *body)).collect();
        let lists = [
            json!("x"),
            json!({"canary": 1}),
            json!(7),
            json!([1]),
            json!([{}, "x"]),
        ];
        replies.extend(lists.map(|list| fake.with_list(list)));
        let kinds = [
            "text/html",
            "text/plain",
            "application/xml",
            "application/jsonp",
        ];
        replies.extend(kinds.map(|kind| fake.reply().with("content-type", kind)));
        replies.push(Reply {
            status: 204,
            ..Reply::json(204, "")
        });
        let mut latin = fake.reply();
        latin.body.extend(b" \xe4 ");
        replies.push(latin);
        let count = replies.len();
        let ended = join_all(replies.into_iter().map(|reply| outcome(fake, vec![reply]))).await;
        let expected = (Err(fake.error("unreadable answer")), 1);
        assert_eq!(ended, vec![expected; count]);
    })
    .await;
}

#[tokio::test]
async fn an_answer_has_at_most_4_mib() {
    each(|fake| async move {
        let padded = |size: usize| {
            let mut reply = fake.reply();
            reply.body.resize(size, b' ');
            outcome(fake, vec![reply])
        };
        let ended = join_all([padded(MOST), padded(MOST + 1)]).await;
        let too_large = Err(fake.error("the answer is larger than 4 MiB"));
        assert_eq!(ended, [(Ok((fake.items)().len()), 1), (too_large, 1)]);
    })
    .await;
}
