//! The entries of a zip archive, which is what office files are. Nothing is unpacked but what is asked for.

use std::collections::HashMap;

use miniz_oxide::inflate::{TINFLStatus, decompress_to_vec_with_limit};
use rawzip::{CompressionMethod, ZipArchive, ZipArchiveEntryWayfinder, ZipSliceArchive};

use crate::encoding::decode;
use crate::error::ExtractError;
use crate::format::xml::{XmlEvent, read_xml};
use crate::limits;

/// An archive whose entries are within the limits, as far as it says.
pub(super) struct Archive<'a> {
    zip: ZipSliceArchive<&'a [u8]>,
    entries: HashMap<String, ArchiveEntry>,
    /// How many bytes may still be unpacked: archives can say less than they hold.
    left: usize,
    format: &'static str,
}

struct ArchiveEntry {
    place: ZipArchiveEntryWayfinder,
    method: CompressionMethod,
}

/// What an office file says of itself.
#[derive(Default)]
pub(super) struct DocumentProperties {
    pub title: Option<String>,
    pub language: Option<String>,
}

impl<'a> Archive<'a> {
    /// Opens the archive that a file of `format` is.
    pub(super) fn open(bytes: &'a [u8], format: &'static str) -> Result<Self, ExtractError> {
        let broken = |error: rawzip::Error| {
            ExtractError::invalid(format!("not a {format} document: {error}"))
        };
        let zip = ZipArchive::from_slice(bytes).map_err(broken)?;
        let mut entries = HashMap::new();
        let mut size: u64 = 0;
        for (number, entry) in zip.entries().enumerate() {
            let entry = entry.map_err(broken)?;
            if number == limits::ARCHIVE_ENTRIES {
                return Err(ExtractError::limited(
                    "an archive of more than 10,000 entries",
                ));
            }
            size = size.saturating_add(entry.uncompressed_size_hint());
            let name = String::from_utf8_lossy(entry.file_path().as_bytes()).into_owned();
            entries.insert(
                name,
                ArchiveEntry {
                    place: entry.wayfinder(),
                    method: entry.compression_method(),
                },
            );
        }
        if size > limits::UNPACKED_BYTES as u64 {
            return Err(too_large());
        }
        Ok(Self {
            zip,
            entries,
            left: limits::UNPACKED_BYTES,
            format,
        })
    }

    pub(super) fn holds(&self, name: &str) -> bool {
        self.entries.contains_key(name)
    }

    /// The text of an entry without which there is no document.
    pub(super) fn required(&mut self, name: &str) -> Result<String, ExtractError> {
        let text = self.text(name)?;
        text.ok_or_else(|| {
            ExtractError::invalid(format!(
                "not a {} document: it holds no `{name}`",
                self.format
            ))
        })
    }

    /// The text of an entry, if there is one of this name.
    pub(super) fn text(&mut self, name: &str) -> Result<Option<String>, ExtractError> {
        let Some(entry) = self.entries.get(name) else {
            return Ok(None);
        };
        let broken = |error: &dyn std::fmt::Display| {
            ExtractError::invalid(format!("`{name}` is broken: {error}"))
        };
        let place = self
            .zip
            .get_entry(entry.place)
            .map_err(|error| broken(&error))?;
        let bytes = match entry.method {
            CompressionMethod::STORE => place.data().to_vec(),
            CompressionMethod::DEFLATE => {
                match decompress_to_vec_with_limit(place.data(), self.left) {
                    Ok(bytes) => bytes,
                    Err(error) if error.status == TINFLStatus::HasMoreOutput => {
                        return Err(too_large());
                    }
                    Err(error) => return Err(broken(&error)),
                }
            }
            _ => return Err(broken(&"it is packed in a way that is not read here")),
        };
        self.left = self.left.checked_sub(bytes.len()).ok_or_else(too_large)?;
        match String::from_utf8(bytes) {
            Ok(text) => Ok(Some(text)),
            Err(other) => decode(other.as_bytes(), None).map(|text| Some(text.into_owned())),
        }
    }

    /// What a document of Office Open XML says of itself.
    pub(super) fn core_properties(&mut self) -> Result<DocumentProperties, ExtractError> {
        self.properties("docProps/core.xml")
    }

    /// What the entry `name` says of the document.
    pub(super) fn properties(&mut self, name: &str) -> Result<DocumentProperties, ExtractError> {
        let mut properties = DocumentProperties::default();
        let Some(text) = self.text(name)? else {
            return Ok(properties);
        };
        let mut element = String::new();
        read_xml(&text, &[], |event| {
            match event {
                XmlEvent::Start(started) => element = started.name.to_owned(),
                XmlEvent::End(_) => element.clear(),
                XmlEvent::Text(text) => {
                    let property = match &*element {
                        "title" => &mut properties.title,
                        "language" => &mut properties.language,
                        _ => return Ok(()),
                    };
                    property.get_or_insert_default().push_str(text);
                }
            }
            Ok(())
        })?;
        Ok(properties)
    }
}

fn too_large() -> ExtractError {
    ExtractError::limited("an archive of more than 200 MiB unpacked")
}
