//! `option` of a model, and the columns that it adds.

use super::keys::{ModelFileOptions, PermissionSettings};
use crate::app::problem::ProblemReport;
use crate::app::read::{ConfigNode, Setting, ValueKind};
use crate::model::column_kind;
use crate::model::definition::{
    CREATED_AT, CREATED_BY, DELETED_AT, ModelOptions, ModelPermission, TEAM, TENANT, TRACKINGS,
    TableColumn, TableIndex, TableModel, UPDATED_AT, UPDATED_BY,
};
use ambit_storage::suggestion;
use serde_json::Value;

/// The options of a model.
pub fn read(given: &ModelFileOptions) -> ModelOptions {
    ModelOptions {
        timestamps: given.timestamps,
        soft_deletes: given.soft_deletes,
        permission: given.permission.clone(),
        trackings: given.trackings,
        read_only: given.read_only,
        is_system: false,
    }
}

/// `true`, or an object with more; `false` says nothing.
impl Setting for ModelPermission {
    const KIND: ValueKind = ValueKind::Either(&[ValueKind::Boolean, PermissionSettings::KIND]);

    fn read(value: Value) -> Option<Self> {
        let given = match value {
            Value::Bool(false) => return None,
            Value::Object(_) => PermissionSettings::read(value)?,
            _ => PermissionSettings::default(),
        };
        let extra = given.extra.into_iter().map(|(key, column)| {
            let column = match column {
                OwnerColumn::SameName => Some(key.clone()),
                OwnerColumn::Named(column) => Some(column),
                OwnerColumn::Absent => None,
            };
            (key, column)
        });
        Some(Self {
            extra: extra.collect(),
        })
    }
}

/// The column that holds one of a caller's own values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum OwnerColumn {
    /// The one of the value's name.
    #[default]
    SameName,
    /// This one.
    Named(String),
    /// None: the value does not apply.
    Absent,
}

impl Setting for OwnerColumn {
    const KIND: ValueKind = ValueKind::Either(&[ValueKind::Text, ValueKind::Boolean]);

    fn read(value: Value) -> Option<Self> {
        Some(match value {
            Value::Bool(false) => Self::Absent,
            Value::String(column) => Self::Named(column),
            _ => Self::SameName,
        })
    }
}

/// The columns of the options that the file does not have itself.
pub fn add_columns(model: &mut TableModel) {
    let options = &model.options;
    let sets: [(bool, &str, &[&str]); 4] = [
        (options.timestamps, "timestamp", &[CREATED_AT, UPDATED_AT]),
        (options.soft_deletes, "timestamp", &[DELETED_AT]),
        (options.trackings, "string", &TRACKINGS),
        (
            options.permission.is_some(),
            "string",
            &[CREATED_BY, UPDATED_BY, TEAM, TENANT],
        ),
    ];
    for (is_on, kind, names) in sets {
        let Some(kind) = column_kind::find(kind).ok().filter(|_| is_on) else {
            continue;
        };
        for name in names {
            if model.column(name).is_none() {
                model.columns.push(TableColumn::new(name, kind));
            }
        }
    }
}

/// What every query of a model with permissions asks for.
pub fn own_index(model: &TableModel) -> Option<TableIndex> {
    model.options.permission.as_ref()?;
    let columns = [TENANT, TEAM, CREATED_BY];
    Some(TableIndex {
        name: "__yao_owner".to_owned(),
        columns: columns.iter().map(|&name| name.to_owned()).collect(),
        is_unique: false,
    })
}

/// Whether the columns that options need are as they must be.
pub fn check(model: &TableModel, node: &ConfigNode, report: &mut ProblemReport) {
    let at = node.position("option");
    if let Some(permission) = &model.options.permission {
        for name in [CREATED_BY, UPDATED_BY, TEAM, TENANT] {
            let is_text = |column: &TableColumn| column.is_searchable() && column.is_nullable;
            if !model.column(name).is_some_and(is_text) {
                let message = format!("column \"{name}\" must be a \"string\" that is nullable");
                report.error(at, message);
            }
        }
        for column in permission.extra.values().flatten() {
            if model.column(column).is_none() {
                let names = model.columns.iter().map(|it| it.name.as_str());
                let hint = suggestion::hint(column, names);
                let message =
                    format!("\"permission.extra\": there is no column \"{column}\"{hint}");
                report.error(at, message);
            }
        }
    }
    if model.options.soft_deletes && !model.column(DELETED_AT).is_some_and(|it| it.is_nullable) {
        let message = format!("column \"{DELETED_AT}\" must be nullable");
        report.error(at, message);
    }
}
