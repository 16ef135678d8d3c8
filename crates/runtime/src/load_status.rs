//! When the app was loaded, and what became of later versions of its files.

use crate::app::FileProblem;
use ambit_storage::clock::{Clock, Millis};

/// When the version in force was loaded, and what kept a newer one from it.
#[derive(Clone, Debug)]
pub struct LoadStatus {
    /// When the version in force was loaded.
    pub loaded_at: Millis,
    /// The last reload, if it was refused.
    pub refused: Option<RefusedReload>,
}

/// A newer version of the app's files that is not in force.
#[derive(Clone, Debug)]
pub struct RefusedReload {
    /// When it was refused.
    pub at: Millis,
    /// What is wrong with it.
    pub problems: Vec<FileProblem>,
}

impl LoadStatus {
    /// A version is loaded now.
    pub(crate) fn now() -> Self {
        Self {
            loaded_at: Clock::default().now(),
            refused: None,
        }
    }

    /// A newer version is refused now.
    pub(crate) fn refuse(&mut self, problems: Vec<FileProblem>) {
        let at = Clock::default().now();
        self.refused = Some(RefusedReload { at, problems });
    }
}
