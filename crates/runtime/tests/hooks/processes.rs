//! Processes as seen from the seams: who asks agents, who runs processes from outside, and what a run leaves behind.

use crate::globals::Opener;
use crate::support::Stage;
use ambit_runtime::ctx::ScriptContext;
use ambit_runtime::ctx::{DetachedContextOptions, NestedCall, NoTurnHost, TurnHost};
use ambit_runtime::process::ContextProcessRunner;
use ambit_runtime::trace::{NodeOptions, TraceNode, TraceStatus};
use ambit_runtime::uses::UsesAsker;
use ambit_runtime::{Error, ErrorCode, Result};
use ambit_script::HostError;
use futures::future::BoxFuture;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

/// Answers calls of agents, but not that of `slow`.
#[derive(Default)]
struct Agents(Mutex<Vec<(Option<String>, Value)>>);

impl TurnHost for Agents {
    fn open_context<'a>(
        &'a self,
        _: &'a ScriptContext,
        _: DetachedContextOptions,
    ) -> BoxFuture<'a, Result<Arc<ScriptContext>>> {
        Box::pin(async move { Err(Error::internal("not asked for here")) })
    }

    fn call<'a>(
        &'a self,
        caller: &'a ScriptContext,
        call: NestedCall,
    ) -> BoxFuture<'a, Result<Value, HostError>> {
        Box::pin(async move {
            if call.name == "slow" {
                std::future::pending::<()>().await;
            }
            let who = caller.properties.authorized.user_id.clone();
            let asked = json!([call.name, call.messages, call.options, call.is_silent]);
            self.0.lock().unwrap().push((who, asked));
            Ok(json!({"agent_id": "x", "content": "hi", "response": null, "error": null}))
        })
    }

    fn asker(&self, caller: &ScriptContext, node: TraceNode) -> Arc<dyn UsesAsker> {
        NoTurnHost.asker(caller, node)
    }
}

#[tokio::test]
async fn an_agent_is_asked_for_the_caller() {
    let agents = Arc::new(Agents::default());
    let mut stage = Stage::new();
    stage.turn_host = agents.clone();
    let found = stage
        .attempt("return Process('agent.Call', {assistant_id: 'x', messages: [{role: 'user', content: 'hi'}], options: {mode: 'chat'}}).content")
        .await;
    assert_eq!(found, json!("hi"));
    let call = json!(["x", [{"role": "user", "content": "hi"}], {"mode": "chat"}, true]);
    assert_eq!(*agents.0.lock().unwrap(), [(Some("ann".to_owned()), call)]);
    let found = stage
        .attempt("Process('agent.Call', {assistant_id: 'slow', messages: [], timeout: 0.02})")
        .await;
    assert_eq!(
        found,
        json!(["timeout", "agent.Call: no answer within 0.02 s"])
    );
}

const TOOL: &str = "export function Echo(given: any, ctx: any) {
        ctx.memory.context.Set('k', given); ctx.trace.Add({}, 'step');
        return [given, ctx.chat_id, ctx.authorized.user_id, ctx.memory.context.Get('k'), typeof ctx.Send, Process('scripts.tool.Plain', 1)]; }
    export const Plain = (...all: any[]) => all.length;
    export function Deep() { return Process('scripts.tool.Loop'); }
    export function Loop() { for (;;); }";

#[tokio::test]
async fn a_process_from_outside_is_a_run_of_its_own_with_the_live_ctx() {
    let mut stage = Stage::new().limited("cpu", json!("200ms"));
    stage.scripts.insert("tool".to_owned(), TOOL.to_owned());
    let scope = stage.scope();
    let bound = ContextProcessRunner::Outside {
        node: scope.trace.add(NodeOptions::new("tool", "Echo")),
        scope: scope.clone(),
    };
    let found = bound.run("scripts.tool.Echo", vec![json!({"a": 1})]).await;
    let expected = json!([{"a": 1}, "c1", "ann", {"a": 1}, "function", 1]);
    assert_eq!(found.unwrap(), expected);
    let kept = scope.memory.context.get("k").await.unwrap();
    assert_eq!(kept.unwrap().to::<Value>().unwrap(), json!({"a": 1}));
    let tree = stage.tree();
    let step = tree.nodes.iter().find(|node| node.label == "step");
    assert_eq!(step.unwrap().status, TraceStatus::Completed);
    // The list of what scripts may call is about scripts.
    let hash = bound
        .run("crypto.Hash", vec![json!("MD5"), json!("")])
        .await;
    assert_eq!(hash.unwrap(), json!("d41d8cd98f00b204e9800998ecf8427e"));
    let error = bound.run("scripts.tool.Eco", vec![]).await.unwrap_err();
    assert_eq!(
        (error.code, error.message.as_str()),
        (
            ErrorCode::NotFound,
            "process not found: scripts.tool.Eco (did you mean \"scripts.tool.Echo\"?)"
        )
    );
    for name in ["scripts.tool.Loop", "scripts.tool.Deep"] {
        let error = bound.run(name, vec![]).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::ScriptCpuLimit, "{error}");
    }
}

#[tokio::test]
async fn g105_contexts_that_processes_leave_open_end_with_the_run() {
    let mut other = Stage::new();
    other.context_id = "ctx-2".to_owned();
    let opener = Arc::new(Opener {
        stage: Arc::new(other),
        wanted: Mutex::default(),
        opened: Mutex::default(),
    });
    let mut stage = Stage::new();
    stage.turn_host = Arc::clone(&opener) as Arc<dyn TurnHost>;
    let text = "let kept: any; export function Keep() { kept = new Context(); kept.memory.context.Set('k', 1); return kept.memory.context.Get('k'); }
        export function Fail() { Keep(); throw new Error('no'); }";
    stage.scripts.insert("keep".to_owned(), text.to_owned());
    assert_eq!(
        stage.attempt("return Process('scripts.keep.Keep')").await,
        json!(1)
    );
    assert_eq!(
        stage.attempt("Process('scripts.keep.Fail')").await,
        json!(["hook_error", "no"])
    );
    let opened = opener.opened.lock().unwrap();
    assert_eq!(opened.len(), 2);
    assert!(
        opened.iter().all(|scope| scope.upgrade().is_none()),
        "a context has outlived its run"
    );
}
