//! The trace that a request is part of: as its caller says it, and as others are told of it.

use crate::collector::TestCollector;
use crate::place::{agent, ask, request};
use crate::server::{self, Server};
use crate::telemetry::{answer, openai, plain, sending, sending_with};
use ambit_runtime::TraceContext;
use serde_json::json;
use std::collections::BTreeSet;

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT: &str = "00f067aa0ba902b7";

/// What a caller says of the trace.
fn caller(flags: &str) -> Option<TraceContext> {
    TraceContext::read(&format!("00-{TRACE}-{PARENT}-{flags}"), Some("vendor=1"))
}

#[tokio::test]
async fn a_callers_trace_is_gone_on_with_as_it_decides() {
    let collector = TestCollector::start().await;
    let place = sending(&plain(&json!({"sample": 0})), &collector).await;
    for (chat, context) in [
        ("unsampled", caller("00")),
        ("own", None),
        ("sampled", caller("01")),
    ] {
        let mut asked = request("hello", "hi");
        asked.chat = Some(chat.to_owned());
        asked.origin.trace_context = context;
        ask(&place, asked).await;
    }
    let received = collector
        .until(|received| !received.spans().is_empty())
        .await;
    let spans = received.spans();
    let first = &spans[0];
    let ids = [&first.trace_id, &first.parent_id].map(String::as_str);
    assert_eq!(ids, [TRACE, PARENT]);
    assert_eq!(first.whole["trace_state"], "vendor=1");
    let chats: BTreeSet<&str> = spans
        .iter()
        .map(|it| it.attributes["session.id"].as_str().unwrap())
        .collect();
    assert_eq!(chats, BTreeSet::from(["sampled"]));
}

/// The headers with which a provider and a host of scripts were asked, where these hosts may know.
async fn told(propagate: bool, is_sent: bool) -> [Option<String>; 2] {
    let collector = TestCollector::start().await;
    let provider = Server::start(vec![answer()]).await;
    let host = Server::start(vec![server::Reply::json(200, "{}")]).await;
    let hosts = match propagate {
        true => json!([provider.address, host.address]),
        false => json!(["other.test"]),
    };
    let hooks = format!(
        "export function Create() {{ http.Post('{}/x', {{}}); }}",
        host.address
    );
    let mut files = agent(&json!({"connector": "real"}), &hooks);
    files.push(openai(&provider.address));
    let reach = json!([{"host": host.address, "private": true}]);
    let settings = json!({"telemetry": {"propagate": hosts}, "capabilities": {"http": reach}});
    files.push((
        "app.yao".to_owned(),
        json!({"name": "T", "ambit": settings}).to_string(),
    ));
    let place = sending_with(&files, &collector, |settings| {
        if !is_sent {
            settings.telemetry = ambit_runtime::OtlpSettings::default();
        }
    })
    .await;
    let mut asked = request("hello", "hi");
    asked.origin.trace_context = caller("01");
    ask(&place, asked).await;
    let parents = [provider.only(), host.only()].map(|asked| {
        assert_eq!(asked.headers.get("baggage"), None);
        let state = asked.headers.get("tracestate").map(String::as_str);
        assert_eq!(state, propagate.then_some("vendor=1"));
        asked.headers.get("traceparent").cloned()
    });
    if is_sent {
        let spans = collector
            .until(|received| !received.spans().is_empty())
            .await
            .spans();
        let ids = ["chat gpt-asked", "ambit.hook hello Create"].map(|name| {
            let span = spans.iter().find(|span| span.name == name).unwrap();
            Some(format!("00-{TRACE}-{}-01", span.id)).filter(|_| propagate)
        });
        assert_eq!(parents, ids);
    }
    parents
}

#[tokio::test]
async fn the_trace_context_goes_to_the_hosts_that_may_know_alone() {
    told(true, true).await;
    assert_eq!(told(false, true).await, [None, None]);
    // Where nothing is recorded here, the caller's span stays the parent.
    let through = Some(format!("00-{TRACE}-{PARENT}-01"));
    assert_eq!(told(true, false).await, [through.clone(), through]);
}
