//! `kb.collection.*` and `kb.documents.*`: collections of documents, as the caller. Arguments and answers are those of the
//! routes.

mod collections;
mod documents;

use super::{ProcessCall, ProcessFamily, not_found};
use crate::error::{Error, ErrorCode, Result};
use crate::knowledge_client::KnowledgeClient;
use futures::FutureExt;
use futures::future::BoxFuture;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// `kb.collection.*` and `kb.documents.*`.
pub const KB: ProcessFamily = ProcessFamily {
    prefix: "kb",
    names: |_| PROCESSES.iter().map(|row| row.name.to_owned()).collect(),
    has: |_, name| find(name).is_some(),
    run: |call| run(call).boxed(),
};

/// One of them.
struct KnowledgeProcess {
    name: &'static str,
    run: for<'a> fn(&'a KnowledgeCall<'a>) -> BoxFuture<'a, Result<Value>>,
}

/// A call of one of them.
struct KnowledgeCall<'a> {
    call: &'a ProcessCall<'a>,
    client: KnowledgeClient,
}

macro_rules! processes {
    ($($name:literal: $($run:ident)::+,)+) => {
        &[$(KnowledgeProcess { name: $name, run: |call| $($run)::+(call).boxed() },)+]
    };
}

const PROCESSES: &[KnowledgeProcess] = processes! {
    "kb.collection.create": collections::create,
    "kb.collection.remove": collections::remove,
    "kb.collection.get": collections::get,
    "kb.collection.exists": collections::exists,
    "kb.collection.list": collections::list,
    "kb.collection.updatemetadata": collections::update_metadata,
    "kb.documents.addtext": documents::add_text,
    "kb.documents.addurl": documents::add_url,
    "kb.documents.addfile": documents::add_file,
    "kb.documents.getcontents": documents::get_contents,
};

/// Names may be spelled in any case.
fn find(name: &str) -> Option<&'static KnowledgeProcess> {
    let mut rows = PROCESSES.iter();
    rows.find(|row| row.name.eq_ignore_ascii_case(name))
}

async fn run(call: &ProcessCall<'_>) -> Result<Value> {
    let row = find(call.name).ok_or_else(|| not_found(call.catalogue(), call.name))?;
    let scope = &call.reach.scope;
    let closed = || Error::new(ErrorCode::Unavailable, "collections are not open here");
    let base = scope.search.knowledge.clone().ok_or_else(closed)?;
    let who = &scope.properties.authorized;
    let client = KnowledgeClient::new(base, who, scope.app.clone());
    let call = KnowledgeCall { call, client };
    (row.run)(&call).await
}

impl KnowledgeCall<'_> {
    fn argument(&self, at: usize) -> Option<&Value> {
        let given = self.call.arguments.get(at);
        given.filter(|value| !value.is_null())
    }

    /// An argument that is a text.
    fn text(&self, at: usize, field: &str) -> Result<&str> {
        let text = self.argument(at).and_then(Value::as_str);
        text.ok_or_else(|| self.wrong(field, "must be a text"))
    }

    /// An argument that is an object; an empty one where nothing is given.
    fn object(&self, at: usize) -> Result<Map<String, Value>> {
        match self.argument(at) {
            None => Ok(Map::new()),
            Some(Value::Object(fields)) => Ok(fields.clone()),
            Some(_) => Err(self.wrong("argument", "must be an object")),
        }
    }

    /// The same as a type.
    fn fields<T: DeserializeOwned>(&self, fields: Map<String, Value>) -> Result<T> {
        let name = self.call.name;
        let read = serde_json::from_value(Value::Object(fields));
        read.map_err(|error| Error::invalid("argument", format!("{name}: {error}")))
    }

    fn wrong(&self, field: &str, rule: &str) -> Error {
        Error::invalid(field, format!("{}: {field} {rule}", self.call.name))
    }
}
