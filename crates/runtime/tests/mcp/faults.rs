//! Servers that behave badly.

use crate::bed::{Bed, PATIENCE, Witness, stdio};
use crate::stopwatch::Stopwatch;
use ambit_runtime::ErrorCode;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::time::Duration;

async fn bed(environment: &Value) -> (Bed, Witness) {
    let witness = Witness::new().await;
    let bed = Bed::with(&stdio(&witness, environment));
    (bed, witness)
}

/// The same with little time for each call, once the server is there.
async fn hasty() -> (Bed, Witness) {
    let (mut bed, witness) = bed(&json!({})).await;
    assert_eq!(bed.text("echo", json!({"text": "x"})).await, "x");
    bed.caller.timeout = Duration::from_millis(300);
    (bed, witness)
}

fn kill(pid: &str) {
    signal(pid, Signal::KILL);
}

fn signal(pid: &str, signal: Signal) {
    let pid = Pid::from_raw(pid.parse().unwrap()).unwrap();
    kill_process(pid, signal).unwrap();
}

/// Whether a process is there, or its death has not been taken notice of.
fn is_there(pid: &str) -> bool {
    std::path::Path::new("/proc").join(pid).exists()
}

/// Until its death has been taken notice of.
async fn reaped(pid: &str) {
    let gone = async {
        while is_there(pid) {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, gone).await.unwrap();
}

#[tokio::test]
async fn g125_a_server_killed_during_a_call_fails_it_at_once_and_is_started_again() {
    let (bed, mut witness) = bed(&json!({})).await;
    let hanging = bed.call("hang", json!({}));
    let (failed, killed) = tokio::join!(hanging, async {
        let pid = witness.hear("begins").await;
        witness.hear("hangs").await;
        kill(&pid);
        Stopwatch::start(&[])
    });
    assert!(killed.elapsed() < Duration::from_secs(1));
    let failed = failed.unwrap_err();
    assert_eq!(failed.code, ErrorCode::McpError);
    assert_eq!(
        failed.message,
        "MCP server \"s\": its process has ended (signal: 9 (SIGKILL))"
    );
    assert_eq!(bed.text("echo", json!({"text": "again"})).await, "again");
}

#[tokio::test]
async fn g125_a_server_killed_before_a_call_is_started_again_without_a_failure() {
    let (bed, mut witness) = bed(&json!({})).await;
    for text in ["one", "two"] {
        assert_eq!(bed.text("echo", json!({"text": text})).await, text);
        let told = witness.until("call echo").await;
        let pid = told.iter().find_map(|line| line.strip_prefix("begins "));
        kill(pid.unwrap());
        reaped(pid.unwrap()).await;
    }
    assert_eq!(bed.text("echo", json!({"text": "three"})).await, "three");
}

#[tokio::test]
async fn g125_a_server_that_ends_after_or_within_its_answer_serves_again() {
    let (bed, _witness) = bed(&json!({})).await;
    assert_eq!(bed.text("last", json!({})).await, "bye");
    let failed = bed.failure("die", json!({})).await;
    assert!(
        failed
            .message
            .starts_with("MCP server \"s\": its process has ended"),
        "{failed}"
    );
    assert_eq!(bed.text("echo", json!({"text": "x"})).await, "x");
}

#[tokio::test]
async fn g125_another_session_of_a_dying_server_is_not_affected() {
    let witness = Witness::new().await;
    let server = stdio(&witness, &json!({"WHO": "$CTX.USER_ID"}));
    let bed = Bed::with(&server);
    let bob = crate::bed::caller("bob");
    let hi = json!({"text": "hi"});
    bed.call_as(&bob, "echo", hi.clone()).await.unwrap();
    let (died, answered) = tokio::join!(bed.call("die", json!({})), bed.call_as(&bob, "echo", hi));
    assert_eq!(died.unwrap_err().code, ErrorCode::McpError);
    assert_eq!(answered.unwrap().text, "hi");
}

#[tokio::test]
async fn g125_calls_of_all_users_end_with_the_server_that_they_share() {
    let (bed, mut witness) = bed(&json!({})).await;
    let bob = crate::bed::caller("bob");
    let pid = async {
        let pid = witness.hear("begins").await;
        witness.hear("hangs").await;
        witness.hear("hangs").await;
        kill(&pid);
        Stopwatch::start(&[])
    };
    let hang = json!({});
    let (anns, bobs, killed) = tokio::join!(
        bed.call("hang", hang.clone()),
        bed.call_as(&bob, "hang", hang),
        pid
    );
    assert!(killed.elapsed() < Duration::from_secs(1));
    for failed in [anns, bobs] {
        let message = failed.unwrap_err().message;
        assert_eq!(
            message,
            "MCP server \"s\": its process has ended (signal: 9 (SIGKILL))"
        );
    }
    let hi = json!({"text": "hi"});
    let (anns, bobs) = tokio::join!(
        bed.call("echo", hi.clone()),
        bed.call_as(&bob, "echo", hi.clone())
    );
    assert_eq!(
        (anns.unwrap().text, bobs.unwrap().text),
        ("hi".to_owned(), "hi".to_owned())
    );
    // It was started again once, for both.
    bed.text("add", json!({"a": 1})).await;
    let told = witness.until("call add").await;
    let starts = told.iter().filter(|line| line.starts_with("begins"));
    assert_eq!(starts.count(), 1, "{told:?}");
}

#[tokio::test]
async fn g125_a_server_that_never_starts_is_tried_again_with_back_off() {
    let (bed, mut witness) = bed(&json!({"FAULTS": "dies"})).await;
    let first = bed.tools().await.unwrap_err().message;
    assert_eq!(
        first,
        "MCP server \"s\": its process has ended (exit status: 1): no licence"
    );
    // Failing again and again, it is waited for longer and longer, until whoever asks is told so.
    let mut starts = 1_u32;
    let last = loop {
        let message = bed.tools().await.unwrap_err().message;
        if message.contains("it is tried again in") {
            break message;
        }
        assert_eq!(message, first);
        starts += 1;
        assert!(starts < 10, "no back-off");
    };
    let pause = last.strip_prefix(&format!("{first}; it is tried again in "));
    let seconds = pause.and_then(|pause| pause.strip_suffix(" s"));
    // It doubles, and some of the last one may be over on a busy machine.
    let longest = (100_u64 << (starts - 1)) / 1_000 + 1;
    let seconds: u64 = seconds.unwrap().parse().unwrap();
    assert!((1..=longest).contains(&seconds), "{last}");
    // Each start is two attempts, of either version of the protocol.
    for _ in 0..2 * starts {
        witness.hear("begins").await;
    }
}

#[tokio::test]
async fn g126_a_hung_call_ends_at_its_deadline_and_the_server_is_told() {
    let (mut bed, mut witness) = hasty().await;
    let failed = bed.failure("hang", json!({})).await;
    assert_eq!(failed.code, ErrorCode::Timeout);
    assert_eq!(failed.message, "MCP server \"s\": no answer within 300ms");
    witness.hear("cancelled").await;
    let failed = bed
        .servers
        .read_resource("s", "test://hang", &bed.caller)
        .await
        .unwrap_err();
    assert_eq!(failed.code, ErrorCode::Timeout);
    bed.caller.timeout = PATIENCE;
    assert_eq!(bed.text("echo", json!({"text": "x"})).await, "x");
}

#[tokio::test]
async fn g126_a_hung_prompt_ends_at_its_deadline_and_the_server_is_told() {
    let (bed, mut witness) = hasty().await;
    let given = json!({"who": "hang"}).as_object().unwrap().clone();
    let prompt = bed
        .servers
        .get_prompt("s", "greet", given, &bed.caller)
        .await;
    let failed = prompt.unwrap_err();
    assert_eq!(failed.code, ErrorCode::Timeout);
    assert_eq!(failed.message, "MCP server \"s\": no answer within 300ms");
    witness.hear("cancelled").await;
}

#[tokio::test]
async fn g126_a_hung_list_ends_at_its_deadline_and_is_asked_for_again() {
    let (mut bed, _witness) = bed(&json!({"FAULTS": "hung-list"})).await;
    // The server is there.
    let (servers, caller) = (&bed.servers, &bed.caller);
    servers.list_prompts("s", None, caller).await.unwrap();
    bed.caller.timeout = Duration::from_millis(300);
    for _ in 0..2 {
        let failed = bed.tools().await.unwrap_err();
        assert_eq!(failed.message, "MCP server \"s\": no answer within 300ms");
    }
    let failed = bed.failure("echo", json!({"text": "x"})).await;
    assert_eq!(failed.code, ErrorCode::Timeout);
}

#[tokio::test]
async fn a_call_that_nobody_waits_for_any_more_is_cancelled() {
    let (bed, mut witness) = bed(&json!({})).await;
    tokio::select! {
        _ = bed.call("hang", json!({})) => panic!("it does not hang"),
        _ = witness.hear("hangs") => {}
    }
    witness.hear("cancelled").await;
    assert_eq!(bed.text("echo", json!({"text": "x"})).await, "x");
}

#[tokio::test]
async fn a_server_that_answers_nothing_any_more_is_replaced() {
    let (mut bed, mut witness) = hasty().await;
    for _ in 0..3 {
        assert_eq!(
            bed.failure("hang", json!({})).await.code,
            ErrorCode::Timeout
        );
    }
    bed.caller.timeout = PATIENCE;
    assert_eq!(bed.text("add", json!({"a": 1})).await, "{\"total\": 11}");
    let told = witness.until("call add").await;
    assert_eq!(told.iter().filter(|line| *line == "initialize").count(), 2);
}

#[tokio::test]
async fn g134_an_answer_of_fifty_megabytes_fails_its_call_alone() {
    let (bed, _witness) = bed(&json!({})).await;
    for is_trailing in [false, true] {
        let arguments = json!({"bytes": 50 << 20, "trailing": is_trailing});
        let (failed, other) = tokio::join!(
            bed.failure("big", arguments),
            bed.text("echo", json!({"text": "x"}))
        );
        assert_eq!(
            failed.message,
            "MCP server \"s\": its answer is larger than 16 MiB"
        );
        assert_eq!(other, "x");
    }
    let whole = bed.call("big", json!({"bytes": 1 << 20})).await.unwrap();
    assert_eq!(whole.data.as_str().unwrap().len(), 1 << 20);
    assert!(
        whole
            .text
            .ends_with("[cut here: the result has 1048576 bytes, these are the first 262144]")
    );
}

#[tokio::test]
async fn what_is_no_message_is_passed_over() {
    let (bed, _witness) = bed(&json!({"FAULTS": "noisy"})).await;
    assert_eq!(bed.text("babble", json!({})).await, "still here");
    assert_eq!(bed.text("echo", json!({"text": "x"})).await, "x");
}

#[tokio::test]
async fn an_answer_that_is_none_fails_its_call_at_once() {
    let (bed, _witness) = bed(&json!({})).await;
    let failed = bed.failure("wrong", json!({})).await;
    assert!(
        failed
            .message
            .starts_with("MCP server \"s\": its answer cannot be understood"),
        "{failed}"
    );
    assert_eq!(bed.text("echo", json!({"text": "x"})).await, "x");
}

#[tokio::test]
async fn an_answer_that_is_no_strict_json_fails_its_call_at_once() {
    let (bed, _witness) = bed(&json!({})).await;
    for (how, why) in [
        ("surrogate", "unexpected end of hex escape"),
        ("bytes", "invalid unicode code point"),
        ("deep", "recursion limit exceeded"),
    ] {
        let failed = bed.failure("wrong", json!({"how": how})).await;
        let begin = format!("MCP server \"s\": its answer cannot be understood: {why}");
        assert!(failed.message.starts_with(&begin), "{how}: {failed}");
    }
    assert_eq!(bed.text("echo", json!({"text": "x"})).await, "x");
}

#[tokio::test]
async fn what_a_server_leaves_behind_ends_with_it() {
    let (bed, mut witness) = bed(&json!({})).await;
    let calling = bed.call("child", json!({}));
    let (failed, ()) = tokio::join!(calling, async {
        witness.hear("child").await;
        // Of both, since they share the line to this test.
        witness.hear("gone").await;
    });
    assert!(failed.is_err());
}

#[tokio::test]
async fn a_server_that_does_not_leave_is_killed() {
    let (bed, mut witness) = bed(&json!({"FAULTS": "stubborn"})).await;
    assert_eq!(bed.text("echo", json!({"text": "x"})).await, "x");
    bed.pool.close().await;
    witness.hear("stays").await;
    witness.hear("gone").await;
}

#[tokio::test]
async fn a_server_that_stops_reading_is_killed_and_replaced() {
    let (mut bed, mut witness) = hasty().await;
    let pid = witness.hear("begins").await;
    signal(&pid, Signal::STOP);
    // More than the pipe to it takes.
    let long = json!({"text": "x".repeat(200 << 10)});
    for _ in 0..3 {
        let failed = bed.failure("echo", long.clone()).await;
        assert_eq!(failed.code, ErrorCode::Timeout);
    }
    reaped(&pid).await;
    bed.caller.timeout = PATIENCE;
    assert_eq!(bed.text("echo", json!({"text": "x"})).await, "x");
}

#[tokio::test]
async fn a_server_that_stops_reading_is_killed_when_it_is_closed() {
    let (bed, mut witness) = hasty().await;
    let pid = witness.hear("begins").await;
    signal(&pid, Signal::STOP);
    let failed = bed.failure("echo", json!({"text": "x".repeat(200 << 10)}));
    assert_eq!(failed.await.code, ErrorCode::Timeout);
    bed.pool.close().await;
    assert!(!is_there(&pid));
}

#[tokio::test]
async fn closing_waits_until_servers_have_ended_by_themselves() {
    let (bed, mut witness) = bed(&json!({})).await;
    assert_eq!(bed.text("echo", json!({"text": "x"})).await, "x");
    let pid = witness.hear("begins").await;
    bed.pool.close().await;
    assert!(!is_there(&pid));
    witness.hear("leaves").await;
}

#[tokio::test]
async fn a_server_of_nobody_ends() {
    let (bed, mut witness) = bed(&json!({})).await;
    assert_eq!(bed.text("echo", json!({"text": "x"})).await, "x");
    drop(bed);
    witness.hear("leaves").await;
    witness.hear("gone").await;
}

#[tokio::test]
async fn g072_what_a_server_says_of_its_secrets_is_not_told() {
    let (bed, _witness) = bed(&json!({"FAULTS": "tattles", "SECRET": "swordfish-7"})).await;
    let message = bed.tools().await.unwrap_err().message;
    assert_eq!(
        message,
        "MCP server \"s\": its process has ended (exit status: 1): the secret is ***"
    );
}
