//! What requests ask of the store, read into one type for each operation.

use super::super::input::{BodyFields, NumberOrText, RawJson, Whole};
use super::BYTES;
use super::space::{SpaceName, SpaceOwner};
use ambit_runtime::{Error, ErrorCode, Result};
use ambit_storage::Json;
use ambit_storage::clock::Millis;
use ambit_storage::memory::Ttl;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};
use std::collections::HashSet;
use utoipa::ToSchema;

/// Operations of one batch.
const OPERATIONS: usize = 1_000;
/// Bytes of a key.
const KEY: usize = 1 << 10;
/// Bytes of a value as it is sent.
const VALUE: usize = 16 << 20;

/// A batch, which only reads or only writes.
#[derive(Deserialize, ToSchema)]
pub struct StoreBatchBody {
    /// The space.
    pub space: SpaceName,
    /// Whose it is.
    pub owner: SpaceOwner,
    /// The operations, at most 1,000; one that deletes by prefix stands alone.
    pub ops: Vec<StoreOperationBody>,
}

impl BodyFields for StoreBatchBody {
    const BODY_LIMIT: usize = BYTES;

    fn check(&self) -> Result<()> {
        match self.ops.len() {
            0 => Err(Error::invalid("ops", "ops has no operation")),
            1..=OPERATIONS => Ok(()),
            count => {
                let message =
                    format!("ops has {count} operations; a batch has at most {OPERATIONS}");
                let error = Error::new(ErrorCode::LimitExceeded, message);
                Err(Error {
                    param: Some("ops".to_owned()),
                    ..error
                })
            }
        }
    }
}

/// One operation.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct StoreOperationBody {
    /// What is done.
    op: StoreOperationName,
    /// `get`, `put`, `delete`: the key, at most 1 KiB.
    key: Option<String>,
    /// `list`, `delete_prefix`: what the keys begin with; all where it is empty.
    prefix: Option<String>,
    /// `list`: only keys behind this one, in the order of the list.
    after: Option<String>,
    /// `list`: at most so many.
    limit: Option<Whole<1, 1_000>>,
    /// `list`: the last key first.
    reverse: Option<bool>,
    /// `list`: with the values.
    values: Option<bool>,
    /// `put`: the value, any JSON of at most 16 MiB.
    #[serde(default, deserialize_with = "present")]
    value: Option<RawJson>,
    /// `put`: bytes instead of a value, in base64 of at most 16 MiB.
    data: Option<String>,
    /// `put`: how long it lives: seconds, or a text such as `30s`, `5m`, `2h` or `7d`.
    #[schema(value_type = Option<NumberOrText>)]
    ttl: Option<Value>,
    /// `put`, `delete`: the version that the key must have; 0 where it must be absent.
    expect: Option<Whole<0, { u64::MAX }>>,
}

/// A field that is there, be it `null`.
fn present<'de, D: Deserializer<'de>>(reader: D) -> Result<Option<RawJson>, D::Error> {
    RawJson::deserialize(reader).map(Some)
}

/// What an operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum StoreOperationName {
    /// Reads a key.
    Get,
    /// Reads keys in their order.
    List,
    /// Writes a key.
    Put,
    /// Deletes a key.
    Delete,
    /// Deletes all keys with a prefix.
    DeletePrefix,
}

/// A search.
#[derive(Deserialize, ToSchema)]
pub struct StoreSearchBody {
    /// The space.
    pub space: SpaceName,
    /// Whose it is.
    pub owner: SpaceOwner,
    /// What the keys begin with; all where it is empty.
    #[serde(default)]
    pub prefix: String,
    /// Only values whose fields are like this: a value, or an object of `$eq`, `$ne`, `$gt`, `$gte`, `$lt`, `$lte`.
    pub filter: Option<Map<String, Value>>,
    /// Only values with one of these words, the best first.
    pub query: Option<String>,
    /// At most so many; 10 where nobody says.
    pub limit: Option<Whole<1, 1_000>>,
    /// Without the first so many.
    pub offset: Option<Whole<0, { u64::MAX }>>,
}

impl BodyFields for StoreSearchBody {
    fn check(&self) -> Result<()> {
        check_prefix("prefix", &self.prefix)
    }
}

/// A batch as it is carried out.
pub enum StoreBatch {
    /// Keys are read.
    Reads(Vec<StoreRead>),
    /// Keys are written.
    Writes(Vec<StoreWrite>),
    /// All keys with a prefix are deleted.
    PrefixRemoval(String),
}

/// Something to be read.
pub enum StoreRead {
    /// A key.
    Key(String),
    /// Keys in their order.
    List(StoreList),
}

/// Keys in their order.
pub struct StoreList {
    /// What they begin with.
    pub prefix: String,
    /// The one before the first.
    pub after: Option<String>,
    /// At most so many.
    pub limit: usize,
    /// The last one first.
    pub is_reverse: bool,
    /// With their values.
    pub has_values: bool,
}

/// A key to be written.
pub struct StoreWrite {
    /// The key.
    pub key: String,
    /// The version it must have; 0 is that of a key that is absent.
    pub expect: Option<u64>,
    /// What becomes of it.
    pub change: StoreChange,
}

/// What becomes of a key.
pub enum StoreChange {
    /// It gets a content.
    Put {
        /// `value` or `data`.
        name: &'static str,
        /// The content.
        json: Json,
        /// How long it lives.
        life: Option<Millis>,
    },
    /// It goes.
    Delete,
}

impl StoreBatch {
    /// Reads the operations of a batch.
    pub fn of(ops: Vec<StoreOperationBody>) -> Result<Self> {
        let (mut reads, mut writes, mut keys) = (Vec::new(), Vec::new(), HashSet::new());
        let count = ops.len();
        for (index, op) in ops.into_iter().enumerate() {
            let place = format!("ops[{index}]");
            op.check_fields(&place)?;
            match op.op {
                StoreOperationName::Get => reads.push(StoreRead::Key(op.key(&place)?)),
                StoreOperationName::List => reads.push(StoreRead::List(op.list(&place)?)),
                StoreOperationName::DeletePrefix if count == 1 => {
                    return op.prefix(&place).map(Self::PrefixRemoval);
                }
                StoreOperationName::DeletePrefix => {
                    let message = format!("{place}: delete_prefix stands alone in its batch");
                    return Err(Error::invalid(place, message));
                }
                StoreOperationName::Put | StoreOperationName::Delete => {
                    let write = op.write(&place)?;
                    if !keys.insert(write.key.clone()) {
                        let message = format!("{place}.key is written twice in this batch");
                        return Err(Error::invalid(format!("{place}.key"), message));
                    }
                    writes.push(write);
                }
            }
        }
        match (reads.is_empty(), writes.is_empty()) {
            (false, false) => Err(Error::invalid(
                "ops",
                "ops reads and writes; a batch only reads or only writes",
            )),
            (false, true) => Ok(Self::Reads(reads)),
            (true, _) => Ok(Self::Writes(writes)),
        }
    }
}

impl StoreOperationBody {
    /// Refuses a field that other operations have.
    fn check_fields(&self, place: &str) -> Result<()> {
        let (name, known): (&str, &[&str]) = match self.op {
            StoreOperationName::Get => ("get", &["key"]),
            StoreOperationName::List => {
                ("list", &["prefix", "after", "limit", "reverse", "values"])
            }
            StoreOperationName::Put => ("put", &["key", "value", "data", "ttl", "expect"]),
            StoreOperationName::Delete => ("delete", &["key", "expect"]),
            StoreOperationName::DeletePrefix => ("delete_prefix", &["prefix"]),
        };
        let given = [
            ("key", self.key.is_some()),
            ("prefix", self.prefix.is_some()),
            ("after", self.after.is_some()),
            ("limit", self.limit.is_some()),
            ("reverse", self.reverse.is_some()),
            ("values", self.values.is_some()),
            ("value", self.value.is_some()),
            ("data", self.data.is_some()),
            ("ttl", self.ttl.is_some()),
            ("expect", self.expect.is_some()),
        ];
        let mut strange = given
            .iter()
            .filter(|(field, is_given)| *is_given && !known.contains(field));
        match strange.next() {
            None => Ok(()),
            Some((field, _)) => {
                let param = format!("{place}.{field}");
                let message = format!(
                    "{param} is no field of {name}, which has {}",
                    known.join(", ")
                );
                Err(Error::invalid(param, message))
            }
        }
    }

    fn key(&self, place: &str) -> Result<String> {
        let param = format!("{place}.key");
        let key = self.key.clone().ok_or_else(|| missing(&param))?;
        if key.is_empty() {
            return Err(Error::invalid(&param, format!("{param} is empty")));
        }
        check_prefix(&param, &key)?;
        Ok(key)
    }

    fn prefix(&self, place: &str) -> Result<String> {
        let param = format!("{place}.prefix");
        let prefix = self.prefix.clone().ok_or_else(|| missing(&param))?;
        check_prefix(&param, &prefix)?;
        Ok(prefix)
    }

    fn list(&self, place: &str) -> Result<StoreList> {
        let limit = self
            .limit
            .ok_or_else(|| missing(&format!("{place}.limit")))?;
        if let Some(after) = &self.after {
            check_prefix(&format!("{place}.after"), after)?;
        }
        Ok(StoreList {
            prefix: self.prefix(place)?,
            after: self.after.clone(),
            limit: usize::try_from(limit.0).unwrap_or(1),
            is_reverse: self.reverse.unwrap_or_default(),
            has_values: self.values.unwrap_or_default(),
        })
    }

    fn write(self, place: &str) -> Result<StoreWrite> {
        Ok(StoreWrite {
            key: self.key(place)?,
            expect: self.expect.map(|expect| expect.0),
            change: match self.op {
                StoreOperationName::Delete => StoreChange::Delete,
                _ => self.put(place)?,
            },
        })
    }

    fn put(self, place: &str) -> Result<StoreChange> {
        let ttl = self.ttl.unwrap_or_default();
        let ttl = Ttl::of(&ttl);
        let ttl = ttl.map_err(|error| {
            let param = format!("{place}.ttl");
            Error::invalid(&param, format!("{param}: {error}"))
        })?;
        let (name, json) = match (self.value, self.data) {
            (Some(RawJson(json)), None) => ("value", json),
            (None, Some(data)) => ("data", bytes(&format!("{place}.data"), &data)?),
            (Some(_), Some(_)) => {
                let message = format!("{place} has a value and data; give one of them");
                return Err(Error::invalid(place, message));
            }
            (None, None) => return Err(missing(&format!("{place}.value"))),
        };
        check_size(&format!("{place}.{name}"), json.as_str().len(), VALUE)?;
        Ok(StoreChange::Put {
            name,
            json,
            life: ttl.and_then(Ttl::life),
        })
    }
}

/// Bytes, as the JSON text that they are kept as.
fn bytes(param: &str, data: &str) -> Result<Json> {
    if STANDARD.decode(data).is_err() {
        return Err(Error::invalid(param, format!("{param} is not base64")));
    }
    Ok(Json::of(data)?)
}

fn missing(param: &str) -> Error {
    Error::invalid(param, format!("{param} is missing"))
}

fn check_prefix(param: &str, text: &str) -> Result<()> {
    match text.len() {
        0..=KEY => Ok(()),
        bytes => Err(Error::invalid(
            param,
            format!("{param} has {bytes} bytes; keys have at most {KEY}"),
        )),
    }
}

fn check_size(param: &str, bytes: usize, limit: usize) -> Result<()> {
    if bytes <= limit {
        return Ok(());
    }
    let message = format!("{param} has {bytes} bytes; values have at most {limit}");
    Err(Error::new(ErrorCode::LimitExceeded, message).with_param(param))
}
