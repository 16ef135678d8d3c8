//! What agents, tools and models answer to the steps of a search: read in all the forms that they give it, and refused where it
//! has none of them.

mod intent;
mod items;
mod keywords;
mod order;
mod query_dsl;
mod text;

pub use intent::{IntentAnswer, SearchIntent, create_intent, intent, unknown_types};
pub use items::items;
pub use keywords::{Keyword, joined, keywords, query_words};
pub use order::{by_weight, order, reorder};
pub use query_dsl::{QueryDslAnswer, query_dsl};
pub use text::{ExtractAnswer, ExtractedPage, extracted, fetched};

use serde::Serialize;
use serde_json::{Deserializer, Value};
use std::borrow::Cow;
use std::io::{self, Write};

/// The most bytes of an answer, as JSON.
const LIMIT: usize = 1 << 20;
/// The most characters of a reason that are repeated.
const REASON: usize = 300;

/// Why an answer is of no use.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AnswerError {
    /// It says that the step failed.
    #[error("{0}")]
    Failed(String),
    /// It has none of the forms of its step.
    #[error("the answer cannot be read: expected {0}")]
    Unreadable(&'static str),
    /// It has too many bytes.
    #[error("the answer has more than 1 MiB")]
    TooLarge,
}

/// Reads an answer: as it is, else the JSON in its text, else what is wrapped in `data`.
fn read<T>(
    answer: &Value,
    expected: &'static str,
    read: impl Fn(&Value) -> Option<T>,
) -> Result<T, AnswerError> {
    check_size(answer)?;
    let outer = unquoted(answer);
    if let Some(found) = read(&outer) {
        return Ok(found);
    }
    if let Some(inner) = outer.get("data").map(unquoted) {
        if let Some(found) = read(&inner) {
            return Ok(found);
        }
        failure(&inner)?;
    }
    failure(&outer)?;
    Err(AnswerError::Unreadable(expected))
}

fn check_size(answer: &Value) -> Result<(), AnswerError> {
    match is_within(answer, LIMIT) {
        true => Ok(()),
        false => Err(AnswerError::TooLarge),
    }
}

/// Whether something has at most so many bytes as JSON.
pub(super) fn is_within(value: &impl Serialize, most: usize) -> bool {
    let mut counter = ByteCounter { left: most };
    let mut writer = serde_json::Serializer::new(&mut counter);
    value.serialize(&mut writer).is_ok()
}

/// Fails where an answer is nothing but `{"error": …}`.
fn failure(answer: &Value) -> Result<(), AnswerError> {
    let members = answer.as_object().filter(|members| members.len() == 1);
    let error = members.and_then(|members| members.get("error"));
    let reason = match error {
        Some(Value::Null) | None => return Ok(()),
        Some(Value::String(reason)) => reason.clone(),
        Some(other) => {
            let message = other.get("message").and_then(Value::as_str);
            message.map_or_else(|| other.to_string(), str::to_owned)
        }
    };
    Err(AnswerError::Failed(reason.chars().take(REASON).collect()))
}

/// The JSON that a text holds: as a whole, in a fence, or the first object in it. What is no text, or a text without JSON, is
/// left as it is; so are texts that are a single number or word.
fn unquoted(answer: &Value) -> Cow<'_, Value> {
    let Value::String(text) = answer else {
        return Cow::Borrowed(answer);
    };
    let found = whole(text).or_else(|| fenced(text).find_map(whole));
    match found.or_else(|| first_object(text)) {
        Some(found) => Cow::Owned(found),
        None => Cow::Borrowed(answer),
    }
}

/// The same of a text that is JSON as a whole, or one fence with JSON; JSON within other words is a part of these.
fn unquoted_whole(answer: &Value) -> Cow<'_, Value> {
    let Value::String(text) = answer else {
        return Cow::Borrowed(answer);
    };
    let fence = text.trim().strip_prefix("```");
    let in_fence = || whole(behind_word(fence?.strip_suffix("```")?));
    match whole(text).or_else(in_fence) {
        Some(found) => Cow::Owned(found),
        None => Cow::Borrowed(answer),
    }
}

/// The text as an object or a list.
fn whole(text: &str) -> Option<Value> {
    let found: Option<Value> = serde_json::from_str(text.trim()).ok();
    found.filter(|value| value.is_object() || value.is_array())
}

/// What stands between pairs of ```` ``` ````, without the word behind the first.
fn fenced(text: &str) -> impl Iterator<Item = &str> {
    let between = text.split("```").skip(1).step_by(2);
    between.map(behind_word)
}

/// What stands in a fence behind the name of its language.
fn behind_word(inside: &str) -> &str {
    let json = inside.find(['{', '[', '\n']).unwrap_or_default();
    &inside[json..]
}

/// The first object in a text. A brace that begins none is passed over at once: the parser stops at the first wrong letter, and
/// at a depth of 128.
fn first_object(text: &str) -> Option<Value> {
    let braces = text.match_indices('{');
    let mut objects = braces.filter_map(|(at, _)| {
        let mut values = Deserializer::from_str(&text[at..]).into_iter();
        values.next()?.ok()
    });
    objects.next()
}

/// A number, also in a text.
fn number(value: &Value) -> Option<f64> {
    let number = match value {
        Value::String(text) => text.trim().parse().ok(),
        other => other.as_f64(),
    };
    number.filter(|number: &f64| number.is_finite())
}

/// A text, or a number as one; blanks around it do not count.
fn plain(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.trim().to_owned()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// Counts what is written, and fails when it is too much.
struct ByteCounter {
    left: usize,
}

impl Write for ByteCounter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let left = self.left.checked_sub(bytes.len());
        self.left = left.ok_or(io::ErrorKind::FileTooLarge)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests;
