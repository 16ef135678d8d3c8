//! `ctx` itself: its properties, and `new Context`.

use super::{
    ContextHandle, ScriptCall, ScriptClass, ScriptMethod, agent_calls, mcp, memory, message,
    search, trace,
};
use crate::ctx::DetachedContextOptions;
use crate::error::{Error, Result};
use crate::optional::optional;
use ambit_script::{HostObject, HostValue};
use serde_json::{Value, json};

/// `ctx`.
pub const CONTEXT: ScriptClass = ScriptClass {
    name: "Context",
    place: "ctx",
    doc: "What a script sees of a turn. It is a view: what a script changes in it, nobody reads.",
    members: &[
        ("chat_id: string", "The chat's name."),
        ("assistant_id: string", "The agent whose hook runs."),
        ("locale: string", "The language, such as `en-us`."),
        ("theme: string", "The theme of the client's surface."),
        ("route: string", "The page of the client."),
        ("accept: Accept", "The output format."),
        ("referer: Referer", "What kind of caller."),
        ("client: Client", "The client program."),
        (
            "metadata: Record<string, any>",
            "Client-supplied data, and what `Create` returned.",
        ),
        ("authorized: Authorized", "Who is asking; a copy."),
        ("request_id: string", "The turn."),
        ("context_id: string", "The run context."),
        ("identity: Identity", "The conversation's base identity."),
        ("memory: Memory", "Four namespaces of values."),
        ("trace: Trace", "The trace of the turn."),
        ("mcp: MCP", "Tool servers."),
        ("search: Search", "Searches."),
        ("agent: Agents", "Calls of other agents."),
        ("llm: Models", "Calls of models."),
        ("space: Space", "Deprecated: `memory.context`."),
    ],
    methods: &[message::METHODS, RELEASE],
    is_lenient: false,
};

const RELEASE: &[ScriptMethod] = rows! {
    "Release(): void", None, release: "Lets go of a context made with `new Context`. In a hook it does nothing.",
};

/// `new Context(…)`.
pub const GLOBALS: &[ScriptMethod] = rows! {
    "Context(options?: ContextOptions): Context", None, open:
        "`new Context(…)` makes a detached context: the caller's identity, an empty request memory, output discarded.",
};

/// The `ctx` object of a context.
pub fn object(reach: &ContextHandle) -> HostValue {
    let shown = &reach.scope.properties;
    let origin = &shown.origin;
    let identity = &shown.identity;
    let plain = [
        ("chat_id", json!(shown.chat_id)),
        ("assistant_id", json!(shown.assistant_id)),
        ("locale", json!(origin.locale)),
        ("theme", json!(origin.theme)),
        ("route", json!(origin.route)),
        ("accept", json!(origin.accept)),
        ("referer", json!(origin.referer)),
        ("client", json!(origin.client)),
        ("metadata", json!(shown.metadata)),
        ("authorized", reach.scope.authorized()),
        ("request_id", json!(shown.request_id)),
        ("context_id", json!(shown.context_id)),
        (
            "identity",
            json!({
                "agent_name": identity.agent_name(), "chat_name": identity.chat_name(),
                "user_id": identity.user_id(), "group": identity.group(),
                "scope": identity.scope(), "key": identity.key(),
            }),
        ),
    ];
    let mut members: Vec<(String, HostValue)> = plain
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value.into()))
        .collect();
    let spaces = reach.scope.memory.all();
    let spaces = spaces.map(|memory| (memory.space().to_owned(), memory::object(reach, memory)));
    members.push(("memory".to_owned(), HostValue::Map(spaces.into())));
    members.push(("trace".to_owned(), trace::object(reach)));
    members.push(("space".to_owned(), part(reach, &memory::SPACE)));
    members.extend(
        [("search", &search::SEARCH), ("mcp", &mcp::MCP)]
            .iter()
            .chain(agent_calls::PARTS)
            .map(|(name, class)| ((*name).to_owned(), part(reach, class))),
    );
    HostValue::Object(HostObject {
        class: CONTEXT.name.to_owned(),
        handle: json!({"context": reach.number}),
        members,
    })
}

/// An object of a context that has only methods.
fn part(reach: &ContextHandle, class: &ScriptClass) -> HostValue {
    HostValue::Object(HostObject {
        class: class.name.to_owned(),
        handle: json!({"context": reach.number}),
        members: Vec::new(),
    })
}

async fn release(call: &ScriptCall<'_>) -> Result<HostValue> {
    if call.reach.is_manual() {
        call.reach.release().await?;
    } else {
        let text = "ctx.Release() does nothing in a hook: it is for contexts made with new Context";
        call.reach.cursor.warn(text);
    }
    Ok(HostValue::Undefined)
}

async fn open(call: &ScriptCall<'_>) -> Result<HostValue> {
    let is_no_object = || Error::invalid("options", "new Context takes an object");
    let options = optional(call.given(0), Value::as_object, is_no_object)?;
    let option = |name: &str| options.and_then(|options| options.get(name));
    let wrong = |name: &str, what: &str| {
        Error::invalid(name, format!("new Context: {name} must be {what}"))
    };
    let text = |name: &str| {
        let text = optional(option(name), Value::as_str, || wrong(name, "a string"))?;
        Ok::<_, Error>(text.map(str::to_owned))
    };
    let is_no_object = || wrong("metadata", "an object");
    let metadata = optional(option("metadata"), Value::as_object, is_no_object)?;
    let wanted = DetachedContextOptions {
        assistant_id: text("assistant_id")?,
        chat_id: text("chat_id")?,
        locale: text("locale")?,
        metadata: metadata.cloned(),
    };
    let caller = &call.reach.scope;
    let scope = caller.turn_host.open_context(caller, wanted).await?;
    Ok(object(&call.run.add(&scope)))
}
