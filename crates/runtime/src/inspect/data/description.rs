//! What is told of models and their rows.

use crate::model::definition::{ColumnCrypt, TableIndex};
use crate::model::{ModelRelation, TableColumn, TableModel};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

/// The models that somebody may look into.
#[derive(Debug, Serialize, ToSchema)]
pub struct DataModelList {
    /// By their ids.
    pub items: Vec<DataModel>,
}

/// A model.
#[derive(Debug, Serialize, ToSchema)]
pub struct DataModel {
    /// Its dotted id.
    pub id: String,
    /// What people call it.
    #[schema(required)]
    pub label: Option<String>,
    /// Its table.
    pub table: String,
    /// Whether its rows belong to people, teams and tenants.
    pub permission: bool,
    /// How many rows the caller may see; nothing where that could not be counted in time.
    #[schema(required)]
    pub rows: Option<u64>,
}

/// What a model is made of.
#[derive(Debug, Serialize, ToSchema)]
pub struct DataModelDetails {
    /// Its dotted id.
    pub id: String,
    /// What people call it.
    #[schema(required)]
    pub label: Option<String>,
    /// Its table.
    pub table: String,
    /// Whether its rows belong to people, teams and tenants.
    pub permission: bool,
    /// Its columns.
    pub columns: Vec<DataColumn>,
    /// How its rows lead to others, as far as those are for the caller.
    pub relations: Vec<DataRelation>,
    /// Indexes over several columns.
    pub indexes: Vec<DataIndex>,
}

/// A column.
#[derive(Debug, Serialize, ToSchema)]
pub struct DataColumn {
    /// Its name.
    pub name: String,
    /// What people call it.
    #[schema(required)]
    pub label: Option<String>,
    /// What its values are, as files name it.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// The most characters.
    #[schema(required)]
    pub length: Option<u32>,
    /// The values of an `enum`.
    pub option: Vec<String>,
    /// Whether it may be empty.
    pub nullable: bool,
    /// Whether it names its row.
    pub primary: bool,
    /// Whether no two rows have the same value.
    pub unique: bool,
    /// Whether it has an index of its own.
    pub index: bool,
    /// `AES` or `PASSWORD` where its values are secret, which are hidden here.
    #[schema(required)]
    pub crypt: Option<&'static str>,
}

/// How rows of a model lead to rows of another.
#[derive(Debug, Serialize, ToSchema)]
pub struct DataRelation {
    /// Its name.
    pub name: String,
    /// `hasOne`, `hasMany`, `hasOneThrough`, `hasManyThrough` or `belongsTo`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// The related model's id.
    pub model: String,
    /// A column of the related model.
    pub key: String,
    /// A column of this model, or of the one that the way leads through last.
    pub foreign: String,
}

/// An index over several columns.
#[derive(Debug, Serialize, ToSchema)]
pub struct DataIndex {
    /// Its name within the model.
    pub name: String,
    /// Its columns in order.
    pub columns: Vec<String>,
    /// Whether no two rows have the same values.
    pub unique: bool,
}

/// A page of rows.
#[derive(Debug, Deserialize, Serialize, ToSchema)]
pub struct DataPage {
    /// The rows; `{"hidden": true}` stands for what is encrypted, and for what only that leads to.
    #[schema(value_type = Vec<Object>)]
    pub data: Vec<Map<String, Value>>,
    /// Which page this is, from 1.
    pub page: u64,
    /// How many rows a page has.
    pub pagesize: u64,
    /// How many pages there are.
    pub pagecnt: u64,
    /// The next page, or -1.
    pub next: i64,
    /// The page before, or -1.
    pub prev: i64,
    /// How many rows there are.
    pub total: u64,
    /// What leaves rows out that are there: `tenant_id` and names of constraints, and why nothing of a model is reached.
    #[serde(default)]
    pub limited_by: Vec<String>,
}

impl DataModel {
    /// A model of which so many rows are seen.
    pub(super) fn new(model: &TableModel, rows: Option<u64>) -> Self {
        Self {
            id: model.id.clone(),
            label: label(model),
            table: model.table.clone(),
            permission: model.options.permission.is_some(),
            rows,
        }
    }
}

impl DataModelDetails {
    /// A model with these of its relations.
    pub(super) fn new(model: &TableModel, relations: Vec<DataRelation>) -> Self {
        Self {
            id: model.id.clone(),
            label: label(model),
            table: model.table.clone(),
            permission: model.options.permission.is_some(),
            columns: model.columns.iter().map(DataColumn::from).collect(),
            relations,
            indexes: model.indexes.iter().map(DataIndex::from).collect(),
        }
    }
}

fn label(model: &TableModel) -> Option<String> {
    let names = [&model.label, &model.name].into_iter();
    let mut names = names.filter(|text| !text.is_empty());
    names.next().cloned()
}

impl From<&TableColumn> for DataColumn {
    fn from(column: &TableColumn) -> Self {
        Self {
            name: column.name.clone(),
            label: (!column.label.is_empty()).then(|| column.label.clone()),
            kind: column.kind.name,
            length: column.length,
            option: column.option.clone(),
            nullable: column.is_nullable,
            primary: column.is_primary,
            unique: column.is_unique,
            index: column.is_indexed,
            crypt: column.crypt.map(|crypt| match crypt {
                ColumnCrypt::Aes => "AES",
                ColumnCrypt::Password => "PASSWORD",
            }),
        }
    }
}

impl From<&TableIndex> for DataIndex {
    fn from(index: &TableIndex) -> Self {
        Self {
            name: index.name.clone(),
            columns: index.columns.clone(),
            unique: index.is_unique,
        }
    }
}

impl DataRelation {
    pub(super) fn of(name: &str, relation: &ModelRelation) -> Self {
        Self {
            name: name.to_owned(),
            kind: relation.kind.name(),
            model: relation.model.clone(),
            key: relation.key.clone(),
            foreign: relation.foreign.clone(),
        }
    }
}
