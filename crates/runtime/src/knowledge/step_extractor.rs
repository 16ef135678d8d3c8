//! Documents that have no reader here: the agent or tool of `uses.extract` says their text.

use super::step_asker::StepAsker;
use crate::search::answers;
use crate::uses::{UsesAsker, UsesRequest, UsesTarget};
use ambit_extract::{BlockKind, ExtractedDocument, Section, TextBlock};
use ambit_knowledge::{CollectionOwner, ForeignExtractor, ForeignFile, SpooledFile};
use base64::engine::general_purpose::STANDARD;
use base64::write::EncoderStringWriter;
use futures::future::BoxFuture;
use serde::Serialize;
use serde_json::Value;
use std::io;
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

/// Formats that are plain text: nobody reads them better.
const PLAIN: &[&str] = &["txt", "md", "csv", "json", "jsonl"];
/// KiB of the files that are with agents and tools at once, and of the largest. A request holds its file as one text, of which
/// who sends it makes a copy or two.
const FILES_KIB: u32 = 8 << 10;

/// Asks for the texts of documents.
pub struct StepExtractor {
    asker: StepAsker,
    /// One permit a KiB of the files that are asked about.
    room: Semaphore,
}

/// What an agent or a tool is asked.
#[derive(Serialize)]
struct ExtractRequest<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    media_type: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<&'a str>,
}

impl StepExtractor {
    /// Asks through this one.
    pub fn new(asker: StepAsker) -> Self {
        let room = Semaphore::new(FILES_KIB as usize);
        Self { asker, room }
    }
}

impl ForeignExtractor for StepExtractor {
    fn reads(&self, format: Option<&str>) -> bool {
        let is_plain = format.is_some_and(|format| PLAIN.contains(&format));
        let target = self.asker.target("extract");
        // One that names nobody is told where a document needs it.
        let is_set = !matches!(target, Ok(UsesTarget::Builtin | UsesTarget::Disabled));
        is_set && !is_plain
    }

    fn extract<'a>(
        &'a self,
        file: &'a ForeignFile,
        owner: &'a CollectionOwner,
    ) -> BoxFuture<'a, Result<ExtractedDocument, String>> {
        Box::pin(async move {
            let target = self
                .asker
                .target("extract")
                .map_err(|error| error.message)?;
            let size = sent_kibibytes(file)?;
            // It is never closed.
            let _room = self.room.acquire_many(size.unwrap_or_default()).await;
            let failed = |error: io::Error| format!("\"{}\" cannot be sent: {error}", file.name);
            let data = match size {
                Some(_) => Some(encoded(&file.content).await.map_err(failed)?),
                None => None,
            };
            let request = ExtractRequest {
                name: &file.name,
                media_type: file.media_type.as_deref(),
                data,
                url: file.url.as_deref(),
            };
            let request = serde_json::to_value(request).map_err(|error| failed(error.into()))?;
            let wanted = UsesRequest::for_target(&target, "extract", request);
            let asker = self.asker.acting_for_owner(owner);
            let answer = asker.ask(&target, wanted).await;
            document(&answer.map_err(|failure| failure.to_string())?)
        })
    }
}

/// The size of a file that an agent or a tool is sent. None where it is larger and has an address, by which they may fetch it.
fn sent_kibibytes(file: &ForeignFile) -> Result<Option<u32>, String> {
    let (name, bytes) = (&file.name, file.content.bytes());
    let size = u32::try_from(bytes.div_ceil(1 << 10)).unwrap_or(u32::MAX);
    if size <= FILES_KIB {
        return Ok(Some(size));
    }
    if file.url.is_some() {
        return Ok(None);
    }
    let most = u64::from(FILES_KIB) << 10;
    Err(format!(
        "\"{name}\" has {bytes} bytes, uses.extract is sent at most {most}: split it or make it smaller"
    ))
}

/// A file as base64, read in pieces.
async fn encoded(file: &SpooledFile) -> io::Result<String> {
    let mut reader = file.reader();
    let length = usize::try_from(file.bytes()).unwrap_or(usize::MAX);
    let encoding = spawn_blocking(move || {
        let text = String::with_capacity(length.div_ceil(3).saturating_mul(4));
        let mut writer = EncoderStringWriter::from_consumer(text, &STANDARD);
        io::copy(&mut reader, &mut writer)?;
        Ok(writer.into_inner())
    });
    encoding.await.map_err(io::Error::other)?
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
    use super::{FILES_KIB, document, encoded, sent_kibibytes};
    use ambit_knowledge::{FileSpool, ForeignFile};
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use serde_json::json;

    #[tokio::test]
    async fn a_file_that_is_not_whole_in_memory_is_sent_as_base64() {
        let bytes: Vec<u8> = (0..1_000_000_u32).map(|at| (at % 251) as u8).collect();
        let mut spool = FileSpool::default();
        for piece in bytes.chunks(1_000) {
            spool.write(piece).await.unwrap();
        }
        let text = encoded(&spool.finish().await.unwrap()).await.unwrap();
        assert_eq!(text, STANDARD.encode(&bytes));
    }

    #[test]
    fn g207_a_file_that_is_too_large_to_be_sent_is_refused() {
        let largest = (FILES_KIB as usize) << 10;
        let sized = |bytes| ForeignFile {
            name: "scan.png".to_owned(),
            media_type: None,
            url: None,
            content: vec![0; bytes].into(),
        };
        assert_eq!(sent_kibibytes(&sized(1)), Ok(Some(1)));
        assert_eq!(sent_kibibytes(&sized(largest)), Ok(Some(FILES_KIB)));
        let refused = sent_kibibytes(&sized(largest + 1)).unwrap_err();
        assert_eq!(
            refused,
            "\"scan.png\" has 8388609 bytes, uses.extract is sent at most 8388608: split it or make it smaller"
        );
    }

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
