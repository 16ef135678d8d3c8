//! Reads an app's files one by one and gathers what is wrong with them.

use super::files::{self, FileListing};
use super::problem::{FileProblem, ItemsById, ProblemReport, Severity};
use super::read::{self, ConfigNode, ConfigReader, Setting, ValueKind};
use super::variables::{self, EnvVariables};
use super::written_settings::WrittenSettings;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Endings of files that somebody writes to be read.
const SETTINGS: &[&str] = &[".yao", ".yml", ".yaml", ".json", ".jsonc"];

/// Parts of an app whose files other parts of Ambit look at.
const LEFT: &[&str] = &["mcps/mapping/", "tsconfig.json"];

/// An app's folder while it is being read.
pub struct AppLoader {
    root: PathBuf,
    /// The files, in order.
    pub files: Vec<String>,
    /// What `$ENV.NAME` stands for.
    pub variables: EnvVariables,
    /// What files say of the settings of agents.
    pub written: WrittenSettings,
    /// What is wrong so far.
    pub problems: Vec<FileProblem>,
    /// The tool servers that are no files.
    pub program_servers: Vec<String>,
    used: BTreeSet<String>,
}

impl AppLoader {
    /// Lists the files and reads the variables.
    pub fn new(root: &Path, environment: &BTreeMap<String, String>) -> Result<Self, FileProblem> {
        let FileListing { files, problems } = files::list(root).map_err(|error| {
            let message = format!("the app's folder cannot be read: {error}");
            FileProblem::new(Severity::Error, "app.yao", message)
        })?;
        let mut loader = Self {
            root: root.to_owned(),
            files,
            variables: EnvVariables::default(),
            written: WrittenSettings::default(),
            problems,
            program_servers: Vec::new(),
            used: BTreeSet::new(),
        };
        let own = match loader.has(".env").then(|| loader.text(".env")) {
            Some(Ok(text)) => variables::parse(".env", &text, &mut loader.problems),
            Some(Err(_)) | None => BTreeMap::new(),
        };
        loader.variables = EnvVariables::new(environment, own);
        Ok(loader)
    }

    /// The app's folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Whether there is such a file.
    pub fn has(&self, file: &str) -> bool {
        let found = self
            .files
            .binary_search_by(|known| known.as_str().cmp(file));
        found.is_ok()
    }

    /// The files of a folder and its sub-folders that end like this, with their ids.
    pub fn within(&self, folder: &str, ending: &str) -> Vec<(String, String)> {
        let files = self.files.iter();
        let files = files.filter_map(|file| Some((files::id(file, folder, ending)?, file.clone())));
        files.collect()
    }

    /// Files by id, of any of these endings. A clash disables both files.
    pub fn items(&mut self, folder: &str, endings: &[&str]) -> ItemsById<String> {
        let found = endings
            .iter()
            .flat_map(|ending| self.within(folder, ending));
        let found: Vec<_> = found.collect();
        self.unique(found)
    }

    /// What the files of a folder describe, by id: each is read with its id.
    pub fn load_items<T>(
        &mut self,
        folder: &str,
        endings: &[&str],
        mut read: impl FnMut(&mut Self, &str, &str) -> Result<T, FileProblem>,
    ) -> ItemsById<T> {
        let files = self.items(folder, endings).into_iter();
        let items = files.map(|(id, file)| {
            let item = file.and_then(|file| read(self, &id, &file));
            (id, item)
        });
        items.collect()
    }

    /// Files by id. Where two have the same one, neither can be used, and the problem names both.
    pub fn unique(&mut self, found: Vec<(String, String)>) -> ItemsById<String> {
        self.used.extend(found.iter().map(|(_, file)| file.clone()));
        files::unique(found, &mut self.problems)
    }

    /// These files are read elsewhere, so that nothing is to be told of them.
    pub fn leave_out(&mut self, files: Vec<String>) {
        self.used.extend(files);
    }

    /// The text of a file.
    pub fn text(&mut self, file: &str) -> Result<String, FileProblem> {
        self.used.insert(file.to_owned());
        std::fs::read_to_string(self.root.join(file)).map_err(|error| {
            let message = match error.kind() {
                ErrorKind::NotFound => "the file is not there".to_owned(),
                ErrorKind::InvalidData => "the file is not UTF-8".to_owned(),
                _ => format!("the file cannot be read: {error}"),
            };
            let problem = FileProblem::new(Severity::Error, file, message);
            self.problems.push(problem.clone());
            problem
        })
    }

    /// What a file says, and where.
    pub fn read<T: Setting>(&mut self, file: &str) -> Result<(T, ConfigNode), FileProblem> {
        let (value, node) = self.value(file, &T::KIND)?;
        Ok((T::read(value).unwrap_or_default(), node))
    }

    /// The value of a file and its tree. An empty file holds nothing and is no error, unless something is missing in it.
    pub fn value(
        &mut self,
        file: &str,
        kind: &ValueKind,
    ) -> Result<(Value, ConfigNode), FileProblem> {
        let text = self.text(file)?;
        let mut report = ProblemReport::new(file);
        let read = self.judge(file, &text, kind, &mut report);
        self.take(report)?;
        Ok(read.unwrap_or_else(|| (Value::Null, ConfigNode::nothing())))
    }

    fn judge(
        &self,
        file: &str,
        text: &str,
        kind: &ValueKind,
        report: &mut ProblemReport,
    ) -> Option<(Value, ConfigNode)> {
        let mut node = match read::parse(file, text) {
            Ok(node) => node,
            Err(fault) => {
                report.fault(fault);
                return None;
            }
        };
        if let (read::ConfigValue::Null, ValueKind::Struct(_)) = (&node.content, kind) {
            node.content = read::ConfigValue::Object(Vec::new());
        }
        node.duplicates()
            .into_iter()
            .for_each(|fault| report.fault(fault));
        let variables = &self.variables;
        let mut reader = ConfigReader {
            variables,
            report,
            unknown: Severity::Warning,
        };
        let value = reader.read(&node, kind)?;
        Some((value, node))
    }

    /// Adds a problem of a file that was read before.
    pub fn refuse(&mut self, problem: FileProblem) -> FileProblem {
        self.problems.push(problem.clone());
        problem
    }

    /// Adds the problems of a file. The first error is why the item cannot be used.
    pub fn take(&mut self, report: ProblemReport) -> Result<(), FileProblem> {
        let first = report.first().cloned();
        self.problems.extend(report.problems);
        first.map_or(Ok(()), Err)
    }

    /// All problems in order of files, with a notice for every file that looks like settings and was not read.
    pub fn finish(mut self) -> Vec<FileProblem> {
        let unread = self.files.iter().filter(|file| {
            let is_settings = SETTINGS.iter().any(|ending| file.ends_with(ending));
            let is_left = LEFT.iter().any(|part| file.starts_with(part));
            let is_inner = ["/src/", "/assets/", "/mapping/"]
                .iter()
                .any(|part| file.contains(part));
            is_settings && !is_left && !is_inner && !self.used.contains(*file)
        });
        let unread = unread.map(|file| {
            let message = match file.ends_with("/sandbox.yao") {
                true => "the file has no effect: Ambit has no sandboxes",
                false => "the file is not read: nothing of this name has a meaning here",
            };
            FileProblem::new(Severity::Notice, file, message)
        });
        let unread: Vec<FileProblem> = unread.collect();
        self.problems.extend(unread);
        self.problems.sort_by(|one, other| {
            let key = |problem: &FileProblem| (problem.line, problem.column);
            let order = one.file.cmp(&other.file);
            order.then_with(|| key(one).cmp(&key(other)))
        });
        self.problems.dedup();
        self.problems
    }
}
