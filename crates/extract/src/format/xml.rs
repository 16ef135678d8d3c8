//! XML as office files use it: elements and text, by their names without prefixes. No DTD, no entities of its own.

use quick_xml::events::{BytesRef, BytesStart, Event};
use quick_xml::{Reader, XmlVersion};

use crate::error::ExtractError;
use crate::limits;

/// What is met on the way through a file.
pub(super) enum XmlEvent<'a> {
    Start(XmlElement<'a>),
    End(&'a str),
    Text(&'a str),
}

/// An element that begins.
pub(super) struct XmlElement<'a> {
    pub name: &'a str,
    tag: &'a BytesStart<'a>,
}

impl XmlElement<'_> {
    /// The value of an attribute, by its name without a prefix.
    pub(super) fn attribute(&self, name: &str) -> Option<String> {
        self.find(|key| key.rsplit(':').next() == Some(name))
    }

    /// The value of an attribute of another namespace than the element's: `r:id` beside `id`.
    pub(super) fn foreign_attribute(&self, name: &str) -> Option<String> {
        self.find(|key| key.split_once(':').is_some_and(|(_, local)| local == name))
    }

    fn find(&self, is_meant: impl Fn(&str) -> bool) -> Option<String> {
        let mut attributes = self.tag.attributes().flatten();
        let attribute = attributes.find(|attribute| is_meant(attribute.key.as_ref()))?;
        attribute
            .normalized_value(XmlVersion::default())
            .ok()
            .map(|value| value.into_owned())
    }
}

/// Hands over what is in `text`, but for the elements of the names `skipped` and all in them.
pub(super) fn read_xml(
    text: &str,
    skipped: &[&str],
    mut on_event: impl FnMut(XmlEvent<'_>) -> Result<(), ExtractError>,
) -> Result<(), ExtractError> {
    let mut reader = Reader::from_str(text);
    reader.config_mut().expand_empty_elements = true;
    let mut depth = 0;
    // The depth of the element that is passed over.
    let mut passed_over = None;
    loop {
        let event = reader
            .read_event()
            .map_err(|error| ExtractError::invalid(format!("broken XML: {error}")))?;
        match event {
            Event::Start(tag) => {
                depth += 1;
                if depth > limits::ELEMENT_DEPTH {
                    return Err(ExtractError::limited(
                        "XML nested deeper than 10,000 elements",
                    ));
                }
                let name = tag.local_name();
                let name = name.as_ref();
                if passed_over.is_none() && skipped.contains(&name) {
                    passed_over = Some(depth);
                }
                if passed_over.is_none() {
                    on_event(XmlEvent::Start(XmlElement { name, tag: &tag }))?;
                }
            }
            Event::End(tag) => {
                if passed_over.is_none() {
                    on_event(XmlEvent::End(tag.local_name().as_ref()))?;
                }
                passed_over = passed_over.filter(|passed_over| *passed_over != depth);
                depth -= 1;
            }
            Event::DocType(_) => {
                return Err(ExtractError::invalid(
                    "XML with a document type (DTD) is not read",
                ));
            }
            Event::Eof => return Ok(()),
            _ if passed_over.is_some() => {}
            Event::Text(text) => on_event(XmlEvent::Text(&text))?,
            Event::CData(text) => on_event(XmlEvent::Text(&text))?,
            Event::GeneralRef(reference) => on_event(XmlEvent::Text(&resolved(&reference)?))?,
            _ => {}
        }
    }
}

fn resolved(reference: &BytesRef<'_>) -> Result<String, ExtractError> {
    let name: &str = reference;
    let character = match name {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => reference.resolve_char_ref().ok().flatten(),
    };
    let told = || ExtractError::invalid(format!("broken XML: no entity is named `{name}`"));
    character.map(String::from).ok_or_else(told)
}
