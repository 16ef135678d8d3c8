//! What the store answers.

use ambit_runtime::Result;
use ambit_storage::Json;
use ambit_storage::batch::ValueEntry;
use ambit_storage::clock::Millis;
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::ToSchema;

/// What came of a batch.
#[derive(Serialize, ToSchema)]
pub struct StoreBatchAnswer {
    /// What came of each operation, in their order.
    pub results: Vec<StoreResult>,
}

/// What came of an operation.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
pub enum StoreResult {
    /// Of `list`.
    List {
        /// The items, by their keys.
        items: Vec<StoreItem>,
        /// Behind which key the list goes on; nothing at its end.
        next: Option<String>,
    },
    /// Of `put`, `delete` and `delete_prefix`.
    Write(WriteResult),
    /// Of `get`; nothing where the key is absent.
    Item(Option<StoreItem>),
}

/// What came of an operation that writes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub enum WriteResult {
    /// Of `put`.
    Written(WrittenKey),
    /// Of `delete` and `delete_prefix`.
    Deleted(DeletedKeys),
}

/// A key that was written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WrittenKey {
    /// The new version.
    pub version: u64,
}

/// Keys that were deleted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DeletedKeys {
    /// How many there were.
    pub deleted: u64,
}

/// What was found.
#[derive(Serialize, ToSchema)]
pub struct StoreSearchAnswer {
    /// The items.
    pub items: Vec<StoreItem>,
}

/// A key and what it holds.
#[derive(Serialize, ToSchema)]
pub struct StoreItem {
    /// The key, where several are answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Its value, where it has one and values are asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Value>)]
    pub value: Option<Json>,
    /// Its bytes in base64, where it has those.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub data: Option<Json>,
    /// Its version, which no other state of the key has.
    pub version: u64,
    /// When it was created, in milliseconds since 1970.
    pub created_at: Millis,
    /// When it was written last.
    pub updated_at: Millis,
    /// When it ends, if it does.
    pub expires_at: Option<Millis>,
    /// How well it fits the words that were looked for, from 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
}

/// What is stored of a key, as `Operation::SetDated` writes it.
#[derive(Deserialize)]
struct StoredRecord {
    created_at: Millis,
    updated_at: Millis,
    #[serde(default, deserialize_with = "present")]
    value: Option<Json>,
    #[serde(default, deserialize_with = "present")]
    data: Option<Json>,
}

/// A field that is there, be it `null`.
fn present<'de, D: Deserializer<'de>>(reader: D) -> Result<Option<Json>, D::Error> {
    Json::deserialize(reader).map(Some)
}

impl StoreItem {
    /// What a stored value holds.
    pub fn of(entry: &ValueEntry) -> Result<Self> {
        let record: StoredRecord = entry.value.to()?;
        Ok(Self {
            key: None,
            value: record.value,
            data: record.data,
            version: entry.version,
            created_at: record.created_at,
            updated_at: record.updated_at,
            expires_at: entry.expires_at,
            score: None,
        })
    }

    /// The same, with its key.
    pub fn named(self, key: &str) -> Self {
        Self {
            key: Some(key.to_owned()),
            ..self
        }
    }

    /// The bytes of what it holds.
    pub fn size(&self) -> usize {
        let content = self.value.as_ref().or(self.data.as_ref());
        content.map_or(0, |json| json.as_str().len())
    }
}
