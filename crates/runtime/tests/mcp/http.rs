//! Servers over the network.

use crate::bed::{Bed, PATIENCE, Witness, caller, free_port, program, python};
use ambit_runtime::ErrorCode;
use futures::future::join_all;
use serde_json::{Value, json};
use std::process::Stdio;
use std::time::Duration;
use tokio::process::{Child, Command};

/// A server of its own process, which ends with it.
struct Site {
    port: u16,
    child: Child,
    witness: Witness,
}

impl Site {
    async fn new(environment: &[(&str, &str)]) -> Self {
        let (witness, port) = (Witness::new().await, free_port());
        // It is started again there, and nobody else gets the port meanwhile.
        let fixed = port.to_string();
        let environment = [environment, &[("PORT", fixed.as_str())]].concat();
        let mut site = Self {
            port,
            child: start(&witness, &environment),
            witness,
        };
        site.witness.hear("port").await;
        site
    }

    /// Ends it and starts it again in the same place.
    async fn again(&mut self) {
        self.child.kill().await.unwrap();
        self.witness.hear("gone").await;
        let port = self.port.to_string();
        self.child = start(&self.witness, &[("PORT", &port)]);
        self.witness.hear("port").await;
    }

    fn server(&self, transport: &str, more: &Value) -> Value {
        let path = if transport == "sse" { "sse" } else { "mcp" };
        let mut server = json!({"transport": transport, "url": format!("http://127.0.0.1:{}/{path}", self.port)});
        for (name, value) in more.as_object().unwrap() {
            server[name] = value.clone();
        }
        server
    }
}

fn start(witness: &Witness, environment: &[(&str, &str)]) -> Child {
    let mut command = Command::new(python().0);
    command
        .arg(program())
        .arg("http")
        .env("WITNESS", witness.port.to_string());
    command.envs(environment.iter().copied());
    command
        .stdin(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap()
}

const TRANSPORTS: [&str; 2] = ["http", "sse"];

#[tokio::test]
async fn every_transport_offers_tools_resources_and_prompts() {
    let site = Site::new(&[]).await;
    for transport in TRANSPORTS {
        let bed = Bed::with(&site.server(transport, &json!({})));
        assert_eq!(bed.tools().await.unwrap().len(), 15, "{transport}");
        assert_eq!(
            bed.call("add", json!({"a": 1})).await.unwrap().data,
            json!({"total": 11})
        );
        let read = bed
            .servers
            .read_resource("s", "test://one", &bed.caller)
            .await
            .unwrap();
        assert_eq!(read["contents"][0]["text"], "content of test://one");
        let prompts = bed
            .servers
            .list_prompts("s", None, &bed.caller)
            .await
            .unwrap();
        assert_eq!(prompts["prompts"][0]["name"], "greet");
        assert!(bed.call("fail", json!({})).await.unwrap().is_error);
        assert_eq!(bed.text("echo", json!({"text": "größer"})).await, "größer");
    }
}

#[tokio::test]
async fn both_versions_of_the_protocol_are_spoken_over_http() {
    for (speaks, faults) in [
        ("2026-07-28", ""),
        ("2025-11-25", ""),
        ("2025-11-25", "plain-404"),
    ] {
        let site = Site::new(&[("SPEAKS", speaks), ("FAULTS", faults)]).await;
        let bed = Bed::with(&site.server("http", &json!({})));
        let outcome = bed.call("headers", json!({})).await.unwrap();
        assert_eq!(outcome.data["mcp-protocol-version"], speaks, "{faults}");
    }
}

#[tokio::test]
async fn a_token_without_a_scheme_is_sent_as_bearer_and_headers_as_they_are() {
    for transport in TRANSPORTS {
        for (token, sent) in [("abcdef", "Bearer abcdef"), ("Basic eA==", "Basic eA==")] {
            let site = Site::new(&[("TOKEN", sent)]).await;
            let more = json!({"authorization_token": token, "headers": {"X-User": "$CTX.USER_ID"}});
            let bed = Bed::with(&site.server(transport, &more));
            for user in ["ann", "bob"] {
                let outcome = bed
                    .call_as(&caller(user), "headers", json!({}))
                    .await
                    .unwrap();
                assert_eq!(
                    (&outcome.data["authorization"], &outcome.data["x-user"]),
                    (&json!(sent), &json!(user))
                );
            }
            let wrong =
                Bed::with(&site.server(transport, &json!({"authorization_token": "wrong-token"})));
            let failed = wrong.tools().await.unwrap_err();
            assert_eq!(failed.code, ErrorCode::McpError);
            assert!(!failed.message.contains("wrong-token"), "{failed}");
        }
    }
}

#[tokio::test]
async fn g127_a_connection_that_has_gone_stale_is_replaced_without_a_failure() {
    let mut site = Site::new(&[]).await;
    let bed = Bed::with(&site.server("http", &json!({})));
    assert_eq!(bed.text("echo", json!({"text": "one"})).await, "one");
    site.again().await;
    assert_eq!(bed.text("echo", json!({"text": "two"})).await, "two");
    // The server has forgotten its sessions.
    assert_eq!(bed.text("last", json!({})).await, "bye");
    assert_eq!(bed.text("echo", json!({"text": "three"})).await, "three");
}

#[tokio::test]
async fn g127_an_event_stream_that_has_ended_is_opened_again() {
    let mut site = Site::new(&[]).await;
    let bed = Bed::with(&site.server("sse", &json!({})));
    assert_eq!(bed.text("echo", json!({"text": "one"})).await, "one");
    site.again().await;
    assert_eq!(bed.text("echo", json!({"text": "two"})).await, "two");
}

#[tokio::test]
async fn nobody_is_followed_to_another_host() {
    let other = Site::new(&[]).await;
    let elsewhere = format!("http://127.0.0.1:{}/mcp", other.port);
    let site = Site::new(&[("ELSEWHERE", &elsewhere)]).await;
    let mut server = site.server("http", &json!({"authorization_token": "abcdef"}));
    server["url"] = format!("http://127.0.0.1:{}/elsewhere", site.port).into();
    assert!(Bed::with(&server).tools().await.is_err());
    let endpoint = format!("http://127.0.0.1:{}/message/1", other.port);
    let site = Site::new(&[("ENDPOINT", &endpoint)]).await;
    let failed = Bed::with(&site.server("sse", &json!({})))
        .tools()
        .await
        .unwrap_err();
    assert_eq!(
        failed.message,
        "MCP server \"s\": it wants messages sent to another host"
    );
    // The first thing that this one ever gets is from here.
    let mut other = other;
    let bed = Bed::with(&other.server("http", &json!({})));
    bed.text("echo", json!({"text": "x"})).await;
    let told = other.witness.until("call echo").await;
    assert_eq!(
        told.iter()
            .filter(|line| *line == "server/discover")
            .count(),
        1,
        "{told:?}"
    );
}

#[tokio::test]
async fn a_hung_call_over_the_network_ends_at_its_deadline_and_the_server_is_told() {
    for transport in TRANSPORTS {
        let mut site = Site::new(&[]).await;
        let mut bed = Bed::with(&site.server(transport, &json!({})));
        bed.tools().await.unwrap();
        bed.caller.timeout = Duration::from_millis(300);
        assert_eq!(
            bed.failure("hang", json!({})).await.code,
            ErrorCode::Timeout
        );
        site.witness.hear("cancelled").await;
        bed.caller.timeout = PATIENCE;
        assert_eq!(
            bed.text("echo", json!({"text": "x"})).await,
            "x",
            "{transport}"
        );
    }
}

#[tokio::test]
async fn g134_an_answer_over_the_network_that_is_too_large_fails_its_call() {
    for transport in TRANSPORTS {
        let site = Site::new(&[]).await;
        let bed = Bed::with(&site.server(transport, &json!({"timeout": "5m"})));
        let failed = bed.failure("big", json!({"bytes": 50 << 20})).await;
        assert_eq!(failed.code, ErrorCode::McpError, "{transport}: {failed}");
        assert_eq!(
            bed.text("echo", json!({"text": "x"})).await,
            "x",
            "{transport}"
        );
    }
}

#[tokio::test]
async fn a_call_with_too_large_an_answer_takes_no_other_with_it() {
    let mut site = Site::new(&[]).await;
    let bed = Bed::with(&site.server("sse", &json!({})));
    let calls = async {
        let failed = bed.failure("big", json!({"bytes": 17 << 20})).await;
        assert_eq!(
            failed.message,
            "MCP server \"s\": its answer is larger than 16 MiB"
        );
        bed.text("echo", json!({"text": "x"})).await
    };
    tokio::select! {
        ended = bed.call("hang", json!({})) => panic!("{ended:?}"),
        text = calls => assert_eq!(text, "x"),
    }
    let told = site.witness.until("call echo").await;
    let streams = told.iter().filter(|line| *line == "opens");
    assert_eq!(streams.count(), 1, "{told:?}");
}

#[tokio::test]
async fn an_answer_over_the_network_that_is_no_strict_json_fails_its_call_at_once() {
    for (transport, faults) in [("http", ""), ("http", "events"), ("sse", "")] {
        let site = Site::new(&[("FAULTS", faults)]).await;
        let bed = Bed::with(&site.server(transport, &json!({})));
        for how in ["surrogate", "deep"] {
            let failed = bed.failure("wrong", json!({"how": how})).await;
            assert_eq!(
                failed.code,
                ErrorCode::McpError,
                "{transport} {faults}: {failed}"
            );
        }
        assert_eq!(bed.text("echo", json!({"text": "x"})).await, "x");
    }
}

#[tokio::test]
async fn slow_calls_over_one_connection_hold_up_no_other() {
    for transport in TRANSPORTS {
        let mut site = Site::new(&[]).await;
        let bed = Bed::with(&site.server(transport, &json!({})));
        bed.tools().await.unwrap();
        let slow = join_all((0..20).map(|_| bed.call("hang", json!({}))));
        let quick = async {
            for _ in 0..20 {
                site.witness.hear("hangs").await;
            }
            bed.text("echo", json!({"text": "x"})).await
        };
        tokio::select! {
            ended = slow => panic!("{ended:?}"),
            text = quick => assert_eq!(text, "x", "{transport}"),
        }
    }
}

#[tokio::test]
async fn a_message_that_a_server_never_takes_is_given_up() {
    let mut site = Site::new(&[("FAULTS", "deaf")]).await;
    let bed = Bed::with(&site.server("sse", &json!({"timeout": "3s"})));
    // A busy machine may need longer to be there than a call may take.
    for _ in 0..20 {
        if bed.tools().await.is_ok() {
            break;
        }
    }
    let failed = bed.failure("echo", json!({"text": "x"})).await;
    assert_eq!(failed.code, ErrorCode::Timeout, "{failed}");
    site.witness.hear("left").await;
}

#[tokio::test]
async fn a_server_that_nobody_runs_is_told_as_such() {
    for transport in TRANSPORTS {
        let server = json!({"transport": transport, "url": "http://127.0.0.1:9/mcp?key=swordfish"});
        let failed = Bed::with(&server).tools().await.unwrap_err();
        assert_eq!(
            failed.message,
            "MCP server \"s\": it cannot be reached: Connection refused (os error 111)"
        );
    }
}
