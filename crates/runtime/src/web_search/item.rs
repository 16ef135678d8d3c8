//! What was found: reading results out of a provider's answer, and bringing them into one form.

use super::error::WebSearchFailure;
use super::plain_text::{plain_text, truncate};
use super::settings::ItemFields;
use crate::llm::Secrets;
use crate::value_text::value_text;
use serde::Serialize;
use serde_json::Value;

/// Bytes of a title and of a content.
const TEXT: usize = 8 << 10;

/// What a search of the web found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WebAnswer {
    /// The results, best first.
    pub items: Vec<WebItem>,
    /// What did not fail but differs from what was wanted.
    pub notes: Vec<String>,
}

/// A result.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct WebItem {
    /// Its title.
    pub title: String,
    /// Its address.
    pub url: String,
    /// Its text, or a part of it.
    pub content: String,
    /// How well it fits, from 0 to 1.
    pub score: f64,
    /// Where it comes from.
    pub metadata: WebItemMetadata,
}

/// Where a result comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct WebItemMetadata {
    /// The provider.
    pub provider: String,
    /// Its place in the provider's list, from 1; 0 for the box above the list.
    pub position: usize,
    /// When it was published, as the provider writes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
    /// What it is, if it is no plain result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<WebItemKind>,
}

/// What a result is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum WebItemKind {
    /// The answer that an engine shows above its results.
    AnswerBox,
}

/// Where the parts of a result stand in it; an empty path is no part.
#[derive(Clone, Copy)]
pub struct ItemPaths<'a> {
    pub title: &'a str,
    pub url: &'a str,
    pub content: &'a str,
    pub score: &'a str,
    pub date: &'a str,
}

impl<'a> From<&'a ItemFields> for ItemPaths<'a> {
    fn from(fields: &'a ItemFields) -> Self {
        Self {
            title: &fields.title,
            url: &fields.url,
            content: &fields.content,
            score: &fields.score,
            date: &fields.date,
        }
    }
}

impl ItemPaths<'_> {
    /// The results of a list that say something, up to a number of them.
    pub fn read(&self, list: &Value, limit: usize) -> Result<Vec<WebItem>, WebSearchFailure> {
        let list = list.as_array().ok_or(WebSearchFailure::Unreadable)?;
        if !list.iter().all(Value::is_object) {
            return Err(WebSearchFailure::Unreadable);
        }
        let items = (1..)
            .zip(list)
            .map(|(position, item)| self.item(item, position));
        Ok(items.filter(WebItem::says_something).take(limit).collect())
    }

    /// An answer box in front of the list, if it has a text.
    pub fn answer_box(&self, item: Option<&Value>) -> Option<WebItem> {
        let mut item = self.item(item.filter(|item| item.is_object())?, 0);
        item.score = 1.0;
        item.metadata.kind = Some(WebItemKind::AnswerBox);
        (!item.content.trim().is_empty()).then_some(item)
    }

    fn item(&self, item: &Value, position: usize) -> WebItem {
        let score = at(item, self.score).and_then(number);
        let date = text(item, self.date);
        WebItem {
            title: text(item, self.title),
            url: text(item, self.url),
            content: text(item, self.content),
            score: score.unwrap_or_else(|| score_of_position(position)),
            metadata: WebItemMetadata {
                position,
                date: (!date.trim().is_empty()).then_some(date),
                ..WebItemMetadata::default()
            },
        }
    }
}

impl WebItem {
    fn says_something(&self) -> bool {
        let parts = [&self.title, &self.url, &self.content];
        parts.iter().any(|part| !part.trim().is_empty())
    }
}

impl WebAnswer {
    /// The answer as it is handed out: plain texts without secrets, scores up to 1, and no more results than are wanted.
    pub fn in_one_form(mut self, provider: &str, limit: usize, secrets: &Secrets) -> Self {
        self.items.truncate(limit);
        let scores = self.items.iter().map(|item| item.score);
        let highest = scores.fold(1.0, f64::max);
        for item in &mut self.items {
            item.score = (item.score / highest).max(0.0);
            item.metadata.provider = provider.to_owned();
            for part in [&mut item.title, &mut item.content] {
                // Cut before, a secret could be left in part.
                *part = secrets.hide(&plain_text(part));
                truncate(part, TEXT);
            }
            item.url = secrets.hide(item.url.trim());
            // A part of an address is another address.
            if item.url.len() > TEXT {
                item.url.clear();
            }
            if let Some(date) = &mut item.metadata.date {
                *date = secrets.hide(&plain_text(date));
                truncate(date, TEXT);
            }
        }
        // What was nothing but tags is empty by now.
        self.items.retain(WebItem::says_something);
        self
    }
}

/// The value at a path of names, and positions in lists, joined by dots.
pub fn at<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
    let mut names = path.split('.').filter(|name| !name.is_empty());
    names.try_fold(value, |value, name| match value {
        Value::Array(list) => list.get(name.parse::<usize>().ok()?),
        value => value.get(name),
    })
}

/// What a result counts without a score of its own: the first one 1, each further one 0.05 less, and none less than 0.1.
fn score_of_position(position: usize) -> f64 {
    let before = position.saturating_sub(1).min(18);
    (20 - before) as f64 / 20.0
}

fn text(item: &Value, path: &str) -> String {
    match at(item, path) {
        Some(value @ (Value::String(_) | Value::Number(_))) => value_text(value),
        _ => String::new(),
    }
}

fn number(value: &Value) -> Option<f64> {
    let number = match value {
        Value::String(text) => text.trim().parse().ok(),
        other => other.as_f64(),
    };
    number.filter(|number| number.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_nothing_but_tags_is_no_result() {
        let item = |content: &str| WebItem {
            content: content.to_owned(),
            ..WebItem::default()
        };
        let answer = WebAnswer {
            items: vec![item("<img src=x>"), item("<b>text</b>")],
            ..WebAnswer::default()
        };
        let items = answer.in_one_form("http", 10, &Secrets::default()).items;
        let contents: Vec<&str> = items.iter().map(|item| item.content.as_str()).collect();
        assert_eq!(contents, ["text"]);
    }
}
