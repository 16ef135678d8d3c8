//! Attributes of resources, spans and points.

use super::protobuf::ProtobufMessage;
use std::borrow::Cow;

/// A name and its value.
#[derive(Clone, Debug, PartialEq)]
pub struct Attribute {
    /// The name, such as `service.name`.
    pub name: Cow<'static, str>,
    /// Its value.
    pub value: AttributeValue,
}

/// What an attribute can be.
#[derive(Clone, Debug, PartialEq)]
pub enum AttributeValue {
    /// A text.
    Text(String),
    /// A whole number.
    Number(i64),
    /// Any number.
    Decimal(f64),
    /// A list of texts.
    Texts(Vec<String>),
}

impl Attribute {
    /// An attribute that is a text.
    pub fn text(name: impl Into<Cow<'static, str>>, text: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            value: AttributeValue::Text(text.into()),
        }
    }
}

impl AttributeValue {
    /// About how many bytes it has.
    pub(super) fn size(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Number(_) | Self::Decimal(_) => 8,
            Self::Texts(texts) => texts.iter().map(String::len).sum(),
        }
    }

    fn message(&self) -> ProtobufMessage {
        let mut message = ProtobufMessage::default();
        match self {
            Self::Text(text) => message.present_bytes(1, text.as_bytes()),
            Self::Number(number) => message.present_number(3, number.cast_unsigned()),
            Self::Decimal(number) => message.present_double(4, *number),
            Self::Texts(texts) => {
                let mut list = ProtobufMessage::default();
                for text in texts {
                    list.message(1, &Self::Text(text.clone()).message());
                }
                message.message(5, &list);
            }
        }
        message
    }
}

/// Writes attributes as a repeated field.
pub(super) fn write_attributes(message: &mut ProtobufMessage, field: u64, all: &[Attribute]) {
    for attribute in all {
        let mut pair = ProtobufMessage::default();
        pair.text(1, &attribute.name);
        pair.message(2, &attribute.value.message());
        message.message(field, &pair);
    }
}
