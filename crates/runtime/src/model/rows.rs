//! The methods of models, `models.<id>.<Method>`: one row each in a table. A call is one transaction.

mod change;
mod each_save;
mod info;
mod read;
pub mod sql;
mod upsert;
mod where_methods;
mod write;

use super::database::{AccessMode, Transaction, end};
use super::definition::RowObject;
use super::query::{QueryParam, ReadContext};
use super::row_draft::RowDraft;
use super::{TableModel, TableModels};
use crate::access::Authorized;
use crate::error::{Error, ErrorCode, Result};
use crate::value_text::value_text;
use futures::future::BoxFuture;
use serde_json::Value;
use std::sync::Arc;

/// A method.
pub struct ModelMethod {
    /// Its name; in calls, upper and lower case are the same.
    pub name: &'static str,
    /// What it does with the table.
    pub access: AccessMode,
    run: MethodBody,
}

type MethodBody = for<'c> fn(&'c mut MethodCall<'_>) -> BoxFuture<'c, Result<Value>>;

/// A method that reads.
const fn reads(name: &'static str, run: MethodBody) -> ModelMethod {
    let access = AccessMode::Read;
    ModelMethod { name, access, run }
}

/// A method that writes.
const fn writes(name: &'static str, run: MethodBody) -> ModelMethod {
    let access = AccessMode::Write;
    ModelMethod { name, access, run }
}

/// All methods.
pub const METHODS: &[ModelMethod] = &[
    read::FIND,
    read::GET,
    read::PAGINATE,
    read::COUNT,
    read::SELECT_OPTION,
    change::CREATE,
    change::UPDATE,
    change::SAVE,
    change::INSERT,
    change::DELETE,
    change::DESTROY,
    upsert::UPSERT,
    where_methods::UPDATE_WHERE,
    where_methods::DELETE_WHERE,
    where_methods::DESTROY_WHERE,
    each_save::EACH_SAVE,
    each_save::EACH_SAVE_AFTER_DELETE,
    info::METADATA,
    info::IS_THERE,
];

/// Methods of Yao's that an operator does by other means.
pub const FOR_OPERATORS: &[&str] = &[
    "Migrate",
    "Load",
    "Reload",
    "Read",
    "TakeSnapshot",
    "RestoreSnapshot",
    "RestoreSnapshotByRename",
    "DropSnapshot",
    "SnapshotExists",
];

pub use info::EXISTS;

/// The method of this name.
pub fn find(name: &str) -> Option<&'static ModelMethod> {
    METHODS
        .iter()
        .find(|method| method.name.eq_ignore_ascii_case(name))
}

/// One call of a method.
pub struct MethodCall<'a> {
    /// The models.
    pub models: &'a TableModels,
    /// The one that is called.
    pub model: &'a Arc<TableModel>,
    /// Who calls.
    pub who: &'a Authorized,
    /// The method.
    pub method: &'static ModelMethod,
    /// What it was given.
    pub arguments: &'a [Value],
    reading: ReadContext<'a>,
    transaction: Box<dyn Transaction>,
}

/// What a call came to.
pub struct MethodResult {
    /// What it returns.
    pub value: Value,
    /// Why rows were left out that are there.
    pub unmet: Vec<String>,
}

impl TableModels {
    /// Calls a method for somebody.
    pub async fn call(
        &self,
        model: &Arc<TableModel>,
        method: &'static ModelMethod,
        who: &Authorized,
        arguments: &[Value],
    ) -> Result<MethodResult> {
        if method.access == AccessMode::Write && model.options.is_system {
            let message = format!("permission_denied: models.{} can be read only", model.id);
            return Err(Error::new(ErrorCode::PermissionDenied, message));
        }
        let transaction = self.begin(model, method.access).await?;
        let mut call = MethodCall {
            models: self,
            model,
            who,
            method,
            arguments,
            reading: ReadContext::new(self, who),
            transaction,
        };
        if method.access == AccessMode::Write {
            call.may_write()?;
        }
        let result = (method.run)(&mut call).await;
        let unmet = std::mem::take(&mut call.reading.unmet);
        let value = end(call.transaction, result).await?;
        Ok(MethodResult { value, unmet })
    }
}

impl<'a> MethodCall<'a> {
    /// An argument; nothing where there is none.
    fn argument(&self, at: usize) -> &'a Value {
        self.arguments.get(at).unwrap_or(&Value::Null)
    }

    fn draft(&self) -> RowDraft<'a> {
        RowDraft {
            models: self.models,
            model: self.model,
            who: Some(self.who),
        }
    }

    /// What the arguments ask for.
    fn select(&self, at: usize) -> Result<QueryParam> {
        QueryParam::parse(self.models, self.model, self.argument(at))
    }

    /// The row of an id alone.
    fn one(&self, id: &Value) -> Result<QueryParam> {
        QueryParam::of(self.model).with_key(self.models, id)
    }

    fn row(&self, at: usize) -> Result<RowObject> {
        match self.argument(at) {
            Value::Object(row) => Ok(row.clone()),
            _ => Err(self.wrong("row", "must be an object")),
        }
    }

    fn list(&self, at: usize, name: &str) -> Result<&'a [Value]> {
        match self.argument(at) {
            Value::Array(list) => Ok(list),
            _ => Err(self.wrong(name, "must be a list")),
        }
    }

    fn texts(&self, at: usize, name: &str) -> Result<Vec<String>> {
        let list = self.list(at, name)?.iter();
        let texts = list.map(|text| text.as_str().map(str::to_owned));
        let texts: Option<Vec<String>> = texts.collect();
        texts.ok_or_else(|| self.wrong(name, "must be a list of strings"))
    }

    /// An argument is not as it must be.
    fn wrong(&self, name: &str, rule: &str) -> Error {
        let (id, method) = (&self.model.id, self.method.name);
        Error::invalid(name, format!("models.{id}.{method}: {name} {rule}"))
    }

    /// There is no such row for the caller.
    fn absent(&self, id: &Value) -> Error {
        let message = format!(
            "models.{}: there is no row {}",
            self.model.id,
            value_text(id)
        );
        Error::new(ErrorCode::NotFound, message)
    }
}
