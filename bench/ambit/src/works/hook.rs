//! W7: a hook in a fresh runtime, with what a turn hands to it. Its memory is the store's; the rest of what it calls is only
//! taken down.

use super::Bench;
use crate::Result;
use crate::app::HOOK;
use crate::level::Level;
use crate::measure::{Row, median, pair, processor_seconds};
use ambit_script::{
    Engine, EngineSettings, Host, HostApi, HostCall, HostClass, HostError, HostMethod, HostObject,
    HostValue, Program, ProgramSource, RunLimits, ScriptRun,
};
use futures::future::BoxFuture;
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// Messages in and out.
const MESSAGES: usize = 10;
/// Hooks that run before anything is counted.
const BEFORE: usize = 200;
/// Hooks at once, where their number in a second is counted.
const AT_ONCE: usize = 4;

/// As many names as hooks have in Ambit; what a name costs does not depend on what it is.
#[rustfmt::skip]
const GLOBALS: &[&str] = &[
    "Process", "All", "Any", "Race", "$L", "Authorized", "Store", "Query", "fetch", "time.Sleep", "time.After",
    "log.Trace", "log.Debug", "log.Info", "log.Warn", "log.Error", "log.Fatal", "log.Panic",
    "http.Get", "http.Post", "http.Put", "http.Patch", "http.Delete", "http.Head", "http.Send", "http.Stream",
];
#[rustfmt::skip]
const CLASSES: &[(&str, &[&str])] = &[
    ("Context", &["Send", "SendStream", "Append", "Replace", "Merge", "Set", "End", "EndBlock", "MessageID", "BlockID", "ThreadID", "Release"]),
    ("Memory", &["Get", "Set", "Del", "Has", "GetDel", "Keys", "Len", "Clear", "Incr", "Decr", "Push", "Pop", "Pull", "PullAll",
        "AddToSet", "ArrayLen", "ArrayGet", "ArraySet", "ArraySlice", "ArrayPage", "ArrayAll"]),
    ("Trace", &["Add", "Parallel", "Info", "Debug", "Error", "Warn", "SetOutput", "SetMetadata", "Complete", "Fail", "MarkComplete"]),
    ("Mcp", &["ListTools", "CallTool", "CallTools", "CallToolsParallel", "ListResources", "ReadResource", "ListPrompts", "GetPrompt", "All", "Any", "Race"]),
    ("Search", &["Web", "KB", "DB", "All", "Any", "Race"]),
    ("Agent", &["Call", "All", "Any", "Race"]),
    ("Llm", &["Stream", "All", "Any", "Race"]),
];
const UNAVAILABLE: &[&str] = &["FS", "WebSocket", "Use", "Eval", "Plan", "Job", "Studio"];

pub async fn run(bench: &Bench) -> Result<()> {
    if bench.scheme() != "memory" {
        return Ok(());
    }
    let hooks = Arc::new(Hooks::new(bench.level("w7")?)?);
    let times = bench.sizes.operations;
    for _ in 0..BEFORE {
        hooks.one().await?;
    }
    let mut spent = Vec::with_capacity(times);
    for _ in 0..times {
        let start = Instant::now();
        hooks.one().await?;
        spent.push(start.elapsed().as_secs_f64() * 1e3);
    }
    let row = Row {
        work: "W7 hook",
        p: MESSAGES,
        unit: "ms",
        note: "script engine and driver; trace and log are only taken down",
    };
    bench.output.row(row, median(spent));
    let before = processor_seconds();
    crate::measure::together(AT_ONCE, |_| {
        let hooks = Arc::clone(&hooks);
        async move {
            for _ in 0..times {
                hooks.one().await?;
            }
            Ok(())
        }
    })
    .await?;
    let rate = (AT_ONCE * times) as f64 / (processor_seconds() - before);
    let row = Row {
        work: "W7 hooks per CPU-second",
        unit: "hooks/s",
        ..row
    };
    bench.output.row(row, rate);
    hooks.check(BEFORE + times + AT_ONCE * times)?;
    super::ctx::run(bench).await
}

struct Hooks {
    engine: Engine,
    program: Arc<Program>,
    host: Arc<Memory>,
    ctx: HostValue,
    messages: HostValue,
}

impl Hooks {
    fn new(level: Arc<dyn Level>) -> Result<Self> {
        let engine = Engine::new(&EngineSettings::default(), surface())?;
        let source = ProgramSource {
            file: "hook.js".to_owned(),
            folder: String::new(),
        };
        let files = BTreeMap::from([(source.file.clone(), HOOK.to_owned())]);
        let program = engine
            .load(&files, &source)
            .map_err(|error| error.to_string())?;
        let messages = (0..MESSAGES / 2).flat_map(pair);
        let messages: Result<Vec<Json>, _> =
            messages.map(|text| serde_json::from_str(&text)).collect();
        let taken = AtomicUsize::new(0);
        Ok(Self {
            engine,
            program,
            host: Arc::new(Memory { level, taken }),
            ctx: ctx(),
            messages: HostValue::Json(messages?.into()),
        })
    }

    async fn one(&self) -> Result<()> {
        let run = ScriptRun {
            program: Arc::clone(&self.program),
            function: "Create".to_owned(),
            arguments: vec![self.ctx.clone(), self.messages.clone()],
            host: Arc::clone(&self.host) as Arc<dyn Host>,
            limits: RunLimits::default(),
            within: None,
        };
        let value = self.engine.run(run).await?.value.unwrap_or_default();
        let returned = value["messages"].as_array().map_or(0, Vec::len);
        if returned == MESSAGES {
            Ok(())
        } else {
            Err(format!("the hook returned {returned} messages").into())
        }
    }

    /// Every hook that ran has left its node and its lines.
    fn check(&self, hooks: usize) -> Result<()> {
        let taken = self.host.taken.load(Ordering::Relaxed);
        if taken == 3 * hooks {
            Ok(())
        } else {
            Err(format!("{hooks} hooks left {taken} nodes and lines").into())
        }
    }
}

/// Answers what the hook calls.
struct Memory {
    level: Arc<dyn Level>,
    /// Trace nodes and lines of the log.
    taken: AtomicUsize,
}

impl Host for Memory {
    fn call(&self, call: HostCall) -> BoxFuture<'_, Result<HostValue, HostError>> {
        Box::pin(async move {
            self.answer(call)
                .await
                .map_err(|error| HostError::new("internal", error.to_string()))
        })
    }
}

impl Memory {
    async fn answer(&self, call: HostCall) -> Result<HostValue> {
        let argument = |index: usize| call.arguments.get(index).and_then(Json::as_str);
        let key = argument(0).unwrap_or_default();
        match (call.class.as_str(), call.method.as_str()) {
            ("Memory", "Get") => {
                let text = self.level.get(key).await?;
                let value = text.map(|text| serde_json::from_str::<Json>(&text));
                Ok(value.transpose()?.unwrap_or_default().into())
            }
            ("Memory", "Set") => {
                self.level.set(key, argument(1).unwrap_or_default()).await?;
                Ok(HostValue::Undefined)
            }
            ("Memory", "Incr") => {
                self.level.add(key).await?;
                Ok(json!(1).into())
            }
            ("Trace", "Add") => {
                let number = self.taken.fetch_add(1, Ordering::Relaxed);
                Ok(object("Trace", json!(number), Vec::new()))
            }
            ("console", _) => {
                self.taken.fetch_add(1, Ordering::Relaxed);
                Ok(HostValue::Undefined)
            }
            (class, method) => Err(format!("{class} {method} is not measured").into()),
        }
    }
}

fn surface() -> HostApi {
    let classes = CLASSES.iter().map(|(name, methods)| HostClass {
        name: (*name).to_owned(),
        methods: methods.iter().map(|name| HostMethod::new(name)).collect(),
    });
    HostApi {
        classes: classes.collect(),
        globals: GLOBALS.iter().map(|name| HostMethod::new(name)).collect(),
        unavailable: UNAVAILABLE.iter().map(|name| (*name).to_owned()).collect(),
    }
}

fn object(class: &str, handle: Json, members: Vec<(String, HostValue)>) -> HostValue {
    HostValue::Object(HostObject {
        class: class.to_owned(),
        handle,
        members,
    })
}

/// A run context with all its properties.
fn ctx() -> HostValue {
    let properties = json!({
        "chat_id": "c-8f14e45f", "assistant_id": "shop.orders", "locale": "en-us", "theme": "dark", "route": "/orders",
        "accept": "cui-web", "referer": "api", "client": {"type": "web", "user_agent": "Mozilla/5.0", "ip": "203.0.113.7"},
        "metadata": {"source": "widget"}, "request_id": "r-45c48cce2e2d", "context_id": "x-d3d9446802a4",
        "authorized": {"user_id": "u1", "team_id": "t1", "tenant_id": "acme", "scope": "chat", "constraints": {"owner_only": true}},
        "identity": {"agent_name": "shop", "chat_name": "c-8f14e45f", "user_id": "u1", "group": null, "scope": null, "key": "shop_c-8f14e45f_u1"},
    });
    let mut members: Vec<(String, HostValue)> = match properties {
        Json::Object(all) => all
            .into_iter()
            .map(|(name, value)| (name, value.into()))
            .collect(),
        _ => Vec::new(),
    };
    let spaces = ["user", "team", "chat", "context"].map(|space| {
        let own = vec![
            ("id".to_owned(), json!("u1").into()),
            ("space".to_owned(), json!(space).into()),
        ];
        (space.to_owned(), object("Memory", json!(space), own))
    });
    members.push(("memory".to_owned(), HostValue::Map(spaces.into())));
    let others = [
        ("trace", "Trace"),
        ("mcp", "Mcp"),
        ("search", "Search"),
        ("agent", "Agent"),
        ("llm", "Llm"),
    ];
    members.extend(
        others.map(|(name, class)| (name.to_owned(), object(class, Json::Null, Vec::new()))),
    );
    object("Context", json!("x-d3d9446802a4"), members)
}
