//! JSON and lines of JSON: each record is a section of its texts.
//!
//! Records are read as they come and no value is built of them, so that a file of brackets takes no memory.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use crate::builder::DocumentBuilder;
use crate::document::{BlockKind, ExtractedDocument};
use crate::encoding::decode;
use crate::error::ExtractError;
use crate::format::DocumentBytes;
use crate::limits;

/// Reads one value: the elements of an array are the records, else it is one itself.
pub(super) fn read(source: &DocumentBytes<'_>) -> Result<ExtractedDocument, ExtractError> {
    let text = decode(source.bytes, source.charset)?;
    let mut reader = JsonReader::default();
    reader
        .value(&text, true)
        .map_err(|error| ExtractError::invalid(format!("not JSON: {error}")))?;
    reader.finish()
}

/// Reads one record a line.
pub(super) fn read_lines(source: &DocumentBytes<'_>) -> Result<ExtractedDocument, ExtractError> {
    let text = decode(source.bytes, source.charset)?;
    let mut reader = JsonReader::default();
    for (number, line) in text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty())
    {
        let told =
            |error| ExtractError::invalid(format!("line {} is not JSON: {error}", number + 1));
        reader.value(line, false).map_err(told)?;
    }
    reader.finish()
}

#[derive(Default)]
struct JsonReader {
    builder: DocumentBuilder,
    /// Why reading was given up, which the error of the parser cannot hold.
    failure: Option<ExtractError>,
}

impl JsonReader {
    fn value(&mut self, text: &str, is_list: bool) -> Result<(), serde_json::Error> {
        if self.failure.is_some() {
            return Ok(());
        }
        let mut parser = serde_json::Deserializer::from_str(text);
        let read = RecordsSeed {
            reader: self,
            is_list,
        }
        .deserialize(&mut parser)
        .and_then(|()| parser.end());
        if self.failure.is_some() { Ok(()) } else { read }
    }

    fn finish(self) -> Result<ExtractedDocument, ExtractError> {
        self.failure.map_or_else(|| self.builder.finish(), Err)
    }

    fn record<E: Error>(&mut self, record: RecordContent) -> Result<(), E> {
        record.write(&mut self.builder).map_err(|failure| {
            let error = E::custom(&failure);
            self.failure = Some(failure);
            error
        })
    }
}

/// What is taken of a record.
#[derive(Default)]
struct RecordContent {
    title: Option<String>,
    id: Option<Value>,
    texts: Vec<String>,
}

impl RecordContent {
    fn write(self, builder: &mut DocumentBuilder) -> Result<(), ExtractError> {
        builder.record()?;
        if let Some(title) = &self.title {
            builder.heading(1, title)?;
        }
        if let Some(id) = self.id {
            builder.section_metadata().insert("id".to_owned(), id);
        }
        for text in &self.texts {
            builder.block(BlockKind::Paragraph, text)?;
        }
        Ok(())
    }

    fn field<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        match key {
            "_id" | "id" => {
                let value: Value = map.next_value()?;
                if is_id(&value) && (self.id.is_none() || key == "_id") {
                    self.id = Some(value);
                }
            }
            "title" | "name" => {
                let mut texts = Vec::new();
                map.next_value_seed(TextsSeed { texts: &mut texts })?;
                let is_one = texts.len() == 1;
                if is_one && (self.title.is_none() || key == "title") {
                    // A name beside a title is a text like others.
                    self.texts.extend(self.title.take());
                    self.title = texts.pop();
                }
                self.texts.append(&mut texts);
            }
            _ => map.next_value_seed(TextsSeed {
                texts: &mut self.texts,
            })?,
        }
        Ok(())
    }
}

/// Whether a value names its record, and is short enough to be repeated.
fn is_id(value: &Value) -> bool {
    match value {
        Value::String(id) => id.len() <= limits::ID_BYTES,
        Value::Number(_) => true,
        _ => false,
    }
}

/// What is no text is passed over.
macro_rules! pass_over_scalars {
    () => {
        fn visit_bool<E: Error>(self, _: bool) -> Result<(), E> {
            Ok(())
        }

        fn visit_i64<E: Error>(self, _: i64) -> Result<(), E> {
            Ok(())
        }

        fn visit_u64<E: Error>(self, _: u64) -> Result<(), E> {
            Ok(())
        }

        fn visit_f64<E: Error>(self, _: f64) -> Result<(), E> {
            Ok(())
        }

        fn visit_unit<E: Error>(self) -> Result<(), E> {
            Ok(())
        }
    };
}

/// Reads the records of a value.
struct RecordsSeed<'a> {
    reader: &'a mut JsonReader,
    /// Whether an array is many records.
    is_list: bool,
}

impl<'de> DeserializeSeed<'de> for RecordsSeed<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, parser: D) -> Result<(), D::Error> {
        parser.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for RecordsSeed<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("records")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        if self.is_list {
            while list
                .next_element_seed(RecordsSeed {
                    reader: &mut *self.reader,
                    is_list: false,
                })?
                .is_some()
            {}
            return Ok(());
        }
        let mut record = RecordContent::default();
        while list
            .next_element_seed(TextsSeed {
                texts: &mut record.texts,
            })?
            .is_some()
        {}
        self.reader.record(record)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut record = RecordContent::default();
        while let Some(key) = map.next_key::<String>()? {
            record.field(&key, &mut map)?;
        }
        self.reader.record(record)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        self.reader.record(RecordContent {
            texts: vec![text.to_owned()],
            ..RecordContent::default()
        })
    }

    pass_over_scalars!();
}

/// Collects the strings of a value, wherever they stand.
struct TextsSeed<'a> {
    texts: &'a mut Vec<String>,
}

impl<'de> DeserializeSeed<'de> for TextsSeed<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, parser: D) -> Result<(), D::Error> {
        parser.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for TextsSeed<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while list
            .next_element_seed(TextsSeed {
                texts: &mut *self.texts,
            })?
            .is_some()
        {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while map.next_key::<IgnoredAny>()?.is_some() {
            map.next_value_seed(TextsSeed {
                texts: &mut *self.texts,
            })?;
        }
        Ok(())
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        self.texts.push(text.to_owned());
        Ok(())
    }

    pass_over_scalars!();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Section;

    #[test]
    fn g207_an_id_of_more_than_a_kibibyte_is_dropped() {
        let lines = [limits::ID_BYTES, limits::ID_BYTES + 1]
            .map(|bytes| format!("{{\"id\":\"{}\",\"text\":\"a\"}}\n", "i".repeat(bytes)))
            .concat();
        let source = DocumentBytes {
            bytes: lines.as_bytes(),
            charset: None,
        };
        let sections = read_lines(&source).unwrap().sections;
        let has_id = |section: &Section| section.metadata.contains_key("id");
        assert_eq!(
            sections.iter().map(has_id).collect::<Vec<_>>(),
            [true, false]
        );
    }
}
