//! How many bytes the headers of a form's fields may have. Each time that more of a form comes, the headers that are not whole yet
//! are searched from their beginning.

use axum::body::Body;
use futures::StreamExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// So many bytes may come before the headers of a field are whole.
const HEADERS: usize = 64 << 10;
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

    /// The body, which fails where headers have too many bytes.
    pub fn limited(&self, body: Body) -> Body {
        let bytes = self.0.clone();
        Body::from_stream(body.into_data_stream().map(move |piece| {
            let piece = piece?;
            let before = bytes.load(Ordering::Relaxed);
            if before == IN_FIELD {
                return Ok(piece);
            }
            if before > HEADERS {
                let why = format!("the headers of a field have more than {HEADERS} bytes");
                return Err(axum::Error::new(why));
            }
            bytes.store(before + piece.len(), Ordering::Relaxed);
            Ok(piece)
        }))
    }
}
