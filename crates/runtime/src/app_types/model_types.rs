//! The rows of models as TypeScript: as scripts read them and as they write them.

use super::quoted;
use crate::app::App;
use crate::model::TableModel;
use crate::model::column_kind::{ColumnShape, SAFE};
use crate::model::definition::{
    CREATED_AT, CREATED_BY, ModelRelation, TEAM, TENANT, TRACKINGS, TableColumn, UPDATED_AT,
    UPDATED_BY,
};
use std::collections::BTreeMap;

/// Columns that new rows get by themselves.
const STAMPS: [&str; 6] = [CREATED_AT, UPDATED_AT, CREATED_BY, UPDATED_BY, TEAM, TENANT];

/// The models of an app by id.
pub(super) fn members(app: &App) -> BTreeMap<String, String> {
    let models = app.models.values().flatten();
    let models = models.map(|model| (model.id.clone(), members_of(app, model)));
    models.collect()
}

fn members_of(app: &App, model: &TableModel) -> String {
    let read = model.readable().map(|column| {
        let (name, kind) = (quoted(&column.name), read_type(column));
        format!("        {name}: {kind};\n")
    });
    let related = model.relations.iter().map(|(name, relation)| {
        let (name, kind) = (quoted(name), related_type(app, relation));
        format!("        {name}?: {kind};\n")
    });
    let written = model.columns.iter().map(|column| {
        let mark = if is_needed(column) { "" } else { "?" };
        let (name, kind) = (quoted(&column.name), written_type(column));
        format!("        {name}{mark}: {kind};\n")
    });
    let row: String = read.chain(related).collect();
    let new: String = written.collect();
    let key = model.key().map(shown_type);
    let key = key.unwrap_or_else(|| "null".to_owned());
    format!(
        "{{\n      row: {{\n{row}      }};\n      new: {{\n{new}      }};\n      key: {key};\n    }}"
    )
}

/// Whether a new row must give it.
fn is_needed(column: &TableColumn) -> bool {
    let name = column.name.as_str();
    let is_stamped = STAMPS.contains(&name) || TRACKINGS.contains(&name);
    let is_filled = column.is_nullable || column.is_counted() || column.default.is_some();
    !is_filled && !is_stamped
}

/// What is loaded with a row.
fn related_type(app: &App, relation: &ModelRelation) -> String {
    let is_known = app.models.get(&relation.model).is_some_and(Result::is_ok);
    let row = match is_known {
        true => format!("AppModels[{}][\"row\"]", quoted(&relation.model)),
        false => "any".to_owned(),
    };
    match relation.kind.is_many() {
        true => format!("{row}[]"),
        false => format!("{row} | null"),
    }
}

fn read_type(column: &TableColumn) -> String {
    with_null(shown_type(column), column.is_nullable && !column.is_primary)
}

/// What a script gets of a value that is there.
fn shown_type(column: &TableColumn) -> String {
    match column.kind.shape {
        // Larger numbers than JavaScript has are texts; those that the store counts up do not become so large.
        ColumnShape::Whole(_, most) if most.unsigned_abs() > SAFE && !column.is_counted() => {
            "number | string".to_owned()
        }
        ColumnShape::Decimal { .. } if column.is_long_decimal() => "string".to_owned(),
        ColumnShape::Whole(..) | ColumnShape::Real { .. } | ColumnShape::Decimal { .. } => {
            "number".to_owned()
        }
        ColumnShape::Boolean => "boolean".to_owned(),
        _ => textual(column),
    }
}

fn written_type(column: &TableColumn) -> String {
    let kind = match column.kind.shape {
        ColumnShape::Whole(..) | ColumnShape::Decimal { .. } => "number | string".to_owned(),
        ColumnShape::Real { .. } => "number".to_owned(),
        ColumnShape::Boolean => "boolean | 0 | 1".to_owned(),
        _ => textual(column),
    };
    with_null(kind, column.is_nullable || column.is_counted())
}

/// The kinds that are read as they are written.
fn textual(column: &TableColumn) -> String {
    match column.kind.shape {
        ColumnShape::Json => "any".to_owned(),
        ColumnShape::Enum if !column.option.is_empty() => {
            let options: Vec<String> = column.option.iter().map(|text| quoted(text)).collect();
            options.join(" | ")
        }
        _ => "string".to_owned(),
    }
}

fn with_null(kind: String, may_be_null: bool) -> String {
    match may_be_null {
        true => format!("{kind} | null"),
        false => kind,
    }
}
