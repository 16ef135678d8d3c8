//! `ctx.memory`: every method, and every error text.

use crate::support::Stage;
use serde_json::{Value, json};
use std::time::Duration;

/// What each call gives, in order, on an empty user memory. An error is `[code, message]`.
const CALLS: &[(&str, &str)] = &[
    ("m.Get('a')", "null"),
    ("m.Set('a', {x: [1, null, 'ü']})", "undefined"),
    ("m.Get('a')", r#"{"x":[1,null,"ü"]}"#),
    ("m.Set('n', undefined)", "undefined"),
    ("m.Get('n')", "null"),
    ("m.Has('n')", "true"),
    ("m.Has('no')", "false"),
    ("m.GetDel('a')", r#"{"x":[1,null,"ü"]}"#),
    ("m.GetDel('a')", "null"),
    (
        "m.Set('p:1', 1), m.Set('p:2', 2), m.Set('q*', 3)",
        "undefined",
    ),
    ("m.Keys()", r#"["n","p:1","p:2","q*"]"#),
    ("m.Keys('p:*')", r#"["p:1","p:2"]"#),
    ("m.Keys('q\\\\*')", r#"["q*"]"#),
    ("m.Len()", "4"),
    ("m.Del('p:*')", "undefined"),
    ("m.Del('missing')", "undefined"),
    ("m.Keys()", r#"["n","q*"]"#),
    ("m.Clear()", "undefined"),
    ("m.Len()", "0"),
    ("m.Incr('c')", "1"),
    ("m.Incr('c', undefined)", "2"),
    ("m.Incr('c', 2.5)", "4.5"),
    ("m.Decr('c', 5)", "-0.5"),
    ("m.Decr('d')", "-1"),
    ("m.Set('big', Number.MAX_SAFE_INTEGER)", "undefined"),
    ("m.Push('l', [1, 2])", "2"),
    ("m.Push('l', 3)", "3"),
    ("m.Push('l', 4, [5], {a: 6})", "6"),
    ("m.Pop('l')", r#"{"a":6}"#),
    ("m.Pop('none')", "null"),
    ("m.Pull('l', 2)", "[4,[5]]"),
    ("m.Pull('l', 0)", "[]"),
    ("m.Pull('l', -3)", "[]"),
    ("m.Pull('l', 99)", "[1,2,3]"),
    ("m.Get('l')", "[]"),
    ("m.PullAll('l')", "[]"),
    ("m.PullAll('none')", "[]"),
    ("m.AddToSet('s', [{a: 1, b: 2}, 'x'])", "2"),
    ("m.AddToSet('s', {b: 2, a: 1})", "2"),
    ("m.AddToSet('s', 'y', 'x', 'z')", "4"),
    ("m.ArrayLen('s')", "4"),
    ("m.ArrayLen('none')", "0"),
    ("m.ArrayGet('s', -1)", r#""z""#),
    ("m.ArrayGet('s', 9)", "null"),
    ("m.ArraySet('s', 0, null)", "undefined"),
    ("m.ArraySet('s', -1, 'Z')", "undefined"),
    ("m.ArrayAll('s')", r#"[null,"x","y","Z"]"#),
    ("m.ArrayAll('none')", "[]"),
    ("m.ArraySlice('s', 1)", r#"["x","y","Z"]"#),
    ("m.ArraySlice('s', -3, -2)", r#"["x","y"]"#),
    ("m.ArraySlice('s', 1, 1)", r#"["x"]"#),
    ("m.ArraySlice('s', 3, 1)", "[]"),
    ("m.ArrayPage('s', 2, 3)", r#"["Z"]"#),
    ("m.ArrayPage('s', 0, 3)", r#"[null,"x","y"]"#),
    ("m.ArrayPage('s', 1, 0)", "[]"),
    ("m.ArrayPage('s', 9, 3)", "[]"),
    ("m.id", r#""ann""#),
    ("m.space", r#""user""#),
];

/// What each call throws, on a memory where `t` is a text, `l` a list of two, `n` a number and `big` the largest one.
const ERRORS: &[(&str, &str)] = &[
    ("m.Get()", "Get requires a key argument"),
    ("m.Has()", "Has requires a key argument"),
    ("m.Del()", "Del requires a key argument"),
    ("m.GetDel()", "GetDel requires a key argument"),
    ("m.Incr()", "Incr requires a key argument"),
    ("m.Decr()", "Decr requires a key argument"),
    ("m.Pop()", "Pop requires a key argument"),
    ("m.PullAll()", "PullAll requires a key argument"),
    ("m.ArrayLen()", "ArrayLen requires a key argument"),
    ("m.ArrayAll()", "ArrayAll requires a key argument"),
    ("m.Set('k')", "Set requires key and value arguments"),
    ("m.Push('k')", "Push requires key and values arguments"),
    (
        "m.AddToSet('k')",
        "AddToSet requires key and values arguments",
    ),
    ("m.Pull('k')", "Pull requires key and count arguments"),
    (
        "m.ArrayGet('k')",
        "ArrayGet requires key and index arguments",
    ),
    (
        "m.ArraySet('k', 0)",
        "ArraySet requires key, index, and value arguments",
    ),
    (
        "m.ArraySlice('k')",
        "ArraySlice requires key and start arguments",
    ),
    (
        "m.ArrayPage('k', 1)",
        "ArrayPage requires key, page, and size arguments",
    ),
    (
        "m.Incr('t')",
        "Incr: key \"t\" holds a string, not a number",
    ),
    ("m.Decr('l')", "Decr: key \"l\" holds a list, not a number"),
    (
        "m.Push('t', 1)",
        "Push: key \"t\" holds a string, not a list",
    ),
    ("m.Pop('n')", "Pop: key \"n\" holds a number, not a list"),
    (
        "m.Pull('t', 1)",
        "Pull: key \"t\" holds a string, not a list",
    ),
    (
        "m.PullAll('t')",
        "PullAll: key \"t\" holds a string, not a list",
    ),
    (
        "m.AddToSet('t', 1)",
        "AddToSet: key \"t\" holds a string, not a list",
    ),
    (
        "m.ArrayLen('t')",
        "ArrayLen: key \"t\" holds a string, not a list",
    ),
    (
        "m.ArrayGet('t', 0)",
        "ArrayGet: key \"t\" holds a string, not a list",
    ),
    (
        "m.ArraySet('t', 0, 1)",
        "ArraySet: key \"t\" holds a string, not a list",
    ),
    (
        "m.ArraySlice('t', 0)",
        "ArraySlice: key \"t\" holds a string, not a list",
    ),
    (
        "m.ArrayPage('t', 1, 1)",
        "ArrayPage: key \"t\" holds a string, not a list",
    ),
    (
        "m.ArrayAll('t')",
        "ArrayAll: key \"t\" holds a string, not a list",
    ),
    (
        "m.ArraySet('l', 2, 1)",
        "ArraySet: index 2 out of range for key \"l\" (length 2)",
    ),
    (
        "m.ArraySet('l', -3, 1)",
        "ArraySet: index -3 out of range for key \"l\" (length 2)",
    ),
    (
        "m.ArraySet('none', 0, 1)",
        "ArraySet: index 0 out of range for key \"none\" (length 0)",
    ),
    ("m.Incr('big')", "Incr: result out of range for key \"big\""),
    (
        "m.Decr('big', -1)",
        "Decr: result out of range for key \"big\"",
    ),
    ("m.Get('')", "key must be a non-empty string"),
    ("m.Get(undefined)", "key must be a non-empty string"),
    ("m.Set(1, 2)", "key must be a non-empty string"),
    ("m.Set('k', 1, 'soon')", "invalid ttl soon"),
    ("m.Set('k', 1, -1)", "invalid ttl -1"),
    ("m.Incr('n', NaN)", "delta must be a finite number"),
    ("m.Incr('n', 'x')", "delta must be a finite number"),
    ("m.Incr('n', null)", "delta must be a finite number"),
    ("m.ArrayGet('l', 'x')", "index must be an integer"),
    ("m.ArrayGet('l', 0.5)", "index must be an integer"),
    ("m.Keys(7)", "pattern must be a string"),
];

const LIMITED: &[(&str, &str)] = &[
    ("m.Get('x'.repeat(513))", "key exceeds 512 bytes"),
    (
        "m.Set('k', 'x'.repeat(1048577))",
        "value exceeds 1048576 bytes",
    ),
];

async fn all(stage: &Stage) {
    let calls: Vec<&str> = CALLS.iter().map(|(call, _)| *call).collect();
    let text = format!(
        "(() => {{ const m = ctx.memory.user; return [{}].map(call => JSON.stringify(call()) ?? 'undefined'); }})()",
        calls
            .iter()
            .map(|call| format!("() => ({call})"))
            .collect::<Vec<_>>()
            .join(", ")
    );
    let found = stage.value(&text).await;
    for (index, (call, expected)) in CALLS.iter().enumerate() {
        assert_eq!(found[index], json!(expected), "{call}");
    }
}

#[tokio::test]
async fn every_method_does_what_the_reference_says() {
    all(&Stage::new()).await;
    let folder = tempfile::tempdir().unwrap();
    all(&Stage::sqlite(folder.path()).await).await;
}

async fn errors(stage: &Stage, table: &[(&str, &str)], code: &str) {
    let prepared = "m.Set('t', 'text'); m.Set('l', [1, 2]); m.Set('n', 1); m.Set('big', Number.MAX_SAFE_INTEGER);";
    let calls: Vec<String> = table
        .iter()
        .map(|(call, _)| format!("() => ({call})"))
        .collect();
    let text = format!(
        "(() => {{ const m = ctx.memory.user; {prepared} const before = JSON.stringify(m.Keys().map(k => m.Get(k)));
          const all = [{}].map(call => {{ try {{ return ['no error', call()]; }} catch (e) {{ return [e instanceof Error, e.code, e.message]; }} }});
          return [all, before === JSON.stringify(m.Keys().map(k => m.Get(k)))]; }})()",
        calls.join(", ")
    );
    let found = stage.value(&text).await;
    for (index, (call, expected)) in table.iter().enumerate() {
        assert_eq!(found[0][index], json!([true, code, expected]), "{call}");
    }
    assert_eq!(
        found[1],
        json!(true),
        "a refused call has changed something"
    );
}

#[tokio::test]
async fn g152_every_refused_call_says_why_and_changes_nothing() {
    errors(&Stage::new(), ERRORS, "invalid_argument").await;
    errors(&Stage::new(), LIMITED, "limit_exceeded").await;
    let folder = tempfile::tempdir().unwrap();
    errors(
        &Stage::sqlite(folder.path()).await,
        ERRORS,
        "invalid_argument",
    )
    .await;
}

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
    hooks.create(&scope, vec![], json!({})).await.unwrap();
    let payload = json!({"error": null});
    let next = async |scope| hooks.next(scope, payload.clone(), json!({})).await.unwrap();
    let data = |values: Value| {
        let outcome = ambit_runtime::hook::Outcome::Data(values);
        let metadata = serde_json::Map::new();
        Some(ambit_runtime::hook::Nexted { outcome, metadata })
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
    hooks.create(&scope, vec![], json!({})).await.unwrap_err();
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
    let set = "(() => { const m = ctx.memory.user; m.Set('a', 1, 1.5); m.Set('b', [1], '2s'); m.Set('c', 1, 0); m.Set('d', 1, null); })()";
    stage.value(set).await;
    let keys = async || stage.value("ctx.memory.user.Keys()").await;
    assert_eq!(keys().await, json!(["a", "b", "c", "d"]));
    stage.clock.advance(Duration::from_millis(1_500));
    assert_eq!(keys().await, json!(["b", "c", "d"]));
    stage.clock.advance(Duration::from_millis(500));
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
            "value is not JSON: it is cyclic or nested more than 200 deep",
        ),
        (
            "new Uint8Array(2)",
            "value is not JSON: it holds a binary array",
        ),
    ] {
        let found = stage
            .attempt(&format!("ctx.memory.user.Set('k', {value})"))
            .await;
        assert_eq!(found[1], json!(reason));
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
