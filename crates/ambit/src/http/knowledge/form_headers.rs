//! How many bytes the headers of a form's fields may have. Each time that more of a form comes, the headers that are not whole yet
//! are searched from their beginning.

use axum::body::Body;
use futures::stream::{self, StreamExt};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Poll, ready};

/// So many bytes may come before the headers of a field are whole.
const HEADERS: usize = 8 << 10;
/// Stands for their number while what comes is no header.
const IN_FIELD: usize = usize::MAX;

/// The bytes that have come since the headers of a field began.
#[derive(Clone, Default)]
pub struct HeaderBytes(Arc<AtomicUsize>);

impl HeaderBytes {
    /// What comes from now on are the headers of a field.
    pub fn begin(&self) {
        self.0.store(0, Ordering::Relaxed);
    }

    /// What comes from now on is the field.
    pub fn end(&self) {
        self.0.store(IN_FIELD, Ordering::Relaxed);
    }

    /// The body, which fails where headers have too many bytes. While they come it is given piece by piece, so that what a piece
    /// has of the field behind them is known before the next one is counted.
    pub fn limited(&self, body: Body) -> Body {
        let bytes = self.0.clone();
        let mut pieces = body.into_data_stream();
        let mut has_given = false;
        Body::from_stream(stream::poll_fn(move |context| {
            let before = bytes.load(Ordering::Relaxed);
            if before != IN_FIELD && std::mem::take(&mut has_given) {
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
            let piece = ready!(pieces.poll_next_unpin(context)).transpose()?;
            has_given = true;
            if before != IN_FIELD && before > HEADERS {
                let why = format!("the headers of a field have more than {HEADERS} bytes");
                return Poll::Ready(Some(Err(axum::Error::new(why))));
            }
            if let (false, Some(piece)) = (before == IN_FIELD, &piece) {
                bytes.store(before + piece.len(), Ordering::Relaxed);
            }
            Poll::Ready(piece.map(Ok))
        }))
    }
}
