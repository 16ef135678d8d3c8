//! What a file may hold: a table of known keys, and the kinds of their values.

use super::node::{ConfigNode, ConfigValue};
use ambit_storage::memory::Ttl;
use serde_json::Number;

/// A known key of an object.
#[derive(Debug)]
pub struct FieldSpec {
    /// The key.
    pub name: &'static str,
    /// What it may hold.
    pub kind: ValueKind,
    /// Whether it must be there.
    pub is_required: bool,
    /// Whether it has no effect and is given to people as it is.
    pub is_display_only: bool,
}

/// What a value may be.
#[derive(Debug)]
pub enum ValueKind {
    /// A text.
    Text,
    /// A text that is a regular expression.
    Pattern,
    /// `true` or `false`.
    Boolean,
    /// A number.
    Number,
    /// A whole number from 0 on.
    Count,
    /// A whole number.
    Whole,
    /// Seconds, or a text such as `"30s"`.
    Duration,
    /// Bytes, or a text such as `"64MiB"`.
    Size,
    /// One of these texts.
    OneOf(&'static [&'static str]),
    /// A list.
    List(&'static Self),
    /// An object with these keys and no others.
    Object(&'static [FieldSpec]),
    /// An object with these keys; others belong to somebody else.
    Open(&'static [FieldSpec]),
    /// An object with any keys.
    Map(&'static Self),
    /// An object that is of the first kind if it has this key, else of the second.
    With(&'static str, &'static Self, &'static Self),
    /// An object of a kind that depends on the text of this key.
    By(&'static str, fn(&str) -> &'static Self),
    /// Any of these; which one is seen from the outside.
    Either(&'static [Self]),
    /// Anything.
    Any,
    /// This, with variables left as they are.
    Verbatim(&'static Self),
    /// Anything: Yao knows the key, Ambit does nothing with it.
    Unused(&'static str),
}

impl ValueKind {
    /// A list of texts.
    pub const TEXTS: Self = Self::List(&Self::Text);
}

impl FieldSpec {
    /// A key that may be there.
    pub const fn new(name: &'static str, kind: ValueKind) -> Self {
        Self {
            name,
            kind,
            is_required: false,
            is_display_only: false,
        }
    }

    /// A key that must be there.
    pub const fn required(name: &'static str, kind: ValueKind) -> Self {
        Self {
            is_required: true,
            ..Self::new(name, kind)
        }
    }

    /// A key that is only shown.
    pub const fn display_only(name: &'static str, kind: ValueKind) -> Self {
        Self {
            is_display_only: true,
            ..Self::new(name, kind)
        }
    }

    /// A key of Yao's without effect here; why, or what to use instead.
    pub const fn unused(name: &'static str, why: &'static str) -> Self {
        Self::new(name, ValueKind::Unused(why))
    }
}

impl ValueKind {
    /// Whether a number is of this kind.
    pub fn takes(&self, number: &Number) -> bool {
        match self {
            Self::Number => true,
            Self::Whole => number.is_i64() || number.is_u64(),
            Self::Count | Self::Size => number.is_u64(),
            Self::Duration => number
                .as_f64()
                .is_some_and(|seconds| Ttl::seconds(seconds).is_ok()),
            _ => false,
        }
    }

    /// Whether a value is of this kind as far as can be seen from the outside.
    pub fn resembles(&self, node: &ConfigNode) -> bool {
        match (&node.content, self) {
            (ConfigValue::Null, _) | (_, Self::Any) => true,
            (
                ConfigValue::Text(_),
                Self::Text | Self::Pattern | Self::OneOf(_) | Self::Duration,
            ) => true,
            (ConfigValue::Text(_), Self::Size) | (ConfigValue::Boolean(_), Self::Boolean) => true,
            (ConfigValue::Number(number), kind) => kind.takes(number),
            (ConfigValue::List(_), Self::List(_)) => true,
            (
                ConfigValue::Object(_),
                Self::Object(_) | Self::Open(_) | Self::Map(_) | Self::With(..) | Self::By(..),
            ) => true,
            (_, Self::Verbatim(inner)) => inner.resembles(node),
            (_, Self::Either(kinds)) => kinds.iter().any(|kind| kind.resembles(node)),
            _ => false,
        }
    }

    /// What it is called in messages.
    pub fn name(&self) -> String {
        match self {
            Self::Text | Self::Pattern => "a string".to_owned(),
            Self::Boolean => "a boolean".to_owned(),
            Self::Number => "a number".to_owned(),
            Self::Count => "a whole number from 0 on".to_owned(),
            Self::Whole => "a whole number".to_owned(),
            Self::Duration => "a duration such as \"30s\"".to_owned(),
            Self::Size => "a size such as \"64MiB\"".to_owned(),
            Self::List(_) => "a list".to_owned(),
            Self::OneOf(names) => {
                let names: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
                match names.split_last() {
                    Some((last, [])) => last.clone(),
                    Some((last, names)) => format!("{} or {last}", names.join(", ")),
                    None => "nothing".to_owned(),
                }
            }
            Self::Object(_) | Self::Open(_) | Self::Map(_) | Self::With(..) | Self::By(..) => {
                "an object".to_owned()
            }
            Self::Either(kinds) => {
                let kinds: Vec<String> = kinds.iter().map(Self::name).collect();
                kinds.join(" or ")
            }
            Self::Verbatim(kind) => kind.name(),
            Self::Any | Self::Unused(_) => "anything".to_owned(),
        }
    }
}
