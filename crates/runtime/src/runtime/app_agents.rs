//! Looking at the agents of the app in force.

use super::Runtime;
use crate::access::Authorized;
use crate::error::{Error, Result};
use crate::inspect::agents::{
    self, AgentDetails, AgentDetailsList, AgentToolList, PromptOccasion, RenderedPrompts,
};
use crate::loaded_app::LoadedApp;
use crate::turn::{self, HookTrial, HookTrialRequest, ToolTrial, ToolTrialRequest};
use futures::future::BoxFuture;

impl Runtime {
    /// The agents of the app in force, by their ids, also those that cannot be used.
    pub async fn app_agents(&self) -> Result<AgentDetailsList> {
        self.look(|loaded| Ok(agents::list(loaded))).await
    }

    /// One of them.
    pub async fn app_agent(&self, id: &str) -> Result<AgentDetails> {
        let id = id.to_owned();
        self.look(move |loaded| agents::get(loaded, &id)).await
    }

    /// The text of a file of an agent, by its path below the agent's folder.
    pub async fn agent_file(&self, id: &str, path: &str) -> Result<String> {
        let (id, path) = (id.to_owned(), path.to_owned());
        let read = self.look(move |loaded| agents::file_text(loaded, &id, &path));
        read.await
    }

    /// What an agent's model would be told first.
    pub fn agent_prompts(
        &self,
        who: &Authorized,
        id: &str,
        occasion: &PromptOccasion,
    ) -> Result<RenderedPrompts> {
        agents::prompts::render(&self.app(), who, id, occasion)
    }

    /// What an agent's tool servers offer its model.
    pub async fn agent_tools(&self, who: &Authorized, id: &str) -> Result<AgentToolList> {
        let loaded = self.0.loaded();
        let (app, toolbox) = (&loaded.app, self.0.tools(&loaded));
        let agent = app.agent(id)?;
        agents::tools::list(app, toolbox.as_ref(), who, &agent).await
    }

    /// Calls a tool of an agent's in the caller's name. What it changes is changed.
    pub fn try_tool<'a>(&'a self, wanted: ToolTrialRequest) -> BoxFuture<'a, Result<ToolTrial>> {
        turn::try_tool(&self.0, wanted)
    }

    /// Runs a hook of an agent's in the caller's name, on a copy of the memory unless the real one is wanted.
    pub fn try_hook<'a>(&'a self, wanted: HookTrialRequest) -> BoxFuture<'a, Result<HookTrial>> {
        turn::try_hook(&self.0, wanted)
    }

    /// Looks at the app where waiting for the disk holds nobody up.
    async fn look<T: Send + 'static>(
        &self,
        read: impl FnOnce(&LoadedApp) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let loaded = self.0.loaded();
        let read = tokio::task::spawn_blocking(move || read(&loaded)).await;
        read.map_err(|error| Error::internal(format!("looking at agents: {error}")))?
    }
}
