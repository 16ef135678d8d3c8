//! The methods of stores: `stores.<id>.<ScriptMethod>`.

use super::{ProcessCall, ProcessFamily, ProcessRegistry};
use crate::app::is_internal;
use crate::ctx::{self, ScriptCall, ScriptMethod};
use crate::error::{Error, ErrorCode, Result};
use ambit_script::{HostError, HostValue};
use futures::FutureExt;
use serde_json::Value;
use std::sync::Arc;

/// `stores.<id>.<ScriptMethod>`.
pub const STORES: ProcessFamily = ProcessFamily {
    prefix: "stores",
    names,
    has: |catalogue, name| parts(catalogue, name).is_some(),
    run: |call| run(call).boxed(),
};

fn names(catalogue: &ProcessRegistry) -> Vec<String> {
    let stores = catalogue.app.stores.keys();
    let names = stores.flat_map(|id| {
        ctx::store_methods().map(move |method| format!("stores.{id}.{}", method.name()))
    });
    names.collect()
}

/// The store's id, and the method: its name may be spelled in any case.
fn parts<'n>(
    catalogue: &ProcessRegistry,
    name: &'n str,
) -> Option<(&'n str, &'static ScriptMethod)> {
    let (id, method) = name.strip_prefix("stores.")?.rsplit_once('.')?;
    let is_known = catalogue.app.stores.contains_key(id) || is_internal(id);
    let mut methods = ctx::store_methods();
    let method = methods.find(|row| row.name().eq_ignore_ascii_case(method))?;
    is_known.then_some((id, method))
}

async fn run(call: &ProcessCall<'_>) -> Result<Value> {
    let unknown = || super::not_found(call.catalogue(), call.name);
    let (id, method) = parts(call.catalogue(), call.name).ok_or_else(unknown)?;
    let handle = call.run.open_store(call.reach, id).await?;
    let method_call = ScriptCall {
        run: call.run,
        reach: Arc::clone(call.reach),
        class: ctx::STORE.name,
        method,
        handle,
        arguments: call.arguments.clone(),
        undefined: Vec::new(),
        callbacks: Vec::new(),
        caller: call.within.cloned(),
    };
    let answer = method_call.answer().await.map_err(failed)?;
    match answer {
        HostValue::Json(value) => Ok(value),
        HostValue::Undefined => Ok(Value::Null),
        _ => Err(Error::internal(format!(
            "{} gave no plain value",
            call.name
        ))),
    }
}

pub(super) fn failed(error: HostError) -> Error {
    let code = error
        .code
        .as_deref()
        .map_or(ErrorCode::Internal, ErrorCode::from);
    Error::new(code, error.message)
}
