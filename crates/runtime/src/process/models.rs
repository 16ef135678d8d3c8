//! The methods of models, `models.<id>.<ModelMethod>`, and what models there are: `model.list`, `model.exists`, `model.dsl`.

use super::{ProcessCall, ProcessFamily, ProcessRegistry, listed, not_found};
use crate::error::{Error, ErrorCode, Result};
use crate::hook::failure;
use crate::model::rows::{self, METHODS, ModelMethod};
use futures::FutureExt;
use serde_json::{Value, json};

/// `models.<id>.<ModelMethod>`.
pub const MODELS: ProcessFamily = ProcessFamily {
    prefix: "models",
    names,
    has: |catalogue, name| parts(catalogue, name).is_some(),
    run: |call| run(call).boxed(),
};

const LIST: &str = "model.list";
const EXISTS: &str = "model.exists";
const DSL: &str = "model.dsl";

pub const MODEL: ProcessFamily = ProcessFamily {
    prefix: "model",
    names: |_| listed(&[LIST, EXISTS, DSL]),
    has: |_, name| [LIST, EXISTS, DSL].contains(&name),
    run: |call| about(call).boxed(),
};

fn names(catalogue: &ProcessRegistry) -> Vec<String> {
    let ids = catalogue.models.ids();
    let names = ids.flat_map(|id| {
        METHODS
            .iter()
            .map(move |method| format!("models.{id}.{}", method.name))
    });
    names.collect()
}

/// What is called of a model.
enum MethodTarget {
    Method(&'static ModelMethod),
    ForOperators,
}

/// The model's id, and the method.
fn parts<'n>(catalogue: &ProcessRegistry, name: &'n str) -> Option<(&'n str, MethodTarget)> {
    let (id, method) = name.strip_prefix("models.")?.rsplit_once('.')?;
    if !catalogue.models.has(id) {
        return None;
    }
    if let Some(method) = rows::find(method) {
        return Some((id, MethodTarget::Method(method)));
    }
    let mut theirs = rows::FOR_OPERATORS.iter();
    let is_theirs = theirs.any(|name| name.eq_ignore_ascii_case(method));
    is_theirs.then_some((id, MethodTarget::ForOperators))
}

async fn run(call: &ProcessCall<'_>) -> Result<Value> {
    let (catalogue, name) = (call.catalogue(), call.name);
    let (id, called) = parts(catalogue, name).ok_or_else(|| not_found(catalogue, name))?;
    let MethodTarget::Method(method) = called else {
        let message = format!("permission_denied: process {name} is for the operator");
        return Err(Error::new(ErrorCode::PermissionDenied, message));
    };
    let models = &catalogue.models;
    if method.name == rows::EXISTS {
        return Ok(models.is_fit(id).await?.into());
    }
    let model = models.find(id, "")?;
    let scope = &call.reach.scope;
    let who = &scope.properties.authorized;
    let answer = models.call(&model, method, who, &call.arguments).await;
    let answer = answer.map_err(|error| failure::of_call(error, scope, name))?;
    for why in answer.unmet {
        call.reach
            .cursor
            .warn(&format!("{name} found nothing: {why}"));
    }
    Ok(answer.value)
}

async fn about(call: &ProcessCall<'_>) -> Result<Value> {
    let models = &call.catalogue().models;
    if call.name == LIST {
        let list = models.all().map(|model| {
            json!({
                "id": model.id,
                "name": model.name,
                "label": model.label,
                "description": model.description,
            })
        });
        return Ok(list.collect());
    }
    let id = call.arguments.first().and_then(Value::as_str);
    let id = id.ok_or_else(|| {
        let message = format!("{}: id must be a model's id", call.name);
        Error::invalid("id", message)
    })?;
    match call.name {
        EXISTS => Ok(models.is_fit(id).await?.into()),
        _ => Ok(models.find(id, "")?.source.clone()),
    }
}
