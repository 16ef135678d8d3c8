//! The app that is served where none is named. It is part of the program, and unpacked to be served.

use super::new::write;
use crate::command_error::Result;
use std::path::PathBuf;
use tempfile::TempDir;

macro_rules! files {
    ($($name:literal,)+) => {
        &[$(($name, include_str!(concat!("../../examples/welcome/", $name)))),+]
    };
}

/// Its files.
const FILES: &[(&str, &str)] = files![
    "agent/agent.yml",
    "app.yao",
    "assistants/welcome/package.yao",
    "assistants/welcome/prompts.yml",
    "assistants/welcome/src/index.ts",
    "connectors/scripted.conn.yao",
];

/// The unpacked app; gone when the server ends.
pub struct WelcomeApp(TempDir);

impl WelcomeApp {
    /// Puts the files into a folder of this process alone.
    pub fn unpack() -> Result<Self> {
        let folder = tempfile::Builder::new()
            .prefix("ambit-welcome-")
            .tempdir()?;
        for (name, text) in FILES {
            write(&folder.path().join(name), text)?;
        }
        Ok(Self(folder))
    }

    /// Where it is.
    pub fn path(&self) -> PathBuf {
        self.0.path().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::WelcomeApp;
    use ambit_runtime::app::App;
    use std::collections::BTreeMap;
    use std::path::Path;

    #[test]
    fn the_unpacked_app_is_the_example() {
        let unpacked = WelcomeApp::unpack().unwrap();
        let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/welcome");
        for folder in [&unpacked.path(), &example] {
            let app = App::load(folder, &BTreeMap::new()).unwrap();
            assert_eq!(app.problems, []);
            assert_eq!(app.agents.keys().collect::<Vec<_>>(), ["welcome"]);
        }
        assert_eq!(files(&unpacked.path()), files(&example));
    }

    /// How many files there are.
    fn files(folder: &Path) -> usize {
        let entries = std::fs::read_dir(folder).unwrap();
        let paths = entries.map(|entry| entry.unwrap().path());
        paths
            .map(|path| if path.is_dir() { files(&path) } else { 1 })
            .sum()
    }
}
