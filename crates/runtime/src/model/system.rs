//! The models that Ambit brings along: `__yao.*`. Scripts read them and never change them.

use super::column_kind;
use super::definition::{ModelOptions, RowObject, TableColumn, TableModel};
use serde_json::{Value, json};

/// The roles of the app's access rules.
pub const ROLE: &str = "__yao.role";

/// Where they are written.
pub const ROLES_FILE: &str = "openapi/roles.yml";

/// Columns of [`ROLE`], with their types.
const ROLE_COLUMNS: &[(&str, &str)] = &[
    ("id", "ID"),
    ("role_id", "string"),
    ("name", "string"),
    ("description", "text"),
    ("permissions", "json"),
    ("restricted_permissions", "json"),
    ("parent_role_id", "string"),
    ("level", "integer"),
    ("is_active", "boolean"),
    ("is_default", "boolean"),
    ("is_system", "boolean"),
];

/// All of them.
pub fn all() -> Vec<TableModel> {
    vec![role()]
}

fn role() -> TableModel {
    let columns = ROLE_COLUMNS.iter().filter_map(|(name, kind)| {
        let column = TableColumn::new(name, column_kind::find(kind).ok()?);
        Some(TableColumn {
            is_primary: column.kind.is_counted,
            is_unique: *name == "role_id",
            is_nullable: !matches!(*name, "id" | "role_id"),
            ..column
        })
    });
    let source = ROLE_COLUMNS
        .iter()
        .map(|(name, kind)| json!({"name": name, "type": kind}));
    TableModel {
        id: ROLE.to_owned(),
        name: "Role".to_owned(),
        description: "The roles of openapi/roles.yml".to_owned(),
        table: "__yao_role".to_owned(),
        columns: columns.collect(),
        options: ModelOptions {
            is_system: true,
            ..ModelOptions::default()
        },
        source: json!({"name": "Role", "columns": source.collect::<Vec<_>>()}),
        ..TableModel::default()
    }
}

/// The rows of [`ROLE`], one for each role of a parsed `openapi/roles.yml`, in order of their ids.
pub fn roles(file: &Value) -> Vec<RowObject> {
    let Value::Object(roles) = file else {
        return Vec::new();
    };
    let mut names: Vec<&String> = roles.keys().collect();
    names.sort();
    let rows = names.into_iter().zip(1_u64..).filter_map(|(id, number)| {
        let role = roles.get(id)?;
        let text = |key: &str| role.get(key).cloned().unwrap_or(Value::Null);
        let list = |key: &str| role.get(key).cloned().unwrap_or_else(|| json!([]));
        let row = json!({
            "id": number,
            "role_id": id,
            "name": text("name"),
            "description": text("description"),
            "permissions": list("scopes"),
            "restricted_permissions": list("restricted"),
            "parent_role_id": null,
            "level": 0,
            "is_active": true,
            "is_default": role.get("default") == Some(&Value::Bool(true)),
            "is_system": false,
        });
        row.as_object().cloned()
    });
    rows.collect()
}
