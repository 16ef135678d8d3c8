//! `ctx.memory`: every method, and every error text.

use crate::support::Stage;
use serde_json::{Value, json};
use std::time::Duration;

#[tokio::test]
async fn a_space_without_an_owner_reads_as_empty_and_refuses_writes() {
    let mut stage = Stage::new();
    stage.authorized = ambit_runtime::Authorized::default();
    stage.chat = None;
    for (space, needs) in [
        ("user", "memory.user needs authorized.user_id"),
        ("team", "memory.team needs authorized.team_id"),
        ("chat", "memory.chat needs chat_id"),
    ] {
        let read = stage
            .value(&format!(
                "(() => {{ const m = ctx.memory.{space}; return [m.id, m.Get('k'), m.Has('k'), m.Keys(), m.Len(), m.ArrayLen('k'),
                  m.ArrayGet('k', 0), m.ArraySlice('k', 0), m.ArrayPage('k', 1, 1), m.ArrayAll('k')]; }})()"
            ))
            .await;
        assert_eq!(read, json!(["", null, false, [], 0, 0, null, [], [], []]));
        for write in [
            "Set('k', 1)",
            "Del('k')",
            "Del('*')",
            "GetDel('k')",
            "Clear()",
            "Incr('k')",
            "Decr('k')",
            "Push('k', 1)",
            "Pop('k')",
            "Pull('k', 1)",
            "PullAll('k')",
            "AddToSet('k', 1)",
            "ArraySet('k', 0, 1)",
        ] {
            let found = stage
                .attempt(&format!("return ctx.memory.{space}.{write}"))
                .await;
            assert_eq!(found, json!(["invalid_argument", needs]), "{write}");
        }
    }
}

#[tokio::test]
async fn values_outlive_their_run_where_they_should() {
    let stage = Stage::new();
    let scope = stage.scope();
    let hooks = stage
        .hooks(
            "export function Create(ctx) { for (const s of ['user', 'team', 'chat', 'context']) ctx.memory[s].Set('k', s); }
             export function Next(ctx) { return { data: ['user', 'team', 'chat', 'context'].map(s => ctx.memory[s].Get('k')) }; }",
        )
        .unwrap();
    hooks.create(&scope, &[], json!({})).await.unwrap();
    let payload = json!({"error": null});
    let next = async |scope| hooks.next(scope, payload.clone(), json!({})).await.unwrap();
    let data = |values: Value| {
        let outcome = ambit_runtime::hook::NextOutcome::Data(values);
        let metadata = serde_json::Map::new();
        Some(ambit_runtime::hook::NextResult { outcome, metadata })
    };
    assert_eq!(
        next(&scope).await,
        data(json!(["user", "team", "chat", "context"]))
    );
    // Another request has a request memory of its own.
    assert_eq!(
        next(&stage.scope()).await,
        data(json!(["user", "team", "chat", null]))
    );
}

#[tokio::test]
async fn g105_request_memory_ends_with_its_request_also_after_a_failure() {
    let stage = Stage::new();
    let scope = stage.scope();
    let failing =
        "export function Create(ctx) { ctx.memory.context.Set('k', 1); throw new Error('no'); }";
    let hooks = stage.hooks(failing).unwrap();
    hooks.create(&scope, &[], json!({})).await.unwrap_err();
    assert_eq!(scope.memory.context.len().await.unwrap(), 1);
    scope.memory.context.end().await.unwrap();
    assert_eq!(stage.scope().memory.context.len().await.unwrap(), 0);
    let error = scope.memory.context.get("k").await.unwrap_err();
    assert!(error.to_string().contains("closed"), "{error}");
}

#[tokio::test]
async fn space_is_the_request_memory_under_its_old_name() {
    let stage = Stage::new();
    let found = stage
        .value(
            "(() => { ctx.space.Set('a', 1); ctx.memory.context.Set('b', 2); ctx.space.Delete('a');
              const found = [ctx.space.Get('b'), ctx.space.Keys(), typeof ctx.space.Del];
              ctx.space.Clear(); return [...found, ctx.memory.context.Len()]; })()",
        )
        .await;
    assert_eq!(found, json!([2, ["b"], "undefined", 0]));
}

#[tokio::test]
async fn a_ttl_is_seconds_or_a_text_and_ends_the_value_for_every_method() {
    let stage = Stage::new();
    let set = "(() => { const m = ctx.memory.user; m.Set('a', 1, 600.5); m.Set('b', [1], '2h'); m.Set('c', 1, 0); m.Set('d', 1, null); })()";
    stage.value(set).await;
    let keys = async || stage.value("ctx.memory.user.Keys()").await;
    assert_eq!(keys().await, json!(["a", "b", "c", "d"]));
    stage.clock.advance(Duration::from_millis(600_500));
    assert_eq!(keys().await, json!(["b", "c", "d"]));
    stage.clock.advance(Duration::from_secs(2 * 3_600));
    let all = "(() => { const m = ctx.memory.user; return [m.Keys(), m.Get('b'), m.Has('b'), m.Len(), m.ArrayLen('b'), m.GetDel('b')]; })()";
    assert_eq!(
        stage.value(all).await,
        json!([["c", "d"], null, false, 2, 0, null])
    );
}

#[tokio::test]
async fn what_is_no_json_is_refused_before_anything_happens() {
    let stage = Stage::new();
    for (value, reason) in [
        ("1n", "value is not JSON: it holds a BigInt"),
        (
            "(() => { const a = {}; a.a = a; return a; })()",
            "value is not JSON: it is cyclic or nested more than 100 deep",
        ),
        (
            "new Uint8Array(2)",
            "value is not JSON: it holds a binary array",
        ),
    ] {
        let found = stage
            .attempt(&format!("ctx.memory.user.Set('k', {value})"))
            .await;
        assert_eq!(found, json!(["invalid_argument", reason]));
    }
    assert_eq!(stage.value("ctx.memory.user.Len()").await, json!(0));
}

#[tokio::test]
async fn g145_any_text_comes_back_as_it_was() {
    let stage = Stage::new();
    for text in [
        "'\\u0000'",
        "'👩‍👩‍👧 e\\u0301'",
        "'שלום\\u202e'",
        "'\\u0001\\u001f\\n'",
    ] {
        let same = format!(
            "(() => {{ const t = {text}; ctx.memory.user.Set('k' + t, t); return [ctx.memory.user.Get('k' + t) === t, ctx.memory.user.Keys()[0] === 'k' + t]; }})()"
        );
        assert_eq!(stage.value(&same).await, json!([true, true]), "{text}");
        stage.value("ctx.memory.user.Clear()").await;
    }
    let lone = stage
        .value(
            "(() => { ctx.memory.user.Set('k', 'a\\ud800b'); return ctx.memory.user.Get('k'); })()",
        )
        .await;
    assert_eq!(lone, json!("a\u{fffd}b"));
}
