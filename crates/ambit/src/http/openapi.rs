//! The OpenAPI document, made from the routes.

mod bodies;
mod free_objects;
mod headers;
mod unions;

pub use bodies::with_bodies;
pub use free_objects::with_free_objects;
pub use headers::with_headers;
pub use unions::with_named_kinds;

use super::contexts::ContextActionAnswer;
use super::input::{Id, Text, Time};
use super::paging::{ItemPosition, PageNumber, PageSize};
use super::response_items::ListedItem;
use super::routes::{Routes, routes};
use super::{ErrorBody, SharedState};
use crate::format::ai_sdk::UiPart;
use crate::format::responses::ResponseEventContent;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use axum::{Extension, body::Bytes};
use std::sync::{Arc, OnceLock};
use utoipa::ToSchema as _;
use utoipa::openapi::path::Operation;
use utoipa::openapi::schema::{AnyOfBuilder, Schema};
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityScheme};
use utoipa::openapi::{
    ComponentsBuilder, Content, InfoBuilder, OpenApi, OpenApiBuilder, Ref, RefOr, Response,
    ResponseBuilder, SecurityRequirement,
};

/// The document as it is sent, once somebody has asked for it.
#[derive(Clone, Default)]
struct OpenApiDocument(Arc<OnceLock<Bytes>>);

/// The routes.
pub fn routes() -> Routes {
    let document_once = Extension(OpenApiDocument::default());
    routes![document].map_router(|router| router.layer(document_once))
}

/// The document without its paths.
pub fn head() -> OpenApi {
    let scheme = SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer));
    let info = InfoBuilder::new()
        .title("Ambit")
        .version(env!("CARGO_PKG_VERSION"));
    OpenApiBuilder::new()
        .info(
            info.description(Some("The context layer of AI agents"))
                .build(),
        )
        .components(Some(
            ComponentsBuilder::new()
                .security_scheme("bearer", scheme)
                // What parameters alone refer to is not collected from the routes.
                .schema_from::<Id>()
                .schema_from::<Text>()
                .schema_from::<Time>()
                .schema_from::<PageNumber>()
                .schema_from::<PageSize>()
                .schema_from::<ItemPosition>()
                .build(),
        ))
        .security(Some([SecurityRequirement::new("bearer", [""; 0])]))
        .build()
}

/// The document in which every operation says what its failures look like.
pub fn with_failures(mut document: OpenApi) -> OpenApi {
    let failure = ResponseBuilder::new().description("Why it failed").content(
        "application/json",
        Content::new(Some(Ref::from_schema_name(ErrorBody::name()))),
    );
    let failure = failure.build();
    for operation in operations(&mut document) {
        let responses = &mut operation.responses.responses;
        responses
            .iter_mut()
            .for_each(|(status, response)| describe(status, response));
        let default = responses.entry("default".to_owned());
        default.or_insert_with(|| failure.clone().into());
    }
    document
}

/// The document in which the last part of a path is named like any other, though it may have slashes: OpenAPI knows no other name.
pub fn with_plain_parts(mut document: OpenApi) -> OpenApi {
    let paths = std::mem::take(&mut document.paths.paths).into_iter();
    let named = paths.map(|(path, item)| (path.replace("{*", "{"), item));
    document.paths.paths = named.collect();
    document
}

/// The document in which what is in these unions may look like several of their kinds: what clients sent can look like anything,
/// events of one shape have more fields than those of another, and reports of nothing are alike.
pub fn with_open_unions(mut document: OpenApi) -> OpenApi {
    let open = [
        ContextActionAnswer::name(),
        UiPart::name(),
        ListedItem::name(),
        ResponseEventContent::name(),
    ];
    let components = document.components.iter_mut();
    for (name, schema) in components.flat_map(|components| &mut components.schemas) {
        let RefOr::T(Schema::OneOf(union)) = schema else {
            continue;
        };
        if open.iter().any(|open| open == name) {
            let any = AnyOfBuilder::new().description(union.description.take());
            let kinds = std::mem::take(&mut union.items).into_iter();
            let any = kinds.fold(any, AnyOfBuilder::item);
            *schema = RefOr::T(Schema::AnyOf(any.build()));
        }
    }
    document
}

/// Every operation.
fn operations(document: &mut OpenApi) -> impl Iterator<Item = &mut Operation> {
    let items = document.paths.paths.values_mut();
    let methods = items.flat_map(|item| {
        [
            &mut item.get,
            &mut item.put,
            &mut item.post,
            &mut item.delete,
            &mut item.patch,
        ]
    });
    methods.flatten()
}

/// Describes an answer that says nothing of itself by its status: the standard wants a description.
fn describe(status: &str, response: &mut RefOr<Response>) {
    let status = StatusCode::from_bytes(status.as_bytes()).unwrap_or_default();
    if let RefOr::T(response) = response
        && response.description.is_empty()
    {
        response.description = status.canonical_reason().unwrap_or_default().to_owned();
    }
}

/// This document.
#[utoipa::path(get, path = "/openapi.json", tag = "operation", responses((status = 200, description = "The document", body = Object)))]
async fn document(
    State(server): State<SharedState>,
    Extension(OpenApiDocument(text)): Extension<OpenApiDocument>,
) -> impl IntoResponse {
    let make = || {
        // A document of plain values is always JSON; an empty answer would be seen by the test that reads it.
        let text = super::document(&server.settings.base).to_json();
        text.unwrap_or_default().into()
    };
    let text = text.get_or_init(make).clone();
    ([(CONTENT_TYPE, "application/json")], text)
}
