//! `mcps/**.mcp.yao`: tool servers by id, of the app and of its agents.

use super::loader::AppLoader;
use super::mcp_mapping::{self, McpMapping};
use super::problem::{FileProblem, ProblemReport, Severity};
use super::read::ConfigNode;
use super::{McpServerFile, caller_variables};
use crate::config;
use indexmap::IndexMap;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use url::Url;

config! {
    /// `mcps/**.mcp.yao`: a tool server (MCP) by name.
    #[secret]
    pub struct ServerFile {
        /// An id that has no effect: the file's name is the id.
        id: String,
        /// What people call the server.
        name: String,
        /// A shorter name.
        label: String,
        /// What it is for.
        description: String,
        /// Words to find it by.
        tags: Vec<String>,
        /// Its version.
        version: String,
        /// How it is reached; required, here or as `type`.
        transport: Option<TransportKind>,
        /// The same as `transport`.
        #[key = "type"]
        kind: Option<TransportKind>,
        /// What it offers, for people.
        capabilities: Option<Value>,
        /// How long an answer may take.
        timeout: Duration = "30s",
        /// Whether it may be used.
        enabled: bool = true,
        /// Over `process`: processes that are tools, by the tools' names.
        tools: IndexMap<String, String>,
        /// Over `process`: processes that are resources, by the resources' names.
        resources: IndexMap<String, String>,
        /// Over `process`: processes that are prompts, by the prompts' names.
        prompts: IndexMap<String, String>,
        include { connection: ConnectionSettings }
        unused {
            enable_sampling: " in Ambit",
            enable_roots: " in Ambit",
            endpoint: " in Ambit",
            mapping: ": the mapping folder is found by the server's id",
        }
    }

    /// How a tool server outside is reached.
    #[secret]
    pub struct ConnectionSettings {
        /// Over `stdio`: the program.
        command: String,
        /// Over `stdio`: its arguments.
        arguments: Vec<String>,
        /// Over `stdio`: its environment, beside `PATH`; may have `$CTX` variables of the caller.
        env: IndexMap<String, String>,
        /// Over `http` and `sse`: the address.
        url: String,
        /// Over `http` and `sse`: the token, sent as `Bearer` where it has no scheme; may have `$CTX` variables.
        authorization_token: String,
        /// Over `http` and `sse`: headers; may have `$CTX` variables.
        headers: IndexMap<String, String>,
    }

    /// How a tool server is reached.
    pub enum TransportKind {
        /// It is processes of the app.
        Process = "process",
        /// It is a program that is started.
        Stdio = "stdio",
        /// Over streamable HTTP.
        Http = "http",
        /// Over the older HTTP with events.
        Sse = "sse",
    }
}

/// Reads the servers of the app and of the agents in these folders.
pub fn load(
    loader: &mut AppLoader,
    agents: &[(String, String)],
) -> BTreeMap<String, Result<Arc<McpServerFile>, FileProblem>> {
    let mut servers = of(loader, "mcps", "");
    for (id, folder) in agents {
        let prefix = format!("agents.{id}.");
        servers.append(&mut of(loader, &format!("{folder}/mcps"), &prefix));
    }
    servers.extend(loader.program_servers.iter().map(|id| {
        let id = id.clone();
        let program = McpServerFile {
            id: id.clone(),
            ..McpServerFile::default()
        };
        (id, Ok(Arc::new(program)))
    }));
    servers
}

fn of(
    loader: &mut AppLoader,
    folder: &str,
    prefix: &str,
) -> BTreeMap<String, Result<Arc<McpServerFile>, FileProblem>> {
    let files = loader.items(folder, &[".mcp.yao"]);
    let servers = files.into_iter().map(|(name, file)| {
        let id = format!("{prefix}{name}");
        let mapping = format!("{folder}/mapping/{}", name.replace('.', "/"));
        let server = file.and_then(|file| one(loader, &id, file, &mapping));
        (id, server.map(Arc::new))
    });
    servers.collect()
}

fn one(
    loader: &mut AppLoader,
    id: &str,
    file: String,
    mapping: &str,
) -> Result<McpServerFile, FileProblem> {
    let (settings, node) = loader.read::<ServerFile>(&file)?;
    let mut report = ProblemReport::new(&file);
    judge(&settings, &node, &mut report);
    if !has_program(loader, &settings) {
        let message = "\"command\": there is no such program; is it installed and on the PATH?";
        report.push(Severity::Warning, node.position("command"), message);
    }
    loader.take(report)?;
    let mapping = match settings.transport() {
        Some(TransportKind::Process) => mcp_mapping::load(loader, mapping, &settings)?,
        _ => McpMapping::default(),
    };
    Ok(McpServerFile {
        id: id.to_owned(),
        file,
        settings,
        mapping,
    })
}

/// Whether there is a program to start, as far as can be known: on the path, or below the app's folder where its name is a path.
fn has_program(loader: &AppLoader, file: &ServerFile) -> bool {
    let connection = &file.connection;
    let command = &connection.command;
    let is_started = file.enabled && file.transport() == Some(TransportKind::Stdio);
    if !is_started || command.is_empty() {
        return true;
    }
    if command.contains('/') {
        return loader.root().join(command).is_file();
    }
    let own = connection.env.get("PATH").map(String::as_str);
    let Some(path) = own.or_else(|| loader.variables.get("PATH")) else {
        return true;
    };
    std::env::split_paths(path).any(|folder| loader.root().join(folder).join(command).is_file())
}

impl ServerFile {
    /// How it is reached, under either key.
    pub fn transport(&self) -> Option<TransportKind> {
        self.transport.or(self.kind)
    }

    /// What its transport cannot do without, by its key.
    fn needed(&self) -> Option<(&'static str, &str)> {
        match self.transport()? {
            TransportKind::Process => None,
            TransportKind::Stdio => Some(("command", &self.connection.command)),
            TransportKind::Http | TransportKind::Sse => Some(("url", &self.connection.url)),
        }
    }
}

impl ConnectionSettings {
    /// The texts in which variables of the caller are replaced, by key.
    pub fn personal(&self) -> impl Iterator<Item = (&'static str, &String)> {
        let env = self.env.values().map(|text| ("env", text));
        let headers = self.headers.values().map(|text| ("headers", text));
        let token = [("authorization_token", &self.authorization_token)];
        env.chain(headers).chain(token)
    }

    /// The same texts, to be replaced.
    pub fn personal_mut(&mut self) -> impl Iterator<Item = &mut String> {
        let texts = self.env.values_mut().chain(self.headers.values_mut());
        texts.chain([&mut self.authorization_token])
    }

    /// The texts that are the same for all callers, by key.
    fn common(&self) -> impl Iterator<Item = (&'static str, &String)> {
        let arguments = self.arguments.iter().map(|text| ("arguments", text));
        [("url", &self.url), ("command", &self.command)]
            .into_iter()
            .chain(arguments)
    }
}

fn judge(file: &ServerFile, node: &ConfigNode, report: &mut ProblemReport) {
    let at = |key: &str| node.position(key);
    match file.transport() {
        None => {
            let message = "\"transport\" is missing: \"process\", \"stdio\", \"http\" or \"sse\"";
            report.error(node.at, message);
        }
        Some(transport) => {
            if let Some((key, "")) = file.needed() {
                let name = transport.name();
                report.error(at(key), format!("a server over {name} needs \"{key}\""));
            }
        }
    }
    let connection = &file.connection;
    if !connection.url.is_empty() {
        let parsed = Url::parse(&connection.url).ok();
        let is_address = |url: &Url| url.has_host() && matches!(url.scheme(), "http" | "https");
        if !parsed.as_ref().is_some_and(is_address) {
            let message = "\"url\" is no address such as https://host/mcp";
            report.error(at("url"), message);
        }
    }
    for (key, text) in connection.common() {
        if text.contains("$CTX.") {
            let message = format!(
                "\"{key}\" is the same for all callers: $CTX variables are replaced in env, headers, authorization_token alone"
            );
            report.error(at(key), message);
        }
    }
    for (key, text) in connection.personal() {
        if let Err(message) = caller_variables::check(text) {
            report.error(at(key), format!("\"{key}\": {message}"));
        }
    }
}
