//! Values: how one is described in the store, and how much of it was loaded.

use crate::batch::Entry;
use crate::clock::Millis;
use crate::driver::Part;
use crate::json::{Json, Value};
use crate::op::{Op, Window};
use crate::{Error, Result};
use std::collections::HashSet;

/// What is known of a value without its body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// The type's name.
    pub kind: &'static str,
    /// The number of items of a list, 1 for anything else.
    pub length: u64,
    /// The version.
    pub version: u64,
    /// When it ends.
    pub expires_at: Option<Millis>,
    /// Under which number the items of a list are kept; 0 for anything else.
    pub list: u64,
    /// True for a list whose fingerprints are counted, so that `AddToSet` need not read it.
    pub is_counted: bool,
}

impl Header {
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

    /// As stored.
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
    pub fn entry(self, part: Part, texts: Vec<String>, place: &impl ToString) -> Result<Entry> {
        let value = match part {
            Part::Nothing => Json::stored("null"),
            _ if self.list == 0 => body(texts, place)?,
            _ => Json::stored(format!("[{}]", texts.join(","))),
        };
        Ok(Entry {
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
pub struct Slot {
    /// Its description.
    pub header: Header,
    /// What was loaded of it.
    pub content: Content,
}

/// What was loaded of a value.
#[derive(Clone, Debug)]
pub enum Content {
    /// All of it.
    Plain(Json),
    /// The last items of a list, all where it is short.
    Tail(Vec<Json>),
    /// Of a counted list, the fingerprints asked for that it has.
    Members(HashSet<String>),
}

impl Slot {
    /// All of it; only for values that were loaded whole.
    pub fn whole(&self) -> Value {
        match &self.content {
            Content::Plain(json) => Value::Plain(json.clone()),
            Content::Tail(items) => Value::List(items.clone()),
            Content::Members(_) => Value::List(Vec::new()),
        }
    }

    /// What a list operation must be shown.
    pub fn window(&self, op: &Op) -> Vec<Json> {
        match (&self.content, op.window()) {
            (Content::Plain(_), _) | (_, Window::Nothing) => Vec::new(),
            (Content::Members(members), _) => match op {
                Op::AddToSet(items) => {
                    let has = |item: &&Json| members.contains(&fingerprint(item));
                    items.iter().filter(has).cloned().collect()
                }
                _ => Vec::new(),
            },
            (Content::Tail(items), Window::Last(count)) => {
                let count = usize::try_from(count).unwrap_or(usize::MAX);
                items[items.len().saturating_sub(count)..].to_vec()
            }
            (Content::Tail(items), _) => items.clone(),
        }
    }
}

/// What must be loaded of a value for operations on it, in their order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Load {
    /// The header.
    Header,
    /// Everything.
    Whole,
    /// Everything, but only the last items of a list.
    Last(u64),
    /// Everything, but only these fingerprints of a counted list.
    Members(Vec<String>),
}

impl Load {
    /// For these operations; `None` where the first replaces the value whatever it is.
    pub fn of(ops: &[&Op]) -> Option<Self> {
        let seeing = ops
            .iter()
            .position(|op| matches!(op, Op::Set(_) | Op::Del))
            .unwrap_or(ops.len());
        match &ops[..seeing] {
            [] => None,
            [Op::AddToSet(items)] if ops.len() == 1 => {
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
        header: &Header,
        texts: Vec<String>,
        place: &impl ToString,
    ) -> Result<Content> {
        Ok(match self {
            Self::Header => Content::Tail(Vec::new()),
            _ if header.list == 0 => Content::Plain(body(texts, place)?),
            Self::Members(keys) if header.is_counted => {
                let found = keys.iter().zip(texts).filter(|(_, count)| count == "1");
                Content::Members(found.map(|(key, _)| key.clone()).collect())
            }
            _ => Content::Tail(texts.into_iter().map(Json::stored).collect()),
        })
    }
}

/// How many items at the end operations must see, where that bounds what they see.
fn tail(count: u64, op: &&Op) -> Option<u64> {
    match op {
        Op::Push(_) | Op::ArraySet(..) => Some(count),
        Op::Pop | Op::Pull(_) => match op.window() {
            Window::Last(more) => Some(count.saturating_add(more)),
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
