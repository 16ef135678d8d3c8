//! Prompts in files, with the texts of `assets/` that they name.

use crate::app::Prompt;
use crate::app::files;
use crate::app::loader::AppLoader;
use crate::app::problem::{FileProblem, Severity};
use crate::app::read::{ConfigNode, Setting, ValueKind};
use crate::config;
use crate::manifest::short_hash;
use regex::Regex;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

config! {
    /// One prompt.
    pub struct PromptEntry {
        /// Who says it.
        #[required]
        role: PromptRole,
        /// The text, with variables such as `$CTX.LOCALE` and files such as `@assets/rules.md`.
        #[required]
        content: String,
        /// A name, for the provider.
        name: Option<String>,
    }

    /// Who says a prompt.
    pub enum PromptRole {
        /// The app, on models that know no `developer` too.
        System = "system",
        /// The app.
        Developer = "developer",
        /// The user.
        User = "user",
        /// The model.
        Assistant = "assistant",
    }
}

/// Prompts in the order in which the model sees them. Variables in them are replaced when a turn needs them, not before.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PromptList(pub Vec<PromptEntry>);

impl Setting for PromptList {
    const KIND: ValueKind = ValueKind::Verbatim(&Vec::<PromptEntry>::KIND);

    fn read(value: Value) -> Option<Self> {
        Vec::read(value).map(Self)
    }
}

/// A file of `assets/` named in a prompt.
pub const ASSET: &str = r"@assets/(?<asset>[\w./-]+\.(?:md|yml|yaml|json|txt))\b";

/// How a file of `assets/` begins in a prompt. It is looked for first: most prompts name none, and compiling the patterns takes time.
pub const ASSET_PREFIX: &str = "@assets/";

/// Endings of files whose texts can be put into prompts.
const ENDINGS: &str = "md, yml, yaml, json or txt";

static NAMED: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(ASSET).ok());

/// Anything that looks like a file of `assets/`.
static LIKE: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"@assets/[\w./-]*\.\w+").ok());

/// The prompts of a folder's `prompts.yml`, if it has one.
pub fn folder_prompts(
    loader: &mut AppLoader,
    folder: &str,
) -> Option<Result<Vec<Prompt>, FileProblem>> {
    let names = ["prompts.yml", "prompts.yaml"];
    let mut names = names.iter().map(|name| format!("{folder}/{name}"));
    let file = names.find(|file| loader.has(file))?;
    Some(read_prompts(loader, &file, folder))
}

/// The prompts of every file under a folder's `prompts/`, by dotted key.
pub fn presets(
    loader: &mut AppLoader,
    folder: &str,
) -> Result<BTreeMap<String, Vec<Prompt>>, FileProblem> {
    let within = format!("{folder}/prompts");
    let found = loader.items(&within, &[".yml", ".yaml"]);
    let mut presets = BTreeMap::new();
    let mut broken = None;
    for (key, file) in found {
        match file.and_then(|file| read_prompts(loader, &file, folder)) {
            Ok(prompts) => drop(presets.insert(key, prompts)),
            Err(problem) => broken = broken.or(Some(problem)),
        }
    }
    broken.map_or(Ok(presets), Err)
}

fn read_prompts(
    loader: &mut AppLoader,
    file: &str,
    folder: &str,
) -> Result<Vec<Prompt>, FileProblem> {
    let (list, node) = loader.read(file)?;
    let place = PromptSource {
        file,
        folder,
        written: &node,
    };
    with_assets(loader, list, &place)
}

/// Where prompts were written.
pub struct PromptSource<'a> {
    /// In which file.
    pub file: &'a str,
    /// The folder that has the `assets/`.
    pub folder: &'a str,
    /// The list as it is written, for the lines.
    pub written: &'a ConfigNode,
}

/// Prompts as they are used, with the files that they name.
pub fn with_assets(
    loader: &mut AppLoader,
    list: PromptList,
    place: &PromptSource<'_>,
) -> Result<Vec<Prompt>, FileProblem> {
    let mut prompts = Vec::new();
    let mut broken = None;
    let text = loader.text(place.file)?;
    let version = short_hash(text.as_bytes());
    for (index, entry) in list.0.into_iter().enumerate() {
        let mut assets = BTreeMap::new();
        for name in asset_names(&entry.content) {
            match read_asset(loader, place, index, &name) {
                Ok(text) => drop(assets.insert(name, Arc::from(text))),
                Err(problem) => broken = broken.or(Some(problem)),
            }
        }
        for name in unusable_names(&entry.content) {
            let message =
                format!("{name} cannot be put into a prompt: its name must end in {ENDINGS}");
            let problem = loader.refuse(prompt_problem(place, index, message));
            broken = broken.or(Some(problem));
        }
        prompts.push(Prompt {
            role: entry.role.name().to_owned(),
            content: entry.content,
            name: entry.name,
            file: place.file.to_owned(),
            version: version.clone(),
            index,
            variables: Vec::new(),
            assets,
        });
    }
    broken.map_or(Ok(prompts), Err)
}

fn asset_names(content: &str) -> Vec<String> {
    if !content.contains(ASSET_PREFIX) {
        return Vec::new();
    }
    let pattern = NAMED.as_ref();
    let found = pattern
        .into_iter()
        .flat_map(|pattern| pattern.captures_iter(content));
    found.map(|found| found["asset"].to_owned()).collect()
}

/// Files of `assets/` that no text can be of.
fn unusable_names(content: &str) -> Vec<String> {
    if !content.contains(ASSET_PREFIX) {
        return Vec::new();
    }
    let (Some(like), Some(known)) = (LIKE.as_ref(), NAMED.as_ref()) else {
        return Vec::new();
    };
    let found = like.find_iter(content).map(|found| found.as_str());
    let found = found.filter(|found| !known.is_match(found));
    found.map(str::to_owned).collect()
}

/// A problem with one of the prompts.
fn prompt_problem(place: &PromptSource<'_>, index: usize, message: String) -> FileProblem {
    let item = place.written.items().get(index);
    let at = item.map(|item| item.get("content").unwrap_or(item).at);
    FileProblem {
        line: at.map(|at| at.line),
        column: at.map(|at| at.column),
        ..FileProblem::new(Severity::Error, place.file, message)
    }
}

fn read_asset(
    loader: &mut AppLoader,
    place: &PromptSource<'_>,
    index: usize,
    name: &str,
) -> Result<String, FileProblem> {
    let file = format!("{}/assets/{name}", place.folder);
    if loader.has(&file) {
        return loader.text(&file);
    }
    let message = format!(
        "@assets/{name} is not there: {} has no such file",
        files::parent(&file)
    );
    Err(loader.refuse(prompt_problem(place, index, message)))
}
