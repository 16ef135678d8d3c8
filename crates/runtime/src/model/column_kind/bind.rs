//! Values of scripts as databases get them, and cells as scripts get them. Secrets are not looked at here.

use super::{ColumnShape, SAFE, USUAL_LENGTH, date_time, decimal, null, strange};
use crate::model::SqlValue;
use crate::model::database::SqlCell;
use crate::model::definition::TableColumn;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Number, Value};
use std::net::IpAddr;

impl TableColumn {
    /// A value as it is bound, without encryption; or what it must be instead, as in `must be a string, not a number`.
    pub fn plain(&self, value: &Value) -> Result<SqlValue, String> {
        if value.is_null() {
            return Ok(null());
        }
        match self.kind.shape {
            ColumnShape::Whole(low, high) => self.whole(value, low, high),
            ColumnShape::Real { is_unsigned } => real(value, is_unsigned),
            ColumnShape::Decimal { is_unsigned } => self.decimal(value, is_unsigned),
            ColumnShape::Boolean => boolean(value),
            ColumnShape::Text => self.text(value),
            ColumnShape::Enum => self.one_of(value),
            ColumnShape::Uuid => uuid(value),
            ColumnShape::Address => address(value),
            ColumnShape::Date => {
                moment_like(value, date_time::date, "a date such as \"2026-01-31\"")
            }
            ColumnShape::Time => moment_like(value, date_time::time, "a time such as \"13:05:00\""),
            ColumnShape::Moment => moment_like(
                value,
                date_time::moment,
                "a moment such as \"2026-01-31 13:05:00\"",
            ),
            ColumnShape::Json => storable(value.to_string()),
            ColumnShape::Binary => binary(value),
        }
    }

    /// What a script gets of a cell, without decryption.
    pub fn script_value(&self, cell: SqlCell) -> Result<Value, String> {
        let shown = match (self.kind.shape, cell) {
            (_, SqlCell::Null) => Value::Null,
            (ColumnShape::Whole(..), SqlCell::Integer(number)) => whole_shown(number),
            (ColumnShape::Boolean, SqlCell::Integer(number)) => Value::Bool(number != 0),
            (ColumnShape::Decimal { .. }, cell) => return self.decimal_shown(cell),
            (ColumnShape::Real { .. }, SqlCell::Integer(number)) => whole_shown(number),
            (ColumnShape::Real { .. }, SqlCell::Real(number)) => real_shown(number),
            (ColumnShape::Json, SqlCell::Text(text)) => serde_json::from_str(&text)
                .map_err(|_| strange(self, &SqlCell::Text(String::new())))?,
            (ColumnShape::Binary, SqlCell::Bytes(bytes)) => Value::String(STANDARD.encode(bytes)),
            (shape, SqlCell::Text(text)) if is_textual(shape) => Value::String(text),
            (_, cell) => return Err(strange(self, &cell)),
        };
        Ok(shown)
    }

    fn whole(&self, value: &Value, low: i64, high: i64) -> Result<SqlValue, String> {
        let number = match value {
            Value::Number(number) => whole_of(number),
            Value::String(text) => text.parse::<i64>().ok(),
            _ => None,
        };
        let number = number.ok_or_else(|| must("a whole number", value))?;
        if !(low..=high).contains(&number) {
            return Err(match low {
                i64::MIN => format!("must be at most {high}"),
                _ => format!("must be between {low} and {high}"),
            });
        }
        Ok(SqlValue::BigInt(Some(number)))
    }

    fn decimal(&self, value: &Value, is_unsigned: bool) -> Result<SqlValue, String> {
        let (precision, scale) = self.digits();
        let text = match value {
            Value::Number(number) => decimal::of_number(number, scale),
            Value::String(text) => Some(decimal::parse(text, scale)?),
            _ => None,
        };
        let text = text.ok_or_else(|| must("a number", value))?;
        if is_unsigned && text.starts_with('-') {
            return Err("must not be below 0".to_owned());
        }
        let room = usize::try_from(precision.saturating_sub(scale)).unwrap_or(usize::MAX);
        if decimal::whole_digits(&text) > room {
            return Err(format!(
                "must have at most {room} digits in front of the point"
            ));
        }
        match self.is_long_decimal() {
            true => Ok(SqlValue::String(Some(text))),
            false => {
                let number = text.parse().map_err(|_| must("a number", value))?;
                Ok(SqlValue::Double(Some(number)))
            }
        }
    }

    fn decimal_shown(&self, cell: SqlCell) -> Result<Value, String> {
        let (_, scale) = self.digits();
        if self.is_long_decimal() {
            return match cell {
                SqlCell::Text(text) => Ok(Value::String(text)),
                SqlCell::Integer(number) => {
                    decimal::parse(&number.to_string(), scale).map(Value::String)
                }
                cell => Err(strange(self, &cell)),
            };
        }
        let number = match &cell {
            SqlCell::Integer(number) => return Ok(whole_shown(*number)),
            SqlCell::Real(number) => Some(*number),
            SqlCell::Text(text) => text.parse().ok(),
            _ => None,
        };
        let number = number.ok_or_else(|| strange(self, &cell))?;
        Ok(real_shown(number))
    }

    fn text(&self, value: &Value) -> Result<SqlValue, String> {
        let Value::String(text) = value else {
            return Err(must("a string", value));
        };
        let most = self.length.or(self.usual_length());
        if let Some(most) = most {
            let length = text.chars().count();
            if u32::try_from(length).map_or(true, |length| length > most) {
                return Err(format!("must have at most {most} characters, not {length}"));
            }
        }
        storable(text.clone())
    }

    fn usual_length(&self) -> Option<u32> {
        matches!(self.kind.name, "string" | "char" | "macAddress").then_some(USUAL_LENGTH)
    }

    fn one_of(&self, value: &Value) -> Result<SqlValue, String> {
        let known = value
            .as_str()
            .filter(|text| self.option.iter().any(|it| it == text));
        match known {
            Some(text) => Ok(SqlValue::String(Some(text.to_owned()))),
            None => Err(format!("must be one of {}", self.option.join(", "))),
        }
    }
}

fn is_textual(shape: ColumnShape) -> bool {
    shape.is_text()
        || matches!(
            shape,
            ColumnShape::Date | ColumnShape::Time | ColumnShape::Moment
        )
}

fn must(be: &str, value: &Value) -> String {
    let given = match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "this number",
        Value::String(_) => "this string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    };
    format!("must be {be}, not {given}")
}

/// A whole number, however JavaScript has written it.
fn whole_of(number: &Number) -> Option<i64> {
    if let Some(number) = number.as_i64() {
        return Some(number);
    }
    let number = number.as_f64()?;
    let is_exact = number.fract() == 0.0 && number.abs() <= SAFE as f64;
    is_exact.then_some(number as i64)
}

fn whole_shown(number: i64) -> Value {
    match number.unsigned_abs() <= SAFE {
        true => number.into(),
        false => Value::String(number.to_string()),
    }
}

/// JavaScript has one kind of numbers: 5.0 is 5.
fn real_shown(number: f64) -> Value {
    let is_whole = number.fract() == 0.0 && number.abs() <= SAFE as f64;
    match is_whole {
        true => (number as i64).into(),
        false => Number::from_f64(number).map_or(Value::Null, Value::Number),
    }
}

fn real(value: &Value, is_unsigned: bool) -> Result<SqlValue, String> {
    let number = value.as_f64().ok_or_else(|| must("a number", value))?;
    match is_unsigned && number < 0.0 {
        true => Err("must not be below 0".to_owned()),
        false => Ok(SqlValue::Double(Some(number))),
    }
}

fn boolean(value: &Value) -> Result<SqlValue, String> {
    let flag = match value {
        Value::Bool(flag) => Some(*flag),
        Value::Number(number) => match number.as_f64() {
            Some(0.0) => Some(false),
            Some(1.0) => Some(true),
            _ => None,
        },
        _ => None,
    };
    let flag = flag.ok_or_else(|| must("true or false", value))?;
    Ok(SqlValue::Bool(Some(flag)))
}

fn uuid(value: &Value) -> Result<SqlValue, String> {
    let text = value.as_str().unwrap_or_default().to_ascii_lowercase();
    let is_right = |(at, byte): (usize, u8)| match at {
        8 | 13 | 18 | 23 => byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    };
    match text.len() == 36 && text.bytes().enumerate().all(is_right) {
        true => Ok(SqlValue::String(Some(text))),
        false => Err(must("a UUID", value)),
    }
}

fn address(value: &Value) -> Result<SqlValue, String> {
    let address = value.as_str().and_then(|text| text.parse::<IpAddr>().ok());
    match address {
        Some(address) => Ok(SqlValue::String(Some(address.to_string()))),
        None => Err(must("an IP address", value)),
    }
}

fn moment_like(
    value: &Value,
    read: fn(&str) -> Option<String>,
    what: &str,
) -> Result<SqlValue, String> {
    let text = value.as_str().and_then(read);
    let text = text.ok_or_else(|| must(what, value))?;
    Ok(SqlValue::String(Some(text)))
}

fn binary(value: &Value) -> Result<SqlValue, String> {
    let bytes = value.as_str().and_then(|text| STANDARD.decode(text).ok());
    let bytes = bytes.ok_or_else(|| must("bytes as base64", value))?;
    Ok(SqlValue::Bytes(Some(bytes)))
}

/// PostgreSQL has no texts with this character, so no database gets one.
fn storable(text: String) -> Result<SqlValue, String> {
    match text.contains('\0') || text.contains("\\u0000") {
        true => Err("must not contain the character U+0000".to_owned()),
        false => Ok(SqlValue::String(Some(text))),
    }
}
