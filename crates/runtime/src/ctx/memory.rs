//! `ctx.memory`: the methods of a namespace, and the deprecated `ctx.space`.

use super::{ContextHandle, ScriptCall, ScriptClass, ScriptMethod};
use crate::error::{Error, Result};
use crate::index_vectors::IndexEmbedding;
use crate::memory_search::MemorySearch;
use ambit_script::{HostObject, HostValue};
use ambit_storage::Json;
use ambit_storage::memory::{Memory, Ttl};
use serde_json::{Value, json};
use std::borrow::Cow;

/// A namespace of memory.
pub const NAMESPACE: ScriptClass = ScriptClass {
    name: "MemoryNamespace",
    place: "ctx.memory.user, .team, .chat and .context",
    doc: "Named values that outlive a message. Each call is atomic; a write that has returned is durable, but in `context`.",
    members: &[
        ("id: string", "The owner's id; empty if there is none."),
        ("space: string", "The namespace's name."),
    ],
    methods: &[GET_AND_SET, VALUES, NUMBERS, LISTS, ARRAYS, SEARCH],
    is_lenient: false,
};

/// The deprecated `ctx.space`.
pub const SPACE: ScriptClass = ScriptClass {
    name: "Space",
    place: "ctx.space",
    doc: "Deprecated: the same values as `ctx.memory.context`.",
    members: &[],
    methods: &[GET_AND_SET, ALIASES],
    is_lenient: false,
};

const KEY: Option<(usize, &str)> = Some((1, "a key argument"));

const ALIASES: &[ScriptMethod] = rows! {
    "Delete(key: string): void", KEY, del: "Deletes a value. A `*` in the key stands for any characters.",
    "Clear(): void", None, clear: "Deletes all values of this namespace, and nothing else.",
    "Keys(pattern?: string): string[]", None, keys: "The keys, sorted; with a pattern, those that match.",
};

/// Reading and writing any value.
pub const GET_AND_SET: &[ScriptMethod] = rows! {
    "Get(key: string): any", KEY, get: "The value; `null` if there is none.",
    "Set(key: string, value: any, ttl?: number | string | null): void", Some((2, "key and value arguments")), set:
        "Replaces value, type and life. `ttl` is seconds, or a text such as `\"5m\"`; 0 is for ever.",
};

/// The methods on any value.
pub const VALUES: &[ScriptMethod] = rows! {
    "Del(key: string): void", KEY, del: "Deletes a value. A `*` in the key stands for any characters, and `\\*` for a star.",
    "Has(key: string): boolean", KEY, has: "Whether there is a value.",
    "GetDel(key: string): any", KEY, get_del: "Takes the value away; of many callers one gets it.",
    "Keys(pattern?: string): string[]", None, keys: "The keys, sorted; with a pattern, those that match.",
    "Len(): number", None, len: "How many values there are.",
    "Clear(): void", None, clear: "Deletes all values of this namespace, and nothing else.",
};

/// The methods on numbers.
pub const NUMBERS: &[ScriptMethod] = rows! {
    "Incr(key: string, delta?: number): number", KEY, incr:
        "Adds to a number, 1 if not said otherwise; a missing one counts as 0. Keeps the life.",
    "Decr(key: string, delta?: number): number", KEY, decr: "Subtracts from a number, which may go below zero.",
};

const ADDED: Option<(usize, &str)> = Some((2, "key and values arguments"));

/// The methods that make lists longer and shorter.
pub const LISTS: &[ScriptMethod] = rows! {
    "Push(key: string, values: any, ...more: any[]): number", ADDED, push:
        "Appends the items of a list, or one other value, and each further argument. Returns the new length.",
    "Pop(key: string): any", KEY, pop: "Takes the last item; `null` if there is none.",
    "Pull(key: string, count: number): any[]", Some((2, "key and count arguments")), pull:
        "Takes the last `count` items, in stored order.",
    "PullAll(key: string): any[]", KEY, pull_all: "Takes all items and leaves an empty list.",
    "AddToSet(key: string, values: any, ...more: any[]): number", ADDED, add_to_set:
        "Appends what is not in the list yet. Returns the new length.",
};

/// The methods on items of lists.
pub const ARRAYS: &[ScriptMethod] = rows! {
    "ArrayLen(key: string): number", KEY, array_len: "How many items; 0 if there is no list.",
    "ArrayGet(key: string, index: number): any", Some((2, "key and index arguments")), array_get:
        "One item; a negative index counts from the end. `null` outside.",
    "ArraySet(key: string, index: number, value: any): void", Some((3, "key, index, and value arguments")), array_set:
        "Replaces one item; a negative index counts from the end. Throws outside.",
    "ArraySlice(key: string, start: number, end?: number): any[]", Some((2, "key and start arguments")), array_slice:
        "The items from `start` to `end`, both included; negative ones count from the end.",
    "ArrayPage(key: string, page: number, size: number): any[]", Some((3, "key, page, and size arguments")), array_page:
        "One page of items; pages count from 1.",
    "ArrayAll(key: string): any[]", KEY, array_all: "All items.",
};

const SEARCH: &[ScriptMethod] = rows! {
    "Search(text: string, options?: MemorySearchOptions): MemoryMatch[]", Some((1, "a text argument")), search:
        "The values whose key or texts have any of these words, the best first; with the text `\"\"` all, by key.",
};

/// The object of a namespace.
pub fn object(reach: &ContextHandle, memory: &Memory) -> HostValue {
    let members = [("id", memory.id()), ("space", memory.space())];
    HostValue::Object(HostObject {
        class: NAMESPACE.name.to_owned(),
        handle: json!({"context": reach.number, "space": memory.space()}),
        members: members
            .map(|(name, text)| (name.to_owned(), json!(text).into()))
            .into(),
    })
}

/// The namespace that was called, or the store; `ctx.space` is the request's.
pub fn memory<'a>(call: &'a ScriptCall<'_>) -> Cow<'a, Memory> {
    let named = |key: &str| call.handle.get(key).and_then(Value::as_str);
    if let Some(store) = named("store").and_then(|id| call.run.store(id)) {
        return Cow::Owned(store);
    }
    let all = &call.reach.scope.memory;
    let mut spaces = all.all().into_iter();
    let found = spaces.find(|memory| Some(memory.space()) == named("space"));
    Cow::Borrowed(found.unwrap_or(&all.context))
}

pub fn key<'a>(call: &'a ScriptCall<'_>) -> Result<&'a str> {
    call.text(0, "key", "must be a non-empty string")
}

async fn get(call: &ScriptCall<'_>) -> Result<HostValue> {
    one(memory(call).get(key(call)?).await?)
}

async fn set(call: &ScriptCall<'_>) -> Result<HostValue> {
    let ttl = Ttl::of(&call.value(2))?;
    let value = call.value(1);
    memory(call).set(key(call)?, &value, ttl).await?;
    Ok(HostValue::Undefined)
}

async fn del(call: &ScriptCall<'_>) -> Result<HostValue> {
    memory(call).del(key(call)?).await?;
    Ok(HostValue::Undefined)
}

async fn has(call: &ScriptCall<'_>) -> Result<HostValue> {
    Ok(json!(memory(call).has(key(call)?).await?).into())
}

async fn get_del(call: &ScriptCall<'_>) -> Result<HostValue> {
    one(memory(call).get_del(key(call)?).await?)
}

async fn keys(call: &ScriptCall<'_>) -> Result<HostValue> {
    let pattern = match call.given(0) {
        None | Some(Value::Null) => None,
        Some(_) => Some(call.text(0, "pattern", "must be a string")?),
    };
    Ok(json!(memory(call).keys(pattern).await?).into())
}

async fn len(call: &ScriptCall<'_>) -> Result<HostValue> {
    Ok(json!(memory(call).len().await?).into())
}

async fn clear(call: &ScriptCall<'_>) -> Result<HostValue> {
    memory(call).clear().await?;
    Ok(HostValue::Undefined)
}

/// What is added; not given, it is 1.
fn delta(call: &ScriptCall<'_>) -> Result<f64> {
    let Some(delta) = call.given(1) else {
        return Ok(1.0);
    };
    // NaN and infinite numbers have become null on their way.
    let finite = delta.as_f64().filter(|delta| delta.is_finite());
    finite.ok_or_else(|| Error::invalid("delta", "delta must be a finite number"))
}

async fn incr(call: &ScriptCall<'_>) -> Result<HostValue> {
    let sum = memory(call).incr(key(call)?, delta(call)?).await?;
    Ok(json!(sum).into())
}

async fn decr(call: &ScriptCall<'_>) -> Result<HostValue> {
    let sum = memory(call).decr(key(call)?, delta(call)?).await?;
    Ok(json!(sum).into())
}

/// The items of a list, or one other value; each further argument is one more item.
fn items(call: &ScriptCall<'_>) -> Vec<Value> {
    let mut items = match call.value(1) {
        Value::Array(items) => items,
        one => vec![one],
    };
    items.extend(call.arguments.iter().skip(2).cloned());
    items
}

async fn push(call: &ScriptCall<'_>) -> Result<HostValue> {
    let length = memory(call).push(key(call)?, &items(call)).await?;
    Ok(json!(length).into())
}

async fn add_to_set(call: &ScriptCall<'_>) -> Result<HostValue> {
    let length = memory(call).add_to_set(key(call)?, &items(call)).await?;
    Ok(json!(length).into())
}

async fn pop(call: &ScriptCall<'_>) -> Result<HostValue> {
    one(memory(call).pop(key(call)?).await?)
}

async fn pull(call: &ScriptCall<'_>) -> Result<HostValue> {
    let count = call.integer(1, "count")?;
    many(&memory(call).pull(key(call)?, count).await?)
}

async fn pull_all(call: &ScriptCall<'_>) -> Result<HostValue> {
    many(&memory(call).pull_all(key(call)?).await?)
}

async fn array_len(call: &ScriptCall<'_>) -> Result<HostValue> {
    Ok(json!(memory(call).array_len(key(call)?).await?).into())
}

async fn array_get(call: &ScriptCall<'_>) -> Result<HostValue> {
    let index = call.integer(1, "index")?;
    one(memory(call).array_get(key(call)?, index).await?)
}

async fn array_set(call: &ScriptCall<'_>) -> Result<HostValue> {
    let index = call.integer(1, "index")?;
    let value = call.value(2);
    memory(call).array_set(key(call)?, index, &value).await?;
    Ok(HostValue::Undefined)
}

async fn array_slice(call: &ScriptCall<'_>) -> Result<HostValue> {
    let start = call.integer(1, "start")?;
    let end = match call.given(2) {
        None | Some(Value::Null) => -1,
        Some(_) => call.integer(2, "end")?,
    };
    many(&memory(call).array_slice(key(call)?, start, end).await?)
}

async fn array_page(call: &ScriptCall<'_>) -> Result<HostValue> {
    let (page, size) = (call.integer(1, "page")?, call.integer(2, "size")?);
    many(&memory(call).array_page(key(call)?, page, size).await?)
}

async fn array_all(call: &ScriptCall<'_>) -> Result<HostValue> {
    many(&memory(call).array_all(key(call)?).await?)
}

/// What a search can be told.
const OPTIONS: [&str; 3] = ["limit", "filter", "pattern"];

async fn search(call: &ScriptCall<'_>) -> Result<HostValue> {
    let mut search = MemorySearch::new(call.text(0, "text", "must be a string")?);
    match call.given(1) {
        None | Some(Value::Null) => {}
        Some(Value::Object(options)) => {
            let object = format!("memory.{}", memory(call).space());
            call.warn_of_unknown(&object, "", options, &OPTIONS);
            for (name, value) in options.iter().filter(|(_, value)| !value.is_null()) {
                search = option(search, name, value)?;
            }
        }
        Some(_) => return Err(Error::invalid("options", "options must be an object")),
    }
    let scope = &call.reach.scope;
    let connector = scope.app.settings.search.values.embedding.as_deref();
    let base = scope.search.knowledge.as_ref();
    let book = scope.search.book.clone();
    let embedding = base.and_then(|base| IndexEmbedding::of(base, connector, book));
    let found = search.embedding(embedding).of(&memory(call)).await?;
    Ok(Json::of(&found)?.to::<Value>()?.into())
}

/// One more condition of a search; what is unknown is named in the trace and not read.
fn option(search: MemorySearch, name: &str, value: &Value) -> Result<MemorySearch> {
    match name {
        "limit" => {
            let limit = value.as_i64();
            let limit = limit.ok_or_else(|| Error::invalid("limit", "limit must be an integer"))?;
            search.limit(limit)
        }
        "filter" => search.filter(value),
        "pattern" => {
            let pattern = value.as_str();
            let refused = || Error::invalid("pattern", "pattern must be a string");
            Ok(search.pattern(pattern.ok_or_else(refused)?))
        }
        _ => Ok(search),
    }
}

/// A value as scripts get it.
pub fn one(stored: Option<Json>) -> Result<HostValue> {
    let value: Option<Value> = stored.map(|stored| stored.to()).transpose()?;
    Ok(value.unwrap_or_default().into())
}

fn many(stored: &[Json]) -> Result<HostValue> {
    let items: Vec<Value> = stored
        .iter()
        .map(Json::to)
        .collect::<ambit_storage::Result<_>>()?;
    Ok(Value::Array(items).into())
}
