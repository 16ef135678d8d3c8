//! Which hosts and addresses are reached.

use crate::server::{Names, Server, client, get, list};
use ambit_runtime::net::{AddressLookup, AllowList, HttpClient, NetErrorKind};
use async_trait::async_trait;
use serde_json::json;
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

#[tokio::test]
async fn g121_a_host_that_is_not_listed_is_not_even_looked_up() {
    let names = Names::at(&["127.0.0.1"]);
    let client = HttpClient::with_lookup(&AllowList::default(), names.clone()).unwrap();
    let refusal = client
        .send(get("https://api.example.com/x"))
        .await
        .unwrap_err();
    assert_eq!(refusal.kind, NetErrorKind::Denied);
    assert_eq!(refusal.message, "host \"api.example.com\" is not allowed");
    assert_eq!(*names.asked.lock().unwrap(), Vec::<String>::new());
}

#[tokio::test]
async fn g121_a_listed_name_with_an_address_that_is_not_public_is_refused() {
    let server = Server::ok().await;
    let entries = [json!(server.url("api.test", ""))];
    let mut refused = Vec::new();
    let inner = [
        "127.0.0.1",
        "10.0.0.1",
        "169.254.169.254",
        "0.0.0.0",
        "::1",
        "::ffff:127.0.0.1",
        "64:ff9b::7f00:1",
        "fd00::1",
        "fe80::1",
    ];
    for address in inner {
        let client = HttpClient::with_lookup(&list(&entries), Names::at(&[address])).unwrap();
        let refusal = client
            .send(get(server.url("api.test", "/")))
            .await
            .unwrap_err();
        refused.push((address, refusal.message));
    }
    let expected = inner.map(|address| (address, "host \"api.test\" is not allowed".to_owned()));
    assert_eq!(refused, expected);
    assert_eq!(server.lines(), Vec::<String>::new());
}

#[tokio::test]
async fn g121_an_address_in_the_url_is_checked_however_it_is_written() {
    let server = Server::ok().await;
    let forms = [
        "127.0.0.1",
        "127.1",
        "2130706433",
        "0x7f.0.0.1",
        "0177.0.0.1",
        "[::1]",
        "[::ffff:127.0.0.1]",
    ];
    let entries = forms.map(|host| json!(server.url(host, "")));
    let client = client(&entries);
    let mut kinds = Vec::new();
    for host in forms {
        let answer = client.send(get(server.url(host, "/"))).await;
        kinds.push((host, answer.map_err(|refusal| refusal.kind)));
    }
    assert_eq!(kinds, forms.map(|host| (host, Err(NetErrorKind::Denied))));
    assert_eq!(server.lines(), Vec::<String>::new());
}

#[tokio::test]
async fn a_host_that_is_named_private_is_reached_by_name_and_by_address() {
    let server = Server::ok().await;
    let client = client(&[server.private("api.test"), server.private("127.0.0.1")]);
    for host in ["api.test", "127.0.0.1"] {
        let answer = client.send(get(server.url(host, "/a?b"))).await.unwrap();
        assert_eq!(
            (answer.status, answer.body.as_slice()),
            (200, b"ok".as_slice())
        );
    }
    assert_eq!(server.lines(), ["GET /a?b", "GET /a?b"]);
}

#[tokio::test]
async fn the_address_that_was_checked_is_the_one_that_is_connected_to() {
    /// Says the truth only once.
    struct Rebinds(AtomicUsize);
    #[async_trait]
    impl AddressLookup for Rebinds {
        async fn addresses(&self, _: &str) -> io::Result<Vec<IpAddr>> {
            let first = self.0.fetch_add(1, Ordering::Relaxed) == 0;
            let address = if first { "127.0.0.1" } else { "127.0.0.2" };
            Ok(vec![address.parse().unwrap()])
        }
    }
    let server = Server::ok().await;
    let names = Arc::new(Rebinds(AtomicUsize::new(0)));
    let client =
        HttpClient::with_lookup(&list(&[server.private("api.test")]), names.clone()).unwrap();
    assert_eq!(
        client
            .send(get(server.url("api.test", "/")))
            .await
            .unwrap()
            .status,
        200
    );
    assert_eq!(names.0.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn public_addresses_of_a_name_do_not_open_its_private_ones() {
    let server = Server::ok().await;
    // The first is of a network for documentation: nobody answers there, and it is not connected to either.
    let names = Names::at(&["203.0.113.1", "127.0.0.1"]);
    let client =
        HttpClient::with_lookup(&list(&[json!(server.url("api.test", ""))]), names).unwrap();
    let refusal = client
        .send(get(server.url("api.test", "/")))
        .await
        .unwrap_err();
    assert_eq!(refusal.kind, NetErrorKind::Denied);
    assert_eq!(server.lines(), Vec::<String>::new());
}

#[tokio::test]
async fn an_agent_reaches_only_what_the_app_and_it_allow() {
    let server = Server::ok().await;
    let app = client(&[server.private("a.test"), server.private("b.test")]);
    let agent = list(&[json!(server.url("a.test", "")), server.private("c.test")]);
    let client = app.for_run(ambit_runtime::net::HttpLimits::default(), Some(&agent));
    let mut seen = Vec::new();
    for host in ["a.test", "b.test", "c.test"] {
        seen.push(client.send(get(server.url(host, "/"))).await.is_ok());
    }
    assert_eq!(seen, [true, false, false]);
}

#[tokio::test]
async fn other_schemes_and_methods_are_refused() {
    let client = client(&[json!("api.test")]);
    let mut seen = Vec::new();
    for (method, url) in [
        ("GET", "file:///etc/passwd"),
        ("GET", "data:,x"),
        ("GET", "nope"),
        ("CONNECT", "https://api.test/"),
        ("A B", "https://api.test/"),
    ] {
        let mut request = get(url);
        request.method = method.to_owned();
        seen.push(client.send(request).await.unwrap_err().message);
    }
    let scheme = "the URL is not one of http or https";
    let methods = [
        "method \"CONNECT\" is not possible",
        "method \"A B\" is not possible",
    ];
    assert_eq!(seen, [scheme, scheme, scheme, methods[0], methods[1]]);
}
