//! Values that are bound to statements, with their types: a statement that is not prepared must name them.

use tokio_postgres::types::{ToSql, Type};

/// A value to bind.
pub(super) struct SqlValue {
    value: Box<dyn ToSql + Sync + Send>,
    kind: Type,
}

impl SqlValue {
    pub(super) fn of<T: SqlType>(value: T) -> Self {
        Self {
            value: Box::new(value),
            kind: T::TYPE,
        }
    }
}

/// A type of Rust that one type of PostgreSQL takes.
pub(super) trait SqlType: ToSql + Sync + Send + 'static {
    const TYPE: Type;
}

macro_rules! sql_types {
    ($($rust:ty => $sql:ident),* $(,)?) => {
        $(impl SqlType for $rust { const TYPE: Type = Type::$sql; })*
    };
}

sql_types! {
    bool => BOOL,
    i64 => INT8,
    String => TEXT,
    &'static str => TEXT,
    Vec<u8> => BYTEA,
    Vec<bool> => BOOL_ARRAY,
    Vec<i64> => INT8_ARRAY,
    Vec<Option<i64>> => INT8_ARRAY,
    Vec<String> => TEXT_ARRAY,
    Vec<Option<String>> => TEXT_ARRAY,
    Vec<Vec<u8>> => BYTEA_ARRAY,
}

impl<T: SqlType> SqlType for Option<T> {
    const TYPE: Type = T::TYPE;
}

/// Binds values of any type, in order.
macro_rules! bind {
    ($($value:expr),* $(,)?) => {
        Vec::from([$($crate::driver::postgres::sql_value::SqlValue::of($value)),*])
    };
}
pub(super) use bind;

/// Bound values as a prepared statement takes them.
pub(super) fn references<'a>(
    values: impl IntoIterator<Item = &'a SqlValue>,
) -> Vec<&'a (dyn ToSql + Sync)> {
    let values = values.into_iter();
    values
        .map(|value| &*value.value as &(dyn ToSql + Sync))
        .collect()
}

/// Bound values as a statement takes them that is not prepared.
pub(super) fn typed<'a>(
    values: impl IntoIterator<Item = &'a SqlValue>,
) -> Vec<(&'a (dyn ToSql + Sync), Type)> {
    let values = values.into_iter();
    values
        .map(|value| (&*value.value as &(dyn ToSql + Sync), value.kind.clone()))
        .collect()
}
