//! `Store(…)`: the stores of an app, whose methods are those of memory.

use super::memory::{self, ARRAYS, GET_AND_SET, LISTS, NUMBERS, VALUES, key, memory};
use super::{ScriptCall, ScriptClass, ScriptMethod};
use crate::error::Result;
use ambit_script::{HostError, HostObject, HostValue};
use ambit_storage::memory::Ttl;
use serde_json::Value;

pub const STORE: ScriptClass = ScriptClass {
    name: "Store",
    place: "Store(id)",
    doc: "Named values of the app: the same for all its users. Each call is atomic, also across processes.",
    members: &[],
    methods: &[GET_AND_SET, VALUES, OWN, NUMBERS, LISTS, ARRAYS],
    is_lenient: false,
};

const OWN: &[ScriptMethod] = rows! {
    "GetSet(key: string, value: any, ttl?: number | string | null): any", Some((2, "key and value arguments")), get_set:
        "The value that is there; else this one, or what this function of the key returns, which then is there.",
};

/// `Store(id)`.
pub const GLOBALS: &[ScriptMethod] = rows! {
    "Store(id: StoreId): Store", Some((1, "an id argument")), open: "A store of the app, by the name of its file in `stores/`.",
};

pub fn methods() -> impl Iterator<Item = &'static ScriptMethod> {
    STORE.methods.iter().flat_map(|methods| methods.iter())
}

async fn open(call: &ScriptCall<'_>) -> Result<HostValue> {
    let id = call.text(0, "id", "must be a string")?;
    let handle = call.run.open_store(&call.reach, id).await?;
    Ok(HostValue::Object(HostObject {
        class: STORE.name.to_owned(),
        handle,
        members: Vec::new(),
    }))
}

async fn get_set(call: &ScriptCall<'_>) -> Result<HostValue, HostError> {
    let (store, key) = (memory(call), key(call)?);
    let function = call.callbacks.iter().find(|function| function.path == "1");
    let mut value = call.value(1);
    if let Some(function) = function {
        if let Some(there) = store.get(key).await.map_err(crate::Error::from)? {
            return Ok(memory::one(Some(there))?);
        }
        let made = function.call(vec![Value::from(key)]).await;
        value = made.map_err(|thrown| HostError {
            message: thrown.message,
            from_callback: true,
            ..HostError::default()
        })?;
    }
    let set = async || -> Result<HostValue> {
        let ttl = Ttl::of(&call.value(2))?;
        memory::one(Some(store.get_or_set(key, &value, ttl).await?))
    };
    Ok(set().await?)
}
