//! One version of an app, ready to run: its agents known to storage, its hooks compiled.

use crate::app::{Agent, App, Problem, Severity};
use crate::error::{Error, Result};
use crate::hook::Hooks;
use crate::kept::Kept;
use crate::net::{self, AllowList};
use ambit_script::{Engine, Folder};
use ambit_storage::{Ambit, Caller, Stores};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// An app as turns use it. A reload makes a new one; turns that run keep theirs.
pub(crate) struct Loaded {
    /// The app.
    pub app: Arc<App>,
    /// The same agents over the stores.
    pub ambit: Ambit,
    /// What reaches the hosts that the app lists.
    pub http: net::Client,
    /// The hooks by agent; broken ones are what is wrong with them.
    hooks: BTreeMap<String, Result<Arc<Hooks>>>,
}

impl Loaded {
    /// Loads an app and compiles its hooks. `Err` is what makes the app as a whole unusable.
    pub fn load(
        (root, environment): (&Path, &BTreeMap<String, String>),
        engine: &Engine,
        (stores, settings): (&Arc<Stores>, &ambit_storage::Settings),
    ) -> Result<Self, Vec<Problem>> {
        let app = Arc::new(App::load(root, environment)?);
        let folder = Folder::new(root).map_err(|error| vec![unreadable(&error)])?;
        let http = reach(&app).map_err(|error| vec![wrong_host(error)])?;
        let mut builder = Ambit::builder(stores.clone()).settings(settings.clone());
        let mut hooks = BTreeMap::new();
        for agent in app.agents.values().flatten() {
            builder = builder.agent(Kept::new(agent.clone()));
            hooks.insert(
                agent.id.clone(),
                Hooks::load(engine, &folder, &app, agent).map(Arc::new),
            );
        }
        let ambit = builder.build();
        Ok(Self {
            app,
            ambit,
            http,
            hooks,
        })
    }

    /// Everything that is wrong or not used.
    pub fn problems(&self) -> Vec<Problem> {
        let broken = |(id, hooks): (&String, &Result<Arc<Hooks>>)| {
            let error = hooks.as_ref().err()?;
            let agent = self.app.agents.get(id)?.as_ref().ok()?;
            let file = agent.hooks.clone().unwrap_or_default();
            Some(Problem::new(Severity::Error, &file, error.message.clone()))
        };
        let scripts = self.hooks.iter().filter_map(broken);
        self.app.problems.iter().cloned().chain(scripts).collect()
    }

    /// The stored contexts as this caller may see them.
    pub fn acting_as(&self, caller: &Caller) -> Ambit {
        self.ambit.acting_as(caller)
    }

    /// An agent with its hooks.
    pub fn agent(&self, id: &str) -> Result<(Arc<Agent>, Arc<Hooks>)> {
        let agent = self.app.agent(id)?;
        match self.hooks.get(&agent.id) {
            Some(Ok(hooks)) => Ok((agent, hooks.clone())),
            Some(Err(error)) => Err(error.clone()),
            None => Err(Error::internal(format!(
                "the hooks of {id} were not loaded"
            ))),
        }
    }
}

fn reach(app: &App) -> Result<net::Client> {
    net::Client::new(&AllowList::parse(&app.settings.http)?)
}

fn wrong_host(error: Error) -> Problem {
    Problem::new(Severity::Error, "app.yao", error.message)
}

fn unreadable(error: &std::io::Error) -> Problem {
    Problem::new(
        Severity::Error,
        "",
        format!("the app's folder cannot be read: {error}"),
    )
}
