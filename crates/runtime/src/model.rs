//! Models: tables of the app, their rows, and who may reach which.
//!
//! Below turns: it names no turn, hook or ctx. SQL is spelled here and in the drivers of storage only.

pub mod cipher;
pub mod column_kind;
pub mod database;
pub mod database_note;
pub mod definition;
mod migrate;
pub mod permission;
pub mod query;
pub mod rekey;
mod row_draft;
pub mod rows;
mod stamp;
pub mod system;
mod table_sql;
pub mod validate;

pub use cipher::ColumnCipher;
pub use database::ModelStore;
pub use definition::{ModelRelation, TableColumn, TableModel};

use crate::error::{Error, ErrorCode, Result, StorageError};
use database::{AccessMode, Database, SqlCell, Transaction};
use definition::{ColumnCrypt, RowObject};
pub(crate) use sea_query::Value as SqlValue;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use tokio::sync::OnceCell;

/// The models of one version of an app, over one database.
pub struct TableModels {
    models: BTreeMap<String, Result<Arc<TableModel>>>,
    database: Arc<dyn Database>,
    cipher: ColumnCipher,
    roles: Vec<RowObject>,
    /// Why models cannot be used whose tables could not be brought to what they say.
    unusable: OnceCell<BTreeMap<String, Error>>,
}

/// Where models are kept, and with which secret.
#[derive(Clone, Debug, Default)]
pub struct ModelSettings {
    /// Where their tables are.
    pub store: ModelStore,
    /// The secret that columns with `crypt: AES` are encrypted with: at least 32 characters.
    pub key: Option<ModelSecret>,
}

/// A secret that does not print itself.
#[derive(Clone)]
pub struct ModelSecret(pub String);

impl fmt::Debug for ModelSecret {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("ModelSecret")
    }
}

/// What models are made with, beside their definitions.
pub struct ModelBackend {
    /// The database.
    pub database: Arc<dyn Database>,
    /// What encrypts columns.
    pub cipher: ColumnCipher,
    /// The rows of `__yao.role`.
    pub roles: Vec<RowObject>,
}

impl TableModels {
    /// Models over a database, which is asked for nothing yet.
    pub fn new(models: BTreeMap<String, Result<Arc<TableModel>>>, with: ModelBackend) -> Self {
        Self {
            models,
            database: with.database,
            cipher: with.cipher,
            roles: with.roles,
            unusable: OnceCell::new(),
        }
    }

    /// The model of this id. `near` is the id of a model: those beside it are found by their last name.
    pub fn find(&self, id: &str, near: &str) -> Result<Arc<TableModel>> {
        let found = candidates(id, near).find_map(|id| self.models.get(&id));
        let found = found.cloned();
        found.unwrap_or_else(|| Err(Error::not_found("model", id)))
    }

    /// Whether there is a model of this id, even a broken one.
    pub fn has(&self, id: &str) -> bool {
        self.models.contains_key(id)
    }

    /// All ids.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.models.keys().map(String::as_str)
    }

    /// The models that can be used as far as their files say, in order of their ids.
    pub fn all(&self) -> impl Iterator<Item = Arc<TableModel>> {
        self.models.values().flatten().cloned()
    }

    /// The database.
    pub fn database(&self) -> &Arc<dyn Database> {
        &self.database
    }

    /// Brings all tables to what their models say, once. The answer is why models cannot be used; `Err` is that the database
    /// cannot be reached, and the next call tries again.
    pub async fn prepare(&self) -> Result<&BTreeMap<String, Error>> {
        self.unusable.get_or_try_init(|| self.migrate()).await
    }

    /// Begins a transaction for a model, whose table is as the model says then.
    pub async fn begin(
        &self,
        model: &TableModel,
        access: AccessMode,
    ) -> Result<Box<dyn Transaction>> {
        let unfit = self.prepare().await?;
        if let Some(error) = unfit.get(&model.id) {
            return Err(error.clone());
        }
        self.database.begin(access).await
    }

    /// Whether a model can be used.
    pub async fn is_fit(&self, id: &str) -> Result<bool> {
        let is_right = matches!(self.models.get(id), Some(Ok(_)));
        Ok(is_right && !self.prepare().await?.contains_key(id))
    }

    async fn migrate(&self) -> Result<BTreeMap<String, Error>> {
        let mut unfit = BTreeMap::new();
        let is_rekeyed = self.is_being_rekeyed().await?;
        for model in self.all() {
            let lacks = self.lacks_key(&model);
            let rekeyed = is_rekeyed.then(|| being_rekeyed(&model)).flatten();
            let done = match lacks.or(rekeyed) {
                Some(error) => Err(error),
                None => {
                    let rows = (model.id == system::ROLE).then_some(self.roles.as_slice());
                    migrate::migrate(self, &model, rows).await
                }
            };
            match done {
                Ok(()) => {}
                Err(error) if error.code == ErrorCode::Unavailable => return Err(error),
                Err(error) => drop(unfit.insert(model.id.clone(), error)),
            }
        }
        self.add_dependents(&mut unfit);
        Ok(unfit)
    }

    /// What needs a model that cannot be used cannot be used either.
    fn add_dependents(&self, unfit: &mut BTreeMap<String, Error>) {
        loop {
            let fit = self.all().filter(|model| !unfit.contains_key(&model.id));
            let next = fit.filter_map(|model| {
                let error = model.needs().find_map(|id| unfit.get(id))?;
                Some((model.id.clone(), error.clone()))
            });
            let next: Vec<(String, Error)> = next.collect();
            if next.is_empty() {
                return;
            }
            unfit.extend(next);
        }
    }

    /// Whether some columns are encrypted.
    pub fn has_encrypted(&self) -> bool {
        self.all().any(|model| sealed(&model).is_some())
    }

    /// Whether a change of the key was begun and has not come to its end.
    async fn is_being_rekeyed(&self) -> Result<bool> {
        Ok(self.has_encrypted() && rekey::is_unfinished(self.database.as_ref()).await?)
    }

    fn lacks_key(&self, model: &TableModel) -> Option<Error> {
        let secret = sealed(model)?;
        (!self.cipher.has_key()).then(|| {
            let (id, name) = (&model.id, &secret.name);
            let message = format!(
                "models.{id}: column \"{name}\" is encrypted, which needs a key: set AMBIT_MODEL_KEY"
            );
            Error::new(ErrorCode::ConfigError, message)
        })
    }

    /// A value as it is bound for a column, encrypted where the column is; or what it must be instead, as in `must be a
    /// string, not this number`.
    pub fn bind(
        &self,
        model: &TableModel,
        column: &TableColumn,
        value: &Value,
    ) -> Result<SqlValue, String> {
        let bound = column.plain(value)?;
        match (column.crypt, bound) {
            (Some(ColumnCrypt::Password), _) => {
                Err("is a password, which nothing is found by".to_owned())
            }
            (Some(ColumnCrypt::Aes), SqlValue::String(Some(text))) => {
                let sealed = self.cipher.seal(&associated_data(model, column), &text)?;
                Ok(SqlValue::String(Some(sealed)))
            }
            (_, bound) => Ok(bound),
        }
    }

    /// What a script gets of a cell of a column.
    pub fn script_value(
        &self,
        model: &TableModel,
        column: &TableColumn,
        cell: SqlCell,
    ) -> Result<Value> {
        let cell = match (column.crypt, cell) {
            (Some(ColumnCrypt::Aes), SqlCell::Text(sealed)) => {
                let text = self.cipher.open(&associated_data(model, column), &sealed);
                SqlCell::Text(text.map_err(|fault| undecryptable(model, &column.name, &fault))?)
            }
            (_, cell) => cell,
        };
        let shown = column.script_value(cell);
        shown.map_err(|fault| self.damaged(model, &column.name, &fault))
    }

    fn damaged(&self, model: &TableModel, column: &str, fault: &str) -> Error {
        let message = format!("models.{}: {column} {fault}", model.id);
        Error::new(ErrorCode::Corrupt, message)
    }
}

/// The first of its columns that is encrypted.
fn sealed(model: &TableModel) -> Option<&TableColumn> {
    model.columns.iter().find(|column| column.is_sealed())
}

/// Why a model cannot be used of which some values are encrypted with another key already.
fn being_rekeyed(model: &TableModel) -> Option<Error> {
    let (id, name) = (&model.id, &sealed(model)?.name);
    let message = format!(
        "models.{id}: column \"{name}\" is being encrypted with another key, or that was broken off: run `ambit models rekey` to its end"
    );
    Some(Error::new(ErrorCode::ConfigError, message))
}

/// A value that the key does not open. What would make it work is for whoever has the key.
fn undecryptable(model: &TableModel, column: &str, fault: &str) -> Error {
    let place = format!("models.{}: column \"{column}\"", model.id);
    let message = format!("{place} cannot be decrypted; the server's log says why");
    Error {
        cause: Some(Arc::new(StorageError::corrupt(place, fault))),
        ..Error::new(ErrorCode::Corrupt, message)
    }
}

/// What an encrypted value belongs to, and cannot be read without.
fn associated_data(model: &TableModel, column: &TableColumn) -> String {
    format!("{}.{}", model.table, column.name)
}

/// The ids that a name may mean beside a model, the nearest first.
pub fn candidates(name: &str, near: &str) -> impl Iterator<Item = String> {
    let beside = near.rsplit_once('.');
    let beside = beside.map(|(folder, _)| format!("{folder}.{name}"));
    beside.into_iter().chain([name.to_owned()])
}
