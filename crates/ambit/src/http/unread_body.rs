//! What a request still sends when its answer is ready. It is read and dropped: a client that sends before it listens hears the
//! answer, and can use the connection again.

use ambit_runtime::lock::lock;
use axum::body::{Body, BodyDataStream, HttpBody};
use axum::extract::Request;
use axum::http::HeaderValue;
use axum::http::header::{CONNECTION, EXPECT};
use axum::middleware::Next;
use axum::response::Response;
use futures::{StreamExt, stream};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::time::timeout;

/// So much is read; whoever sends more loses the connection.
const MAX_BYTES: usize = 256 << 20;
/// For how long.
const READ_TIMEOUT: Duration = Duration::from_secs(10);

/// Lets the request be answered, and reads what that has left of its body.
pub async fn read(request: Request, next: Next) -> Response {
    if request.body().is_end_stream() {
        return next.run(request).await;
    }
    let asks_first = request.headers().contains_key(EXPECT);
    let (parts, body) = request.into_parts();
    let whole = Arc::new(Mutex::new(body.into_data_stream()));
    let shared = Arc::clone(&whole);
    let shared = stream::poll_fn(move |context| lock(&shared).poll_next_unpin(context));
    let request = Request::from_parts(parts, Body::from_stream(shared));
    let mut response = next.run(request).await;
    // Who asks first need not send.
    let is_free = !asks_first && timeout(READ_TIMEOUT, ends(&whole)).await.unwrap_or(false);
    if !is_free {
        let headers = response.headers_mut();
        headers.insert(CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

/// True if the body comes to its end.
async fn ends(body: &Mutex<BodyDataStream>) -> bool {
    let mut rest = stream::poll_fn(|context| lock(body).poll_next_unpin(context));
    let mut read = 0;
    while let Some(Ok(piece)) = rest.next().await {
        read += piece.len();
        if read > MAX_BYTES {
            return false;
        }
    }
    true
}
