//! What a message says: a text, or parts.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value, json};

/// What a message says.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum ChatContent {
    /// Nothing, and no `content` either.
    #[default]
    Absent,
    /// `null`, as beside calls of tools.
    Null,
    /// A text.
    Text(String),
    /// Parts, in order.
    Parts(Vec<ContentPart>),
}

/// A part of a message, in OpenAI's shape.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ContentPart {
    /// A text.
    Text {
        /// The text.
        text: String,
        /// Other fields.
        #[serde(flatten)]
        extra: Map<String, Value>,
    },
    /// A picture.
    ImageUrl {
        /// Its address.
        image_url: ImageUrl,
        /// Other fields.
        #[serde(flatten)]
        extra: Map<String, Value>,
    },
    /// Sound.
    InputAudio {
        /// Its bytes.
        input_audio: InputAudio,
        /// Other fields.
        #[serde(flatten)]
        extra: Map<String, Value>,
    },
    /// A file.
    File {
        /// Its bytes, or where they are.
        file: FileContent,
        /// Other fields.
        #[serde(flatten)]
        extra: Map<String, Value>,
    },
    /// A part of another type or form, whole.
    #[serde(untagged)]
    Other(Value),
}

/// The address of a picture: on the web, or `data:` with the picture itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ImageUrl {
    /// The address alone.
    Address(String),
    /// An object with the address.
    Object {
        /// The address.
        url: String,
        /// `detail` and others.
        #[serde(flatten)]
        extra: Map<String, Value>,
    },
}

/// Sound in a message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InputAudio {
    /// The bytes in base64.
    pub data: String,
    /// `wav`, `mp3` …
    #[serde(
        default,
        deserialize_with = "text",
        skip_serializing_if = "Option::is_none"
    )]
    pub format: Option<String>,
    /// Other fields.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// A file in a message.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FileContent {
    /// What it is called.
    #[serde(
        default,
        deserialize_with = "text",
        skip_serializing_if = "Option::is_none"
    )]
    pub filename: Option<String>,
    /// A `data:` address with the file itself.
    #[serde(
        default,
        deserialize_with = "text",
        skip_serializing_if = "Option::is_none"
    )]
    pub file_data: Option<String>,
    /// Where it is.
    #[serde(
        default,
        deserialize_with = "text",
        skip_serializing_if = "Option::is_none"
    )]
    pub url: Option<String>,
    /// `file_id` and others.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// A text; `null` has not the form of a part, which is then kept whole.
fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    String::deserialize(deserializer).map(Some)
}

impl ChatContent {
    /// The parts; none where it is a text.
    pub fn parts(&self) -> &[ContentPart] {
        match self {
            Self::Parts(parts) => parts,
            _ => &[],
        }
    }

    /// The parts, to be changed.
    pub fn parts_mut(&mut self) -> &mut [ContentPart] {
        match self {
            Self::Parts(parts) => parts,
            _ => &mut [],
        }
    }

    /// The text of all parts that have one, joined by this.
    pub fn texts(&self, separator: &str) -> String {
        match self {
            Self::Absent | Self::Null => String::new(),
            Self::Text(text) => text.clone(),
            Self::Parts(parts) => {
                let texts = parts.iter().filter_map(ContentPart::text);
                texts.collect::<Vec<_>>().join(separator)
            }
        }
    }

    /// All of it in words: texts as they are, other parts as JSON.
    pub fn words(&self) -> String {
        match self {
            Self::Parts(parts) => parts.iter().map(ContentPart::words).collect(),
            content => content.texts(""),
        }
    }
}

impl From<&str> for ChatContent {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for ChatContent {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl Serialize for ChatContent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Absent | Self::Null => serializer.serialize_none(),
            Self::Text(text) => serializer.serialize_str(text),
            Self::Parts(parts) => parts.serialize(serializer),
        }
    }
}

impl ContentPart {
    /// A text.
    pub fn of_text(text: impl Into<String>) -> Self {
        Self::Text {
            text: text.into(),
            extra: Map::new(),
        }
    }

    /// A picture.
    pub fn image(address: impl Into<ImageUrl>) -> Self {
        Self::ImageUrl {
            image_url: address.into(),
            extra: Map::new(),
        }
    }

    /// A video at this address.
    pub fn video(url: &str) -> Self {
        Self::Other(json!({"type": "video_url", "video_url": {"url": url}}))
    }

    /// Sound of this media type; the bytes are in base64.
    pub fn audio(data: impl Into<String>, media_type: &str) -> Self {
        Self::InputAudio {
            input_audio: InputAudio {
                data: data.into(),
                format: Some(audio_format(media_type).to_owned()),
                extra: Map::new(),
            },
            extra: Map::new(),
        }
    }

    /// A file.
    pub fn file(file: FileContent) -> Self {
        Self::File {
            file,
            extra: Map::new(),
        }
    }

    /// `text`, `image_url`, `input_audio`, `file` …; empty where the part does not say.
    pub fn kind(&self) -> &str {
        match self {
            Self::Text { .. } => "text",
            Self::ImageUrl { .. } => "image_url",
            Self::InputAudio { .. } => "input_audio",
            Self::File { .. } => "file",
            Self::Other(part) => part.get("type").and_then(Value::as_str).unwrap_or_default(),
        }
    }

    /// The text, whatever the part's type.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text { text, .. } => Some(text),
            Self::ImageUrl { extra, .. }
            | Self::InputAudio { extra, .. }
            | Self::File { extra, .. } => extra.get("text")?.as_str(),
            Self::Other(part) => part.get("text")?.as_str(),
        }
    }

    /// The address of a picture.
    pub fn image_address(&self) -> Option<&str> {
        match self {
            Self::ImageUrl { image_url, .. } => Some(image_url.address()),
            _ => None,
        }
    }

    /// The address of a file's bytes.
    pub fn file_address(&self) -> Option<&str> {
        match self {
            Self::File { file, .. } => file.file_data.as_deref().or(file.url.as_deref()),
            // One of its fields is `null`.
            Self::Other(part) if self.kind() == "file" => {
                let file = part.get("file")?;
                let text = |name: &str| file.get(name)?.as_str();
                text("file_data").or_else(|| text("url"))
            }
            _ => None,
        }
    }

    /// The bytes of a sound in base64, and their format.
    pub fn sound(&self) -> Option<(&str, &str)> {
        let (data, format) = match self {
            Self::InputAudio { input_audio, .. } => {
                (input_audio.data.as_str(), input_audio.format.as_deref())
            }
            Self::Other(part) if self.kind() == "input_audio" => {
                let sound = part.get("input_audio")?;
                let text = |name: &str| sound.get(name)?.as_str();
                (text("data")?, text("format"))
            }
            _ => return None,
        };
        Some((data, format.unwrap_or("wav")))
    }

    fn words(&self) -> String {
        match self.text() {
            Some(text) => text.to_owned(),
            None => self.to_json().to_string(),
        }
    }

    /// The part as JSON.
    pub fn to_json(&self) -> Value {
        // Only a map with keys that are no text could fail.
        serde_json::to_value(self).unwrap_or_default()
    }
}

impl From<Value> for ContentPart {
    fn from(part: Value) -> Self {
        Self::deserialize(&part).unwrap_or(Self::Other(part))
    }
}

/// What models call the format of a sound of this media type.
fn audio_format(media_type: &str) -> &str {
    let essence = media_type.split(';').next().unwrap_or_default().trim();
    match essence.rsplit('/').next().unwrap_or_default() {
        "mpeg" => "mp3",
        "wave" | "x-wav" | "vnd.wave" => "wav",
        other => other,
    }
}

impl FileContent {
    /// A file at this address, which may be `data:` with the file itself.
    pub fn at(address: String) -> Self {
        let (file_data, url) = match address.starts_with("data:") {
            true => (Some(address), None),
            false => (None, Some(address)),
        };
        Self {
            file_data,
            url,
            ..Self::default()
        }
    }
}

impl From<String> for ImageUrl {
    fn from(url: String) -> Self {
        Self::Object {
            url,
            extra: Map::new(),
        }
    }
}

impl ImageUrl {
    /// The address.
    pub fn address(&self) -> &str {
        match self {
            Self::Address(address) | Self::Object { url: address, .. } => address,
        }
    }

    /// Another address in its place; what is said beside it stays.
    pub fn set_address(&mut self, new: String) {
        match self {
            Self::Address(address) | Self::Object { url: address, .. } => *address = new,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_that_are_made_are_those_that_are_read() {
        let url = "https://x.test/a".to_owned();
        let data = "data:text/plain;base64,QQ==".to_owned();
        let sound = |format| json!({"type": "input_audio", "input_audio": {"data": "AA==", "format": format}});
        for (made, expected) in [
            (
                ContentPart::image(url.clone()),
                json!({"type": "image_url", "image_url": {"url": url}}),
            ),
            (
                ContentPart::video(&url),
                json!({"type": "video_url", "video_url": {"url": url}}),
            ),
            (ContentPart::audio("AA==", "audio/mpeg"), sound("mp3")),
            (
                ContentPart::audio("AA==", "audio/x-wav; rate=8"),
                sound("wav"),
            ),
            (ContentPart::audio("AA==", "audio/flac"), sound("flac")),
            (
                ContentPart::file(FileContent::at(url.clone())),
                json!({"type": "file", "file": {"url": url}}),
            ),
            (
                ContentPart::file(FileContent::at(data.clone())),
                json!({"type": "file", "file": {"file_data": data}}),
            ),
        ] {
            assert_eq!(made.to_json(), expected);
            assert_eq!(made, ContentPart::from(expected));
        }
    }

    #[test]
    fn parts_are_read_and_written_as_they_came() {
        for (part, kind, text) in [
            (
                json!({"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}}),
                "text",
                Some("a"),
            ),
            (
                json!({"type": "image_url", "image_url": "https://x.test/a.png"}),
                "image_url",
                None,
            ),
            (
                json!({"type": "image_url", "image_url": {"url": "data:,", "detail": "low"}, "text": "b"}),
                "image_url",
                Some("b"),
            ),
            (
                json!({"type": "input_audio", "input_audio": {"data": "AA==", "format": "mp3"}}),
                "input_audio",
                None,
            ),
            (
                json!({"type": "input_audio", "input_audio": {}}),
                "input_audio",
                None,
            ),
            (
                json!({"type": "file", "file": {"filename": "a.pdf", "file_id": "f"}, "n": 1e300}),
                "file",
                None,
            ),
            (
                json!({"type": "file", "file": {"file_data": null, "url": "gs://b/x"}}),
                "file",
                None,
            ),
            (json!({"type": "text", "text": 5}), "text", None),
            (
                json!({"type": "video_url", "video_url": {"url": "x"}}),
                "video_url",
                None,
            ),
            (json!({"text": "no type"}), "", Some("no type")),
            (json!("a text"), "", None),
            (json!(null), "", None),
        ] {
            let read = ContentPart::from(part.clone());
            assert_eq!((read.kind(), read.text()), (kind, text), "{part}");
            assert_eq!(read.to_json().to_string(), part.to_string());
        }
    }

    #[test]
    fn addresses_are_found_and_replaced() {
        let image =
            |image: Value| ContentPart::from(json!({"type": "image_url", "image_url": image}));
        let mut plain = image(json!("a"));
        let mut object = image(json!({"detail": "low", "url": "a"}));
        for part in [&mut plain, &mut object] {
            assert_eq!(
                (part.image_address(), part.file_address()),
                (Some("a"), None)
            );
            if let ContentPart::ImageUrl { image_url, .. } = part {
                image_url.set_address("b".to_owned());
            }
        }
        assert_eq!(plain, image(json!("b")));
        assert_eq!(object, image(json!({"detail": "low", "url": "b"})));
        let sound = json!({"type": "input_audio", "input_audio": {"data": "AA==", "format": null}});
        assert_eq!(ContentPart::from(sound).sound(), Some(("AA==", "wav")));
        let file = |file: Value| ContentPart::from(json!({"type": "file", "file": file}));
        assert_eq!(
            file(json!({"filename": null, "file_data": "b"})).file_address(),
            Some("b")
        );
        assert_eq!(
            file(json!({"url": "a", "file_data": "b"})).file_address(),
            Some("b")
        );
        assert_eq!(file(json!({"url": "a"})).file_address(), Some("a"));
    }
}
