//! The types of columns: what their values are in scripts, how they are bound, and what databases call them.

mod bind;
mod date_time;
mod decimal;

use super::database::{SqlCell, SqlDialect};
use super::definition::{ColumnCrypt, TableColumn};
use ambit_storage::suggestion;

/// A type of columns.
#[derive(Debug)]
pub struct ColumnKind {
    /// As files name it.
    pub name: &'static str,
    /// What its values are.
    pub shape: ColumnShape,
    /// Whether the store numbers new rows.
    pub is_counted: bool,
    /// What PostgreSQL calls it.
    postgres: &'static str,
}

/// What values are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnShape {
    /// Whole numbers from here to there.
    Whole(i64, i64),
    /// Numbers; the unsigned ones from 0 on.
    Real {
        /// Whether there are none below 0.
        is_unsigned: bool,
    },
    /// Exact numbers; the unsigned ones from 0 on.
    Decimal {
        /// Whether there are none below 0.
        is_unsigned: bool,
    },
    /// `true` or `false`.
    Boolean,
    /// A text.
    Text,
    /// One of a list of texts.
    Enum,
    /// A UUID.
    Uuid,
    /// The address of a machine.
    Address,
    /// `YYYY-MM-DD`.
    Date,
    /// `HH:MM:SS`.
    Time,
    /// `YYYY-MM-DD HH:MM:SS` UTC.
    Moment,
    /// Any value.
    Json,
    /// Bytes, as base64.
    Binary,
}

/// Numbers beyond it lose digits in JavaScript, which gets them as texts.
pub const SAFE: u64 = 1 << 53;

/// Digits of a decimal number that is still a number in JavaScript.
pub const PLAIN_DIGITS: u32 = 15;

/// Characters of a `string` that says nothing.
const USUAL_LENGTH: u32 = 255;

/// Digits of decimal numbers that say nothing, and those behind the point.
const DECIMAL: (u32, u32) = (10, 2);

const TEXT: &str = "text COLLATE \"C\"";
const VARIABLE: &str = "varchar({length}) COLLATE \"C\"";

const fn kind(name: &'static str, shape: ColumnShape, postgres: &'static str) -> ColumnKind {
    ColumnKind {
        name,
        shape,
        is_counted: false,
        postgres,
    }
}

const fn counted(name: &'static str, high: i64, postgres: &'static str) -> ColumnKind {
    ColumnKind {
        is_counted: true,
        ..kind(name, ColumnShape::Whole(i64::MIN, high), postgres)
    }
}

const SIGNED: bool = false;
const UNSIGNED: bool = true;

const fn real(name: &'static str, is_unsigned: bool) -> ColumnKind {
    kind(name, ColumnShape::Real { is_unsigned }, "double precision")
}

const fn decimal(name: &'static str, is_unsigned: bool) -> ColumnKind {
    kind(
        name,
        ColumnShape::Decimal { is_unsigned },
        "numeric({precision},{scale})",
    )
}

/// All types.
pub const KINDS: &[ColumnKind] = &[
    counted("ID", i64::MAX, "bigint"),
    counted("increments", i32::MAX as i64, "integer"),
    counted("bigIncrements", i64::MAX, "bigint"),
    kind("string", ColumnShape::Text, VARIABLE),
    kind("char", ColumnShape::Text, VARIABLE),
    kind("text", ColumnShape::Text, TEXT),
    kind("mediumText", ColumnShape::Text, TEXT),
    kind("longText", ColumnShape::Text, TEXT),
    kind("uuid", ColumnShape::Uuid, TEXT),
    kind("ipAddress", ColumnShape::Address, TEXT),
    kind("macAddress", ColumnShape::Text, VARIABLE),
    kind("enum", ColumnShape::Enum, TEXT),
    kind("tinyInteger", ColumnShape::Whole(-128, 127), "smallint"),
    kind(
        "smallInteger",
        ColumnShape::Whole(-32_768, 32_767),
        "smallint",
    ),
    kind(
        "integer",
        ColumnShape::Whole(i32::MIN as i64, i32::MAX as i64),
        "integer",
    ),
    kind(
        "bigInteger",
        ColumnShape::Whole(i64::MIN, i64::MAX),
        "bigint",
    ),
    kind(
        "unsignedTinyInteger",
        ColumnShape::Whole(0, 255),
        "smallint",
    ),
    kind(
        "unsignedSmallInteger",
        ColumnShape::Whole(0, 65_535),
        "integer",
    ),
    kind(
        "unsignedInteger",
        ColumnShape::Whole(0, u32::MAX as i64),
        "bigint",
    ),
    kind(
        "unsignedBigInteger",
        ColumnShape::Whole(0, i64::MAX),
        "bigint",
    ),
    kind("year", ColumnShape::Whole(0, 9_999), "smallint"),
    real("float", SIGNED),
    real("double", SIGNED),
    real("unsignedFloat", UNSIGNED),
    real("unsignedDouble", UNSIGNED),
    decimal("decimal", SIGNED),
    decimal("unsignedDecimal", UNSIGNED),
    kind("boolean", ColumnShape::Boolean, "boolean"),
    kind("date", ColumnShape::Date, "date"),
    kind("time", ColumnShape::Time, "time(0)"),
    kind("timeTz", ColumnShape::Time, "time(0)"),
    kind("datetime", ColumnShape::Moment, "timestamp(0)"),
    kind("datetimeTz", ColumnShape::Moment, "timestamptz(0)"),
    kind("timestamp", ColumnShape::Moment, "timestamp(0)"),
    kind("timestampTz", ColumnShape::Moment, "timestamptz(0)"),
    kind("json", ColumnShape::Json, "json"),
    kind("jsonb", ColumnShape::Json, "jsonb"),
    kind("binary", ColumnShape::Binary, "bytea"),
];

/// The type of this name; or what to say of one that there is not.
pub fn find(name: &str) -> Result<&'static ColumnKind, String> {
    let found = KINDS
        .iter()
        .find(|kind| kind.name.eq_ignore_ascii_case(name));
    found.ok_or_else(|| {
        let hint = suggestion::hint(name, KINDS.iter().map(|kind| kind.name));
        format!("there is no column type \"{name}\"{hint}")
    })
}

impl ColumnShape {
    /// Whether values are texts that can be searched.
    pub fn is_text(self) -> bool {
        matches!(self, Self::Text | Self::Enum | Self::Uuid | Self::Address)
    }

    /// Whether values can be compared and ordered.
    pub fn is_comparable(self) -> bool {
        !matches!(self, Self::Json | Self::Binary)
    }
}

impl TableColumn {
    /// The type of the column in a table.
    pub fn sql_type(&self, dialect: SqlDialect) -> String {
        let postgres = self.postgres_type();
        match dialect {
            SqlDialect::Postgres => postgres,
            SqlDialect::Sqlite => self.sqlite_type(&postgres),
        }
    }

    fn postgres_type(&self) -> String {
        if self.crypt.is_some() {
            return TEXT.to_owned();
        }
        let (precision, scale) = self.digits();
        let length = self.length.unwrap_or(USUAL_LENGTH);
        let text = self.kind.postgres;
        let text = text.replace("{length}", &length.to_string());
        let text = text.replace("{precision}", &precision.to_string());
        text.replace("{scale}", &scale.to_string())
    }

    /// The same name as far as it can be, so that it says how much the column holds; `text` in it makes SQLite keep values as
    /// they are.
    fn sqlite_type(&self, postgres: &str) -> String {
        let name = postgres.split(" COLLATE").next().unwrap_or(postgres);
        if self.crypt.is_some() {
            return name.to_owned();
        }
        match self.kind.shape {
            ColumnShape::Decimal { .. } if self.is_long_decimal() => {
                let digits = name.trim_start_matches("numeric");
                format!("decimal_text{digits} COLLATE {}", decimal::COLLATION)
            }
            ColumnShape::Date | ColumnShape::Time | ColumnShape::Moment | ColumnShape::Json => {
                let name = name.split('(').next().unwrap_or(name);
                format!("{name}_text")
            }
            ColumnShape::Binary => "blob".to_owned(),
            _ => name.to_owned(),
        }
    }

    /// Digits of a decimal number, and those behind the point.
    pub fn digits(&self) -> (u32, u32) {
        let precision = self.precision.unwrap_or(DECIMAL.0);
        (
            precision,
            self.scale.unwrap_or_else(|| DECIMAL.1.min(precision)),
        )
    }

    /// Whether its decimal numbers are texts in scripts, because they have more digits than JavaScript's numbers.
    pub fn is_long_decimal(&self) -> bool {
        matches!(self.kind.shape, ColumnShape::Decimal { .. }) && self.digits().0 > PLAIN_DIGITS
    }

    /// Whether its values can be compared by more than equality, and ordered.
    pub fn is_comparable(&self) -> bool {
        self.crypt.is_none() && self.kind.shape.is_comparable()
    }

    /// Whether its values are texts that can be searched.
    pub fn is_searchable(&self) -> bool {
        self.crypt.is_none() && self.kind.shape.is_text()
    }

    /// Whether equality is all that it can be found by.
    pub fn is_sealed(&self) -> bool {
        self.crypt == Some(ColumnCrypt::Aes)
    }
}

/// The order of decimal numbers that are kept as texts in SQLite, and its name there.
pub use decimal::{COLLATION, compare};

/// A value that is nothing.
pub fn null() -> sea_query::Value {
    sea_query::Value::String(None)
}

/// A cell that is not of the column's type.
fn strange(column: &TableColumn, cell: &SqlCell) -> String {
    let what = match cell {
        SqlCell::Null => "nothing",
        SqlCell::Integer(_) => "a whole number",
        SqlCell::Real(_) => "a number",
        SqlCell::Text(_) => "a text",
        SqlCell::Bytes(_) => "bytes",
    };
    let (name, kind) = (&column.name, column.kind.name);
    format!("the table holds {what} in column \"{name}\", which is no {kind}")
}
