//! What no hook can reach: other runs, other people, and the machine.

use crate::support::Stage;
use serde_json::json;

#[tokio::test]
async fn g120_what_a_hook_changes_is_gone_with_its_run() {
    let stage = Stage::new();
    let text = "let n = 0;
        export function Create(ctx) {
          const found = [n++, globalThis.leak, Object.prototype.leak, ctx.authorized.user_id, Authorized().user_id, ctx.identity.user_id];
          globalThis.leak = 1; Object.prototype.leak = 2;
          ctx.authorized.user_id = 'eve'; ctx.identity.user_id = 'eve'; ctx.metadata.evil = true; ctx.locale = 'xx';
          found.push(Authorized().user_id, $L('x'));
          ctx.memory.user.Incr('runs');
          delete Object.prototype.leak;
          return { metadata: { value: found } };
        }";
    let scope = stage.scope();
    let hooks = stage.hooks(text).unwrap();
    for _ in 0..2 {
        let created = hooks.create(&scope, &[], json!({})).await.unwrap().unwrap();
        assert_eq!(
            created.metadata["value"],
            json!([0, null, null, "ann", "ann", "ann", "ann", "x"])
        );
    }
    assert_eq!(
        scope
            .memory
            .user
            .get("runs")
            .await
            .unwrap()
            .unwrap()
            .as_str(),
        "2"
    );
    assert_eq!(scope.properties.authorized.user_id.as_deref(), Some("ann"));
    assert!(scope.properties.metadata.is_empty());
}

#[tokio::test]
async fn g013_interleaved_runs_never_see_each_others_identity() {
    let (mut ann, mut bob) = (Stage::new(), Stage::new());
    bob.driver = ann.driver.clone();
    bob.engine = ann.engine.clone();
    ann.context_id = "ctx-ann".to_owned();
    bob.context_id = "ctx-bob".to_owned();
    bob.authorized = serde_json::from_value(json!({"user_id": "bob"})).unwrap();
    let own = "(() => { const m = ctx.memory.user; const found = [];
        for (let i = 0; i < 50; i++) { m.Push('all', ctx.authorized.user_id); time.Sleep(1); found.push(m.id, Authorized().user_id, ctx.context_id); }
        return [[...new Set(found)], [...new Set(m.ArrayAll('all'))], m.Len()]; })()";
    let (of_ann, of_bob) = tokio::join!(ann.value(own), bob.value(own));
    assert_eq!(of_ann, json!([["ann", "ctx-ann"], ["ann"], 1]));
    assert_eq!(of_bob, json!([["bob", "ctx-bob"], ["bob"], 1]));
}

#[tokio::test]
async fn g063_what_a_client_sends_changes_nobodys_identity() {
    let mut stage = Stage::new();
    let evil = json!({"user_id": "eve", "authorized": {"user_id": "eve"}, "__identity": {"user_id": "eve"}, "group": "admins"});
    stage.metadata = evil.as_object().unwrap().clone();
    let found = stage
        .value("[ctx.authorized, ctx.identity.user_id, ctx.identity.group, ctx.memory.user.id, Authorized()]")
        .await;
    let authorized = json!({"user_id": "ann", "team_id": "red"});
    assert_eq!(found, json!([authorized, "ann", null, "ann", authorized]));
}

#[tokio::test]
async fn g121_files_network_environment_and_processes_are_closed() {
    let stage = Stage::new();
    let absent = "['require', 'process', 'Buffer', 'Deno', 'WebAssembly', 'SharedArrayBuffer', '__yao_data', 'XMLHttpRequest', 'Bun', 'std', 'os']
        .filter(name => typeof globalThis[name] !== 'undefined')";
    assert_eq!(stage.value(absent).await, json!([]));
    for name in ["FS", "WebSocket", "Use", "Eval", "Plan", "Job", "Studio"] {
        let found = stage.attempt(&format!("return {name}('x')")).await;
        let message = format!("{name} is not available in Ambit");
        assert_eq!(found, json!(["unsupported", message]));
    }
    for name in ["fs.system.ReadFile", "xiang.sys.Env", "http.Get"] {
        let found = stage.attempt(&format!("Process('{name}', 'x')")).await;
        let unknown = format!("process not found: {name}");
        assert_eq!(found, json!(["not_found", unknown]));
    }
    let asked = "(({ status, code }) => [status, code])(http.Get('http://169.254.169.254/'))";
    assert_eq!(stage.value(asked).await, json!([0, 403]));
    for module in [
        "fs",
        "node:fs",
        "https://example.com/x.js",
        "../../../secret",
        "/etc/passwd",
    ] {
        let text = format!("import * as x from '{module}'; export const Create = () => x;");
        assert!(stage.hooks(&text).is_err(), "{module}");
    }
}
