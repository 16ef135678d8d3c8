//! Blocks of messages as parts of chat messages.

use super::body::InputContent;
use ambit_runtime::chat::{ContentPart, FileContent};
use ambit_runtime::{Error, Result};
use ambit_storage::suggestion;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// A block of a message.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum InputBlock {
    /// A text.
    Text { text: String },
    /// A picture.
    Image { source: InputSource },
    /// A document.
    Document {
        source: InputSource,
        title: Option<String>,
    },
    /// What the model thought.
    Thinking {
        thinking: String,
        #[serde(default)]
        signature: String,
    },
    /// What it thought and nobody may see.
    RedactedThinking {},
    /// A call of a tool.
    ToolUse {
        id: String,
        name: String,
        input: Map<String, Value>,
    },
    /// The result of one.
    ToolResult {
        tool_use_id: String,
        content: Option<InputContent>,
        #[serde(default)]
        is_error: Option<bool>,
    },
}

/// Where a picture or document is.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum InputSource {
    /// Here, in base64.
    Base64 { media_type: String, data: String },
    /// Here, as text.
    Text { data: String },
    /// Here, as blocks.
    Content { content: InputContent },
    /// On the web.
    Url { url: String },
    /// With Anthropic.
    File {},
}

const BLOCKS: [&str; 7] = [
    "text",
    "image",
    "document",
    "thinking",
    "redacted_thinking",
    "tool_use",
    "tool_result",
];
const SOURCES: [&str; 5] = ["base64", "text", "content", "url", "file"];

/// The blocks of a content, each with its place.
pub fn read(content: InputContent, place: &str) -> Result<Vec<(String, InputBlock)>> {
    let blocks = match content {
        InputContent::Text(text) => {
            return Ok(vec![(place.to_owned(), InputBlock::Text { text })]);
        }
        InputContent::Blocks(blocks) => blocks.into_iter().enumerate(),
    };
    let read = blocks.map(|(at, block)| {
        let place = format!("{place}[{at}]");
        check_kind(&block, &BLOCKS, &place)?;
        if let Some(source) = block.get("source") {
            check_kind(source, &SOURCES, &format!("{place}.source"))?;
        }
        let block = typed(block, &place)?;
        Ok((place, block))
    });
    read.collect()
}

fn check_kind(value: &Value, known: &[&'static str], place: &str) -> Result<()> {
    let kind = value.get("type").and_then(Value::as_str);
    if kind.is_some_and(|kind| known.contains(&kind)) {
        return Ok(());
    }
    let hint = suggestion::hint(kind.unwrap_or_default(), known.iter().copied());
    let known = known.join(", ");
    let place = format!("{place}.type");
    Err(Error::invalid(
        &place,
        format!("{place} must be one of {known}{hint}"),
    ))
}

fn typed<T: DeserializeOwned>(value: Value, place: &str) -> Result<T> {
    let read = serde_json::from_value(value);
    read.map_err(|error| Error::invalid(place, format!("{place} is not as it must be: {error}")))
}

/// A block that a person or a tool may show, as parts; `None` where it is none of these.
pub fn parts(block: InputBlock, place: &str) -> Result<Option<Vec<ContentPart>>> {
    let parts = match block {
        InputBlock::Text { text } => vec![ContentPart::of_text(text)],
        InputBlock::Image { source } => match address(source, place)? {
            SourceContent::Address(url) => vec![ContentPart::image(url)],
            SourceContent::Parts(parts) => parts,
        },
        InputBlock::Document { source, title } => match address(source, place)? {
            SourceContent::Address(address) => vec![ContentPart::file(FileContent {
                filename: title,
                ..FileContent::at(address)
            })],
            SourceContent::Parts(parts) => {
                let title = title.map(ContentPart::of_text);
                title.into_iter().chain(parts).collect()
            }
        },
        _ => return Ok(None),
    };
    Ok(Some(parts))
}

/// What a source holds.
enum SourceContent {
    Address(String),
    Parts(Vec<ContentPart>),
}

fn address(source: InputSource, place: &str) -> Result<SourceContent> {
    let address = match source {
        InputSource::Base64 { media_type, data } => format!("data:{media_type};base64,{data}"),
        InputSource::Text { data } => {
            format!("data:text/plain;base64,{}", STANDARD.encode(data))
        }
        InputSource::Url { url } => url,
        InputSource::Content { content } => {
            let place = format!("{place}.source.content");
            return Ok(SourceContent::Parts(shown(content, &place)?));
        }
        InputSource::File {} => {
            let place = format!("{place}.source.type");
            let message = format!(
                "{place}: files that are kept with Anthropic cannot be read; send the file itself, or its url"
            );
            return Err(Error::unsupported(place, message));
        }
    };
    Ok(SourceContent::Address(address))
}

/// The parts of a content in which nothing but texts, pictures and documents may be.
pub fn shown(content: InputContent, place: &str) -> Result<Vec<ContentPart>> {
    let mut all = Vec::new();
    for (place, block) in read(content, place)? {
        let found = parts(block, &place)?;
        all.extend(found.ok_or_else(|| misplaced(&place))?);
    }
    Ok(all)
}

/// A block where there can be none of its kind.
pub fn misplaced(place: &str) -> Error {
    Error::invalid(place, format!("{place} is a block that cannot stand there"))
}
