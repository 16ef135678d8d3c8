//! Credentials as Anthropic's clients send them.

use super::has_path;
use axum::http::HeaderValue;
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;

/// Where these clients have their key.
const KEY: &str = "x-api-key";

/// Makes the key of these clients a bearer token, in a request to one of their routes: its path is that below the base path.
pub fn take_key(request: &mut Parts) {
    let headers = &mut request.headers;
    if !has_path(request.uri.path()) || headers.contains_key(AUTHORIZATION) {
        return;
    }
    let Some(key) = headers.get(KEY) else {
        return;
    };
    let bearer = [b"Bearer ".as_slice(), key.as_bytes()].concat();
    if let Ok(bearer) = HeaderValue::from_bytes(&bearer) {
        headers.insert(AUTHORIZATION, bearer);
    }
}
