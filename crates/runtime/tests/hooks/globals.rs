//! Global functions, console and `new Context`.

use crate::support::Stage;
use ambit_runtime::ctx::ScriptContext;
use ambit_runtime::ctx::{DetachedContextOptions, NestedCall, NoTurnHost, TurnHost};
use ambit_runtime::trace::{LogLevel, TraceNode, TraceStatus};
use ambit_runtime::uses::UsesAsker;
use ambit_runtime::{Error, Result};
use ambit_script::HostError;
use futures::future::BoxFuture;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, Weak};

#[tokio::test]
async fn texts_are_translated_for_the_locale() {
    let mut stage = Stage::new();
    let texts = |pairs: &[(&str, &str)]| -> BTreeMap<String, String> {
        pairs
            .iter()
            .map(|(key, text)| ((*key).to_owned(), (*text).to_owned()))
            .collect()
    };
    stage
        .agent
        .locales
        .0
        .insert("zh-cn".to_owned(), texts(&[("hello", "你好")]));
    stage
        .agent
        .locales
        .0
        .insert("zh".to_owned(), texts(&[("hello", "no"), ("bye", "再见")]));
    stage.agent.locales.0.insert(
        "en-us".to_owned(),
        texts(&[("own", "Own"), ("hello", "no")]),
    );
    stage
        .app
        .locales
        .0
        .insert("zh-cn".to_owned(), texts(&[("bye", "no"), ("app", "应用")]));
    stage.app.locales.0.insert(
        "en-us".to_owned(),
        texts(&[("own", "no"), ("global", "Global")]),
    );
    stage.origin.locale = "zh-cn".to_owned();
    let found = stage
        .value("['hello', '::bye', 'app', 'own', 'global', 'A whole sentence.'].map($L)")
        .await;
    assert_eq!(
        found,
        json!(["你好", "再见", "应用", "Own", "Global", "A whole sentence."])
    );
    assert_eq!(
        stage.attempt("$L()").await,
        json!(["invalid_argument", "$L requires a text argument"])
    );
    assert_eq!(
        stage.attempt("$L(5)").await,
        json!(["invalid_argument", "text must be a string"])
    );
}

#[tokio::test]
async fn authorized_shows_what_the_contract_names_and_no_other_claim() {
    let mut stage = Stage::new();
    stage.authorized = serde_json::from_value(json!({
        "user_id": "ann", "tenant_id": "t", "client_id": "c", "session_id": "s", "sub": "ann", "scope": "read", "remember_me": true,
        "email": "ann@example.com", "roles": ["admin"],
        "constraints": {"owner_only": true, "extra": {"region": "eu"}},
    }))
    .unwrap();
    let expected = json!({
        "user_id": "ann", "tenant_id": "t", "constraints": {"owner_only": true, "extra": {"region": "eu"}},
        "client_id": "c", "session_id": "s", "sub": "ann", "scope": "read", "remember_me": true,
    });
    assert_eq!(
        stage.value("[ctx.authorized, Authorized()]").await,
        json!([expected, expected])
    );
    stage.authorized = ambit_runtime::Authorized::default();
    assert_eq!(
        stage.value("[ctx.authorized, Authorized()]").await,
        json!([{}, {}])
    );
}

#[tokio::test]
async fn sleeping_blocks_and_wrong_times_are_refused() {
    let stage = Stage::new();
    let slept = stage
        .value("(() => { const t = Date.now(); time.Sleep(20); return Date.now() - t >= 19; })()")
        .await;
    assert_eq!(slept, json!(true));
    for call in ["time.Sleep(-1)", "time.Sleep('x')", "time.Sleep(NaN)"] {
        let found = stage.attempt(call).await;
        assert_eq!(
            found,
            json!([
                "invalid_argument",
                "ms must be a number of milliseconds, 0 or more"
            ]),
            "{call}"
        );
    }
}

#[tokio::test]
async fn log_writes_and_only_fatal_and_panic_throw() {
    let stage = Stage::new();
    let quiet = "log.Trace('a'); log.Debug('a %s', 1); log.Info({a: 1}); log.Warn('w'); log.Error('e'); console.log({a: 1}, 'x'); console.error(new Error('x'))";
    assert_eq!(stage.attempt(quiet).await, json!(null));
    assert_eq!(
        stage.attempt("log.Fatal('no %d pets', 3)").await,
        json!(["hook_error", "no 3 pets"])
    );
    assert_eq!(
        stage.attempt("log.Panic('no pets', 3)").await,
        json!(["hook_error", "no pets 3"])
    );
}

#[tokio::test]
async fn imports_of_the_built_in_modules_are_the_globals() {
    let stage = Stage::new();
    let text = "import { log, time, Exception, Process, type Context } from '@ambit/runtime';
        import { http } from '@yao/runtime';
        export function Create(ctx: Context) { return { metadata: { value: [typeof log.Info, typeof time.Sleep, typeof Exception, typeof Process, typeof http.Get] } }; }";
    let created = stage.create(text).await.unwrap().unwrap();
    assert_eq!(
        created.metadata["value"],
        json!(["function", "function", "function", "function", "function"])
    );
}

#[tokio::test]
async fn what_is_not_there_yet_says_so() {
    let stage = Stage::new();
    for (call, message) in [
        (
            "ctx.agent.Call('x', [])",
            "agents and models cannot be called here: no turn is running",
        ),
        (
            "ctx.llm.GenerateImage('x')",
            "GenerateImage is not supported",
        ),
    ] {
        assert_eq!(stage.attempt(call).await, json!(["unsupported", message]));
    }
    assert_eq!(
        stage
            .value("[typeof ctx.sandbox, typeof ctx.computer, typeof ctx.workspace]")
            .await,
        json!(["undefined", "undefined", "undefined"])
    );
}

/// Opens contexts from another stage, as a runtime would.
pub struct Opener {
    pub stage: Arc<Stage>,
    pub wanted: Mutex<Vec<DetachedContextOptions>>,
    pub opened: Mutex<Vec<Weak<ScriptContext>>>,
}

impl TurnHost for Opener {
    fn open_context<'a>(
        &'a self,
        caller: &'a ScriptContext,
        wanted: DetachedContextOptions,
    ) -> BoxFuture<'a, Result<Arc<ScriptContext>>> {
        Box::pin(async move {
            if let Some(chat) = wanted.chat_id.as_deref().filter(|chat| *chat != "c1") {
                return Err(Error::not_found("chat", chat));
            }
            self.wanted.lock().unwrap().push(wanted);
            let mut scope = (*self.stage.scope()).clone();
            scope.properties.authorized = caller.properties.authorized.clone();
            scope.properties.origin.referer = "script".to_owned();
            let scope = Arc::new(scope);
            self.opened.lock().unwrap().push(Arc::downgrade(&scope));
            Ok(scope)
        })
    }

    fn call<'a>(
        &'a self,
        caller: &'a ScriptContext,
        nested: NestedCall,
    ) -> BoxFuture<'a, Result<Value, HostError>> {
        Box::pin(async move { NoTurnHost.call(caller, nested).await })
    }

    fn asker(&self, caller: &ScriptContext, node: TraceNode) -> Arc<dyn UsesAsker> {
        NoTurnHost.asker(caller, node)
    }
}

const DETACHED: &str = "(() => { ctx.memory.context.Set('k', 'own');
               const made = new Context({assistant_id: 'pet', chat_id: 'c1', locale: 'de-de', metadata: {a: 1}});
               const before = made.memory.context.Get('k');
               made.memory.context.Set('k', 'made'); made.trace.Add(1, 'step');
               const found = [made.context_id, made.referer, before, made.memory.context.Get('k'), ctx.memory.context.Get('k'), made.authorized.user_id];
               made.Release(); made.Release();
               found.push(made.memory.context.Get('k'), ctx.memory.context.Get('k'));
               made.trace.Info('silent');
               new Context();
               ctx.Release();
               return found; })()";

#[tokio::test]
async fn a_detached_context_has_its_own_memory_and_trace_and_is_let_go() {
    let mut other = Stage::new();
    other.context_id = "ctx-2".to_owned();
    let other = Arc::new(other);
    let opener = Arc::new(Opener {
        stage: Arc::clone(&other),
        wanted: Mutex::default(),
        opened: Mutex::default(),
    });
    let mut stage = Stage::new();
    stage.turn_host = Arc::clone(&opener) as Arc<dyn TurnHost>;
    let found = stage.value(DETACHED).await;
    assert_eq!(
        found,
        json!(["ctx-2", "script", null, "made", "own", "ann", null, "own"])
    );
    let metadata = Some(Map::from_iter([("a".to_owned(), json!(1))]));
    let text = |text: &str| Some(text.to_owned());
    let wanted = DetachedContextOptions {
        assistant_id: text("pet"),
        chat_id: text("c1"),
        locale: text("de-de"),
        metadata,
    };
    assert_eq!(
        *opener.wanted.lock().unwrap(),
        [wanted, DetachedContextOptions::default()]
    );
    assert!(
        opener
            .opened
            .lock()
            .unwrap()
            .iter()
            .all(|scope| scope.upgrade().is_none()),
        "a context has outlived its run"
    );
    let tree = other.tree();
    assert_eq!(tree.info.status, TraceStatus::Completed);
    assert_eq!(
        tree.nodes
            .iter()
            .filter(|node| node.status == TraceStatus::Running)
            .count(),
        0
    );
    let own = stage.tree();
    assert_eq!(own.info.status, TraceStatus::Running);
    let text = "ctx.Release() does nothing in a hook: it is for contexts made with new Context";
    assert_eq!(
        (own.logs[0].level, own.logs[0].message.as_str()),
        (LogLevel::Warn, text)
    );
}

#[tokio::test]
async fn a_chat_that_the_caller_may_not_use_is_not_found() {
    let mut stage = Stage::new();
    stage.turn_host = Arc::new(Opener {
        stage: Arc::new(Stage::new()),
        wanted: Mutex::default(),
        opened: Mutex::default(),
    });
    let found = stage.attempt("new Context({chat_id: 'bobs'})").await;
    assert_eq!(found, json!(["not_found", "chat \"bobs\" not found"]));
    for (options, message) in [
        ("5", "new Context takes an object"),
        ("{chat_id: 1}", "new Context: chat_id must be a string"),
        ("{metadata: []}", "new Context: metadata must be an object"),
    ] {
        assert_eq!(
            stage.attempt(&format!("new Context({options})")).await,
            json!(["invalid_argument", message])
        );
    }
}
