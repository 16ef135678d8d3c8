//! PPTX: each slide of a presentation of Office Open XML is a section and a page, its notes with it.

use std::collections::HashMap;

use crate::document::{BlockKind, ExtractedDocument};
use crate::error::ExtractError;
use crate::format::DocumentBytes;
use crate::format::archive::Archive;
use crate::format::flow::TextFlow;
use crate::format::xml::{XmlElement, XmlEvent, read_xml};

/// Drawings for older programs, which stand there twice.
const SKIPPED: &[&str] = &["Fallback"];

const PRESENTATION: &str = "ppt/presentation.xml";

pub(super) fn read(source: &DocumentBytes<'_>) -> Result<ExtractedDocument, ExtractError> {
    let mut archive = Archive::open(source.bytes, "PPTX")?;
    let mut slides = Vec::new();
    read_xml(&archive.required(PRESENTATION)?, SKIPPED, |event| {
        if let XmlEvent::Start(element) = event
            && element.name == "sldId"
        {
            slides.extend(element.foreign_attribute("id"));
        }
        Ok(())
    })?;
    let parts = relations(&mut archive, PRESENTATION)?;
    let mut flow = TextFlow::default();
    for (number, slide) in (1..).zip(&slides) {
        let part = parts.get(slide).map(|relation| relation.target.as_str());
        let Some(part) = part.filter(|part| archive.holds(part)) else {
            flow.builder.warn(&format!("slide {number} is missing"));
            continue;
        };
        flow.builder.page(number)?;
        flow = read_slide(&mut archive, part, flow)?;
    }
    let about = archive.core_properties()?;
    flow.builder.document.title = about.title;
    flow.builder.document.language = about.language;
    flow.builder.document.pages = u32::try_from(slides.len()).ok();
    flow.builder.finish()
}

/// The title is the heading of the slide, wherever it stands.
fn read_slide(
    archive: &mut Archive<'_>,
    part: &str,
    flow: TextFlow,
) -> Result<TextFlow, ExtractError> {
    let text = archive.required(part)?;
    let flow = ShapeReader::read(
        &text,
        |placeholder| matches!(placeholder, "title" | "ctrTitle"),
        flow,
    )?;
    let is_body = |placeholder: &str| {
        !matches!(
            placeholder,
            "title" | "ctrTitle" | "sldNum" | "dt" | "ftr" | "hdr"
        )
    };
    let flow = ShapeReader::read(&text, is_body, flow)?;
    let relations = relations(archive, part)?;
    let Some(notes) = relations
        .values()
        .find(|relation| relation.kind.ends_with("/notesSlide"))
    else {
        return Ok(flow);
    };
    match archive.text(&notes.target)? {
        Some(notes) => ShapeReader::read(&notes, |placeholder| placeholder == "body", flow),
        None => Ok(flow),
    }
}

/// Another part of the file that a part refers to.
struct Relation {
    kind: String,
    target: String,
}

/// What a part refers to, by the identifiers that it uses for them.
fn relations(
    archive: &mut Archive<'_>,
    part: &str,
) -> Result<HashMap<String, Relation>, ExtractError> {
    let (folder, name) = part.rsplit_once('/').unwrap_or(("", part));
    let mut relations = HashMap::new();
    let Some(text) = archive.text(&format!("{folder}/_rels/{name}.rels"))? else {
        return Ok(relations);
    };
    read_xml(&text, SKIPPED, |event| {
        if let XmlEvent::Start(element) = event
            && let Some(id) = element.attribute("Id")
        {
            let value = |name| element.attribute(name).unwrap_or_default();
            let relation = Relation {
                kind: value("Type"),
                target: resolved(folder, &value("Target")),
            };
            relations.insert(id, relation);
        }
        Ok(())
    })?;
    Ok(relations)
}

/// Returns the name of an entry that `folder` names relative to itself, or from the root.
fn resolved(folder: &str, target: &str) -> String {
    if let Some(target) = target.strip_prefix('/') {
        return target.to_owned();
    }
    let mut path: Vec<&str> = folder.split('/').collect();
    for step in target.split('/') {
        match step {
            ".." => {
                path.pop();
            }
            "." => {}
            step => path.push(step),
        }
    }
    path.join("/")
}

/// Reads the text of the shapes of a slide that are meant.
struct ShapeReader<F: Fn(&str) -> bool> {
    is_meant: F,
    flow: TextFlow,
    /// What the shape is for on its slide, if it is for anything.
    placeholder: String,
    in_text: bool,
}

impl<F: Fn(&str) -> bool> ShapeReader<F> {
    fn read(text: &str, is_meant: F, flow: TextFlow) -> Result<TextFlow, ExtractError> {
        let mut reader = Self {
            is_meant,
            flow,
            placeholder: String::new(),
            in_text: false,
        };
        read_xml(text, SKIPPED, |event| reader.event(&event))?;
        Ok(reader.flow)
    }

    fn event(&mut self, event: &XmlEvent<'_>) -> Result<(), ExtractError> {
        match event {
            XmlEvent::Start(element) if matches!(element.name, "sp" | "ph") => {
                self.placeholder = element.attribute("type").unwrap_or_default();
                Ok(())
            }
            XmlEvent::End("sp") => self.end_shape(),
            _ if !(self.is_meant)(&self.placeholder) => Ok(()),
            XmlEvent::Start(element) => self.start(element),
            XmlEvent::End(name) => self.end(name),
            XmlEvent::Text(text) => {
                if self.in_text {
                    self.flow.buffer.push_str(text);
                }
                Ok(())
            }
        }
    }

    fn start(&mut self, element: &XmlElement<'_>) -> Result<(), ExtractError> {
        match element.name {
            "t" => self.in_text = true,
            "br" => self.flow.buffer.push('\n'),
            "tbl" => self.flow.start_table()?,
            "tc" => self.flow.start_cell()?,
            _ => {}
        }
        Ok(())
    }

    fn end(&mut self, name: &str) -> Result<(), ExtractError> {
        match name {
            "t" => self.in_text = false,
            "p" if self.is_title() => self.flow.buffer.push(' '),
            "p" => self.flow.end_block(BlockKind::Paragraph)?,
            "tc" => self.flow.end_cell(),
            "tr" => self.flow.end_row(self.flow.is_first_row())?,
            "tbl" => self.flow.end_table()?,
            _ => {}
        }
        Ok(())
    }

    fn is_title(&self) -> bool {
        matches!(&*self.placeholder, "title" | "ctrTitle")
    }

    fn end_shape(&mut self) -> Result<(), ExtractError> {
        let is_title = self.is_title();
        self.placeholder.clear();
        if is_title && !self.flow.buffer.trim().is_empty() {
            self.flow.end_heading(1)
        } else {
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_relative_to_their_part() {
        assert_eq!(
            resolved("ppt/slides", "../notesSlides/notesSlide1.xml"),
            "ppt/notesSlides/notesSlide1.xml"
        );
        assert_eq!(
            resolved("ppt", "slides/slide1.xml"),
            "ppt/slides/slide1.xml"
        );
        assert_eq!(
            resolved("ppt", "/ppt/slides/slide1.xml"),
            "ppt/slides/slide1.xml"
        );
    }
}
