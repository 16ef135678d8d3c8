//! What requests may use.

use crate::server::{After, Server, client, get, reply};
use ambit_runtime::net::{HttpLimits, NetErrorKind};
use std::time::Duration;

#[tokio::test]
async fn a_body_may_be_as_large_as_the_limit_and_no_larger() {
    let server = Server::start(|target| {
        let body = "x".repeat(target.trim_start_matches(['/', 'c']).parse().unwrap());
        let chunked = format!("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n{:x}\r\n{body}\r\n0\r\n\r\n", body.len());
        let is_chunked = target.starts_with("/c");
        (if is_chunked { chunked } else { reply("200 OK", "", &body) }, After::Close)
    })
    .await;
    let limits = HttpLimits {
        body: 100_000,
        ..HttpLimits::default()
    };
    let client = client(&[server.private("a.test")]).for_run(limits, None);
    let mut seen = Vec::new();
    for path in ["/100000", "/100001", "/c100000", "/c100001"] {
        let answer = client.send(get(server.url("a.test", path))).await;
        seen.push(
            answer
                .map(|answer| answer.body.len())
                .map_err(|refusal| refusal.message),
        );
    }
    let too_large = Err("the body is larger than 100000 bytes".to_owned());
    assert_eq!(
        seen,
        [Ok(100_000), too_large.clone(), Ok(100_000), too_large]
    );
}

#[tokio::test]
async fn an_answer_that_does_not_come_or_does_not_end_is_given_up() {
    let server = Server::start(|target| match target {
        "/nothing" => (String::new(), After::Silence),
        _ => (
            "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf".to_owned(),
            After::Silence,
        ),
    })
    .await;
    let limits = HttpLimits {
        time: Duration::from_millis(300),
        ..HttpLimits::default()
    };
    let client = client(&[server.private("a.test")]).for_run(limits, None);
    for path in ["/nothing", "/half"] {
        let refusal = client
            .send(get(server.url("a.test", path)))
            .await
            .unwrap_err();
        assert_eq!(
            (refusal.kind, refusal.message.as_str()),
            (NetErrorKind::Limited, "no answer within 0.3s")
        );
    }
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_a_failure() {
    let server = Server::start(|target| match target {
        "/none" => (String::new(), After::Close),
        _ => (
            "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf".to_owned(),
            After::Close,
        ),
    })
    .await;
    let client = client(&[server.private("a.test")]);
    let mut seen = Vec::new();
    for path in ["/none", "/half"] {
        let refusal = client
            .send(get(server.url("a.test", path)))
            .await
            .unwrap_err();
        seen.push((refusal.kind, refusal.message));
    }
    let failed = |message: &str| (NetErrorKind::Failed, message.to_owned());
    assert_eq!(
        seen,
        [
            failed("host \"a.test\" gave no answer"),
            failed("the answer broke off")
        ]
    );
}

#[tokio::test]
async fn the_seventeenth_request_at_once_is_refused_and_later_ones_are_not() {
    let server = Server::ok().await;
    let client = client(&[server.private("a.test")]);
    let mut open = Vec::new();
    for _ in 0..16 {
        open.push(client.open(get(server.url("a.test", "/"))).await.unwrap());
    }
    let refusal = client
        .send(get(server.url("a.test", "/")))
        .await
        .unwrap_err();
    assert_eq!(
        (refusal.kind, refusal.message.as_str()),
        (NetErrorKind::Limited, "at most 16 requests at once")
    );
    assert!(
        client
            .for_run(HttpLimits::default(), None)
            .send(get(server.url("a.test", "/")))
            .await
            .is_ok()
    );
    open.pop();
    assert!(client.send(get(server.url("a.test", "/"))).await.is_ok());
}
