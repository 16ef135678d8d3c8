//! The methods of stores: `stores.<id>.<Method>`.

use super::{Asked, Catalogue, Family, store};
use crate::ctx::{self, Call, Method};
use crate::error::{Code, Error, Result};
use ambit_script::{HostError, Value};
use futures::FutureExt;
use serde_json::Value as Json;
use std::sync::Arc;

/// `stores.<id>.<Method>`.
pub const STORES: Family = Family {
    prefix: "stores",
    names,
    has: |catalogue, name| parts(catalogue, name).is_some(),
    run: |asked| run(asked).boxed(),
};

fn names(catalogue: &Catalogue) -> Vec<String> {
    let stores = catalogue.app.stores.keys();
    let names = stores.flat_map(|id| {
        ctx::store_methods().map(move |method| format!("stores.{id}.{}", method.name()))
    });
    names.collect()
}

/// The store's id, and the method: its name may be spelled in any case.
fn parts<'n>(catalogue: &Catalogue, name: &'n str) -> Option<(&'n str, &'static Method)> {
    let (id, method) = name.strip_prefix("stores.")?.rsplit_once('.')?;
    let is_known = catalogue.app.stores.contains_key(id) || store::is_internal(id);
    let mut methods = ctx::store_methods();
    let method = methods.find(|row| row.name().eq_ignore_ascii_case(method))?;
    is_known.then_some((id, method))
}

async fn run(asked: &Asked<'_>) -> Result<Json> {
    let unknown = || super::not_found(asked.catalogue(), asked.name);
    let (id, method) = parts(asked.catalogue(), asked.name).ok_or_else(unknown)?;
    let handle = asked.run.open_store(asked.reach, id).await?;
    let call = Call {
        run: asked.run,
        reach: Arc::clone(asked.reach),
        class: ctx::STORE.name,
        method,
        handle,
        arguments: asked.arguments.clone(),
        undefined: Vec::new(),
        callbacks: Vec::new(),
        caller: asked.within.cloned(),
    };
    let answer = call.answer().await.map_err(failed)?;
    match answer {
        Value::Json(value) => Ok(value),
        Value::Undefined => Ok(Json::Null),
        _ => Err(Error::internal(format!(
            "{} gave no plain value",
            asked.name
        ))),
    }
}

pub(super) fn failed(error: HostError) -> Error {
    let code = error.code.as_deref().map_or(Code::Internal, Code::from);
    Error::new(code, error.message)
}
