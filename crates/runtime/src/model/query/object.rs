//! Reading the objects and lists that queries are made of: every key is known, and null is as if it were not there.

use super::fault::{QueryFault, QueryResult};
use crate::model::column_kind::SAFE;
use crate::optional::optional;
use serde_json::{Map, Value};

/// Rows that can be asked for at once: all of them are in memory.
pub const MOST_ROWS: u64 = 100_000;

/// An object of a query.
#[derive(Clone, Copy)]
pub struct QueryObject<'q> {
    map: &'q Map<String, Value>,
}

impl<'q> QueryObject<'q> {
    /// The object that a value is.
    pub fn of(value: &'q Value, what: &str) -> QueryResult<Self> {
        match value {
            Value::Object(map) => Ok(Self { map }),
            _ => Err(QueryFault::form("", what, "must be an object")),
        }
    }

    /// Whether it has only these keys.
    pub fn has_only(&self, known: &[&str]) -> QueryResult<()> {
        let mut keys = self.map.keys();
        match keys.find(|key| !known.contains(&key.as_str())) {
            Some(key) => Err(QueryFault::unknown_of("key", key, key, known)),
            None => Ok(()),
        }
    }

    /// Its keys and values.
    pub fn entries(&self) -> impl Iterator<Item = (&'q str, &'q Value)> + use<'q> {
        self.map.iter().map(|(key, value)| (key.as_str(), value))
    }

    /// The value of a key, null too.
    pub fn raw(&self, key: &str) -> Option<&'q Value> {
        self.map.get(key)
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&'q Value> {
        self.map.get(key).filter(|value| !value.is_null())
    }

    /// A text.
    pub fn text(&self, key: &str) -> QueryResult<Option<&'q str>> {
        self.read(key, Value::as_str, "must be a text")
    }

    /// True or false; false where it is not said.
    pub fn flag(&self, key: &str) -> QueryResult<bool> {
        let is = self.read(key, Value::as_bool, "must be true or false")?;
        Ok(is.unwrap_or(false))
    }

    /// A whole number that is not below `least`.
    pub fn count(&self, key: &str, least: u64) -> QueryResult<Option<u64>> {
        let rule = format!("must be a whole number, {least} or more");
        self.read(key, |value| whole(value).filter(|it| *it >= least), &rule)
    }

    /// A number of rows, from `least` on.
    pub fn rows(&self, key: &str, least: u64) -> QueryResult<Option<u64>> {
        match self.count(key, least)? {
            Some(rows) if rows > MOST_ROWS => {
                let rule = format!("must be at most {MOST_ROWS}; ask for pages");
                Err(QueryFault::form(key, key, &rule))
            }
            rows => Ok(rows),
        }
    }

    /// A list, empty where there is none.
    pub fn list(&self, key: &str) -> QueryResult<&'q [Value]> {
        let list = self.read(key, Value::as_array, "must be a list")?;
        Ok(list.map_or(&[], Vec::as_slice))
    }

    fn read<T>(
        &self,
        key: &str,
        read: impl FnOnce(&'q Value) -> Option<T>,
        rule: &str,
    ) -> QueryResult<Option<T>> {
        optional(self.raw(key), read, || QueryFault::form(key, key, rule))
    }
}

/// A number without a fraction, which scripts may give as `2.0`. What databases cannot count to is none.
pub fn whole(value: &Value) -> Option<u64> {
    let number = value.as_f64()?;
    let is_whole = number.fract() == 0.0 && (0.0..=SAFE as f64).contains(&number);
    is_whole.then_some(number as u64)
}
