//! Every method of memory, call by call: what it gives, and what is refused.

use crate::support::Stage;
use serde_json::json;

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
