//! What a request says, as the types of its route: the parts of its path, its query and its body.
//!
//! A route's type derives `Deserialize`, and `IntoParams` or `ToSchema` for the document. What does not fit it is refused with
//! the place of the field that is to blame, and a name that the route does not know with the nearest one that it does.

mod duplicate;
mod error;
mod fields;
mod forms;
mod json;
mod raw;
mod text;
mod value;

pub use forms::{NumberOrText, TextOrObject, TextOrObjects};
pub use json::{MAX_BODY_VALUES, OBJECT_VALUES, check_size, read as read_json};
pub use raw::RawJson;
pub use text::query;
pub use value::{Id, Text, Time, Whole};

use super::paging::PageParameters;
use super::{HttpError, SharedState, body};
use crate::id::check_id;
use ambit_runtime::{Error, Result};
use ambit_storage::suggestion;
use axum::body::Bytes;
use axum::extract::{FromRequest, FromRequestParts, RawPathParams, Request};
use axum::http::request::Parts;
use error::InputError;
use serde::de::{DeserializeOwned, IgnoredAny};
use std::collections::BTreeMap;
use text::{EmptyText, TextFields};

/// Makes a filter of the runtime's from fields of a query that have the same names.
macro_rules! filter {
    ($Filter:ident from $query:ident: $($field:ident)+ $(; $($name:ident: $value:expr),+)?) => {
        $Filter {
            $($field: $query.$field.map(|value| value.0),)+
            $($($name: $value,)+)?
        }
    };
}

pub(super) use filter;

/// The parts of the path that vary.
pub struct Path<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Path<T> {
    type Rejection = HttpError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, HttpError> {
        let found = RawPathParams::from_request_parts(parts, state).await;
        let found = found.map_err(|error| Error::invalid("path", error.body_text()))?;
        let pairs = found.iter();
        let pairs = pairs.map(|(name, text)| (name.to_owned(), text.to_owned()));
        let mut fields = TextFields::of(pairs, EmptyText::IsText);
        Ok(Self(fields.take()?))
    }
}

/// The one part of the path that varies. An application around the server may have parts of its own before it.
pub struct PathId(pub Id);

impl<S: Send + Sync> FromRequestParts<S> for PathId {
    type Rejection = HttpError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, HttpError> {
        let found = RawPathParams::from_request_parts(parts, state).await;
        let found = found.map_err(|error| Error::invalid("path", error.body_text()))?;
        let (name, text) = found.iter().last().unwrap_or_default();
        check_id(name, text)?;
        Ok(Self(Id(text.to_owned())))
    }
}

/// The query. What it holds beside the fields of the type is refused.
pub struct Query<T>(pub T);

impl<S: Sync, T: DeserializeOwned> FromRequestParts<S> for Query<T> {
    type Rejection = HttpError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, HttpError> {
        let mut fields = text::query_fields(parts, EmptyText::IsRefused)?;
        let taken = fields.take()?;
        fields.finish()?;
        Ok(Self(taken))
    }
}

/// The query of a route whose clients may say there what it does not know.
pub struct OpenQuery<T>(pub T);

impl<S: Sync, T: DeserializeOwned> FromRequestParts<S> for OpenQuery<T> {
    type Rejection = HttpError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, HttpError> {
        let mut fields = text::query_fields(parts, EmptyText::IsRefused)?;
        Ok(Self(fields.take()?))
    }
}

/// The query of a route that takes nothing there.
pub struct NoQuery;

impl<S: Sync> FromRequestParts<S> for NoQuery {
    type Rejection = HttpError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, HttpError> {
        text::query_fields(parts, EmptyText::IsRefused)?.finish()?;
        Ok(Self)
    }
}

/// The query of a list in pages: what is listed, and which page.
pub struct PagedQuery<T> {
    /// What is listed.
    pub query: T,
    /// Which page.
    pub paging: PageParameters,
}

impl<S: Sync, T: DeserializeOwned> FromRequestParts<S> for PagedQuery<T> {
    type Rejection = HttpError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, HttpError> {
        let mut fields = text::query_fields(parts, EmptyText::IsRefused)?;
        let (query, paging) = (fields.take()?, fields.take()?);
        fields.finish()?;
        Ok(Self { query, paging })
    }
}

/// A type that a route reads from a JSON body.
pub trait BodyFields: DeserializeOwned {
    /// Whether fields that the type does not have are ignored, as OpenAI's clients expect it of some routes.
    const IGNORES_UNKNOWN: bool = false;
    /// Bytes that the body may have, where they are more than the server's setting allows others.
    const BODY_LIMIT: usize = 0;
    /// Whether a request without a body says the same as one with an empty object.
    const MAY_BE_ABSENT: bool = false;

    /// Refuses what the fields by themselves allow.
    fn check(&self) -> Result<()> {
        Ok(())
    }
}

/// The body, a JSON object.
pub struct JsonBody<T> {
    /// What it says.
    pub value: T,
    /// The text that it came as.
    pub text: Bytes,
}

impl<T> JsonBody<T> {
    /// What else the body says, as another type reads it.
    pub fn read_again<U: BodyFields>(&self) -> Result<U> {
        json::read(&self.text)
    }

    /// A field that the body has under another name, misspelt, in a body whose unknown fields are passed over.
    pub fn misspelt(&self, field: &'static str) -> Option<Error> {
        let fields: BTreeMap<String, IgnoredAny> = serde_json::from_slice(&self.text).ok()?;
        let is_meant = |name: &&String| suggestion::nearest(name, [field]).is_some();
        let name = fields.keys().find(is_meant)?;
        Some(InputError::unknown(name, "field of this request", &[field]).into())
    }
}

impl<T: BodyFields> FromRequest<SharedState> for JsonBody<T> {
    type Rejection = HttpError;

    async fn from_request(request: Request, server: &SharedState) -> Result<Self, HttpError> {
        let limit = server.settings.body_limit.max(T::BODY_LIMIT);
        let mut text = body::read_at_most(limit, request, server).await?;
        if text.is_empty() && T::MAY_BE_ABSENT {
            text = Bytes::from_static(b"{}");
        }
        let value = json::read(&text)?;
        Ok(Self { value, text })
    }
}
