//! Another key for encrypted columns: what the old one has encrypted is encrypted with the new one, in batches.
//!
//! A value that the new key opens is done, so that a run which was killed can be repeated from its beginning, with the same two keys. Until
//! a run has come to its end the database says so, and encrypted models are not used.

mod column_pages;

use super::database::postgres::WITHOUT_TIME_LIMIT;
use super::database::{AccessMode, Database, SqlDialect, Transaction, end};
use super::database_note;
use super::definition::{TableColumn, TableModel};
use super::{ColumnCipher, TableModels, associated_data, migrate};
use crate::error::{Error, ErrorCode, Result};
use column_pages::{ColumnPages, ResealedValue};
use std::collections::BTreeMap;

/// The note of a run that has not come to its end.
const NOTE: &str = "rekey";
/// What the texts of the note are encrypted with, beside a key.
const NOTE_DATA: &str = "ambit_database.rekey";

/// What came of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RekeyReport {
    /// How many values of rows are encrypted anew.
    pub changed: u64,
    /// How many values neither key opens, by model and column. They are as they were.
    pub unreadable: BTreeMap<String, u64>,
}

/// Whether a run was begun and has not come to its end.
pub async fn is_unfinished(database: &dyn Database) -> Result<bool> {
    Ok(database_note::read(database, NOTE).await?.is_some())
}

/// Encrypts what the key of these models has encrypted with another one.
pub async fn rekey(models: &TableModels, new: &ColumnCipher) -> Result<RekeyReport> {
    begin(models, new).await?;
    let mut rotation = KeyRotation {
        models,
        new,
        opened: 0,
        report: RekeyReport::default(),
    };
    for model in models.all() {
        for column in model.columns.iter().filter(|it| it.is_sealed()) {
            rotation.column(&model, column).await?;
        }
    }
    forget(models).await?;
    if rotation.opened == 0 && !rotation.report.unreadable.is_empty() {
        let message = "no value can be read with either key, and all are as they were: AMBIT_MODEL_KEY must be the key that they are encrypted with";
        return Err(Error::new(ErrorCode::ConfigError, message));
    }
    Ok(rotation.report)
}

/// Notes that a run has begun, with a text that each of the two keys encrypts. A run that was broken off is gone on with by these alone: by
/// another key it would come to its end with values that nobody can read. Says whether no run with these keys had begun before.
pub async fn begin(models: &TableModels, new: &ColumnCipher) -> Result<bool> {
    if let Some((id, Err(error))) = models.models.iter().find(|(_, model)| model.is_err()) {
        let message = format!(
            "models.{id} is broken, so that its encrypted columns are not known: {}",
            error.message
        );
        return Err(Error::new(ErrorCode::ConfigError, message));
    }
    let sealed = |key: &ColumnCipher| key.seal(NOTE_DATA, "").map_err(Error::internal);
    let note = format!("{} {}", sealed(&models.cipher)?, sealed(new)?);
    let begun = database_note::read(models.database.as_ref(), NOTE).await?;
    if begun.as_ref().is_some_and(|begun| *begun != note) {
        let message = "a run with other keys was broken off: repeat it with AMBIT_MODEL_KEY and AMBIT_MODEL_KEY_NEW as they were then";
        return Err(Error::new(ErrorCode::Conflict, message));
    }
    let mut transaction = models.database.begin(AccessMode::Write).await?;
    let written = database_note::write(transaction.as_mut(), NOTE, &note).await;
    end(transaction, written).await?;
    Ok(begun.is_none())
}

/// Notes that no run is under way.
pub async fn forget(models: &TableModels) -> Result<()> {
    let mut transaction = models.database.begin(AccessMode::Write).await?;
    let erased = database_note::erase(transaction.as_mut(), NOTE).await;
    end(transaction, erased).await
}

struct KeyRotation<'a> {
    models: &'a TableModels,
    new: &'a ColumnCipher,
    /// How many values one of the keys opens.
    opened: u64,
    report: RekeyReport,
}

impl KeyRotation<'_> {
    async fn column(&mut self, model: &TableModel, column: &TableColumn) -> Result<()> {
        let mut transaction = self.models.database.begin(AccessMode::Read).await?;
        let stored = migrate::stored_columns(self.models, model, transaction.as_mut()).await?;
        // A model that was never served has no table, and a new column may not be in it yet.
        if !stored.iter().any(|(name, _)| *name == column.name) {
            return transaction.commit().await;
        }
        let mut pages = ColumnPages::of(transaction.as_mut(), model, column).await?;
        transaction.commit().await?;
        loop {
            let mut transaction = self.begin().await?;
            let Some(page) = pages.next(transaction.as_mut()).await? else {
                // A transaction that is dropped takes its connection with it.
                return transaction.commit().await;
            };
            let resealed = self.reseal(model, column, page.values)?;
            let changed = match resealed.is_empty() {
                true => Ok(0),
                false => {
                    let statement = pages.change(transaction.dialect(), &page.last, &resealed);
                    transaction.run(statement).await
                }
            };
            self.report.changed += end(transaction, changed).await?;
            pages.go_behind(page.last);
        }
    }

    /// Begins a batch. Finding its values may read a large part of the table, which takes longer than a query may.
    async fn begin(&self) -> Result<Box<dyn Transaction>> {
        let mut transaction = self.models.database.begin(AccessMode::Write).await?;
        if transaction.dialect() == SqlDialect::Postgres {
            let unlimited = WITHOUT_TIME_LIMIT.to_owned();
            transaction.run(unlimited.into()).await?;
        }
        Ok(transaction)
    }

    fn reseal(
        &mut self,
        model: &TableModel,
        column: &TableColumn,
        values: Vec<String>,
    ) -> Result<Vec<ResealedValue>> {
        let of = associated_data(model, column);
        let mut resealed = Vec::new();
        for stored in values {
            if self.new.open(&of, &stored).is_ok() {
                self.opened += 1;
                continue;
            }
            let Ok(plain) = self.models.cipher.open(&of, &stored) else {
                let place = format!("models.{}: {}", model.id, column.name);
                *self.report.unreadable.entry(place).or_default() += 1;
                continue;
            };
            self.opened += 1;
            let wanted = self.new.seal(&of, &plain).map_err(Error::internal)?;
            resealed.push(ResealedValue { stored, wanted });
        }
        Ok(resealed)
    }
}
