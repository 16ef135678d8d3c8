//! YAML 1.2.

use super::DEPTH;
use super::node::{ConfigKey, ConfigNode, ConfigValue, FilePosition, SyntaxError};
use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Number;
use serde_saphyr::options::{DuplicateKeyPolicy, NonFiniteFloatPolicy};
use serde_saphyr::{Location, Spanned};
use std::fmt;

/// The tree of a text.
pub fn parse(text: &str) -> Result<ConfigNode, SyntaxError> {
    let options = serde_saphyr::options! {
        duplicate_keys: DuplicateKeyPolicy::PassThrough,
        non_finite_float_policy: NonFiniteFloatPolicy::PassThrough,
        strict_booleans: true,
        with_snippet: false,
        budget: serde_saphyr::budget! { max_depth: DEPTH },
    };
    match serde_saphyr::from_str_with_options::<Option<Spanned<YamlContent>>>(text, options) {
        Ok(Some(raw)) => Ok(node(raw)),
        Ok(None) => Ok(ConfigNode::nothing()),
        Err(error) => Err(fault(&error)),
    }
}

/// The parser says where at the end of its message; here the place stands in front.
fn fault(error: &serde_saphyr::Error) -> SyntaxError {
    let at = error.location().map(spot).filter(|at| at.line > 0);
    let message = error.without_snippet().to_string();
    let message = message.lines().next().unwrap_or_default();
    let place = at.map(|at| format!(" at line {}, column {}", at.line, at.column));
    let message = place
        .and_then(|place| message.strip_suffix(&place))
        .unwrap_or(message);
    SyntaxError {
        at,
        message: message.to_owned(),
    }
}

fn spot(at: Location) -> FilePosition {
    let count = |number| u32::try_from(number).unwrap_or(u32::MAX);
    FilePosition {
        line: count(at.line()),
        column: count(at.column()),
    }
}

fn node(raw: Spanned<YamlContent>) -> ConfigNode {
    ConfigNode {
        at: spot(raw.referenced),
        content: raw.value.0,
    }
}

/// A value without its place, which [`Spanned`] adds.
struct YamlContent(ConfigValue);

impl<'de> Deserialize<'de> for YamlContent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ContentVisitor).map(Self)
    }
}

struct ContentVisitor;

impl<'de> Visitor<'de> for ContentVisitor {
    type Value = ConfigValue;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<ConfigValue, E> {
        Ok(ConfigValue::Null)
    }

    fn visit_none<E>(self) -> Result<ConfigValue, E> {
        Ok(ConfigValue::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, inner: D) -> Result<ConfigValue, D::Error> {
        inner.deserialize_any(self)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<ConfigValue, E> {
        Ok(ConfigValue::Boolean(flag))
    }

    fn visit_i64<E>(self, number: i64) -> Result<ConfigValue, E> {
        Ok(ConfigValue::Number(number.into()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<ConfigValue, E> {
        Ok(ConfigValue::Number(number.into()))
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<ConfigValue, E> {
        let number = Number::from_f64(number);
        let number = number.ok_or_else(|| E::custom("the number is out of range"))?;
        Ok(ConfigValue::Number(number))
    }

    fn visit_str<E>(self, text: &str) -> Result<ConfigValue, E> {
        Ok(ConfigValue::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<ConfigValue, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = list.next_element::<Spanned<YamlContent>>()? {
            items.push(node(item));
        }
        Ok(ConfigValue::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ConfigValue, A::Error> {
        let mut entries = Vec::new();
        while let Some((key, value)) = map.next_entry::<Spanned<String>, Spanned<YamlContent>>()? {
            let at = spot(key.referenced);
            let text = key.value;
            entries.push((ConfigKey { at, text }, node(value)));
        }
        Ok(ConfigValue::Object(entries))
    }
}
