//! One column of a model's file.

use super::keys::{ColumnSettings, ValidationSettings};
use crate::app::problem::ProblemReport;
use crate::app::read::ConfigNode;
use crate::model::column_kind::{self, ColumnShape};
use crate::model::database::LONGEST_NAME;
use crate::model::definition::{ColumnCrypt, ColumnDefault, TableColumn};
use crate::model::validate::{self, ColumnValidation};
use ambit_storage::suggestion;
use serde_json::Value;

/// The most characters of a `string`, the most digits of a decimal number.
const LONGEST: u32 = 65_535;
const DIGITS: u32 = 65;

/// A column, and what is wrong with it. None where not even its type is known.
pub fn read(
    given: &ColumnSettings,
    node: &ConfigNode,
    report: &mut ProblemReport,
) -> Option<TableColumn> {
    let at = |key: &str| node.position(key);
    let name = &given.name;
    if let Err(reason) = check_name(name) {
        report.error(at("name"), format!("column {reason}"));
    }
    let kind = match column_kind::find(&given.kind) {
        Ok(kind) => kind,
        Err(message) => {
            report.error(at("type"), message);
            return None;
        }
    };
    let is_primary = kind.is_counted || given.primary;
    let mut column = TableColumn {
        label: given.label.as_ref().unwrap_or(&given.title).clone(),
        length: given.length,
        precision: given.precision,
        scale: given.scale,
        option: given.option.clone(),
        is_nullable: !is_primary && given.nullable,
        is_primary,
        is_unique: given.unique,
        is_indexed: given.index,
        ..TableColumn::new(name, kind)
    };
    if let Err(message) = check_size(&column) {
        report.error(node.at, format!("column \"{name}\" {message}"));
    }
    match crypt(given, &column) {
        Ok(crypt) => column.crypt = crypt,
        Err(message) => report.error(at("crypt"), message),
    }
    match default_value(given, &column) {
        Ok(initial) => column.default = initial,
        Err((key, message)) => report.error(at(key), format!("\"{key}\" {message}")),
    }
    column.validations = validations(&given.validations, node, report);
    Some(column)
}

/// Whether a table or a column can have this name in every database.
pub fn check_name(name: &str) -> Result<(), String> {
    let mut bytes = name.bytes();
    let first = bytes.next().unwrap_or(b'-');
    let is_plain = (first.is_ascii_alphabetic() || first == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if !is_plain {
        return Err(format!(
            "name \"{name}\" must be of letters, digits and _, and not begin with a digit"
        ));
    }
    match name.len() > LONGEST_NAME {
        true => Err(format!(
            "name \"{name}\" is longer than {LONGEST_NAME} letters"
        )),
        false => Ok(()),
    }
}

fn check_size(column: &TableColumn) -> Result<(), String> {
    if column
        .length
        .is_some_and(|length| !(1..=LONGEST).contains(&length))
    {
        return Err(format!("must have a \"length\" from 1 to {LONGEST}"));
    }
    if column.kind.shape == ColumnShape::Enum && column.option.is_empty() {
        return Err("needs \"option\", a list of its values".to_owned());
    }
    let (precision, scale) = column.digits();
    let is_decimal = matches!(column.kind.shape, ColumnShape::Decimal { .. });
    if is_decimal && !(1..=DIGITS).contains(&precision) {
        return Err(format!("must have a \"precision\" from 1 to {DIGITS}"));
    }
    if is_decimal && scale > precision {
        return Err("must have a \"scale\" of at most its \"precision\"".to_owned());
    }
    Ok(())
}

fn crypt(given: &ColumnSettings, column: &TableColumn) -> Result<Option<ColumnCrypt>, String> {
    let Some(name) = &given.crypt else {
        return Ok(None);
    };
    let crypt = match name.as_str() {
        "AES" => ColumnCrypt::Aes,
        "PASSWORD" => ColumnCrypt::Password,
        other => {
            let hint = suggestion::hint(other, ["AES", "PASSWORD"]);
            return Err(format!("\"crypt\" must be \"AES\" or \"PASSWORD\"{hint}"));
        }
    };
    let is_fit = match crypt {
        ColumnCrypt::Aes => matches!(column.kind.shape, ColumnShape::Text | ColumnShape::Json),
        ColumnCrypt::Password => column.kind.shape == ColumnShape::Text,
    };
    match is_fit && !column.is_primary {
        true => Ok(Some(crypt)),
        false => Err(format!(
            "\"crypt\" {name} is for columns with a text, such as \"string\", that are no primary key"
        )),
    }
}

/// What a new row has there; `Err` is the key that is wrong, and why.
fn default_value(
    given: &ColumnSettings,
    column: &TableColumn,
) -> Result<Option<ColumnDefault>, (&'static str, String)> {
    if let Some(how) = &given.generate {
        return match how.to_ascii_lowercase().as_str() {
            "uuid" if column.kind.shape.is_text() => Ok(Some(ColumnDefault::Uuid)),
            "increment" if column.kind.is_counted => Ok(None),
            _ => Err((
                "generate",
                "must be \"UUID\", for a column with a text".to_owned(),
            )),
        };
    }
    if let Some(raw) = &given.default_raw {
        let initial = raw_default(raw).ok_or_else(|| {
            let message =
                "must be NOW(), CURRENT_TIMESTAMP, NULL, TRUE, FALSE, a number or a text in ''";
            ("default_raw", message.to_owned())
        })?;
        return fitting_default(column, initial).map_err(|message| ("default_raw", message));
    }
    let Some(value) = &given.default else {
        return Ok(None);
    };
    fitting_default(column, ColumnDefault::Value(value.clone()))
        .map_err(|message| ("default", message))
}

fn raw_default(raw: &str) -> Option<ColumnDefault> {
    let text = raw.trim();
    let value = match text.to_ascii_uppercase().as_str() {
        "NOW()" | "CURRENT_TIMESTAMP" | "CURRENT_TIMESTAMP()" | "CURRENT_DATE" | "CURRENT_TIME" => {
            return Some(ColumnDefault::Now);
        }
        "NULL" => Value::Null,
        "TRUE" => Value::Bool(true),
        "FALSE" => Value::Bool(false),
        _ => match text
            .strip_prefix('\'')
            .and_then(|rest| rest.strip_suffix('\''))
        {
            Some(inner) => Value::String(inner.replace("''", "'")),
            None => Value::Number(text.parse().ok()?),
        },
    };
    Some(ColumnDefault::Value(value))
}

fn fitting_default(
    column: &TableColumn,
    initial: ColumnDefault,
) -> Result<Option<ColumnDefault>, String> {
    let has_time = matches!(
        column.kind.shape,
        ColumnShape::Date | ColumnShape::Time | ColumnShape::Moment
    );
    match &initial {
        ColumnDefault::Value(Value::Null) => return Ok(None),
        ColumnDefault::Value(value) => drop(column.plain(value)?),
        ColumnDefault::Now if !has_time => {
            return Err("is a moment, which the column cannot hold".to_owned());
        }
        ColumnDefault::Now | ColumnDefault::Uuid => {}
    }
    Ok(Some(initial))
}

fn validations(
    given: &[ValidationSettings],
    node: &ConfigNode,
    report: &mut ProblemReport,
) -> Vec<ColumnValidation> {
    let written = node.list("validations");
    let read = given.iter().zip(written).filter_map(|(rule, node)| {
        let args = match &rule.args {
            None => Vec::new(),
            Some(Value::Array(args)) => args.clone(),
            Some(single) => vec![single.clone()],
        };
        let method = validate::method(&rule.method, &args);
        let method = method
            .map_err(|message| report.error(node.at, message))
            .ok()?;
        Some(ColumnValidation {
            method,
            message: rule.message.clone(),
        })
    });
    read.collect()
}
