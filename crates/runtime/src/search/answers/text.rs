//! The text of a page or of a document.

use super::{AnswerError, check_size, failure, number, unquoted_whole};
use serde_json::{Map, Value};

/// The text of a document.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExtractAnswer {
    pub text: String,
    pub title: Option<String>,
    /// Its pages, where their texts are known apart.
    pub pages: Vec<ExtractedPage>,
}

/// A page of a document.
#[derive(Clone, Debug, PartialEq)]
pub struct ExtractedPage {
    pub page: u32,
    pub text: String,
}

/// Reads the text of an address: a text, or `{"text"}`.
pub fn fetched(answer: &Value) -> Result<String, AnswerError> {
    let answer = read_text(answer, "text or {\"text\"}", |members| {
        let text = members.get("text")?.as_str()?;
        Some(ExtractAnswer::plain(text))
    })?;
    Ok(answer.text)
}

/// Reads the text of a document: a text, or `{"text", "title", "pages"}`.
pub fn extracted(answer: &Value) -> Result<ExtractAnswer, AnswerError> {
    let expected = "text or {\"text\", \"title\", \"pages\": [{\"page\", \"text\"}]}";
    read_text(answer, expected, ExtractAnswer::of)
}

/// A text that is JSON without being of the form is the text itself: pages may be JSON.
fn read_text(
    answer: &Value,
    expected: &'static str,
    read: impl Fn(&Map<String, Value>) -> Option<ExtractAnswer>,
) -> Result<ExtractAnswer, AnswerError> {
    check_size(answer)?;
    let outer = unquoted_whole(answer);
    if let Some(members) = outer.as_object() {
        if let Some(found) = read(members) {
            return Ok(found);
        }
        let inner = members.get("data").map(unquoted_whole);
        let found = inner.as_deref().and_then(|inner| match inner {
            Value::String(text) => Some(ExtractAnswer::plain(text)),
            inner => read(inner.as_object()?),
        });
        if let Some(found) = found {
            return Ok(found);
        }
        inner.as_deref().map_or(Ok(()), failure)?;
        failure(&outer)?;
    }
    let text = answer.as_str().ok_or(AnswerError::Unreadable(expected))?;
    Ok(ExtractAnswer::plain(text))
}

impl ExtractAnswer {
    fn plain(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            ..Self::default()
        }
    }

    fn of(members: &Map<String, Value>) -> Option<Self> {
        let pages: Vec<ExtractedPage> = match members.get("pages") {
            Some(Value::Null) | None => Vec::new(),
            Some(pages) => pages.as_array()?.iter().map(page).collect::<Option<_>>()?,
        };
        let text = match members.get("text") {
            Some(text) => text.as_str()?.to_owned(),
            None if pages.is_empty() => return None,
            None => {
                let texts: Vec<&str> = pages.iter().map(|page| page.text.as_str()).collect();
                texts.join("\n\n")
            }
        };
        let title = members.get("title").and_then(Value::as_str);
        Some(Self {
            text,
            title: title.map(str::to_owned),
            pages,
        })
    }
}

fn page(given: &Value) -> Option<ExtractedPage> {
    let page = number(given.get("page")?)?;
    let is_page = (1.0..=f64::from(u32::MAX)).contains(&page) && page.fract() == 0.0;
    Some(ExtractedPage {
        page: is_page.then_some(page as u32)?,
        text: given.get("text")?.as_str()?.to_owned(),
    })
}
