//! How the runtime is: when its app was loaded, its models, which nodes there are, and who hears what models use.

use super::{Runtime, TokenListener};
use crate::error::Result;
use crate::load_status::LoadStatus;
use crate::lock::lock;
use crate::model::TableModels;
use crate::node_record::NodeInfo;
use crate::nodes;
use std::sync::Arc;

impl Runtime {
    /// When the app was loaded, and what is wrong with a newer version of its files that is not in force.
    pub fn load_status(&self) -> LoadStatus {
        lock(&self.0.load_status).clone()
    }

    /// How many agents are refused to somebody for now, because their hooks were ended for their limits.
    pub fn refused_agents(&self) -> usize {
        self.0.loaded().refused_agents().count()
    }

    /// The models of the app in force.
    pub fn table_models(&self) -> Arc<TableModels> {
        self.0.loaded().processes.models.clone()
    }

    /// Has this hear of the tokens that models use in turns; the first one stays.
    pub fn hear_tokens(&self, listener: TokenListener) {
        self.0.token_listener.get_or_init(|| listener);
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
