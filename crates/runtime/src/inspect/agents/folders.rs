//! Which folders of an app are agents, and which files are in which of them.

use crate::app::App;
use crate::app::files;
use std::collections::BTreeMap;

/// The folders of an app's agents.
pub struct AgentFolders<'a> {
    /// The ids, by folder.
    ids: BTreeMap<&'a str, String>,
    /// The files below the folder, without those of agents in it.
    files: BTreeMap<&'a str, Vec<&'a str>>,
}

impl<'a> AgentFolders<'a> {
    /// Those of this app, also of agents that cannot be used.
    pub fn of(app: &'a App) -> Self {
        let packages = app.files.iter().filter_map(|file| {
            let id = files::id(file, "assistants", "/package.yao")?;
            let is_agent = app.agents.contains_key(&id);
            is_agent.then(|| (files::parent(file), id))
        });
        let mut folders = Self {
            ids: packages.collect(),
            files: BTreeMap::new(),
        };
        for file in &app.files {
            if let Some(folder) = folders.around(file) {
                let own = folders.files.entry(folder).or_default();
                own.push(&file[folder.len() + 1..]);
            }
        }
        folders
    }

    /// The folder of an agent.
    pub fn of_agent(&self, id: &str) -> Option<&'a str> {
        let mut ids = self.ids.iter();
        let found = ids.find(|(_, known)| *known == id);
        found.map(|(folder, _)| *folder)
    }

    /// The innermost folder of an agent that a file is in.
    pub fn around(&self, file: &str) -> Option<&'a str> {
        let mut inner = file;
        while let Some((folder, _)) = inner.rsplit_once('/') {
            if let Some((known, _)) = self.ids.get_key_value(folder) {
                return Some(*known);
            }
            inner = folder;
        }
        None
    }

    /// The files of a folder, by their paths below it.
    pub fn files(&self, folder: &str) -> &[&'a str] {
        self.files.get(folder).map_or(&[], Vec::as_slice)
    }
}
