//! Documents: added and read.

use super::KnowledgeCall;
use crate::error::{Error, Result};
use crate::knowledge_client::IGNORED_FIELDS;
use ambit_knowledge::{DocumentAccess, NewContent, NewDocument};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// What is said of a new document, whatever it consists of.
#[derive(Deserialize)]
struct DocumentFields {
    collection_id: String,
    doc_id: Option<String>,
    name: Option<String>,
    metadata: Option<Map<String, Value>>,
    access: Option<DocumentAccess>,
    #[serde(default)]
    wait: bool,
    /// What it consists of, and what has no effect.
    #[serde(flatten)]
    rest: Map<String, Value>,
}

/// Which characters of which document.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ContentsFields {
    #[serde(alias = "doc_id")]
    document_id: String,
    from: Option<usize>,
    to: Option<usize>,
}

/// `({collection_id, text, name?, doc_id?, metadata?, access?, wait?})` → `{doc_id, job_id}`, or as the route where it waits
pub async fn add_text(call: &KnowledgeCall<'_>) -> Result<Value> {
    let mut fields: DocumentFields = call.fields(call.object(0)?)?;
    let text = taken(call, &mut fields, "text")?;
    let name = fields.name.take().unwrap_or_else(|| "text".to_owned());
    add(call, fields, NewDocument::text(name, text).content).await
}

/// `({collection_id, url, …})` → as `addtext`
pub async fn add_url(call: &KnowledgeCall<'_>) -> Result<Value> {
    let mut fields: DocumentFields = call.fields(call.object(0)?)?;
    let url = taken(call, &mut fields, "url")?;
    if fields.name.is_some() {
        return Err(call.wrong("name", "is for texts and files; a page has its own"));
    }
    add(call, fields, NewContent::Url(url)).await
}

/// `({collection_id, name, data (base64), …})` → as `addtext`
pub async fn add_file(call: &KnowledgeCall<'_>) -> Result<Value> {
    let mut fields: DocumentFields = call.fields(call.object(0)?)?;
    let data = taken(call, &mut fields, "data")?;
    let decoded = STANDARD.decode(data);
    let bytes = decoded.map_err(|error| call.wrong("data", &format!("must be base64: {error}")))?;
    let name = fields.name.take().filter(|name| !name.is_empty());
    let content = NewContent::File {
        name: name.ok_or_else(|| call.wrong("name", "must be the file's name"))?,
        media_type: None,
        content: bytes.into(),
    };
    add(call, fields, content).await
}

/// `(document_id)` or `({document_id, from?, to?})` → `{text, range}`
pub async fn get_contents(call: &KnowledgeCall<'_>) -> Result<Value> {
    let fields = match call.argument(0) {
        Some(Value::String(id)) => ContentsFields {
            document_id: id.clone(),
            from: None,
            to: None,
        },
        _ => call.fields(call.object(0)?)?,
    };
    let ContentsFields {
        document_id,
        from,
        to,
    } = fields;
    let text = call.client.document_text(&document_id, from, to).await?;
    Ok(json!(text))
}

/// What a document consists of.
fn taken(call: &KnowledgeCall<'_>, fields: &mut DocumentFields, field: &str) -> Result<String> {
    match fields.rest.remove(field) {
        Some(Value::String(text)) => Ok(text),
        _ => Err(call.wrong(field, "must be a text")),
    }
}

async fn add(
    call: &KnowledgeCall<'_>,
    fields: DocumentFields,
    content: NewContent,
) -> Result<Value> {
    let mut rest = fields.rest.keys();
    if let Some(unknown) = rest.find(|name| !IGNORED_FIELDS.contains(&name.as_str())) {
        let name = call.call.name;
        let message = format!(
            "{name}: there is no field \"{unknown}\"; a document is a text, a url, or a file as name and data"
        );
        return Err(Error::invalid(unknown, message));
    }
    let new = NewDocument {
        id: fields.doc_id,
        metadata: fields.metadata.unwrap_or_default(),
        access: fields.access,
        content,
    };
    let (client, collection) = (&call.client, &fields.collection_id);
    let mut added = match fields.wait {
        true => client.add_and_wait(collection, new).await?,
        false => client.add(collection, new).await?,
    };
    added
        .ignored
        .extend(fields.rest.into_iter().map(|(name, _)| name));
    Ok(json!(added))
}
