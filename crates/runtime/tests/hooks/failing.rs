//! What a failing hook does.

use crate::support::{FILE, Stage};
use ambit_runtime::ErrorCode;
use ambit_runtime::chat::ChatMessage;
use ambit_runtime::trace::{LogLevel, TraceStatus};
use serde_json::json;
use std::time::{Duration, Instant};

/// A hook's text, and the code, message and status of its failure.
async fn failure(stage: &Stage, text: &str) -> (ErrorCode, String, Option<u16>) {
    let error = stage.create(text).await.expect_err("the hook fails");
    (error.code, error.message, error.status)
}

async fn fails(text: &str, code: ErrorCode, message: &str) {
    let found = failure(&Stage::new(), text).await;
    assert_eq!(found, (code, message.to_owned(), None), "{text}");
}

#[tokio::test]
async fn what_a_hook_says_of_its_failure_is_cut() {
    let long =
        "export function Create() { throw new Exception('é'.repeat(1e6), 'x'.repeat(1e6)); }";
    let (code, message, _) = failure(&Stage::new(), long).await;
    let expected = format!("{}… [cut, 2000000 bytes]", "é".repeat(2048));
    assert_eq!((code, message), (ErrorCode::HookError, expected));
}

#[tokio::test]
async fn an_exception_fails_the_turn_with_its_message_and_code() {
    let hook = ErrorCode::HookError;
    fails(
        "export function Create() { throw new Error('Rate limit exceeded'); }",
        hook.clone(),
        "Rate limit exceeded",
    )
    .await;
    fails(
        "export async function Create() { throw new Error('late'); }",
        hook.clone(),
        "late",
    )
    .await;
    fails(
        "export const Create = () => Promise.reject(new Error('rejected'))",
        hook.clone(),
        "rejected",
    )
    .await;
    fails(
        "export function Create() { throw 'a text'; }",
        hook.clone(),
        "a text",
    )
    .await;
    let own = ErrorCode::Own("no_pets".into());
    fails(
        "export function Create() { throw new Exception('no pets', 'no_pets'); }",
        own,
        "no pets",
    )
    .await;
    fails(
        "export function Create() { throw Exception('gone', 'not_found'); }",
        ErrorCode::NotFound,
        "gone",
    )
    .await;
    let stage = Stage::new();
    let text = "export function Create() { throw new Exception('teapot', 418); }";
    let expected = (ErrorCode::HookError, "teapot".to_owned(), Some(418));
    assert_eq!(failure(&stage, text).await, expected);
    // A misused method is the hook's fault, not that of whoever made the request.
    let text = "export function Create(ctx) { ctx.memory.user.Get(); }";
    fails(text, hook, "Get requires a key argument").await;
}

#[tokio::test]
async fn g118_a_defect_is_reported_with_file_and_line_and_only_a_missing_hook_is_skipped() {
    let stage = Stage::new();
    let text = "function deep(ctx: any) {\n  return ctx.nothing.at.all;\n}\nexport function Create(ctx: any) {\n  return deep(ctx);\n}";
    let error = stage.create(text).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::HookError);
    assert_eq!(
        error.message,
        format!("TypeError: cannot read property 'at' of undefined ({FILE}:2:10)")
    );
    assert_eq!(
        *error.stack,
        [
            format!("at deep ({FILE}:2:10)"),
            format!("at Create ({FILE}:5:15)")
        ]
    );
    let error = stage
        .create("export function Create() {\n  return missing;\n}")
        .await
        .unwrap_err();
    assert_eq!(
        error.message,
        format!("ReferenceError: missing is not defined ({FILE}:2:10)")
    );
    assert_eq!(
        stage.create("export function Next() {}").await.unwrap(),
        None
    );
    assert_eq!(
        stage.next("export function Create() {}").await.unwrap(),
        None
    );
    assert_eq!(stage.create("export default {}").await.unwrap(), None);
    assert_eq!(
        stage
            .create("const all = {}; export default all;")
            .await
            .unwrap(),
        None
    );
}

#[tokio::test]
async fn a_method_that_ctx_does_not_have_is_named_with_the_nearest() {
    for (call, said) in [
        (
            "ctx.Sned('x')",
            "ctx.Sned is not a function; did you mean \"Send\"?",
        ),
        (
            "ctx.memory.user.Gett('x')",
            "ctx.memory.user.Gett is not a function; did you mean \"Get\"?",
        ),
        (
            "ctx.agent.Elsewhere()",
            "ctx.agent.Elsewhere is not a function",
        ),
        ("({}).nothing()", "not a function"),
        ("[ctx].map(ctx.locale)", "not a function"),
    ] {
        let text = format!("export function Create(ctx: any) {{\n  {call};\n}}");
        let (code, message, _) = failure(&Stage::new(), &text).await;
        assert_eq!(code, ErrorCode::HookError);
        let start = format!("TypeError: {said} ({FILE}:2:");
        assert!(message.starts_with(&start), "{message}");
    }
}

#[tokio::test]
async fn a_failure_is_in_the_trace_with_its_stack() {
    let stage = Stage::new();
    let text = "export function Create(ctx) {\n  ctx.trace.Add({}, 'step');\n  throw new Error('broken');\n}";
    stage.create(text).await.unwrap_err();
    let tree = stage.tree();
    let found: Vec<_> = tree
        .nodes
        .iter()
        .map(|node| (node.label.as_str(), node.status, node.error.as_deref()))
        .collect();
    let expected = [
        ("pet", TraceStatus::Running, None),
        ("Create", TraceStatus::Failed, Some("broken")),
        ("step", TraceStatus::Failed, Some("broken")),
    ];
    assert_eq!(found, expected);
    let log = &tree.logs[0];
    assert_eq!(
        (log.node_id.as_str(), log.level, log.message.as_str()),
        ("n2", LogLevel::Error, "broken")
    );
    assert_eq!(log.data, json!(format!("at Create ({FILE}:3:13)")));
}

#[tokio::test]
async fn what_is_not_a_function_or_does_not_compile_says_so() {
    fails(
        "export const Create = 5;",
        ErrorCode::HookError,
        "Create is not a function",
    )
    .await;
    let stage = Stage::new();
    let Err(error) = stage.hooks("export function Create( {") else {
        panic!("it does not compile");
    };
    assert_eq!(error.code, ErrorCode::ConfigError);
    assert!(
        error.message.starts_with(&format!("{FILE}:1:")),
        "{}",
        error.message
    );
    let Err(error) = stage.hooks("import { x } from './nowhere';\nexport const Create = () => x;")
    else {
        panic!("the import is missing");
    };
    assert_eq!(error.code, ErrorCode::ConfigError);
    assert!(
        error.message.starts_with(&format!("{FILE}:1:")),
        "{}",
        error.message
    );
    assert!(error.message.contains("./nowhere"), "{}", error.message);
}

#[tokio::test]
async fn g116_what_never_ends_ends_at_its_limit_with_file_and_hook() {
    let short = |name: &str, limit: &str| Stage::new().limited(name, json!(limit));
    let (stage, waiting) = (short("cpu", "250ms"), short("wall", "600ms"));
    let begin = Instant::now();
    let expected = (
        ErrorCode::ScriptCpuLimit,
        format!("{FILE} Create: script used more than 0.25s of CPU"),
        None,
    );
    assert_eq!(
        failure(&stage, "export function Create() { for (;;) {} }").await,
        expected
    );
    let expected = (
        ErrorCode::ScriptTimeout,
        format!("{FILE} Create: script ran longer than 0.6s"),
        None,
    );
    assert_eq!(
        failure(&waiting, "export function Create() { time.Sleep(60000); }").await,
        expected
    );
    assert!(begin.elapsed() < Duration::from_secs(30));
    let expected = (
        ErrorCode::HookError,
        "Create returned a promise that never settles".to_owned(),
        None,
    );
    assert_eq!(
        failure(
            &stage,
            "export function Create() { return new Promise(() => {}); }"
        )
        .await,
        expected
    );
    // Nothing of it can be caught.
    let text = "export function Create() { for (;;) { try { for (;;) {} } catch (e) {} finally { continue; } } }";
    assert_eq!(failure(&stage, text).await.0, ErrorCode::ScriptCpuLimit);
}

#[tokio::test]
async fn an_agent_is_refused_at_once_to_who_had_its_hooks_ended_for_their_limits_three_times() {
    let ann = Stage::new().limited("cpu", json!("250ms"));
    let mut bob = Stage::new();
    bob.authorized.user_id = Some("bob".to_owned());
    let text = "export function Create(ctx: any, messages: any[]) { for (; messages[0].content === \"long\";) {} }";
    let hooks = ann.hooks(text).unwrap();
    let create = async |who: &Stage, text: &str| {
        let asked = [ChatMessage::user(text)];
        let created = hooks.create(&who.scope(), &asked, json!({})).await;
        created.map(|_| ()).map_err(|error| error.code)
    };
    for _ in 0..3 {
        assert_eq!(create(&ann, "short").await, Ok(()));
        assert_eq!(create(&ann, "long").await, Err(ErrorCode::ScriptCpuLimit));
    }
    assert!(hooks.is_refused());
    assert_eq!(create(&ann, "short").await, Err(ErrorCode::Unavailable));
    assert_eq!(create(&bob, "short").await, Ok(()));
}

#[tokio::test]
async fn g117_a_hook_that_takes_too_much_memory_or_returns_too_much_fails_alone() {
    let stage = Stage::new().limited("heap", json!("8MiB"));
    let text = "export function Create() { const all = []; for (;;) all.push(new Array(1000).fill('x')); }";
    let expected = (
        ErrorCode::ScriptOutOfMemory,
        format!("{FILE} Create: script used more than 8 MiB"),
        None,
    );
    assert_eq!(failure(&stage, text).await, expected);
    let stage = Stage::new();
    let text = "export function Create() { return { metadata: { text: 'x'.repeat(5000000) } }; }";
    let expected = (
        ErrorCode::HookError,
        format!("{FILE} Create: Create returned more than 4194304 bytes"),
        None,
    );
    assert_eq!(failure(&stage, text).await, expected);
    assert_eq!(stage.value("1 + 1").await, json!(2));
}

#[tokio::test]
async fn what_is_still_pending_when_a_hook_settles_is_dropped_with_a_warning() {
    let stage = Stage::new();
    let text =
        "export function Create() { setTimeout(() => {}, 60000); return { theme: 'light' }; }";
    let created = stage.create(text).await.unwrap().unwrap();
    assert_eq!(created.theme.as_deref(), Some("light"));
    let logs = stage.tree().logs;
    assert_eq!(logs[0].level, LogLevel::Warn);
    assert_eq!(
        logs[0].message,
        "Create had settled while 1 of its timers and calls were still pending; they are dropped"
    );
}

#[tokio::test]
async fn a_dropped_run_ends() {
    let stage = Stage::new();
    let scope = stage.scope();
    let hooks = stage.hooks("export function Create(ctx) { ctx.memory.user.Set('started', 1); for (;;) time.Sleep(1); }").unwrap();
    let mut events = tokio::time::interval(Duration::from_millis(1));
    let running = hooks.create(&scope, &[], json!({}));
    tokio::pin!(running);
    loop {
        tokio::select! {
            result = &mut running => panic!("it has ended: {result:?}"),
            _ = events.tick() => if scope.memory.user.has("started").await.unwrap() { break; },
        }
    }
}
