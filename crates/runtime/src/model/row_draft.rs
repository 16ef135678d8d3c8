//! What is written of a row: every column known, stamped, filled up, checked and bound, before any SQL.

use super::definition::{ColumnCrypt, ColumnDefault, RowObject, TableColumn, TableModel};
use super::{TableModels, cipher, stamp};
use crate::access::Authorized;
use crate::error::{Error, Result};
use crate::model::SqlValue;
use crate::uuid;
use ambit_storage::suggestion;
use serde_json::{Value, json};

/// The columns that are written, with their values.
pub type ColumnValues = Vec<(String, SqlValue)>;

/// Rows of a model on their way to its table.
#[derive(Clone, Copy)]
pub struct RowDraft<'a> {
    /// The models.
    pub models: &'a TableModels,
    /// The model.
    pub model: &'a TableModel,
    /// Who writes; nobody for the first rows of tables.
    pub who: Option<&'a Authorized>,
}

impl RowDraft<'_> {
    /// A new row.
    pub async fn create(&self, mut row: RowObject) -> Result<ColumnValues> {
        self.check_columns(&row)?;
        stamp::create(self.model, self.who, &mut row)?;
        for column in &self.model.columns {
            if row.contains_key(&column.name) {
                continue;
            }
            let initial = match &column.default {
                Some(ColumnDefault::Value(value)) => value.clone(),
                Some(ColumnDefault::Now) => stamp::now().into(),
                Some(ColumnDefault::Uuid) => uuid::random().into(),
                None => continue,
            };
            row.insert(column.name.clone(), initial);
        }
        // A number that the store gives is not given.
        if let Some(key) = self.model.key().filter(|key| key.is_counted())
            && row.get(&key.name).is_some_and(Value::is_null)
        {
            row.remove(&key.name);
        }
        let missing = self.model.columns.iter().filter(|column| {
            let is_needed = !column.is_nullable && !column.is_counted();
            is_needed && !row.contains_key(&column.name)
        });
        let missing = missing.map(|column| (column.name.clone(), "is missing".to_owned()));
        self.cells(&row, missing.collect()).await
    }

    /// Changes of a row.
    pub async fn update(&self, mut row: RowObject) -> Result<ColumnValues> {
        self.check_columns(&row)?;
        stamp::update(self.model, self.who, &mut row)?;
        self.cells(&row, Vec::new()).await
    }

    fn check_columns(&self, row: &RowObject) -> Result<()> {
        let mut names = row.keys();
        let Some(unknown) = names.find(|name| self.model.column(name).is_none()) else {
            return Ok(());
        };
        let known = self.model.columns.iter().map(|it| it.name.as_str());
        let hint = suggestion::hint(unknown, known);
        let id = &self.model.id;
        let message = format!("models.{id}: unknown column \"{unknown}\"{hint}");
        Err(Error::invalid(unknown.as_str(), message))
    }

    async fn cells(
        &self,
        row: &RowObject,
        mut faults: Vec<(String, String)>,
    ) -> Result<ColumnValues> {
        let mut cells = ColumnValues::new();
        for column in &self.model.columns {
            let Some(value) = row.get(&column.name) else {
                continue;
            };
            match self.cell(column, value).await? {
                Ok(bound) => cells.push((column.name.clone(), bound)),
                Err(fault) => faults.push((column.name.clone(), fault)),
            }
        }
        match faults.is_empty() {
            true => Ok(cells),
            false => Err(self.refused(&faults)),
        }
    }

    /// A value as it is bound, or what is wrong with it.
    async fn cell(&self, column: &TableColumn, value: &Value) -> Result<Result<SqlValue, String>> {
        if value.is_null() && !column.is_nullable {
            return Ok(Err("must not be null".to_owned()));
        }
        let bound = match column.crypt {
            Some(ColumnCrypt::Password) => column.plain(value),
            _ => self.models.bind(self.model, column, value),
        };
        let bound = match bound {
            Ok(bound) => bound,
            Err(fault) => return Ok(Err(fault)),
        };
        let mut rules = column.validations.iter().filter(|_| !value.is_null());
        if let Some(fault) = rules.find_map(|rule| rule.broken(value)) {
            let fault = fault.replace("{{label}}", &column.label);
            return Ok(Err(fault));
        }
        match (column.crypt, bound) {
            (Some(ColumnCrypt::Password), SqlValue::String(Some(password))) => {
                let hash = tokio::task::spawn_blocking(move || cipher::hash(&password)).await;
                let hash = hash.map_err(|error| Error::internal(error.to_string()))??;
                Ok(Ok(SqlValue::String(Some(hash))))
            }
            (_, bound) => Ok(Ok(bound)),
        }
    }

    fn refused(&self, faults: &[(String, String)]) -> Error {
        let texts = faults
            .iter()
            .map(|(column, fault)| format!("{column} {fault}"));
        let texts: Vec<String> = texts.collect();
        let list = faults
            .iter()
            .map(|(column, fault)| json!({"column": column, "message": fault}));
        let (id, first) = (&self.model.id, faults.first());
        let param = first.map_or("", |(column, _)| column.as_str());
        let message = format!("models.{id}: {}", texts.join("; "));
        Error {
            details: Some(Box::new(json!({"columns": list.collect::<Vec<_>>()}))),
            ..Error::invalid(param, message)
        }
    }
}
