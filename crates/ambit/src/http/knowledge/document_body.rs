//! What documents are sent as: files of a form, a text, or an address.

mod form_files;

use super::super::error::too_large;
use super::super::input::{BodyFields, Id, JsonBody, Text};
use super::super::{HttpError, SharedState};
use super::form_headers::HeaderBytes;
use crate::id::check_id;
use ambit_knowledge::{DocumentAccess, DocumentUpdate, NewContent, NewDocument, TenantRoom};
use ambit_runtime::knowledge_client::IGNORED_FIELDS;
use ambit_runtime::{Error, ErrorCode, Result};
use axum::extract::multipart::{Field, MultipartError};
use axum::extract::{DefaultBodyLimit, FromRequest, Multipart, Request};
use axum::http::StatusCode;
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use form_files::FileLimits;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use tokio::time::timeout;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ArrayBuilder, ObjectBuilder, Schema, Type};
use utoipa::{PartialSchema, ToSchema};

/// At most so many files come at once.
const FILES: usize = 32;
/// At most so many fields has a form.
const FIELDS: usize = 100;
/// At most so many bytes has a field that is no file.
const FIELD: usize = 1 << 20;
/// So much more than its files may a form have.
const BESIDE_FILES: u64 = 16 << 20;

/// A document as JSON: a text with its name, or an address.
#[derive(Default, Deserialize, ToSchema)]
pub struct DocumentFields {
    /// The text.
    text: Option<String>,
    /// What the document is called; its end says the format, Markdown where it has none.
    name: Option<Text>,
    /// The address of a page, instead of a text.
    url: Option<Text>,
    /// The document's id; one is made where there is none.
    doc_id: Option<Id>,
    /// Whatever is to be known of it.
    metadata: Option<Map<String, Value>>,
    /// Who may read it: `users`, `teams`, `roles`; `null` lifts what there is.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<Object>)]
    access: Option<Option<DocumentAccess>>,
    /// Yao's id of an uploaded file, which Ambit has not.
    file_id: Option<Value>,
    /// Settings of Yao's, which have no effect.
    chunking: Option<Value>,
    /// The same.
    embedding: Option<Value>,
    /// The same.
    extraction: Option<Value>,
    /// The same.
    fetcher: Option<Value>,
    /// The same.
    converter: Option<Value>,
    /// The same.
    locale: Option<Value>,
    /// The same.
    job: Option<Value>,
}

impl BodyFields for DocumentFields {}

/// What documents are sent as in a form.
pub struct DocumentForm;

impl PartialSchema for DocumentForm {
    fn schema() -> RefOr<Schema> {
        let text = |what| {
            let text = ObjectBuilder::new().schema_type(Type::String);
            text.description(Some(what))
        };
        let file = text("A file with its name.").content_media_type("application/octet-stream");
        let form = ObjectBuilder::new().schema_type(Type::Object);
        form.property("file", ArrayBuilder::new().items(file))
            .property("doc_id", text("The document's id, if it is one."))
            .property(
                "metadata",
                text("What is to be known of it, as a JSON object."),
            )
            .property(
                "access",
                text("Who may read it, as a JSON object: `users`, `teams`, `roles`."),
            )
            .into()
    }
}

impl ToSchema for DocumentForm {}

/// A field that is there, be it `null`.
fn present<'de, D, T>(reader: D) -> Result<Option<T>, D::Error>
where
    D: serde::Deserializer<'de>,
    T: Deserialize<'de>,
{
    T::deserialize(reader).map(Some)
}

/// What was sent of documents.
#[derive(Default)]
pub struct SentDocuments {
    /// The contents, in their order. None where only what is known of a document is sent.
    pub contents: Vec<NewContent>,
    /// The document's id.
    pub doc_id: Option<String>,
    /// What it is called.
    pub name: Option<String>,
    /// What is to be known of it.
    pub metadata: Option<Map<String, Value>>,
    /// Who may read it.
    pub access: Option<Option<DocumentAccess>>,
    /// Fields that have no effect.
    pub ignored: Vec<String>,
}

impl SentDocuments {
    /// All of it as new documents.
    pub fn new_documents(self) -> Result<Vec<NewDocument>> {
        let rule = "the body must have a file, a text or a url";
        if self.contents.is_empty() {
            return Err(Error::invalid("body", rule));
        }
        if self.doc_id.is_some() && self.contents.len() > 1 {
            return Err(Error::invalid(
                "doc_id",
                "doc_id can name one document; send one file with it",
            ));
        }
        let new = |content| NewDocument {
            id: self.doc_id.clone(),
            content,
            metadata: self.metadata.clone().unwrap_or_default(),
            access: self.access.clone().flatten(),
        };
        Ok(self.contents.into_iter().map(new).collect())
    }

    /// All of it as one new document.
    pub fn new_document(self) -> Result<NewDocument> {
        let mut all = self.new_documents()?;
        match (all.pop(), all.is_empty()) {
            (Some(only), true) => Ok(only),
            _ => Err(Error::invalid("body", "the body must have one document")),
        }
    }

    /// All of it as changes of a document.
    pub fn update(mut self) -> Result<DocumentUpdate> {
        if self.contents.len() > 1 {
            return Err(Error::invalid(
                "body",
                "the body must have one document at most",
            ));
        }
        Ok(DocumentUpdate {
            content: self.contents.pop(),
            name: self.name,
            metadata: self.metadata,
            access: self.access,
        })
    }

    fn of_fields(fields: DocumentFields) -> Result<Self> {
        if fields.file_id.is_some() {
            return Err(no_file_id());
        }
        let name = fields.name.map(|name| name.0);
        let content = match (fields.text, fields.url) {
            (Some(_), Some(_)) => {
                return Err(Error::invalid(
                    "url",
                    "either a text or a url can be a document",
                ));
            }
            (Some(text), None) => {
                let name = name.clone().unwrap_or_else(|| "text".to_owned());
                Some(NewDocument::text(name, text).content)
            }
            (None, Some(url)) => Some(NewContent::Url(url.0)),
            (None, None) => None,
        };
        let given = [
            fields.chunking,
            fields.embedding,
            fields.extraction,
            fields.fetcher,
            fields.converter,
            fields.locale,
            fields.job,
        ];
        let ignored = IGNORED_FIELDS
            .iter()
            .zip(given)
            .filter(|(_, value)| value.is_some());
        Ok(Self {
            contents: content.into_iter().collect(),
            doc_id: fields.doc_id.map(|id| id.0),
            name,
            metadata: fields.metadata,
            access: fields.access,
            ignored: ignored.map(|(name, _)| (*name).to_owned()).collect(),
        })
    }

    /// The size of all contents.
    pub fn bytes(&self) -> u64 {
        let sizes = self.contents.iter().map(|content| match content {
            NewContent::File { content, .. } => content.bytes(),
            NewContent::Url(_) => 0,
        });
        sizes.sum()
    }

    async fn of_form(
        mut form: Multipart,
        limits: &FileLimits<'_>,
        headers: &HeaderBytes,
    ) -> Result<Self> {
        let (mut sent, mut fields) = (Self::default(), 0);
        while let Some(field) = form.next_field().await.map_err(|error| broken(&error))? {
            headers.end();
            fields += 1;
            if fields > FIELDS {
                let message = format!("a form has at most {FIELDS} fields");
                return Err(Error::new(ErrorCode::LimitExceeded, message));
            }
            sent.take(field, limits).await?;
            headers.begin();
        }
        Ok(sent)
    }

    async fn take(&mut self, field: Field<'_>, limits: &FileLimits<'_>) -> Result<()> {
        let name = field.name().unwrap_or_default().to_owned();
        if name == "file" {
            if self.contents.len() == FILES {
                let message = format!("at most {FILES} files can be sent at once");
                return Err(Error::new(ErrorCode::LimitExceeded, message));
            }
            let file = limits.file(field, self.bytes()).await?;
            self.contents.push(file);
            return Ok(());
        }
        let bytes = limited(field).await?;
        let bytes = bytes.ok_or_else(|| too_large(FIELD))?;
        let text = String::from_utf8(bytes)
            .map_err(|_| Error::invalid(name.clone(), format!("{name} must be UTF-8")))?;
        match name.as_str() {
            "doc_id" => {
                check_id("doc_id", &text)?;
                self.doc_id = Some(text);
            }
            "name" => self.name = Some(text),
            "metadata" => self.metadata = Some(json(&name, &text)?),
            "access" => self.access = Some(json(&name, &text)?),
            "file_id" => return Err(no_file_id()),
            known if IGNORED_FIELDS.contains(&known) => {
                if !self.ignored.contains(&name) {
                    self.ignored.push(name);
                }
            }
            _ => {
                let known = "file, doc_id, metadata and access";
                let message = format!("\"{name}\" is no field of this form; it has {known}");
                return Err(Error::invalid(name, message));
            }
        }
        Ok(())
    }
}

/// A body that is read once it is known that there is room for it.
pub struct UnreadDocuments {
    request: Request,
    server: SharedState,
}

impl FromRequest<SharedState> for UnreadDocuments {
    type Rejection = HttpError;

    async fn from_request(request: Request, server: &SharedState) -> Result<Self, HttpError> {
        let server = server.clone();
        Ok(Self { request, server })
    }
}

impl UnreadDocuments {
    /// What was sent. The files of a form are read as long as there is room for them.
    pub async fn read(self, room: &TenantRoom) -> Result<SentDocuments, HttpError> {
        let Self {
            mut request,
            server,
        } = self;
        let kind = request.headers().get(CONTENT_TYPE);
        let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        if !kind.starts_with("multipart/form-data") {
            let body = JsonBody::<DocumentFields>::from_request(request, &server).await?;
            return Ok(SentDocuments::of_fields(body.value)?);
        }
        let largest = server.runtime.knowledge()?.settings().limits.file;
        // One that says how long it is need not be read to be refused.
        let announced = request.headers().get(CONTENT_LENGTH);
        let announced = announced.and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
        let files = largest.saturating_mul(FILES as u64);
        let most = files.saturating_add(BESIDE_FILES);
        if announced.is_some_and(|bytes| bytes > most) {
            let message = format!(
                "the form is larger than {FILES} files of {largest} bytes (ambit.search.limits.file): send fewer at once"
            );
            return Err(larger_than(most, message).into());
        }
        DefaultBodyLimit::max(usize::try_from(most).unwrap_or(usize::MAX)).apply(&mut request);
        let headers = HeaderBytes::default();
        let request = request.map(|body| headers.limited(body));
        let form = Multipart::from_request(request, &server).await;
        let form = form.map_err(|refused| Error::invalid("body", refused.body_text()))?;
        let limits = FileLimits { largest, room };
        let reading = SentDocuments::of_form(form, &limits, &headers);
        let read = timeout(server.settings.body_time, reading).await;
        let late = || {
            let mut error = Error::new(ErrorCode::Timeout, "the body took too long to arrive");
            error.status = Some(408);
            error
        };
        Ok(read.map_err(|_| late())??)
    }
}

fn no_file_id() -> Error {
    let mut error = Error::invalid("file_id", "file_id is not supported; send the file itself");
    error.code = ErrorCode::Unsupported;
    error.status = Some(422);
    error
}

fn larger_than(limit: u64, message: String) -> Error {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    Error {
        message,
        ..too_large(limit)
    }
}

/// The bytes of a field that is no file, if it has not too many.
async fn limited(mut field: Field<'_>) -> Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    while let Some(piece) = field.chunk().await.map_err(|error| broken(&error))? {
        if bytes.len() + piece.len() > FIELD {
            return Ok(None);
        }
        bytes.extend_from_slice(&piece);
    }
    Ok(Some(bytes))
}

fn broken(error: &MultipartError) -> Error {
    // What has failed first says the most.
    let mut first: &dyn std::error::Error = error;
    while let Some(source) = first.source() {
        first = source;
    }
    let mut broken = Error::invalid("body", format!("the form broke off: {first}"));
    if error.status() == StatusCode::PAYLOAD_TOO_LARGE {
        broken.code = ErrorCode::LimitExceeded;
        broken.status = Some(413);
        broken.message = format!(
            "the form has more than {} MiB beside the files that it may have: send fewer at once",
            BESIDE_FILES >> 20
        );
    }
    broken
}

fn json<T: DeserializeOwned>(name: &str, text: &str) -> Result<T> {
    serde_json::from_str(text).map_err(|error| {
        Error::invalid(name, format!("{name} is not the JSON it must be: {error}"))
    })
}
