//! Stating a key of a configuration file once. `config!` makes a typed struct of the keys of an object, the table by which
//! the reader judges it, and with them what the reference page and the JSON Schemas for editors say.

mod field_spec;
pub mod units;
mod values;

pub use field_spec::{ConfigStruct, FieldSpec, FileKind, ValueKind};
pub use values::{ByteSize, ExactNumber, RawText};

use serde_json::{Map, Value};
use std::fmt;
use std::marker::PhantomData;

/// What a value of a configuration file can be in Rust.
pub trait Setting: Default {
    /// What the reader accepts for it.
    const KIND: ValueKind;

    /// The value that was accepted; `None` where it says nothing, as a duration of 0 does.
    fn read(value: Value) -> Option<Self>;

    /// Whether the value of a key is as good as not given, as an empty text is.
    fn is_nothing(&self) -> bool {
        false
    }
}

/// An object with known keys, made by `config!`.
pub trait ConfigObject: Setting {
    /// Takes over what is given of its keys; the others stay as they are.
    fn update(&mut self, given: &mut Map<String, Value>);

    /// Its keys.
    fn keys() -> Vec<&'static str> {
        match Self::KIND {
            ValueKind::Struct(object) => object.fields().map(|field| field.name).collect(),
            _ => Vec::new(),
        }
    }
}

/// Keys of an object that stand over those of another one.
#[derive(Clone, Default, PartialEq)]
pub struct Overrides<T> {
    given: Map<String, Value>,
    object: PhantomData<T>,
}

/// Its values may be secrets.
impl<T> fmt::Debug for Overrides<T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_set().entries(self.given.keys()).finish()
    }
}

impl<T: ConfigObject + Clone> Overrides<T> {
    /// The other object with the keys that are given here.
    pub fn over(&self, base: &T) -> T {
        let mut whole = base.clone();
        whole.update(&mut self.given.clone());
        whole
    }

    /// These keys below those of a later level.
    pub fn merge(&mut self, later: &Self) {
        merge(&mut self.given, &later.given);
    }

    /// Whether a key is given, by the names that lead to it.
    pub fn gives(&self, path: &[&str]) -> bool {
        let Some((first, rest)) = path.split_first() else {
            return false;
        };
        let value = self.given.get(*first);
        let found = rest.iter().fold(value, |value, name| value?.get(name));
        found.is_some_and(|value| !value.is_null())
    }

    /// The object with the keys that are given here, and the defaults of all others.
    pub fn whole(&self) -> T {
        self.over(&T::default())
    }
}

/// Puts the values of a later level over those of an earlier one: objects merge, all else is replaced, and null says nothing.
fn merge(base: &mut Map<String, Value>, later: &Map<String, Value>) {
    for (key, value) in later {
        match (base.get_mut(key), value) {
            (_, Value::Null) => {}
            (Some(Value::Object(base)), Value::Object(later)) => merge(base, later),
            (Some(base), value) => base.clone_from(value),
            (None, value) => {
                base.insert(key.clone(), value.clone());
            }
        }
    }
}

impl<T: ConfigObject> Setting for Overrides<T> {
    const KIND: ValueKind = T::KIND;

    fn read(value: Value) -> Option<Self> {
        Some(Self {
            given: Map::read(value)?,
            object: PhantomData,
        })
    }
}

/// States objects with known keys, and texts that a value may be.
///
/// ```text
/// config! {
///     /// What the object is.
///     #[secret]                           // its values are not printed
///     pub struct StoreOptions {
///         /// What the key means, in one line.
///         #[required]                     // refused without it
///         #[guard]                        // keys that look like it are refused
///         #[key = "type"]                 // where the field has another name
///         kind: Option<StoreKind>,
///         /// What the key means.
///         size: usize = 100,              // its default, as it would stand in the file
///         /// What the key means.
///         raw: Value as ValueKind::Any,        // another kind than that of the type
///         include { common: CommonKeys }  // the keys of another struct are keys of this one too
///         given others: Map<String, Value> {
///             /// Passed on as it is given, together with the others in the field `others`.
///             color: ValueKind::Text,
///         }
///         unused { cache: " in Ambit" }   // keys of Yao's without an effect here; why, or what to use instead
///         open "Others belong to Yao."    // other keys are let through
///     }
///
///     /// What the texts are for.
///     pub enum StoreKind {
///         /// What the text means.
///         Lru = "lru",
///     }
/// }
/// ```
#[macro_export]
#[doc(hidden)]
macro_rules! config {
    () => {};
    (
        #[doc = $about:literal]
        $(#[$mark:ident])?
        pub struct $Name:ident {
            $(
                #[doc = $doc:literal]
                $(#[$flag:ident $(= $text:literal)?])*
                $field:ident: $Type:ty $(= $default:tt)? $(as $kind:expr)?,
            )*
            $(include { $($part:ident: $Part:ty),+ $(,)? })?
            $(given $map:ident: $Map:ty {
                $(
                    #[doc = $given_doc:literal]
                    $given:ident: $given_kind:expr,
                )+
            })?
            $(unused { $($unused:ident: $why:literal),+ $(,)? })?
            $(open $others:literal)?
        }
        $($rest:tt)*
    ) => {
        #[doc = $about]
        #[derive(Clone, PartialEq)]
        pub struct $Name {
            $(#[doc = $doc] pub $field: $Type,)*
            $($(#[doc = "Keys that stand beside these."] pub $part: $Part,)+)?
            $(#[doc = "Keys that are passed on as they are given."]
            pub $map: $Map,)?
        }

        impl $crate::config::Setting for $Name {
            const KIND: $crate::config::ValueKind =
                $crate::config::ValueKind::Struct(&$crate::config::ConfigStruct {
                    name: stringify!($Name),
                    doc: $about.trim_ascii(),
                    fields: &[
                        $($crate::config::FieldSpec {
                            doc: $doc.trim_ascii(),
                            default: $crate::config!(@default $($default)?),
                            is_required: false $(|| $crate::config!(@is_required $flag))*,
                            is_guard: false $(|| $crate::config!(@is_guard $flag))*,
                            ..$crate::config::FieldSpec::new(
                                $crate::config!(@key $field $($(, $text)?)*),
                                $crate::config!(@kind $Type $(, $kind)?),
                            )
                        },)*
                        $($($crate::config::FieldSpec {
                            doc: $given_doc.trim_ascii(),
                            ..$crate::config::FieldSpec::new(
                                stringify!($given),
                                $given_kind,
                            )
                        },)+)?
                        $($($crate::config::FieldSpec::unused(stringify!($unused), $why),)+)?
                    ],
                    included: &[$($($crate::config!(@kind $Part),)+)?],
                    others: concat!($($others)?),
                });

            fn read(value: serde_json::Value) -> Option<Self> {
                let serde_json::Value::Object(mut given) = value else {
                    return None;
                };
                let mut read = Self::default();
                $crate::config::ConfigObject::update(&mut read, &mut given);
                Some(read)
            }
        }

        impl $crate::config::ConfigObject for $Name {
            fn update(&mut self, given: &mut serde_json::Map<String, serde_json::Value>) {
                $($(if let Some(value) = given.remove(stringify!($given)) {
                    self.$map.extend([(stringify!($given).to_owned(), value)]);
                })+)?
                $(if let Some(value) = given
                    .remove($crate::config!(@key $field $($(, $text)?)*))
                    .and_then(<$Type as $crate::config::Setting>::read)
                    .filter(|value| !$crate::config::Setting::is_nothing(value))
                {
                    self.$field = value;
                })*
                $($($crate::config::ConfigObject::update(&mut self.$part, given);)+)?
            }
        }

        impl Default for $Name {
            fn default() -> Self {
                Self {
                    $($field: $crate::config!(@value $($default)?),)*
                    $($($part: Default::default(),)+)?
                    $($map: Default::default(),)?
                }
            }
        }

        $crate::config!(@debug [$($mark)?] $Name: $($field)* $($($part)+)? $($map)?);
        $crate::config! { $($rest)* }
    };
    (
        #[doc = $about:literal]
        pub enum $Name:ident {
            $(#[doc = $doc:literal] $Variant:ident = $text:literal,)+
        }
        $($rest:tt)*
    ) => {
        #[doc = $about]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $Name {
            $(#[doc = $doc] $Variant,)+
        }

        impl $Name {
            const ALL: &'static [Self] = &[$(Self::$Variant),+];

            /// As it is written in files.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$Variant => $text,)+
                }
            }
        }

        impl $crate::config::Setting for $Name {
            const KIND: $crate::config::ValueKind = $crate::config::ValueKind::OneOf(&[$($text),+]);

            fn read(value: serde_json::Value) -> Option<Self> {
                let text = value.as_str()?;
                Self::ALL.iter().find(|known| known.name() == text).copied()
            }
        }

        impl Default for $Name {
            fn default() -> Self {
                Self::ALL[0]
            }
        }

        $crate::config! { $($rest)* }
    };
    (@debug [] $Name:ident: $($field:ident)*) => {
        impl std::fmt::Debug for $Name {
            fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                let mut shown = out.debug_struct(stringify!($Name));
                $(shown.field(stringify!($field), &self.$field);)*
                shown.finish()
            }
        }
    };
    (@debug [secret] $Name:ident: $($field:ident)*) => {
        impl std::fmt::Debug for $Name {
            fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                out.debug_struct(stringify!($Name)).finish_non_exhaustive()
            }
        }
    };
    (@default) => { None };
    (@default $default:tt) => { Some(|| serde_json::json!($default)) };
    (@value) => { Default::default() };
    (@value $default:tt) => {
        $crate::config::Setting::read(serde_json::json!($default)).unwrap_or_default()
    };
    (@is_required required) => { true };
    (@is_required key) => { false };
    (@is_required guard) => { false };
    (@is_guard guard) => { true };
    (@is_guard key) => { false };
    (@is_guard required) => { false };
    (@key $field:ident) => { stringify!($field) };
    (@key $field:ident, $text:literal) => { $text };
    (@kind $Type:ty) => { <$Type as $crate::config::Setting>::KIND };
    (@kind $Type:ty, $kind:expr) => { $kind };
}
