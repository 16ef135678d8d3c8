//! Ids in paths and conditions behind `?`.

use super::HttpError;
use crate::id::check_id;
use crate::timestamp;
use ambit_runtime::{Error, Result};
use ambit_storage::clock::Millis;
use ambit_storage::suggestion;
use axum::extract::{FromRequestParts, RawPathParams};
use axum::http::request::Parts;
use percent_encoding::percent_decode_str;
use std::borrow::Cow;
use std::str::FromStr;

/// The parts of a path that vary.
pub struct PathParameters(Vec<(String, String)>);

impl<S: Send + Sync> FromRequestParts<S> for PathParameters {
    type Rejection = HttpError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, HttpError> {
        let found = RawPathParams::from_request_parts(parts, state).await;
        let found = found.map_err(|error| Error::invalid("path", error.body_text()))?;
        let found = found
            .iter()
            .map(|(name, text)| (name.to_owned(), text.to_owned()));
        Ok(Self(found.collect()))
    }
}

impl PathParameters {
    /// An id: 1 to 200 bytes without U+0000.
    pub fn id(&self, name: &str) -> Result<String> {
        let text = self.text(name)?;
        check_id(name, text)?;
        Ok(text.to_owned())
    }

    /// Any text.
    pub fn text(&self, name: &str) -> Result<&str> {
        let found = self.0.iter().find(|(known, _)| known == name);
        let missing = || Error::invalid(name, format!("{name} is missing in the path"));
        found.map(|(_, text)| text.as_str()).ok_or_else(missing)
    }
}

/// What stands behind `?`, taken one by one.
pub struct QueryParameters {
    remaining: Vec<(String, String)>,
    known: Vec<&'static str>,
}

impl<S: Send + Sync> FromRequestParts<S> for QueryParameters {
    type Rejection = HttpError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, HttpError> {
        Ok(Self::of(parts.uri.query().unwrap_or_default())?)
    }
}

impl QueryParameters {
    fn of(text: &str) -> Result<Self> {
        let pairs = text.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let name =
                decode(name).ok_or_else(|| Error::invalid("query", "the query is not UTF-8"))?;
            let refused = || Error::invalid(&name, format!("{name} is not UTF-8"));
            let value = decode(value).ok_or_else(refused)?;
            Ok((name, value))
        });
        Ok(Self {
            remaining: pairs.collect::<Result<_>>()?,
            known: Vec::new(),
        })
    }

    /// A text. Nothing between `=` and `&` is no way to leave a condition out: it would widen what is asked for.
    pub fn text(&mut self, name: &'static str) -> Result<Option<String>> {
        match self.lenient(name)? {
            Some(text) if text.is_empty() => {
                let message = format!("{name} is empty; leave it out instead");
                Err(Error::invalid(name, message))
            }
            found => Ok(found),
        }
    }

    /// A text that may be empty; the same condition twice is refused.
    pub fn lenient(&mut self, name: &'static str) -> Result<Option<String>> {
        self.known.push(name);
        let Some(at) = self.remaining.iter().position(|(known, _)| known == name) else {
            return Ok(None);
        };
        let (_, text) = self.remaining.remove(at);
        if self.remaining.iter().any(|(known, _)| known == name) {
            return Err(Error::invalid(name, format!("{name} is given twice")));
        }
        Ok(Some(text))
    }

    /// An id.
    pub fn id(&mut self, name: &'static str) -> Result<Option<String>> {
        let found = self.text(name)?;
        found.iter().try_for_each(|text| check_id(name, text))?;
        Ok(found)
    }

    /// Something written as text: a whole number, `true` …
    pub fn parsed<T: FromStr>(&mut self, name: &'static str, what: &str) -> Result<Option<T>> {
        let Some(text) = self.text(name)? else {
            return Ok(None);
        };
        let refused = |_| Error::invalid(name, format!("{name} must be {what}"));
        text.parse().map(Some).map_err(refused)
    }

    /// A whole number within a range.
    pub fn within(&mut self, name: &'static str, from: u64, to: u64) -> Result<Option<u64>> {
        let what = format!("a whole number from {from} to {to}");
        let found: Option<u64> = self.parsed(name, &what)?;
        match found {
            Some(number) if !(from..=to).contains(&number) => {
                Err(Error::invalid(name, format!("{name} must be {what}")))
            }
            found => Ok(found),
        }
    }

    /// A day, an instant, or milliseconds since 1970.
    pub fn time(&mut self, name: &'static str) -> Result<Option<Millis>> {
        let text = self.text(name)?;
        text.map(|text| time(name, &text)).transpose()
    }

    /// Refuses conditions that nobody has taken.
    pub fn finish(self) -> Result<()> {
        let Some((name, _)) = self.remaining.first() else {
            return Ok(());
        };
        let hint = suggestion::hint(name, self.known.iter().copied());
        Err(Error::invalid(
            name,
            format!("{name} is not a condition of this route{hint}"),
        ))
    }
}

/// A day, an instant, or milliseconds since 1970.
pub fn time(name: &str, text: &str) -> Result<Millis> {
    if let Ok(millis) = text.parse() {
        return Ok(millis);
    }
    let refused =
        |why: String| Error::invalid(name, format!("{name} \"{text}\" is no time; {why}"));
    timestamp::parse(text).map_err(refused)
}

/// Text behind a `?`, with `+` and `%xx` replaced; `None` where that is not UTF-8.
fn decode(text: &str) -> Option<String> {
    let text = text.replace('+', " ");
    let decoded = percent_decode_str(&text).decode_utf8();
    decoded.ok().map(Cow::into_owned)
}
