//! The parts of a message's content, in OpenAI's shapes.

use ambit_runtime::{Error, Result};
use ambit_storage::suggestion;
use serde_json::{Map, Value};

/// What a kind of part holds under its own name.
enum PartShape {
    /// A text.
    Text,
    /// An address, alone or as `url`.
    Address,
    /// An object whose texts these are, and of which one of the first must be there.
    Object(&'static [&'static str], &'static [&'static str]),
}

/// The kinds of parts.
const KINDS: [(&str, PartShape); 6] = [
    ("text", PartShape::Text),
    ("refusal", PartShape::Text),
    ("image_url", PartShape::Address),
    ("video_url", PartShape::Address),
    ("input_audio", PartShape::Object(&["data"], &["format"])),
    (
        "file",
        PartShape::Object(&["file_data", "url", "file_id"], &["filename"]),
    ),
];

/// Refuses what is no list of parts.
pub fn check(parts: &[Value], place: &str) -> Result<()> {
    if parts.is_empty() {
        let message = format!("{place} must hold at least one part");
        return Err(Error::invalid(place, message));
    }
    let mut parts = parts.iter().enumerate();
    parts.try_for_each(|(at, part)| one(part, &format!("{place}[{at}]")))
}

fn one(part: &Value, place: &str) -> Result<()> {
    let kind = part.get("type").and_then(Value::as_str);
    let known = KINDS.iter().find(|(name, _)| Some(*name) == kind);
    let Some((name, shape)) = known else {
        let names = KINDS.map(|(name, _)| name);
        let hint = suggestion::hint(kind.unwrap_or_default(), names);
        let message = format!("{place}.type must be one of {}{hint}", names.join(", "));
        return Err(Error::invalid(format!("{place}.type"), message));
    };
    let place = format!("{place}.{name}");
    match (shape, part.get(name)) {
        (PartShape::Text, Some(Value::String(_))) => Ok(()),
        (PartShape::Address, Some(Value::String(address))) if !address.is_empty() => Ok(()),
        (PartShape::Address, Some(Value::Object(fields))) => {
            texts(fields, &place, &["url"], &["detail"])
        }
        (PartShape::Object(one_of, more), Some(Value::Object(fields))) => {
            texts(fields, &place, one_of, more)
        }
        (shape, _) => {
            let what = match shape {
                PartShape::Text => "a string",
                PartShape::Address => "an object with a url",
                PartShape::Object(..) => "an object",
            };
            Err(Error::invalid(&place, format!("{place} must be {what}")))
        }
    }
}

/// Refuses fields that are no texts, and an object without any of the first.
fn texts(fields: &Map<String, Value>, place: &str, one_of: &[&str], more: &[&str]) -> Result<()> {
    let is_given = |name: &&&str| fields.get(**name).is_some_and(|value| !value.is_null());
    for name in one_of.iter().chain(more).filter(is_given) {
        let is_text = fields[*name].as_str().is_some_and(|text| !text.is_empty());
        if !is_text {
            let place = format!("{place}.{name}");
            let message = format!("{place} must be a string that is not empty");
            return Err(Error::invalid(place, message));
        }
    }
    if one_of.iter().any(|name| is_given(&name)) {
        return Ok(());
    }
    let place = format!("{place}.{}", one_of[0]);
    let message = match one_of {
        [_] => format!("{place} is missing"),
        all => format!(
            "{place} is missing; one of {} must be there",
            all.join(", ")
        ),
    };
    Err(Error::invalid(place, message))
}
