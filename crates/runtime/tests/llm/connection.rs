//! How every provider is reached: addresses, keys, headers, proxies, connections.

use crate::fake::FAKES;
use crate::server::{End, Reply, Server};
use crate::support::{KEY, answer, asking, begin, connector, failure, open, refused};
use ambit_runtime::llm::{ModelFailureKind, ProviderCache};
use futures::StreamExt;
use serde_json::json;
use std::sync::Arc;
use tokio::io::AsyncReadExt;
use tokio::net::TcpListener;

#[tokio::test]
async fn the_key_goes_in_its_header_and_own_headers_go_along() {
    for fake in FAKES {
        let server = Server::start(vec![Reply::stream(fake.text.0)]).await;
        let model = fake.open(&server, json!({"headers": {"X-Own": "1"}}));
        answer(&*model, &asking("hi")).await;
        let asked = server.only();
        assert_eq!(asked.path, fake.path);
        let (name, value) = fake.key;
        assert_eq!(asked.headers[name], value);
        assert_eq!(asked.headers["x-own"], "1");
        assert_eq!(asked.headers["user-agent"], "ambit/0.1.0");
    }
}

#[tokio::test]
async fn without_a_key_there_is_no_header_for_it() {
    for fake in FAKES {
        for key in [json!(""), json!(null), json!("  ")] {
            let server = Server::start(vec![Reply::stream(fake.text.0)]).await;
            let model = fake.open(&server, json!({"key": key}));
            answer(&*model, &asking("hi")).await;
            let headers = server.only().headers;
            let names = ["authorization", "x-api-key", "x-goog-api-key"];
            assert!(!names.iter().any(|name| headers.contains_key(*name)));
        }
    }
}

#[tokio::test]
async fn a_bare_origin_gets_the_path_of_its_protocol_and_a_path_is_used_as_it_is() {
    for fake in FAKES {
        let end = fake.path.splitn(3, '/').nth(2).unwrap();
        for (path, expected) in [
            ("", fake.path.to_owned()),
            ("/", fake.path.to_owned()),
            ("/api/v9", format!("/api/v9/{end}")),
            ("/api/v9/", format!("/api/v9/{end}")),
        ] {
            for option in ["host", "proxy"] {
                let server = Server::start(vec![Reply::stream(fake.text.0)]).await;
                let address = format!("{}{path}", server.address);
                let model = open(fake.kind, json!({option: address, "model": "m"}));
                answer(&*model, &asking("hi")).await;
                assert_eq!(server.only().path, expected);
            }
        }
    }
}

#[tokio::test]
async fn the_query_of_an_address_is_kept() {
    for fake in FAKES {
        let server = Server::start(vec![Reply::stream(fake.text.0)]).await;
        let host = format!("{}/api?version=2", server.address);
        answer(&*fake.open(&server, json!({"host": host})), &asking("hi")).await;
        let path = server.only().path;
        let (path, query) = path.split_once('?').unwrap();
        let end = fake.path.splitn(3, '/').nth(2).unwrap();
        assert_eq!(path, format!("/api/{}", end.split('?').next().unwrap()));
        assert!(query.starts_with("version=2"), "{query}");
    }
}

#[tokio::test]
async fn a_dropped_stream_ends_the_call() {
    for fake in FAKES {
        let stream = format!("{}{}", fake.start, fake.hi);
        let reply = Reply::stream(&stream).ending(End::Silence);
        let (server, model) = fake.serve(vec![reply]).await;
        let mut stream = begin(&*model, &asking("hi")).await.unwrap();
        stream.next().await.unwrap().unwrap();
        drop(stream);
        server.was_left().await;
    }
}

#[tokio::test]
async fn calls_can_go_through_a_proxy() {
    for fake in FAKES {
        let server = Server::start(vec![Reply::stream(fake.text.0)]).await;
        let more = json!({"host": "http://models.invalid", "http_proxy": server.address});
        answer(&*fake.open(&server, more), &asking("hi")).await;
        let path = format!("http://models.invalid{}", fake.path);
        assert_eq!(server.only().path, path);
    }
}

#[tokio::test]
async fn one_connection_serves_one_call_after_the_other_of_all_connectors() {
    let models = ProviderCache::new();
    let server = Server::start(vec![Reply::stream(FAKES[0].text.0)]).await;
    for _ in 0..3 {
        let options = json!({"host": server.address, "model": "m"});
        let model = models.open(&connector("openai", options)).unwrap();
        answer(&*model, &asking("hi")).await;
    }
    assert_eq!((server.asked().len(), server.connections()), (3, 1));
}

#[tokio::test]
async fn a_connector_is_opened_once_until_it_is_loaded_again() {
    let models = ProviderCache::new();
    let one = connector("scripted", json!({}));
    let again = connector("scripted", json!({"model": "other"}));
    let first = models.open(&one).unwrap();
    assert!(Arc::ptr_eq(&first, &models.open(&one).unwrap()));
    assert!(!Arc::ptr_eq(&first, &models.open(&again).unwrap()));
}

#[tokio::test]
async fn a_redirect_is_not_followed_with_the_key() {
    for fake in FAKES {
        let other = Server::start(vec![Reply::stream(fake.text.0)]).await;
        let reply = Reply::json(307, "").with("location", &other.address);
        let (_server, model) = fake.serve(vec![reply]).await;
        let failed = failure(&*model, &asking("hi")).await;
        assert_eq!(failed.kind, ModelFailureKind::Permanent);
        assert!(other.asked().is_empty());
    }
}

#[tokio::test]
async fn a_provider_that_is_not_there_may_be_tried_again() {
    // Nothing listens there: no system gives port 1 to whoever asks for any port.
    let address = "http://127.0.0.1:1";
    for fake in FAKES {
        let model = open(
            fake.kind,
            json!({"host": address, "model": "m", "key": KEY}),
        );
        let failed = failure(&*model, &asking("hi")).await;
        let start = "connector \"test.model\": the provider cannot be reached: Connection refused";
        assert!(failed.message.starts_with(start), "{failed}");
        assert_eq!(failed.kind, ModelFailureKind::Temporary);
    }
}

#[tokio::test]
async fn tls_is_spoken_where_the_address_says_so() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let host = format!("https://{}", listener.local_addr().unwrap());
    let model = open("openai", json!({"host": host}));
    let first_byte = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.read_u8().await.unwrap()
    };
    let call = asking("hi");
    let (failed, first) = tokio::join!(failure(&*model, &call), first_byte);
    const HANDSHAKE: u8 = 22;
    assert_eq!(
        (failed.kind, first),
        (ModelFailureKind::Temporary, HANDSHAKE)
    );
}

#[test]
fn wrong_options_are_named() {
    let cases = [
        (
            json!({"host": "not an address"}),
            "option \"host\" is no address such as https://host/v1",
        ),
        (
            json!({"proxy": "ftp://x"}),
            "option \"proxy\" is no address such as https://host/v1",
        ),
        (
            json!({"http_proxy": "::"}),
            "option \"http_proxy\" is no address of an HTTP proxy",
        ),
        (
            json!({"headers": {"a b": "c"}}),
            "option \"headers\" cannot send \"a b\"",
        ),
        (
            json!({"key": "a\nb"}),
            "option \"key\" holds characters that no header may",
        ),
    ];
    for fake in FAKES {
        for (options, why) in &cases {
            let mut options = options.clone();
            options["model"] = "m".into();
            let failed = refused(fake.kind, options);
            assert_eq!(failed.message, format!("connector \"test.model\": {why}"));
            assert_eq!(failed.kind, ModelFailureKind::Permanent);
        }
    }
}

#[test]
fn an_unknown_type_is_refused_with_the_nearest_one() {
    let end = "; models are of type openai, anthropic, gemini, ollama, scripted";
    for (kind, why) in [
        ("opnai", "unknown type \"opnai\"; did you mean \"openai\"?"),
        ("bedrock", "unknown type \"bedrock\""),
        ("redis", "type \"redis\" is a store and not a model"),
    ] {
        let failed = refused(kind, json!({}));
        let message = format!("connector \"test.model\": {why}{end}");
        assert_eq!(failed.message, message);
    }
}
