//! How far a call of a tool has come, as its server says while it runs.

use serde::Serialize;
use std::fmt;
use std::sync::Arc;
use tokio::sync::watch;

/// How far a call has come.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ToolProgress {
    /// So much is done.
    pub progress: f64,
    /// Of so much, if that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<f64>,
    /// What is being done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// Takes in how far a call has come. Only the latest report is kept for whoever reads them.
#[derive(Clone)]
pub struct ProgressListener(Arc<watch::Sender<ToolProgress>>);

/// Reads how far a call has come.
pub struct ProgressReader(watch::Receiver<ToolProgress>);

impl ProgressListener {
    /// A listener, and where its reports can be read.
    pub fn channel() -> (Self, ProgressReader) {
        let (sender, receiver) = watch::channel(ToolProgress::default());
        (Self(Arc::new(sender)), ProgressReader(receiver))
    }

    /// The call has come so far.
    pub fn report(&self, progress: ToolProgress) {
        self.0.send_replace(progress);
    }
}

impl fmt::Debug for ProgressListener {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("ProgressListener").finish_non_exhaustive()
    }
}

impl ProgressReader {
    /// Waits for the next report; `None` once nobody can report any more.
    pub async fn next(&mut self) -> Option<ToolProgress> {
        self.0.changed().await.ok()?;
        Some(self.0.borrow_and_update().clone())
    }
}
