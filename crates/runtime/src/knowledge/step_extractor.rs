//! Documents that have no reader here: the agent or tool of `uses.extract` says their text.

use super::step_asker::StepAsker;
use crate::search::answers;
use crate::uses::{UsesAsker, UsesRequest, UsesTarget};
use ambit_extract::{BlockKind, ExtractedDocument, Section, TextBlock};
use ambit_knowledge::{CollectionOwner, ForeignExtractor, ForeignFile};
use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

/// Formats that are plain text: nobody reads them better.
const PLAIN: &[&str] = &["txt", "md", "csv", "json", "jsonl"];

/// Asks for the texts of documents.
pub struct StepExtractor(pub StepAsker);

#[async_trait]
impl ForeignExtractor for StepExtractor {
    fn reads(&self, format: Option<&str>) -> bool {
        let is_plain = format.is_some_and(|format| PLAIN.contains(&format));
        let target = self.0.target("extract");
        // One that names nobody is told where a document needs it.
        let is_set = !matches!(target, Ok(UsesTarget::Builtin | UsesTarget::Disabled));
        is_set && !is_plain
    }

    async fn extract(
        &self,
        file: &ForeignFile,
        owner: &CollectionOwner,
    ) -> Result<ExtractedDocument, String> {
        let target = self.0.target("extract").map_err(|error| error.message)?;
        let bytes = file
            .content
            .whole()
            .await
            .map_err(|error| error.to_string())?;
        let mut request = json!({"name": file.name, "data": STANDARD.encode(bytes)});
        if let Some(media_type) = &file.media_type {
            request["media_type"] = media_type.as_str().into();
        }
        let wanted = UsesRequest::of("extract", request);
        let answer = self.0.acting_for_owner(owner).ask(&target, wanted).await;
        document(&answer.map_err(|failure| failure.to_string())?)
    }
}

/// The document of an answer.
fn document(answer: &Value) -> Result<ExtractedDocument, String> {
    let answer = answers::extracted(answer).map_err(|error| format!("uses.extract: {error}"))?;
    let pages = u32::try_from(answer.pages.len()).unwrap_or(u32::MAX);
    let mut document = ExtractedDocument {
        title: answer.title,
        pages: (pages > 0).then_some(pages),
        ..ExtractedDocument::default()
    };
    for page in &answer.pages {
        add(&mut document, &page.text, Some(page.page));
    }
    if document.sections.is_empty() {
        add(&mut document, &answer.text, None);
    }
    match document.sections.is_empty() {
        true => Err("no text found".to_owned()),
        false => Ok(document),
    }
}

/// Adds a page, whose paragraphs empty lines divide.
fn add(document: &mut ExtractedDocument, text: &str, page: Option<u32>) {
    let mut section = Section {
        page,
        ..Section::default()
    };
    for paragraph in text
        .split("\n\n")
        .map(str::trim)
        .filter(|it| !it.is_empty())
    {
        if !document.text.is_empty() {
            document.text.push('\n');
        }
        let start = document.text.len();
        document.text.push_str(paragraph);
        section.blocks.push(TextBlock {
            kind: BlockKind::Paragraph,
            range: start..document.text.len(),
            header: None,
        });
    }
    if !section.blocks.is_empty() {
        document.sections.push(section);
    }
}

#[cfg(test)]
mod tests {
    use super::document;
    use serde_json::json;

    #[test]
    fn texts_and_pages_become_documents() {
        let plain = document(&json!("one\n\ntwo")).unwrap();
        assert_eq!(plain.text, "one\ntwo");
        assert_eq!(plain.sections.len(), 1);
        let paged = json!({"data": {"title": "T", "text": "all", "pages": [{"page": 2, "text": "two"}, {"page": 3, "text": ""}]}});
        let paged = document(&paged).unwrap();
        assert_eq!(
            (paged.title.as_deref(), paged.text.as_str()),
            (Some("T"), "two")
        );
        assert_eq!(paged.sections[0].page, Some(2));
        assert_eq!(paged.pages, Some(2));
        assert_eq!(
            document(&json!({"error": "blurred"})).unwrap_err(),
            "uses.extract: blurred"
        );
        assert_eq!(
            document(&json!({"text": " "})).unwrap_err(),
            "no text found"
        );
    }
}
