//! The keys of a model's file.

use crate::app::model::option::OwnerColumn;
use crate::app::read::ValueKind;
use crate::config;
use crate::model::definition::{ModelPermission, RelationKind};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

config! {
    /// `models/**.mod.yao`: a table of the app or of an agent.
    pub struct ModelFile {
        /// What people call the model.
        name: String,
        /// A shorter name.
        label: String,
        /// What its rows are.
        description: String,
        /// The table.
        table: TableSettings,
        /// The columns.
        #[required]
        columns: Vec<ColumnSettings>,
        /// How rows are related to those of other models, by the relations' names.
        relations: BTreeMap<String, RelationSettings>,
        /// What is found fast, and what cannot be there twice.
        indexes: Vec<IndexSettings>,
        /// Rows of a new table.
        values: Vec<Map<String, Value>>,
        /// What the model has beside its columns.
        #[guard]
        option: ModelFileOptions,
        unused {
            tags: " in Ambit",
            sort: " in Ambit",
            builtin: " in Ambit",
            readonly: "; use \"option.read_only\"",
            uid: " in Ambit",
        }
    }

    /// The table of a model.
    pub struct TableSettings {
        /// Its name; without it that of the file.
        name: Option<String>,
        /// What its name begins with.
        prefix: String,
        /// What it is, for people.
        comment: String,
        unused {
            engine: " in Ambit",
            charset: " in Ambit",
            collation: " in Ambit",
            primarykeys: "; set \"primary\" of the column",
        }
    }

    /// A column of a model.
    pub struct ColumnSettings {
        /// Its name: letters, digits and `_`.
        #[required]
        name: String,
        /// What it holds: `ID`, `string`, `integer`, `json`, `datetime` …
        #[required]
        #[key = "type"]
        kind: String,
        /// What people call it.
        label: Option<String>,
        /// The same as `label`.
        title: String,
        /// What it means.
        description: String,
        /// What it is, for people who look at the database.
        comment: String,
        /// An example.
        example: Value,
        /// The most letters of a `string`.
        length: Option<u32>,
        /// The digits of a decimal number.
        precision: Option<u32>,
        /// How many of them are behind the point.
        scale: Option<u32>,
        /// Whether it may be empty.
        nullable: bool,
        /// What a new row has there.
        default: Option<Value>,
        /// The same in words of a database: `NOW()`, `NULL`, `TRUE`, a number, a text in `''`.
        default_raw: Option<String>,
        /// The values of an `enum`.
        option: Vec<String>,
        /// Whether it is found fast.
        index: bool,
        /// Whether no two rows have the same.
        unique: bool,
        /// Whether it is the primary key.
        primary: bool,
        /// `UUID`: a new row has one there.
        generate: Option<String>,
        /// How it is kept: `AES`, so that it can be read again, or `PASSWORD`, so that it can only be compared.
        #[guard]
        crypt: Option<String>,
        /// What its values must be.
        validations: Vec<ValidationSettings>,
    }

    /// What a column's values must be.
    pub struct ValidationSettings {
        /// `typeof`, `min`, `max`, `enum`, `pattern`, `email` …
        #[required]
        method: String,
        /// What it is compared with: a value or a list.
        args: Option<Value>,
        /// What is said of a value that is not so.
        message: String,
    }

    /// How a model's rows are related to those of another one.
    pub struct RelationSettings {
        /// How many there are, and who holds the key.
        #[required]
        #[key = "type"]
        kind: RelationKind,
        /// Over other models: the steps to the last one.
        links: Vec<LinkSettings>,
        include { step: StepSettings }
    }

    /// A step from a model to another.
    pub struct StepSettings {
        /// The other model.
        model: Option<String>,
        /// The column of the other model.
        key: Option<String>,
        /// The column of this model.
        foreign: Option<String>,
        /// What is asked of the other model.
        query: Option<Value> as ValueKind::Map(&ValueKind::Any),
    }

    /// A step of a relation over other models; `model`, `key` and `foreign` must be there.
    pub struct LinkSettings {
        /// How many there are.
        #[key = "type"]
        kind: Option<RelationKind>,
        include { step: StepSettings }
    }

    /// What is found fast, or cannot be there twice.
    pub struct IndexSettings {
        /// Its name; without it those of its columns.
        name: Option<String>,
        /// The columns.
        #[required]
        columns: Vec<String>,
        /// Whether no two rows have the same there (`unique`).
        #[key = "type"]
        kind: Option<IndexKind> as ValueKind::Optional(&IndexKind::KIND),
        /// What it is for.
        comment: String,
    }

    /// What an index is for.
    pub enum IndexKind {
        /// Finding fast.
        Index = "index",
        /// No two rows have the same.
        Unique = "unique",
    }

    /// What a model has beside its columns.
    pub struct ModelFileOptions {
        /// The columns `created_at` and `updated_at`.
        timestamps: bool,
        /// The column `deleted_at`: rows are marked, and not removed.
        soft_deletes: bool,
        /// Whether callers reach only the rows of their own and of their team.
        #[guard]
        permission: Option<ModelPermission>,
        /// The columns of who made, changed and removed a row.
        trackings: bool,
        /// Whether the table is somebody else's: nothing of it is changed.
        #[guard]
        read_only: bool,
        unused { logging: " in Ambit", constraints: " in Ambit" }
    }

    /// Which rows callers reach.
    pub struct PermissionSettings {
        /// Columns that hold a caller's own values, by the values' names; `false` where one does not apply.
        extra: BTreeMap<String, OwnerColumn>,
    }
}
