//! A file becomes text: by a reader of ours, those of strangers in a child process, or by somebody else.

use crate::base::KnowledgeBase;
use crate::error::Result;
use crate::sources::{CollectionOwner, ForeignFile};
use crate::spooled_file::SpooledFile;
use ambit_extract::{
    ChildRequest, DetectedFormat, DocumentBytes, ExtractError, ExtractedDocument, detect, extract,
    extract_in_child,
};
use std::io::Read;

/// So many bytes of either end of a file tell its format.
const END: usize = 1 << 20;

/// What was read of a file.
pub(super) struct ReadFile {
    pub extracted: ExtractedDocument,
    /// The name of its format, where it has a reader here.
    pub format: Option<&'static str>,
    /// SHA-256 of the file, in hex digits.
    pub hash: String,
    /// Its size.
    pub bytes: u64,
}

impl KnowledgeBase {
    /// The text of a file, or the reason why there is none.
    pub(super) async fn read(
        &self,
        file: ForeignFile,
        owner: &CollectionOwner,
    ) -> Result<ReadFile, String> {
        let content = file.content.clone();
        let ends = ends(&content).await.map_err(|error| error.to_string())?;
        let detected = detect(Some(&file.name), file.media_type.as_deref(), &ends);
        let format = detected.as_ref().ok().map(|it| it.format.name);
        let extractor = self.settings().extractor.as_ref();
        let extracted = match (extractor.filter(|it| it.reads(format)), detected) {
            (Some(extractor), _) => extractor.extract(&file, owner).await?,
            (None, Ok(detected)) => {
                let read = self.read_here(detected, file.content).await;
                read.map_err(|error| error.to_string())?
            }
            (None, Err(error)) => return Err(error.to_string()),
        };
        if extracted.text.trim().is_empty() {
            return Err(ExtractError::NoText.to_string());
        }
        Ok(ReadFile {
            extracted,
            format,
            hash: content.hash().to_owned(),
            bytes: content.bytes(),
        })
    }

    async fn read_here(
        &self,
        detected: DetectedFormat,
        file: SpooledFile,
    ) -> Result<ExtractedDocument, ExtractError> {
        let settings = self.settings();
        let program = settings.extract_program.clone();
        let time = settings.extract_time;
        let reading = tokio::task::spawn_blocking(move || {
            let charset = detected.charset.as_deref();
            let mut document = file.reader();
            let size = usize::try_from(file.bytes()).unwrap_or(usize::MAX);
            if !detected.format.needs_child(size) {
                let mut bytes = Vec::with_capacity(size);
                let read = document.read_to_end(&mut bytes);
                read.map_err(|error| ExtractError::Internal(error.to_string()))?;
                let bytes = &bytes;
                return extract(detected.format, &DocumentBytes { bytes, charset });
            }
            let Some(program) = program else {
                let name = detected.format.name;
                let reason = format!("{name} is read by a program of its own, and none is set");
                return Err(ExtractError::Internal(reason));
            };
            let request = ChildRequest {
                format: detected.format,
                charset,
                document: &mut document,
            };
            extract_in_child(&program, request, time)
        });
        let ended = |error| ExtractError::Internal(format!("its reader ended early: {error}"));
        reading.await.map_err(ended)?
    }
}

/// The beginning of a file and its end, by which its format is known: archives list at their end what is in them.
async fn ends(file: &SpooledFile) -> Result<Vec<u8>> {
    let mut ends = file.part(0, END).await?;
    let last = file.bytes().saturating_sub(END as u64).max(END as u64);
    ends.extend(file.part(last, END).await?);
    Ok(ends)
}
