//! Answers that point elsewhere: each is checked as if it were the first request.

use crate::server::{After, Server, client, get, moved, reply};
use ambit_runtime::net::{HttpRequest, NetErrorKind, RedirectMode};
use serde_json::json;

/// Sends every request to the address in its query.
async fn sends_to(status: &'static str) -> Server {
    Server::start(move |target| moved(status, target.split_once('?').unwrap().1)).await
}

#[tokio::test]
async fn g121_a_redirect_to_this_machine_is_refused() {
    let (first, inner) = (sends_to("302 Found").await, Server::ok().await);
    let listed = json!(inner.url("listed.test", ""));
    let client = client(&[
        first.private("api.test"),
        listed,
        json!(inner.url("127.0.0.1", "")),
    ]);
    let mut seen = Vec::new();
    for host in ["127.0.0.1", "localhost", "listed.test", "[::1]"] {
        let target = first.url("api.test", &format!("/?{}", inner.url(host, "/admin")));
        seen.push(client.send(get(target)).await.unwrap_err().message);
    }
    let denied = |host| format!("host \"{host}\" is not allowed");
    assert_eq!(
        seen,
        ["127.0.0.1", "localhost", "listed.test", "[::1]"].map(denied)
    );
    assert_eq!(inner.lines(), Vec::<String>::new());
}

#[tokio::test]
async fn g121_an_address_of_a_message_is_not_sent_on_to_what_is_private() {
    let (first, inner) = (sends_to("302 Found").await, Server::ok().await);
    let open = json!({"host": first.url("files.test", ""), "private": true, "messages": true});
    let hosts = ["inner.test", "127.0.0.1"];
    let scripts = client(&[open, inner.private(hosts[0]), inner.private(hosts[1])]);
    let messages = scripts.for_messages();
    for host in hosts {
        let target = inner.url(host, "/admin");
        let denied = format!("host \"{host}\" is not allowed");
        let straight = messages.send(get(target.clone())).await.unwrap_err();
        assert_eq!(straight.message, denied);
        let target = first.url("files.test", &format!("/?{target}"));
        let sent_on = messages.send(get(target.clone())).await.unwrap_err();
        assert_eq!(sent_on.message, denied);
        assert_eq!(inner.lines(), Vec::<String>::new());
    }
    let target = first.url("files.test", &format!("/?{}", inner.url(hosts[0], "/")));
    assert_eq!(scripts.send(get(target)).await.unwrap().status, 200);
}

#[tokio::test]
async fn credentials_stay_with_the_host_they_were_meant_for() {
    let (first, other) = (sends_to("307 Temporary Redirect").await, Server::ok().await);
    let client = client(&[first.private("a.test"), other.private("b.test")]);
    let headers = [
        ("authorization", "Bearer k"),
        ("cookie", "s=1"),
        ("x-api-key", "k"),
        ("accept", "text/x"),
        ("content-type", "text/y"),
    ];
    let request = HttpRequest {
        method: "POST".to_owned(),
        url: first.url(
            "user:word@a.test",
            &format!("/?{}", other.url("b.test", "/next")),
        ),
        headers: headers
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .to_vec(),
        body: Some(b"hello".to_vec()),
        redirect: RedirectMode::Follow,
    };
    let answer = client.send(request).await.unwrap();
    assert!(answer.redirected);
    assert_eq!(answer.url, other.url("b.test", "/next"));
    let kept = [("accept", "text/x"), ("content-type", "text/y")];
    let seen = &other.seen()[0];
    assert_eq!(
        (seen.line.as_str(), seen.body.as_str()),
        ("POST /next", "hello")
    );
    assert_eq!(
        seen.headers,
        kept.map(|(name, value)| (name.to_owned(), value.to_owned()))
    );
    assert!(
        first.seen()[0]
            .headers
            .iter()
            .any(|(name, _)| name == "x-api-key")
    );
}

#[tokio::test]
async fn on_the_same_host_headers_are_kept_and_a_post_becomes_a_get() {
    let server = Server::start(|target| match target {
        "/start" => moved("303 See Other", "/end"),
        _ => (reply("200 OK", "", "ok"), After::Close),
    })
    .await;
    let client = client(&[server.private("a.test")]);
    let headers = [
        ("x-key", "k"),
        ("content-type", "text/y"),
        ("host", "other.test"),
        ("transfer-encoding", "chunked"),
    ];
    let request = HttpRequest {
        method: "POST".to_owned(),
        url: server.url("a.test", "/start"),
        headers: headers
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .to_vec(),
        body: Some(b"hello".to_vec()),
        redirect: RedirectMode::Follow,
    };
    client.send(request).await.unwrap();
    let seen = &server.seen()[1];
    assert_eq!((seen.line.as_str(), seen.body.as_str()), ("GET /end", ""));
    let kept = [("accept", "*/*"), ("x-key", "k")];
    assert_eq!(
        seen.headers,
        kept.map(|(name, value)| (name.to_owned(), value.to_owned()))
    );
}

#[tokio::test]
async fn five_redirects_are_followed_and_a_sixth_is_not() {
    let server = Server::start(
        |target| match target.trim_start_matches('/').parse::<u32>() {
            Ok(0) => (reply("200 OK", "", "ok"), After::Close),
            Ok(left) => moved("302 Found", &format!("/{}", left - 1)),
            Err(_) => (reply("404 Not Found", "", ""), After::Close),
        },
    )
    .await;
    let client = client(&[server.private("a.test")]);
    assert_eq!(
        client
            .send(get(server.url("a.test", "/5")))
            .await
            .unwrap()
            .status,
        200
    );
    let refusal = client
        .send(get(server.url("a.test", "/6")))
        .await
        .unwrap_err();
    assert_eq!(
        (refusal.kind, refusal.message.as_str()),
        (NetErrorKind::Limited, "more than 5 redirects")
    );
    assert_eq!(server.lines().len(), 6 + 6);
}

#[tokio::test]
async fn a_redirect_may_be_an_error_or_the_answer() {
    let server = sends_to("301 Moved Permanently").await;
    let client = client(&[server.private("a.test")]);
    let with = |redirect| HttpRequest {
        redirect,
        ..get(server.url("a.test", "/?http://elsewhere.test/"))
    };
    let answer = client.send(with(RedirectMode::Manual)).await.unwrap();
    assert_eq!((answer.status, answer.redirected), (301, false));
    let refusal = client.send(with(RedirectMode::Error)).await.unwrap_err();
    assert_eq!(refusal.message, "the answer points elsewhere");
}

#[tokio::test]
async fn a_redirect_to_another_scheme_fails() {
    let server = sends_to("302 Found").await;
    let client = client(&[server.private("a.test")]);
    let refusal = client
        .send(get(server.url("a.test", "/?file:///etc/passwd")))
        .await
        .unwrap_err();
    assert_eq!(
        refusal.message,
        "the answer points to no URL of http or https"
    );
}
