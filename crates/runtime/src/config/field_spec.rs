//! What a file may hold: a table of known keys, and the kinds of their values.

use ambit_storage::memory::Ttl;
use serde_json::{Number, Value};

/// A kind of file of an app.
#[derive(Debug)]
pub struct FileKind {
    /// Its name in lists of schemas.
    pub name: &'static str,
    /// What it is, in one line.
    pub doc: &'static str,
    /// The files, as patterns below the app's folder.
    pub patterns: &'static [&'static str],
    /// What it holds.
    pub kind: ValueKind,
}

/// An object with known keys.
#[derive(Debug)]
pub struct ConfigStruct {
    /// The name of its type.
    pub name: &'static str,
    /// What it is, in one line.
    pub doc: &'static str,
    /// Its keys.
    pub fields: &'static [FieldSpec],
    /// Objects whose keys are keys of this one too.
    pub included: &'static [ValueKind],
    /// Whose other keys are, which are let through; empty where there must be none.
    pub others: &'static str,
}

impl ConfigStruct {
    /// All of its keys.
    pub fn fields(&self) -> impl Iterator<Item = &'static FieldSpec> {
        let included = self.included.iter().flat_map(|kind| match kind {
            ValueKind::Struct(part) => part.fields,
            _ => &[],
        });
        self.fields.iter().chain(included)
    }
}

/// A known key of an object.
#[derive(Debug)]
pub struct FieldSpec {
    /// The key.
    pub name: &'static str,
    /// What it may hold.
    pub kind: ValueKind,
    /// What it means, in one line.
    pub doc: &'static str,
    /// What counts where it is not there.
    pub default: Option<fn() -> Value>,
    /// Whether it must be there.
    pub is_required: bool,
    /// Whether it keeps data from somebody, so that a key is refused that looks like it: misspelt, it would keep nothing.
    pub is_guard: bool,
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
    /// An object with known keys.
    Struct(&'static ConfigStruct),
    /// An object with any keys.
    Map(&'static Self),
    /// An object that is of the first kind if it has this key, else of the second.
    With(&'static str, &'static Self, &'static Self),
    /// Of the kind that is listed with the text of this key beside it; an object with any keys where none is.
    By(&'static str, &'static [(&'static [&'static str], Self)]),
    /// Any of these; which one is seen from the outside.
    Either(&'static [Self]),
    /// Anything.
    Any,
    /// This, with variables left as they are.
    Verbatim(&'static Self),
    /// This; a value of another kind is one that Ambit does not have, and is left out.
    Optional(&'static Self),
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
            doc: "",
            default: None,
            is_required: false,
            is_guard: false,
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
            Self::Struct(_) | Self::Map(_) | Self::With(..) | Self::By(..) => {
                "an object".to_owned()
            }
            Self::Either(kinds) => {
                let kinds: Vec<String> = kinds.iter().map(Self::name).collect();
                kinds.join(" or ")
            }
            Self::Verbatim(kind) | Self::Optional(kind) => kind.name(),
            Self::Any | Self::Unused(_) => "anything".to_owned(),
        }
    }
}
