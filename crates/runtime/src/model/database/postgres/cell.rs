//! Values on their way to PostgreSQL, as texts that it reads by the types of the places they stand in; and back.

use crate::model::database::{DATE, MOMENT, SqlCell, TIME};
use crate::uuid;
use ambit_storage::address::hex;
use bytes::BytesMut;
use jiff::SignedDuration;
use jiff::civil::{Date, DateTime, Time};
use sea_query::{OptionEnum, Value};
use std::error::Error;
use tokio_postgres::types::{Format, FromSql, IsNull, ToSql, Type, to_sql_checked};

type ConversionError = Box<dyn Error + Sync + Send>;

/// A value that is bound.
#[derive(Debug)]
pub struct PostgresParameter(Option<String>);

impl PostgresParameter {
    /// Of what the query builder has.
    pub fn of(value: &Value) -> Self {
        Self(match value {
            Value::Bool(flag) => flag.as_ref().map(ToString::to_string),
            Value::TinyInt(number) => number.as_ref().map(ToString::to_string),
            Value::SmallInt(number) => number.as_ref().map(ToString::to_string),
            Value::Int(number) => number.as_ref().map(ToString::to_string),
            Value::BigInt(number) => number.as_ref().map(ToString::to_string),
            Value::TinyUnsigned(number) => number.as_ref().map(ToString::to_string),
            Value::SmallUnsigned(number) => number.as_ref().map(ToString::to_string),
            Value::Unsigned(number) => number.as_ref().map(ToString::to_string),
            Value::BigUnsigned(number) => number.as_ref().map(ToString::to_string),
            Value::Float(number) => number.as_ref().map(ToString::to_string),
            Value::Double(number) => number.as_ref().map(ToString::to_string),
            Value::String(text) => text.clone(),
            Value::Enum(OptionEnum::Some(one)) => Some(one.value.to_string()),
            Value::Enum(OptionEnum::None(_)) => None,
            Value::Char(sign) => sign.as_ref().map(ToString::to_string),
            Value::Bytes(bytes) => bytes.as_ref().map(|bytes| format!("\\x{}", hex(bytes))),
        })
    }
}

impl ToSql for PostgresParameter {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, ConversionError> {
        let Some(text) = &self.0 else {
            return Ok(IsNull::Yes);
        };
        out.extend_from_slice(text.as_bytes());
        Ok(IsNull::No)
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    fn encode_format(&self, _: &Type) -> Format {
        Format::Text
    }

    to_sql_checked!();
}

/// A cell of an answer.
pub struct PostgresCell(pub SqlCell);

impl<'a> FromSql<'a> for PostgresCell {
    fn from_sql(kind: &Type, raw: &'a [u8]) -> Result<Self, ConversionError> {
        Ok(Self(match *kind {
            Type::BOOL => SqlCell::Integer(bool::from_sql(kind, raw)?.into()),
            Type::INT2 => SqlCell::Integer(i16::from_sql(kind, raw)?.into()),
            Type::INT4 => SqlCell::Integer(i32::from_sql(kind, raw)?.into()),
            Type::INT8 => SqlCell::Integer(i64::from_sql(kind, raw)?),
            Type::OID => SqlCell::Integer(u32::from_sql(kind, raw)?.into()),
            Type::FLOAT4 => SqlCell::Real(f32::from_sql(kind, raw)?.into()),
            Type::FLOAT8 => SqlCell::Real(f64::from_sql(kind, raw)?),
            Type::NUMERIC => SqlCell::Text(numeric(raw)?),
            Type::BYTEA => SqlCell::Bytes(raw.to_vec()),
            Type::DATE => SqlCell::Text(date(raw)?),
            Type::TIME => SqlCell::Text(time(raw)?),
            Type::TIMESTAMP | Type::TIMESTAMPTZ => SqlCell::Text(moment(raw)?),
            Type::JSONB => SqlCell::Text(text(raw.get(1..).unwrap_or_default())?),
            Type::UUID => SqlCell::Text(uuid::of(u128::from_be_bytes(raw.try_into()?))),
            Type::VOID => SqlCell::Null,
            Type::TEXT | Type::VARCHAR | Type::BPCHAR | Type::NAME | Type::JSON | Type::UNKNOWN => {
                SqlCell::Text(text(raw)?)
            }
            _ => return Err(format!("a column of type {kind} cannot be read").into()),
        }))
    }

    fn from_sql_null(_: &Type) -> Result<Self, ConversionError> {
        Ok(Self(SqlCell::Null))
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

fn text(raw: &[u8]) -> Result<String, ConversionError> {
    Ok(std::str::from_utf8(raw)?.to_owned())
}

/// Microseconds since the beginning of 2000.
fn moment(raw: &[u8]) -> Result<String, ConversionError> {
    let micros = i64::from_be_bytes(raw.try_into()?);
    let start = DateTime::constant(2000, 1, 1, 0, 0, 0, 0);
    let moment = start.checked_add(SignedDuration::from_micros(micros))?;
    Ok(moment.strftime(MOMENT).to_string())
}

/// Days since the beginning of 2000.
fn date(raw: &[u8]) -> Result<String, ConversionError> {
    let days = i32::from_be_bytes(raw.try_into()?);
    let start = Date::constant(2000, 1, 1);
    let date = start.checked_add(SignedDuration::from_hours(i64::from(days) * 24))?;
    Ok(date.strftime(DATE).to_string())
}

/// Microseconds of the day.
fn time(raw: &[u8]) -> Result<String, ConversionError> {
    let micros = i64::from_be_bytes(raw.try_into()?);
    let time = Time::midnight().checked_add(SignedDuration::from_micros(micros))?;
    Ok(time.strftime(TIME).to_string())
}

/// Digits in groups of four: how many groups, the weight of the first, the sign, and the digits behind the point.
fn numeric(raw: &[u8]) -> Result<String, ConversionError> {
    let mut words = raw
        .chunks_exact(2)
        .map(|word| i16::from_be_bytes([word[0], word[1]]));
    let mut next = || words.next().ok_or("a decimal number is cut off");
    let (count, weight, sign, scale) = (next()?, next()?, next()?, next()?);
    let groups = (0..count).map(|_| next()).collect::<Result<Vec<_>, _>>()?;
    if sign != 0 && sign != 0x4000 {
        return Err("a decimal column holds NaN or infinity".into());
    }
    let group = |at: i16| {
        let at = usize::try_from(at).ok();
        at.and_then(|at| groups.get(at)).copied().unwrap_or(0)
    };
    let whole: String = (0..=weight).map(|at| format!("{:04}", group(at))).collect();
    let whole = match whole.trim_start_matches('0') {
        "" => "0",
        whole => whole,
    };
    let scale = usize::try_from(scale)?;
    let behind = (0..).map(|at| format!("{:04}", group(weight + 1 + at)));
    let behind: String = behind.take(scale.div_ceil(4)).collect();
    let sign = if sign == 0 { "" } else { "-" };
    Ok(match scale {
        0 => format!("{sign}{whole}"),
        _ => format!("{sign}{whole}.{}", &behind[..scale]),
    })
}
