//! Which hosts and addresses are reached.

use crate::fake::{FAKES, each};
use crate::server::{FakeServer, Reply};
use crate::support::{KEY, asking, merged, search, search_with, settings};
use ambit_runtime::net::AddressLookup;
use ambit_runtime::web_search::WebSearchClient;
use async_trait::async_trait;
use serde_json::json;
use std::io;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};

const DENIED: &str = "refused to connect, only public addresses of its host are allowed";

/// Finds every name at one address, and knows which were looked up.
struct FakeLookup {
    address: IpAddr,
    names: Mutex<Vec<String>>,
}

#[async_trait]
impl AddressLookup for FakeLookup {
    async fn addresses(&self, host: &str) -> io::Result<Vec<IpAddr>> {
        self.names.lock().unwrap().push(host.to_owned());
        Ok(vec![self.address])
    }
}

#[tokio::test]
async fn g208_a_provider_with_a_private_address_is_not_reached() {
    let names = [
        "api.tavily.com",
        "google.serper.dev",
        "serpapi.com",
        "searx.test",
    ];
    for (fake, name) in FAKES.iter().zip(names) {
        let mut settings = settings((fake.settings)());
        settings.http.url = "https://searx.test/search".to_owned();
        for address in ["127.0.0.1", "10.0.0.1", "169.254.169.254", "::1", "fd00::1"] {
            let lookup = Arc::new(FakeLookup {
                address: address.parse().unwrap(),
                names: Mutex::default(),
            });
            let client = WebSearchClient::with_lookup(lookup.clone()).unwrap();
            let answer = search_with(&client, &settings, &asking("x")).await;
            assert_eq!(answer, Err(fake.error(DENIED)), "{address}");
            assert_eq!(*lookup.names.lock().unwrap(), [name]);
        }
    }
}

#[tokio::test]
async fn g208_private_addresses_and_plain_http_are_reached_only_where_that_is_said() {
    each(|fake| async move {
        let server = fake.server(vec![fake.reply()]).await;
        let https = server.address.replace("http://", "https://");
        let bare = server.address.replace("http://", "");
        let plain = "only https is allowed, unless \"web.private\" is true";
        for (host, what) in [(&server.address, plain), (&https, DENIED), (&bare, DENIED)] {
            let own = merged((fake.settings)(), json!({"host": host}));
            let answer = search(&settings(own), &asking("x")).await;
            assert_eq!(answer, Err(fake.error(what)));
        }
        assert_eq!(server.requests(), []);
    })
    .await;
}

#[tokio::test]
async fn g208_no_redirect_leads_to_another_host() {
    each(|fake| async move {
        let other = FakeServer::forbidden().await;
        let own = &fake.shape.path;
        let elsewhere = [
            format!("{}{own}", other.address),
            format!("//{}{own}", other.address.replace("http://", "")),
            format!("https://{}.test/", KEY.to_lowercase()),
            "https://127.0.0.1/".to_owned(),
        ];
        for status in [301, 302, 303, 307, 308] {
            for location in &elsewhere {
                let moved = Reply::json(status, "{}").with("location", location);
                let (server, settings) = fake.serve(vec![moved, fake.reply()]).await;
                let answer = search(&settings, &asking("x")).await;
                assert_eq!(answer, Err(fake.error(DENIED)), "{status} {location}");
                assert_eq!(server.requests().len(), 1);
            }
        }
        assert_eq!(other.requests(), []);
    })
    .await;
}

#[tokio::test]
async fn redirects_within_the_host_are_followed_three_times() {
    for fake in &FAKES[..2] {
        let moved = || Reply::json(307, "{}").with("location", fake.shape.path);
        let replies = vec![moved(), moved(), moved(), fake.reply()];
        let (server, settings) = fake.serve(replies).await;
        let answer = search(&settings, &asking("x")).await;
        assert_eq!(
            answer.map(|answer| answer.items.len()),
            Ok((fake.items)().len())
        );
        assert_eq!(server.requests().len(), 4);
        let (server, settings) = fake.serve(vec![moved()]).await;
        let answer = search(&settings, &asking("x")).await;
        assert_eq!(answer, Err(fake.error("too many redirects")));
        assert_eq!(server.requests().len(), 4);
    }
}

#[tokio::test]
async fn a_redirect_without_a_target_is_a_failure() {
    each(|fake| async move {
        let (_server, settings) = fake.serve(vec![Reply::json(304, "{}")]).await;
        let answer = search(&settings, &asking("x")).await;
        assert_eq!(answer, Err(fake.error("304, request refused")));
    })
    .await;
}

#[tokio::test]
async fn a_host_is_a_scheme_a_name_and_a_port() {
    let what = "\"web.host\" is no host such as https://host:port";
    let wrong = [
        "ftp://a.test",
        "https://a.test/path",
        "https://me:pw@a.test",
        "https://a.test?q",
        "a b",
        "https://",
    ];
    for host in wrong {
        let answer = search(
            &settings(json!({"provider": "tavily", "host": host})),
            &asking("x"),
        )
        .await;
        assert_eq!(answer, Err(format!("tavily: {what}")), "{host}");
    }
}

#[tokio::test]
async fn a_service_of_the_app_has_an_address() {
    for url in ["", "search", "ftp://a.test/", "file:///etc/passwd"] {
        let settings = settings(json!({"provider": "http", "http": {"url": url}}));
        let answer = search(&settings, &asking("x")).await;
        let what = "http: \"web.http.url\" is no address of a web server";
        assert_eq!(answer, Err(what.to_owned()), "{url}");
    }
}

#[tokio::test]
async fn an_unknown_provider_is_named_with_the_nearest_one() {
    let answer = |name: &str| {
        let settings = settings(json!({"provider": name}));
        async move { search(&settings, &asking("x")).await.unwrap_err() }
    };
    assert_eq!(
        answer("tavli").await,
        "no provider \"tavli\" searches the web; did you mean \"tavily\"?"
    );
    assert_eq!(answer("").await, "no provider \"\" searches the web");
}
