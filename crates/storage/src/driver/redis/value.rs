//! Values: how one is described in the store, and how much of it was loaded.

use crate::batch::ValueEntry;
use crate::clock::Millis;
use crate::driver::ValuePart;
use crate::json::{Json, StoredValue};
use crate::operation::{ListWindow, Operation};
use crate::{Error, Result};
use std::collections::HashSet;

/// What is known of a value without its body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueHeader {
    /// The type's name.
    pub kind: &'static str,
    /// The number of items of a list, 1 for anything else.
    pub length: u64,
    /// The version.
    pub version: u64,
    pub expires_at: Option<Millis>,
    /// Under which number the items of a list are kept; 0 for anything else.
    pub list: u64,
    /// True for a list whose fingerprints are counted, so that `AddToSet` need not read it.
    pub is_counted: bool,
}

impl ValueHeader {
    /// Reads what `text` wrote; `place` is for the message.
    pub fn parse(text: &str, place: &impl ToString) -> Result<Self> {
        let parts: Vec<&str> = text.split(' ').collect();
        let read = || {
            let [kind, length, version, ends, list, counted] = parts[..] else {
                return None;
            };
            Some(Self {
                kind: kind_of(kind)?,
                length: length.parse().ok()?,
                version: version.parse().ok()?,
                expires_at: if ends == "-" {
                    None
                } else {
                    Some(ends.parse().ok()?)
                },
                list: list.parse().ok()?,
                is_counted: counted == "1",
            })
        };
        read().ok_or_else(|| Error::corrupt(place.to_string(), format!("its header is \"{text}\"")))
    }

    pub fn text(&self) -> String {
        let ends = self
            .expires_at
            .map_or_else(|| "-".to_owned(), |end| end.to_string());
        format!(
            "{} {} {} {ends} {} {}",
            self.kind,
            self.length,
            self.version,
            self.list,
            u8::from(self.is_counted)
        )
    }

    /// True until its life ends.
    pub fn is_live(&self, now: Millis) -> bool {
        self.expires_at.is_none_or(|end| end > now)
    }

    /// The value as readers get it, of which `texts` was loaded.
    pub fn entry(
        self,
        part: ValuePart,
        texts: Vec<String>,
        place: &impl ToString,
    ) -> Result<ValueEntry> {
        let value = match part {
            ValuePart::Nothing => Json::stored("null"),
            _ if self.list == 0 => part.of_text(&body(texts, place)?),
            ValuePart::Dates => Json::stored("null"),
            _ => Json::stored(format!("[{}]", texts.join(","))),
        };
        Ok(ValueEntry {
            kind: self.kind,
            length: self.length,
            value,
            version: self.version,
            expires_at: self.expires_at,
            stale_possible: false,
        })
    }
}

/// A live value as a batch sees it.
#[derive(Clone, Debug)]
pub struct RedisValue {
    pub header: ValueHeader,
    pub content: ValueContent,
}

#[derive(Clone, Debug)]
pub enum ValueContent {
    /// All of it.
    Plain(Json),
    /// The last items of a list, all where it is short.
    Tail(Vec<Json>),
    /// Of a counted list, the fingerprints asked for that it has.
    Members(HashSet<String>),
}

impl RedisValue {
    /// All of it; only for values that were loaded whole.
    pub fn whole(&self) -> StoredValue {
        match &self.content {
            ValueContent::Plain(json) => StoredValue::Plain(json.clone()),
            ValueContent::Tail(items) => StoredValue::List(items.clone()),
            ValueContent::Members(_) => StoredValue::List(Vec::new()),
        }
    }

    /// What a list operation must be shown.
    pub fn window(&self, op: &Operation) -> Vec<Json> {
        match (&self.content, op.window()) {
            (ValueContent::Plain(_), _) | (_, ListWindow::Nothing) => Vec::new(),
            (ValueContent::Members(members), _) => match op {
                Operation::AddToSet(items) => {
                    let has = |item: &&Json| members.contains(&fingerprint(item));
                    items.iter().filter(has).cloned().collect()
                }
                _ => Vec::new(),
            },
            (ValueContent::Tail(items), ListWindow::Last(count)) => {
                let count = usize::try_from(count).unwrap_or(usize::MAX);
                items[items.len().saturating_sub(count)..].to_vec()
            }
            (ValueContent::Tail(items), _) => items.clone(),
        }
    }
}

/// What must be loaded of a value for operations on it, in their order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoadScope {
    Header,
    Whole,
    /// Everything, in order to take it away. A long list is read behind the rest.
    Taken,
    /// Everything, but only the last items of a list.
    Last(u64),
    /// Everything, but only these fingerprints of a counted list.
    Members(Vec<String>),
}

impl LoadScope {
    /// For these operations; `None` where the first replaces the value whatever it is.
    pub fn of(ops: &[&Operation]) -> Option<Self> {
        let seeing = ops
            .iter()
            .position(|op| matches!(op, Operation::Set(_) | Operation::Del))
            .unwrap_or(ops.len());
        match &ops[..seeing] {
            [] => None,
            [Operation::PullAll | Operation::GetDel] if ops.len() == 1 => Some(Self::Taken),
            [Operation::AddToSet(items)] if ops.len() == 1 => {
                Some(Self::Members(items.iter().map(fingerprint).collect()))
            }
            seeing => seeing
                .iter()
                .try_fold(0_u64, tail)
                .map_or(Some(Self::Whole), |count| Some(Self::Last(count))),
        }
    }

    /// The operands of the load script.
    pub fn words(&self) -> Vec<String> {
        let plain = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        match self {
            Self::Header => plain(&["n"]),
            Self::Whole => plain(&["w"]),
            Self::Taken => plain(&["t"]),
            Self::Last(0) => plain(&["i", "1", "0"]),
            Self::Last(count) => {
                let count = i64::try_from(*count).unwrap_or(i64::MAX);
                plain(&["i", &format!("-{count}"), "-1"])
            }
            Self::Members(keys) => {
                let mut words = vec!["s".to_owned(), keys.len().to_string()];
                words.extend(keys.iter().cloned());
                words
            }
        }
    }

    /// What was loaded, from the texts behind the header.
    pub fn content(
        &self,
        header: &ValueHeader,
        texts: Vec<String>,
        place: &impl ToString,
    ) -> Result<ValueContent> {
        Ok(match self {
            Self::Header => ValueContent::Tail(Vec::new()),
            _ if header.list == 0 => ValueContent::Plain(body(texts, place)?),
            Self::Members(keys) if header.is_counted => {
                let found = keys.iter().zip(texts).filter(|(_, count)| count == "1");
                ValueContent::Members(found.map(|(key, _)| key.clone()).collect())
            }
            _ => ValueContent::Tail(texts.into_iter().map(Json::stored).collect()),
        })
    }
}

/// How many items at the end operations must see, where that bounds what they see.
fn tail(count: u64, op: &&Operation) -> Option<u64> {
    match op {
        Operation::Push(_) | Operation::ArraySet(..) => Some(count),
        Operation::Pop | Operation::Pull(_) => match op.window() {
            ListWindow::Last(more) => Some(count.saturating_add(more)),
            _ => None,
        },
        _ => None,
    }
}

/// A text that equal items share and no others do.
pub fn fingerprint(item: &Json) -> String {
    let mut digest = crate::address::digest(&[&item.canonical()]);
    digest.truncate(32);
    digest
}

fn body(texts: Vec<String>, place: &impl ToString) -> Result<Json> {
    let text = texts.into_iter().next();
    text.map(Json::stored)
        .ok_or_else(|| Error::corrupt(place.to_string(), "its body is missing"))
}

fn kind_of(name: &str) -> Option<&'static str> {
    ["string", "object", "list", "boolean", "null", "number"]
        .into_iter()
        .find(|kind| *kind == name)
}
