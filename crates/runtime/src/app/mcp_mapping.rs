//! `mcps/mapping/<id path>/`: what processes are as tools, resources and prompts.

use super::loader::AppLoader;
use super::mcp_server::ServerFile;
use super::problem::{FileProblem, ProblemReport, Severity};
use super::read::{ConfigNode, Setting, ValueKind};
use crate::config;
use crate::schema::{self, SchemaError};
use ambit_storage::suggestion;
use serde_json::{Map, Value};

config! {
    /// `mcps/mapping/<id>/resources/<name>.res.yao`: a process as a resource.
    pub struct ResourceFile {
        /// The resource's address: a template such as `orders://{id}`.
        #[required]
        uri: String,
        /// What people call it.
        name: Option<String>,
        /// What it is.
        description: String,
        /// What its content is, such as `text/plain`.
        #[key = "mimeType"]
        mime_type: Option<String>,
        /// JSON Schema of the variables of its address.
        schema: Option<Map<String, Value>>,
        /// What the process is called with.
        #[key = "x-process-args"]
        arguments: Option<Vec<Value>>,
    }

    /// `mcps/mapping/<id>/prompts/<name>.pmt.yao`: a process, or a text, as a prompt.
    pub struct PromptFile {
        /// A name that has no effect: the server's file says it.
        name: String,
        /// What it is for.
        description: String,
        /// One text with variables.
        template: Option<String>,
        /// The variables.
        arguments: Vec<Value> as ValueKind::List(&PromptArgument::KIND),
        /// Messages with variables, in place of a template.
        messages: Vec<Value> as ValueKind::List(&PromptMessage::KIND),
    }

    /// A variable of a prompt.
    pub struct PromptArgument {
        /// Its name.
        #[required]
        name: String,
        /// What it means.
        description: String,
        /// Whether it must be given.
        required: bool,
    }

    /// A message of a prompt.
    pub struct PromptMessage {
        /// Who says it.
        #[required]
        role: String as ValueKind::OneOf(&["user", "assistant"]),
        /// A text, or content as MCP has it.
        #[required]
        content: Value,
    }
}

/// The processes of a server, as tools, resources and prompts. In the order of the server's file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct McpMapping {
    /// The tools.
    pub tools: Vec<ToolMapping>,
    /// The resources.
    pub resources: Vec<ResourceMapping>,
    /// The prompts.
    pub prompts: Vec<PromptMapping>,
}

/// A process as a tool.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolMapping {
    /// The tool's name.
    pub name: String,
    /// The process.
    pub process: String,
    /// JSON Schema of the arguments, without `x-process-args`.
    pub input: Value,
    /// JSON Schema of the result.
    pub output: Option<Value>,
    /// `x-process-args`.
    pub arguments: Option<Vec<Value>>,
    /// Examples.
    pub samples: Vec<Value>,
}

/// A process as a resource.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ResourceMapping {
    /// The resource's name in the server's file.
    pub name: String,
    /// The process.
    pub process: String,
    /// Its address: a template.
    pub uri: String,
    /// What people call it.
    pub label: String,
    /// What it is.
    pub description: String,
    /// What its content is.
    pub mime_type: Option<String>,
    /// JSON Schema of its variables, whose defaults are filled in.
    pub schema: Option<Value>,
    /// `x-process-args`.
    pub arguments: Option<Vec<Value>>,
    /// Examples.
    pub samples: Vec<Value>,
}

/// A process, or a text, as a prompt.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PromptMapping {
    /// The prompt's name.
    pub name: String,
    /// The process.
    pub process: String,
    /// What it is for.
    pub description: String,
    /// `{name, description?, required?}`.
    pub arguments: Vec<Value>,
    /// Messages with variables.
    pub messages: Vec<Value>,
    /// One text with variables.
    pub template: Option<String>,
}

/// Reads the mapping of a server that names these processes.
pub fn load(
    loader: &mut AppLoader,
    folder: &str,
    server: &ServerFile,
) -> Result<McpMapping, FileProblem> {
    let mut mapping = McpMapping::default();
    for (name, process) in server.tools.clone() {
        mapping.tools.push(tool(loader, folder, name, process)?);
    }
    for (name, process) in server.resources.clone() {
        mapping
            .resources
            .push(resource(loader, folder, name, process)?);
    }
    for (name, process) in server.prompts.clone() {
        mapping.prompts.push(prompt(loader, folder, name, process)?);
    }
    Ok(mapping)
}

fn tool(
    loader: &mut AppLoader,
    folder: &str,
    name: String,
    process: String,
) -> Result<ToolMapping, FileProblem> {
    let schemes = format!("{folder}/schemes");
    let file = format!("{schemes}/{name}.in.yao");
    if !loader.has(&file) {
        return Err(missing(loader, &schemes, ".in.yao", &name));
    }
    let (mut input, node) = schema(loader, &file)?;
    let arguments = match input.remove("x-process-args") {
        None => None,
        Some(Value::Array(arguments)) => Some(arguments),
        Some(_) => {
            let at = node.position("x-process-args");
            let message =
                "\"x-process-args\" must be a list: \":arguments\", \"$args.name\" or plain values";
            return Err(loader.refuse(FileProblem::at(Severity::Error, &file, at, message)));
        }
    };
    let file = format!("{schemes}/{name}.out.yao");
    let output = match loader.has(&file) {
        true => Some(Value::Object(schema(loader, &file)?.0)),
        false => None,
    };
    Ok(ToolMapping {
        samples: samples(loader, &format!("{schemes}/{name}.jsonl"))?,
        name,
        process,
        input: Value::Object(input),
        output,
        arguments,
    })
}

/// A JSON Schema that is one.
fn schema(
    loader: &mut AppLoader,
    file: &str,
) -> Result<(Map<String, Value>, ConfigNode), FileProblem> {
    let (value, node) = loader.value(file, &Map::KIND)?;
    if let Err(SchemaError::Schema(reason)) = schema::check(&value, &Value::Null) {
        let message = format!("the file is no JSON Schema: {reason}");
        return Err(loader.refuse(FileProblem::new(Severity::Error, file, message)));
    }
    match value {
        Value::Object(schema) => Ok((schema, node)),
        _ => Ok((Map::new(), node)),
    }
}

fn resource(
    loader: &mut AppLoader,
    folder: &str,
    name: String,
    process: String,
) -> Result<ResourceMapping, FileProblem> {
    let resources = format!("{folder}/resources");
    let file = format!("{resources}/{name}.res.yao");
    if !loader.has(&file) {
        return Err(missing(loader, &resources, ".res.yao", &name));
    }
    let (read, _) = loader.read::<ResourceFile>(&file)?;
    Ok(ResourceMapping {
        samples: samples(loader, &format!("{resources}/{name}.jsonl"))?,
        process,
        uri: read.uri,
        label: read.name.unwrap_or_else(|| name.clone()),
        description: read.description,
        mime_type: read.mime_type,
        schema: read.schema.map(Value::Object),
        arguments: read.arguments,
        name,
    })
}

/// A prompt needs no file: its process may say all.
fn prompt(
    loader: &mut AppLoader,
    folder: &str,
    name: String,
    process: String,
) -> Result<PromptMapping, FileProblem> {
    let file = format!("{folder}/prompts/{name}.pmt.yao");
    let mut read = PromptFile::default();
    if loader.has(&file) {
        let (own, node) = loader.read(&file)?;
        let mut report = ProblemReport::new(&file);
        judge_prompt(&name, &own, &node, &mut report);
        loader.take(report)?;
        read = own;
    }
    Ok(PromptMapping {
        name,
        process,
        description: read.description,
        arguments: read.arguments,
        messages: read.messages,
        template: read.template,
    })
}

/// A prompt is called by the name that the server gives it, and has its text from one place.
fn judge_prompt(name: &str, prompt: &PromptFile, node: &ConfigNode, report: &mut ProblemReport) {
    if !prompt.name.is_empty() && prompt.name != name {
        let message = format!(
            "\"name\" has no effect: the prompt is called \"{name}\", as the server's file says"
        );
        report.push(Severity::Warning, node.position("name"), message);
    }
    if !prompt.messages.is_empty() && prompt.template.is_some() {
        let message = "a prompt has \"messages\" or a \"template\", not both";
        report.error(node.position("template"), message);
    }
}

/// One example a line.
fn samples(loader: &mut AppLoader, file: &str) -> Result<Vec<Value>, FileProblem> {
    if !loader.has(file) {
        return Ok(Vec::new());
    }
    let text = loader.text(file)?;
    let mut samples = Vec::new();
    for (line, text) in (1..).zip(text.lines()) {
        if text.trim().is_empty() {
            continue;
        }
        match serde_json::from_str(text) {
            Ok(sample @ Value::Object(_)) => samples.push(sample),
            _ => {
                return Err(loader.refuse(FileProblem {
                    line: Some(line),
                    ..FileProblem::new(Severity::Error, file, "the line is no JSON object")
                }));
            }
        }
    }
    Ok(samples)
}

/// A file of the mapping is not there; a near one is named.
fn missing(loader: &mut AppLoader, folder: &str, ending: &str, name: &str) -> FileProblem {
    let file = format!("{folder}/{name}{ending}");
    let there: Vec<String> = loader
        .within(folder, ending)
        .into_iter()
        .map(|it| it.0)
        .collect();
    let hint = suggestion::hint(name, there.iter().map(String::as_str));
    let message = format!("the file is not there, so \"{name}\" cannot be called{hint}");
    loader.refuse(FileProblem::new(Severity::Error, &file, message))
}
