//! How the runtime is: when its app was loaded, and which nodes there are.

use super::Runtime;
use crate::error::Result;
use crate::load_status::LoadStatus;
use crate::lock::lock;
use crate::nodes::{self, NodeInfo};

impl Runtime {
    /// When the app was loaded, and what is wrong with a newer version of its files that is not in force.
    pub fn load_status(&self) -> LoadStatus {
        lock(&self.0.load_status).clone()
    }

    /// This node.
    pub fn node(&self) -> NodeInfo {
        nodes::own(&self.0)
    }

    /// The nodes of the installation that run now, this one first.
    pub async fn nodes(&self) -> Result<Vec<NodeInfo>> {
        nodes::all(&self.0).await
    }
}
