//! What a server may not use up: time, and memory.

use crate::bed::{Bed, Witness, caller, stdio};
use crate::stopwatch::Stopwatch;
use ambit_runtime::ErrorCode;
use serde_json::{Value, json};
use std::time::Duration;

async fn bed(environment: &Value) -> (Bed, Witness) {
    let witness = Witness::new().await;
    let bed = Bed::with(&stdio(&witness, environment));
    (bed, witness)
}

#[tokio::test]
async fn a_list_ends_or_is_refused() {
    for (faults, why, pages) in [
        ("endless", "its list of tools has no end", 1_000),
        ("repeating", "its list of tools begins again", 2),
        ("heavy", "its list of tools is larger than 16 MiB", 6),
    ] {
        let (bed, mut witness) = bed(&json!({"FAULTS": faults})).await;
        let failed = bed.tools().await.unwrap_err();
        assert_eq!(failed.message, format!("MCP server \"s\": {why}"));
        assert_eq!(failed.code, ErrorCode::McpError);
        let given = json!({"who": "Ann"}).as_object().unwrap().clone();
        let prompt = bed
            .servers
            .get_prompt("s", "greet", given, &bed.caller)
            .await;
        assert!(prompt.is_ok(), "{prompt:?}");
        let told = witness.until("prompts/get").await;
        let asked = told.iter().filter(|line| *line == "tools/list");
        assert_eq!(asked.count(), pages, "{faults}");
    }
}

#[tokio::test]
async fn a_call_and_the_list_before_it_share_one_limit() {
    let (mut bed, _witness) = bed(&json!({"FAULTS": "slow-list"})).await;
    let (servers, who) = (&bed.servers, &bed.caller);
    servers.list_prompts("s", None, who).await.unwrap();
    bed.caller.timeout = Duration::from_secs(2);
    let began = Stopwatch::start(&[]);
    let failed = bed.failure("hang", json!({})).await;
    assert_eq!(failed.message, "MCP server \"s\": no answer within 2s");
    let took = began.elapsed();
    assert!(took < Duration::from_secs(3), "{took:?}");
}

#[tokio::test]
async fn g074_users_of_two_tenants_share_no_connection_whatever_they_are_called() {
    let (bed, mut witness) = bed(&json!({"WHO": "$CTX.USER_ID"})).await;
    for tenant in ["red", "blue", "red"] {
        let mut ann = caller("ann");
        ann.authorized.tenant_id = Some(tenant.to_owned());
        bed.call_as(&ann, "environment", json!({})).await.unwrap();
    }
    bed.text("echo", json!({"text": "x"})).await;
    let told = witness.until("call echo").await;
    let count = told.iter().filter(|line| *line == "initialize").count();
    // Red, blue, and nobody's.
    assert_eq!(count, 3, "{told:?}");
}
