//! The store of programs that have a framework of their own: keys of the caller's user or team, which nothing else of Ambit sees.

mod body;
mod filter;
mod idempotency;
mod item;
mod pages;
mod read;
mod search;
mod space;
mod write;

use super::idempotency::{IdempotencyKey, RepeatableRequest};
use super::input::{JsonBody, NoQuery};
use super::routes::{Routes, routes};
use super::{ApiCaller, ErrorBody, HttpError};
use ambit_storage::address;
use axum::Json;
use axum::http::HeaderMap;
use body::{StoreBatch, StoreBatchBody, StoreSearchBody};
use item::{StoreBatchAnswer, StoreResult, StoreSearchAnswer, WriteResult};
use space::StoreSpace;

/// Bytes of a body, and of the values that an answer holds.
const BYTES: usize = 32 << 20;

/// The routes.
pub fn routes() -> Routes {
    routes![run_batch, search_items]
}

/// Reads keys, or writes them: all of them or none.
#[utoipa::path(post, path = "/store/batch", tag = "store", request_body = StoreBatchBody,
    responses((status = 200, description = "What came of each operation, in their order", body = StoreBatchAnswer),
        (status = 400, body = ErrorBody), (status = 409, body = ErrorBody), (status = 413, body = ErrorBody)))]
async fn run_batch(
    ApiCaller { server, who }: ApiCaller,
    _: NoQuery,
    headers: HeaderMap,
    JsonBody { value, text }: JsonBody<StoreBatchBody>,
) -> Result<Json<StoreBatchAnswer>, HttpError> {
    let space = StoreSpace::open(&server, &who, &value.space, value.owner)?;
    let results = match StoreBatch::of(value.ops)? {
        StoreBatch::Reads(reads) => read::together(&space, &reads).await?,
        StoreBatch::Writes(writes) => match IdempotencyKey::of(&headers)? {
            None => written(write::commit(&space, &writes).await?),
            Some(key) => {
                let fingerprint = address::digest(&[&String::from_utf8_lossy(&text)]);
                let request = RepeatableRequest::new(&key, &who, idempotency::KIND, fingerprint);
                written(idempotency::once(space, writes, request).await?)
            }
        },
        StoreBatch::PrefixRemoval(prefix) => {
            written(vec![write::delete_prefix(&space, &prefix).await?])
        }
    };
    Ok(Json(StoreBatchAnswer { results }))
}

fn written(results: Vec<WriteResult>) -> Vec<StoreResult> {
    results.into_iter().map(StoreResult::Write).collect()
}

/// Finds items by what their values are, and by the words in them.
#[utoipa::path(post, path = "/store/search", tag = "store", request_body = StoreSearchBody,
    responses((status = 200, description = "The items: the best first, or without a query by their keys", body = StoreSearchAnswer),
        (status = 400, body = ErrorBody), (status = 413, body = ErrorBody)))]
async fn search_items(
    ApiCaller { server, who }: ApiCaller,
    _: NoQuery,
    JsonBody { value, .. }: JsonBody<StoreSearchBody>,
) -> Result<Json<StoreSearchAnswer>, HttpError> {
    let space = StoreSpace::open(&server, &who, &value.space, value.owner)?;
    let items = search::find(&space, &value).await?;
    Ok(Json(StoreSearchAnswer { items }))
}
