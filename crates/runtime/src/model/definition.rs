//! What a model is: a table, its columns, and how it hangs together with others. Plain data, made from a file of the app and
//! never changed.

use super::column_kind::ColumnKind;
use super::validate::ColumnValidation;
use crate::config;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// A row, as scripts and files give it: values by the names of columns.
pub type RowObject = Map<String, Value>;

/// A model of the app, or one that is built in.
#[derive(Debug, Default)]
pub struct TableModel {
    /// Dotted id, as processes name it: `pet`, `agents.expense.voucher`.
    pub id: String,
    /// What people call it.
    pub name: String,
    /// A longer name.
    pub label: String,
    /// What it is for.
    pub description: String,
    /// The file, below the app's folder; none for one that is built in.
    pub file: String,
    /// The table, with its prefix.
    pub table: String,
    /// All columns in order, those that options add last.
    pub columns: Vec<TableColumn>,
    /// The related models by the relation's name. Their ids are whole, however the file names them.
    pub relations: BTreeMap<String, ModelRelation>,
    /// Indexes, beside those of single columns.
    pub indexes: Vec<TableIndex>,
    /// Rows of an empty table.
    pub values: Vec<RowObject>,
    /// What it does by itself.
    pub options: ModelOptions,
    /// The definition as it is written.
    pub source: Value,
}

/// One column.
#[derive(Debug)]
pub struct TableColumn {
    /// Its name in rows and in the table.
    pub name: String,
    /// What people call it.
    pub label: String,
    /// What its values are.
    pub kind: &'static ColumnKind,
    /// The most characters.
    pub length: Option<u32>,
    /// Digits of a decimal number.
    pub precision: Option<u32>,
    /// Digits behind its point.
    pub scale: Option<u32>,
    /// The values of an `enum`.
    pub option: Vec<String>,
    /// Whether it may be empty.
    pub is_nullable: bool,
    /// Whether it names its row.
    pub is_primary: bool,
    /// Whether no two rows have the same value.
    pub is_unique: bool,
    /// Whether it has an index of its own.
    pub is_indexed: bool,
    /// What a new row has that does not give it.
    pub default: Option<ColumnDefault>,
    /// How its values are kept secret.
    pub crypt: Option<ColumnCrypt>,
    /// What its values must be.
    pub validations: Vec<ColumnValidation>,
}

/// What a new row has in a column that it does not give.
#[derive(Clone, Debug, PartialEq)]
pub enum ColumnDefault {
    /// This value.
    Value(Value),
    /// The present moment.
    Now,
    /// A new UUID.
    Uuid,
}

/// How values are kept secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnCrypt {
    /// Encrypted; read as they were, found by equality only.
    Aes,
    /// Hashed, and never read again.
    Password,
}

/// An index over several columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableIndex {
    /// Its name within the model.
    pub name: String,
    /// Its columns in order.
    pub columns: Vec<String>,
    /// Whether no two rows have the same values.
    pub is_unique: bool,
}

/// How rows of one model lead to rows of another.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelRelation {
    /// One or many, and whose column holds whose.
    pub kind: RelationKind,
    /// The related model's whole id.
    pub model: String,
    /// A column of the related model.
    pub key: String,
    /// A column of this model; in `links`, of the model of the link before.
    pub foreign: String,
    /// A QueryParam over the related rows.
    pub query: Option<Value>,
    /// For the kinds that lead through others: each step in order; `model`, `key` and `foreign` above are then those of the
    /// last one.
    pub links: Vec<Self>,
}

config! {
    /// The kinds of relations.
    pub enum RelationKind {
        /// One row of the other.
        HasOne = "hasOne",
        /// Many rows of the other.
        HasMany = "hasMany",
        /// One row, through others.
        HasOneThrough = "hasOneThrough",
        /// Many rows, through others.
        HasManyThrough = "hasManyThrough",
        /// The row that this one belongs to.
        BelongsTo = "belongsTo",
    }
}

/// `option` of a model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelOptions {
    /// `created_at` and `updated_at`.
    pub timestamps: bool,
    /// Deleted rows stay, with `deleted_at`.
    pub soft_deletes: bool,
    /// Rows belong to people, teams and tenants.
    pub permission: Option<ModelPermission>,
    /// [`TRACKINGS`].
    pub trackings: bool,
    /// The table is somebody else's: it is used as it is, never made or changed.
    pub read_only: bool,
    /// Its rows can be read only; it is one of Ambit's own.
    pub is_system: bool,
}

/// `option.permission`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelPermission {
    /// The column for a key of `constraints.extra`; none where that key is declared not to apply.
    pub extra: BTreeMap<String, Option<String>>,
}

/// Who made a row.
pub const CREATED_BY: &str = "__yao_created_by";
/// Who changed it last.
pub const UPDATED_BY: &str = "__yao_updated_by";
/// Whose team it is of.
pub const TEAM: &str = "__yao_team_id";
/// Whose tenant it is of.
pub const TENANT: &str = "__yao_tenant_id";
/// Who made it, who changed it last and who deleted it, where that is tracked.
pub const TRACKINGS: [&str; 3] = ["created_by", "updated_by", "deleted_by"];
/// When it was made.
pub const CREATED_AT: &str = "created_at";
/// When it was changed last.
pub const UPDATED_AT: &str = "updated_at";
/// When it was deleted.
pub const DELETED_AT: &str = "deleted_at";

impl TableModel {
    /// The column of this name.
    pub fn column(&self, name: &str) -> Option<&TableColumn> {
        self.columns.iter().find(|column| column.name == name)
    }

    /// The column that names a row, if there is one.
    pub fn key(&self) -> Option<&TableColumn> {
        self.columns.iter().find(|column| column.is_primary)
    }

    /// The ids of the models that its relations lead to, or through.
    pub fn needs(&self) -> impl Iterator<Item = &str> {
        let relations = self.relations.values();
        let links = relations.flat_map(|it| std::iter::once(it).chain(&it.links));
        links.map(|link| link.model.as_str())
    }

    /// The columns that can be read: all but hashed passwords.
    pub fn readable(&self) -> impl Iterator<Item = &TableColumn> {
        self.columns.iter().filter(|column| column.is_readable())
    }
}

impl TableColumn {
    /// A plain column that may be empty.
    pub fn new(name: &str, kind: &'static ColumnKind) -> Self {
        Self {
            name: name.to_owned(),
            label: String::new(),
            kind,
            length: None,
            precision: None,
            scale: None,
            option: Vec::new(),
            is_nullable: true,
            is_primary: false,
            is_unique: false,
            is_indexed: false,
            default: None,
            crypt: None,
            validations: Vec::new(),
        }
    }

    /// Whether its values may be told.
    pub fn is_readable(&self) -> bool {
        self.crypt != Some(ColumnCrypt::Password)
    }

    /// Whether the store gives each new row a number.
    pub fn is_counted(&self) -> bool {
        self.is_primary && self.kind.is_counted
    }
}

impl RelationKind {
    /// Whether there may be more than one related row.
    pub fn is_many(self) -> bool {
        matches!(self, Self::HasMany | Self::HasManyThrough)
    }
}
