//! `ctx.trace`.

use crate::support::Stage;
use ambit_runtime::trace::{LogLevel, NodeView, TraceStatus, TraceTree};
use serde_json::{Value, json};

/// What a node shows, without its times.
fn shown(tree: &TraceTree) -> Vec<Value> {
    let node = |node: &NodeView| {
        json!([
            node.id,
            node.parent_ids,
            node.label,
            node.kind,
            node.status,
            node.input,
            node.output,
            node.error
        ])
    };
    tree.nodes.iter().skip(2).map(node).collect()
}

fn lines(tree: &TraceTree) -> Vec<Value> {
    let line = |line: &ambit_runtime::trace::TraceLogEntry| {
        json!([line.node_id, line.level, line.message, line.data])
    };
    tree.logs.iter().map(line).collect()
}

async fn traced(statements: &str) -> TraceTree {
    let stage = Stage::new();
    let text = format!("export function Create(ctx) {{ {statements} }}");
    stage.create(&text).await.expect("the hook runs");
    stage.tree()
}

#[tokio::test]
async fn a_trace_has_the_turn_and_its_hooks() {
    let stage = Stage::new();
    stage.create("export function Create() {}").await.unwrap();
    let tree = stage.tree();
    let info = serde_json::to_value(&tree.info).unwrap();
    let created = info["created_at"].clone();
    let expected = json!({
        "trace_id": "t1", "request_id": "r1", "chat_id": "c1", "assistant_id": "pet", "status": "running",
        "duration_ms": null, "created_at": created,
    });
    assert_eq!(info, expected);
    let (turn, hook) = (&tree.nodes[0], &tree.nodes[1]);
    assert_eq!(
        (turn.label.as_str(), turn.kind.as_str(), turn.status),
        ("pet", "turn", TraceStatus::Running)
    );
    assert_eq!(
        (hook.label.as_str(), hook.kind.as_str(), hook.status),
        ("Create", "hook", TraceStatus::Completed)
    );
    assert_eq!(hook.parent_ids, ["n1"]);
    assert_eq!(
        hook.input,
        json!([[{"role": "user", "content": "Hello"}], {}])
    );
}

#[tokio::test]
async fn steps_follow_each_other_and_end_what_was_above_them() {
    let tree = traced(
        "const node = ctx.trace.Add({query: 'x'}, {label: 'Search', type: 'search', icon: 'i', description: 'd', metadata: {k: 1}});
         node.Info('starting').Debug('more', {a: 1}).Warn('w').Error('e');
         ctx.trace.Add(null, 'second').SetOutput([1]).SetMetadata('m', true);
         ctx.trace.Add(null, {label: 'third', autoCompleteParent: false}).Complete({results: 10});
         node.Complete('ignored: it has ended');
         ctx.trace.Add(null, 'fourth').Fail(new Error('no luck'));",
    )
    .await;
    let expected = [
        json!(["n3", ["n2"], "Search", "search", "completed", {"query": "x"}, null, null]),
        json!(["n4", ["n3"], "second", "", "completed", null, [1], null]),
        json!(["n5", ["n4"], "third", "", "completed", null, {"results": 10}, null]),
        json!(["n6", ["n5"], "fourth", "", "failed", null, null, "no luck"]),
    ];
    assert_eq!(shown(&tree), expected);
    let search = &tree.nodes[2];
    assert_eq!(
        (search.icon.as_str(), search.description.as_str()),
        ("i", "d")
    );
    assert_eq!(json!(search.metadata), json!({"k": 1}));
    assert_eq!(json!(tree.nodes[3].metadata), json!({"m": true}));
    let expected = [
        json!(["n3", "info", "starting", null]),
        json!(["n3", "debug", "more", {"a": 1}]),
        json!(["n3", "warn", "w", null]),
        json!(["n3", "error", "e", null]),
    ];
    assert_eq!(lines(&tree), expected);
}

#[tokio::test]
async fn parallel_steps_are_joined_by_the_next_one() {
    let tree = traced(
        "const [a, b] = ctx.trace.Parallel([{input: 1, option: {label: 'a'}}, {input: 2, option: 'b'}]);
         ctx.trace.Info('both'); a.Complete('A'); b.Info('b');
         ctx.trace.Add(0, 'join');
         if (ctx.trace.Parallel([]).length !== 0) throw new Error('not empty');",
    )
    .await;
    let expected = [
        json!(["n3", ["n2"], "a", "", "completed", 1, "A", null]),
        json!(["n4", ["n2"], "b", "", "completed", 2, null, null]),
        json!(["n5", ["n3", "n4"], "join", "", "completed", 0, null, null]),
    ];
    assert_eq!(shown(&tree), expected);
    let expected = [
        json!(["n3", "info", "both", null]),
        json!(["n4", "info", "both", null]),
        json!(["n4", "info", "b", null]),
    ];
    assert_eq!(lines(&tree), expected);
}

#[tokio::test]
async fn a_board_holds_what_is_shown_beside_the_trace() {
    let stage = Stage::new();
    let found = stage
        .value(
            "(() => { const s = ctx.trace.CreateSpace({label: 'Board', type: 'plan'});
               s.Set('b', [1]); s.Set('a', {x: 1}); s.Set('a', 2); s.Set('c', 3); s.Delete('c'); s.Delete('none');
               const same = ctx.trace.GetSpace(s.id);
               const t = ctx.trace.CreateSpace('Other'); t.Set('x', 1); t.Clear();
               return [s.id, same.Get('a'), same.Get('none'), s.Has('b'), s.Has('c'), s.Keys(), t.Keys(), ctx.trace.GetSpace('nope')]; })()",
        )
        .await;
    assert_eq!(
        found,
        json!(["s1", 2, null, true, false, ["a", "b"], [], null])
    );
    let spaces: Vec<Value> = stage
        .tree()
        .spaces
        .iter()
        .map(|space| json!([space.id, space.label, space.kind, space.values]))
        .collect();
    assert_eq!(
        spaces,
        [
            json!(["s1", "Board", "plan", {"a": 2, "b": [1]}]),
            json!(["s2", "Other", "", {}])
        ]
    );
}

#[tokio::test]
async fn no_call_throws_and_what_is_wrong_is_a_warning() {
    let tree = traced(
        "const cyclic = {}; cyclic.self = cyclic;
         ctx.trace.Add(); ctx.trace.Add(1, 5); ctx.trace.Add(1, {}); ctx.trace.Add(cyclic, {label: 'l', metadata: 3});
         ctx.trace.Parallel('x'); ctx.trace.Info(); ctx.trace.Info(1n); ctx.trace.SetMetadata(1, 2);
         ctx.trace.Complete(cyclic); ctx.trace.Fail(); ctx.trace.CreateSpace(); ctx.trace.GetSpace();
         const s = ctx.trace.CreateSpace('s'); s.Set(); s.Get(); s.Has(); s.Delete(); s.Set('k', cyclic);
         ctx.trace.Parallel([null, 5]);",
    )
    .await;
    let warnings: Vec<&str> = tree
        .logs
        .iter()
        .filter(|line| line.level == LogLevel::Warn)
        .map(|line| line.message.as_str())
        .collect();
    let option = "the option must be an object with a label, or the label";
    let expected = [
        format!("Trace.Add: {option}"),
        format!("Trace.Add: {option}"),
        "Trace.Add: option.label must be a string".to_owned(),
        "Trace.Add: option.metadata must be an object".to_owned(),
        "Trace.Parallel: the inputs must be a list".to_owned(),
        "Trace.Info: there is no message".to_owned(),
        "Trace.SetMetadata: the key must be a string".to_owned(),
        format!("Trace.CreateSpace: {option}"),
        "TraceSpace.Set: the key must be a string".to_owned(),
        "TraceSpace.Get: the key must be a string".to_owned(),
        "TraceSpace.Has: the key must be a string".to_owned(),
        "TraceSpace.Delete: the key must be a string".to_owned(),
        format!("Trace.Parallel: {option}"),
        format!("Trace.Parallel: {option}"),
    ];
    assert_eq!(warnings, expected);
    let cyclic = tree.nodes.iter().find(|node| node.label == "l").unwrap();
    assert_eq!(
        cyclic.input,
        json!("value is not JSON: it is cyclic or nested more than 100 deep")
    );
}

#[tokio::test]
async fn after_release_everything_is_silent() {
    let tree = traced(
        "const node = ctx.trace.Add(1, 'kept'); const space = ctx.trace.CreateSpace('board'); space.Set('k', 1);
         if (ctx.trace.IsComplete()) throw new Error('not yet');
         if (!ctx.trace.MarkComplete().IsComplete()) throw new Error('marked');
         ctx.trace.Release(); ctx.trace.Release();
         ctx.trace.Add(2, 'gone').Info('x').Complete(); node.Info('y'); node.Fail('z'); space.Set('k', 2); ctx.trace.Info('q');",
    )
    .await;
    assert_eq!(
        shown(&tree),
        [json!([
            "n3",
            ["n2"],
            "kept",
            "",
            "completed",
            1,
            null,
            null
        ])]
    );
    assert_eq!(lines(&tree), Vec::<Value>::new());
    assert_eq!(json!(tree.spaces[0].values), json!({"k": 1}));
}

#[tokio::test]
async fn after_release_a_board_stores_nothing_and_none_is_found() {
    let stage = Stage::new();
    let found = stage
        .value(
            "(() => { const kept = ctx.trace.CreateSpace('kept'); ctx.trace.Release();
               const s = ctx.trace.CreateSpace('gone'); s.Set('k', 1); s.Delete('k'); s.Clear();
               return [s.id, s.Get('k'), s.Has('k'), s.Keys(), ctx.trace.GetSpace(kept.id)]; })()",
        )
        .await;
    assert_eq!(found, json!(["", null, false, [], null]));
    let tree = stage.tree();
    let labels: Vec<&str> = tree.spaces.iter().map(|it| it.label.as_str()).collect();
    assert_eq!(labels, ["kept"]);
}

#[tokio::test]
async fn what_writes_returns_the_object_that_it_was_called_on() {
    let same = "(() => { const t = ctx.trace, n = t.Add(1, 'n');
        const is_same = it => [it.Info('x'), it.Debug('x'), it.Warn('x'), it.Error('x'), it.Info(), it.SetOutput(1), it.SetMetadata('k', 1),
            it.Fail('x'), it.Complete()].every(returned => returned === it);
        return [is_same(t), is_same(n), t.MarkComplete() === t, ctx.trace === t]; })()";
    let expected = json!([true, true, true, true]);
    assert_eq!(Stage::new().value(same).await, expected);
}

#[tokio::test]
async fn a_trace_that_is_off_takes_every_call() {
    let mut stage = Stage::new();
    stage.is_traced = false;
    let found = stage
        .value(
            "(() => { const n = ctx.trace.Add({}, 'x'); n.Info('a').Complete(); const [p] = ctx.trace.Parallel([{input: 1, option: 'p'}]);
               p.Fail('x'); const s = ctx.trace.CreateSpace('s'); s.Set('a', 1);
               return [ctx.trace.id, n.id, p.id, s.Get('a'), s.Keys(), ctx.trace.IsComplete()]; })()",
        )
        .await;
    assert_eq!(found, json!(["t1", "", "", null, [], false]));
    assert_eq!(stage.tree(), TraceTree::default());
}

#[tokio::test]
async fn limits_cut_and_drop_with_one_warning_each() {
    let limits = [("trace_nodes", 5), ("trace_logs", 10), ("trace_field", 100)];
    let stage = limits.iter().fold(Stage::new(), |stage, (name, limit)| {
        stage.limited(name, json!(limit))
    });
    let text = "export function Create(ctx) {
        for (let i = 0; i < 9; i++) ctx.trace.Add(i, 'node ' + i).Info('line ' + i);
        for (let i = 0; i < 9; i++) ctx.trace.Info('x'.repeat(200));
    }";
    stage.create(text).await.unwrap();
    let tree = stage.tree();
    let labels: Vec<&str> = tree.nodes.iter().map(|node| node.label.as_str()).collect();
    assert_eq!(labels, ["pet", "Create", "node 0", "node 1", "node 2"]);
    let warnings: Vec<&str> = tree
        .logs
        .iter()
        .filter(|line| line.level == LogLevel::Warn)
        .map(|line| line.message.as_str())
        .collect();
    assert_eq!(warnings, ["a trace holds 5 nodes; more are left out"]);
    let stage = Stage::new()
        .limited("trace_logs", json!(3))
        .limited("trace_field", json!(100));
    let text = "export function Create(ctx) { for (let i = 0; i < 9; i++) ctx.trace.Info('x'.repeat(200)); }";
    stage.create(text).await.unwrap();
    let messages: Vec<String> = stage
        .tree()
        .logs
        .iter()
        .map(|line| line.message.clone())
        .collect();
    let cut = format!("{}… [cut, 200 bytes]", "x".repeat(100));
    let expected = [
        cut.as_str(),
        "a field of a trace holds 100 bytes; what is longer is cut",
        cut.as_str(),
        cut.as_str(),
        "a trace holds 3 log lines; more are left out",
    ];
    assert_eq!(messages, expected);
}
