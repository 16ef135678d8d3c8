//! `mcps/mapping/<id path>/`: what processes are as tools, resources and prompts.

use super::loader::AppLoader;
use super::mcp_server::ServerFile;
use super::problem::{FileProblem, ProblemReport, Severity};
use super::read::{ConfigNode, ConfigValue, RawText, Setting, ValueKind};
use crate::config;
use crate::schema::{self, SchemaError};
use crate::tool::{McpSample, McpTool};
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
        schema: Value as ValueKind::Map(&ValueKind::Any),
        /// What the process is called with.
        #[key = "x-process-args"]
        arguments: Option<Vec<ProcessArgument>>,
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
        arguments: Vec<PromptArgument>,
        /// Messages with variables, in place of a template.
        messages: Vec<PromptMessage>,
    }

    /// A variable of a prompt.
    pub struct PromptArgument {
        /// Its name.
        #[required]
        name: String,
        /// What it means.
        description: Option<RawText>,
        /// Whether it must be given.
        required: Option<bool>,
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

/// An entry of `x-process-args`: what a process is called with.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum ProcessArgument {
    /// `:arguments`: all that was given.
    #[default]
    Whole,
    /// `$a.b`: what is found at this path.
    Path(Vec<String>),
    /// Anything else, as it is.
    Plain(Value),
}

impl From<Value> for ProcessArgument {
    fn from(value: Value) -> Self {
        let path = match value.as_str() {
            Some(":arguments") => return Self::Whole,
            // Anything else behind a `$` is a plain text, such as a price.
            Some(text) => text
                .strip_prefix('$')
                .filter(|path| path.split('.').all(is_name)),
            None => None,
        };
        match path {
            Some(path) => Self::Path(path.split('.').map(str::to_owned).collect()),
            None => Self::Plain(value),
        }
    }
}

impl Setting for ProcessArgument {
    const KIND: ValueKind = ValueKind::Any;

    fn read(value: Value) -> Option<Self> {
        Some(value.into())
    }
}

fn is_name(name: &str) -> bool {
    let mut letters = name.chars();
    let is_first = |letter: char| letter.is_alphabetic() || letter == '_';
    letters.next().is_some_and(is_first)
        && letters.all(|letter| letter.is_alphanumeric() || matches!(letter, '_' | '-'))
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
    /// The process.
    pub process: String,
    /// The tool, whose schema is without `x-process-args`.
    pub tool: McpTool,
    /// `x-process-args`.
    pub arguments: Option<Vec<ProcessArgument>>,
    /// Examples.
    pub samples: Vec<McpSample>,
}

/// A process as a resource.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ResourceMapping {
    /// The resource's name in the server's file.
    pub name: String,
    /// The process.
    pub process: String,
    /// What its file says.
    pub file: ResourceFile,
    /// Examples.
    pub samples: Vec<McpSample>,
}

impl ResourceMapping {
    /// What people call it.
    pub fn label(&self) -> &str {
        self.file.name.as_ref().unwrap_or(&self.name)
    }
}

/// A process, or a text, as a prompt.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PromptMapping {
    /// The prompt's name.
    pub name: String,
    /// The process.
    pub process: String,
    /// What its file says.
    pub file: PromptFile,
}

/// Reads the mapping of a server that names these processes.
pub fn load(
    loader: &mut AppLoader,
    folder: &str,
    server: &ServerFile,
) -> Result<McpMapping, FileProblem> {
    let mut mapping = McpMapping::default();
    for (name, process) in &server.tools {
        mapping.tools.push(tool(loader, folder, name, process)?);
    }
    for (name, process) in &server.resources {
        let folder = format!("{folder}/resources");
        let file = existing(loader, &folder, name, ".res.yao")?;
        mapping.resources.push(ResourceMapping {
            name: name.clone(),
            process: process.clone(),
            file: loader.read(&file)?.0,
            samples: samples(loader, &format!("{folder}/{name}.jsonl"))?,
        });
    }
    for (name, process) in &server.prompts {
        mapping.prompts.push(PromptMapping {
            name: name.clone(),
            process: process.clone(),
            file: prompt(loader, &format!("{folder}/prompts/{name}.pmt.yao"), name)?,
        });
    }
    Ok(mapping)
}

fn tool(
    loader: &mut AppLoader,
    folder: &str,
    name: &str,
    process: &str,
) -> Result<ToolMapping, FileProblem> {
    let schemes = format!("{folder}/schemes");
    let file = existing(loader, &schemes, name, ".in.yao")?;
    let (mut input, node) = schema(loader, &file)?;
    let arguments = match input.remove(ARGUMENTS).map(Vec::read) {
        Some(None) => {
            let at = node.position(ARGUMENTS);
            let message = format!(
                "\"{ARGUMENTS}\" must be a list: \":arguments\", \"$args.name\" or plain values"
            );
            return Err(loader.refuse(FileProblem::at(Severity::Error, &file, at, message)));
        }
        given => given.flatten(),
    };
    let mut report = ProblemReport::new(&file);
    judge_keys(&node, &mut report);
    judge_fields(&input, arguments.as_deref(), &node, &mut report);
    loader.take(report)?;
    let file = format!("{schemes}/{name}.out.yao");
    let output = match loader.has(&file) {
        true => Some(Value::Object(schema(loader, &file)?.0)),
        false => None,
    };
    let description = input.get("description").and_then(Value::as_str);
    Ok(ToolMapping {
        process: process.to_owned(),
        tool: McpTool {
            name: name.to_owned(),
            description: description.map(str::to_owned),
            input_schema: Value::Object(input),
            output_schema: output,
        },
        arguments,
        samples: samples(loader, &format!("{schemes}/{name}.jsonl"))?,
    })
}

/// The key of a schema that is Ambit's.
const ARGUMENTS: &str = "x-process-args";

/// Warns of keys that look like [`ARGUMENTS`]. Others are JSON Schema's, which takes all.
fn judge_keys(node: &ConfigNode, report: &mut ProblemReport) {
    let ConfigValue::Object(entries) = &node.content else {
        return;
    };
    for (key, _) in entries {
        let name = key.text.as_str();
        let is_near =
            name.starts_with("x-process-arg") || suggestion::nearest(name, [ARGUMENTS]).is_some();
        if is_near && name != ARGUMENTS {
            let message = format!("unknown key \"{name}\"; did you mean \"{ARGUMENTS}\"?");
            report.push(Severity::Warning, key.at, message);
        }
    }
}

/// What lets a schema have properties that it does not list.
const OPEN: [&str; 5] = ["$ref", "allOf", "anyOf", "oneOf", "patternProperties"];

/// Warns of fields that processes get and that the schema, where it lists them all, does not have.
fn judge_fields(
    input: &Map<String, Value>,
    arguments: Option<&[ProcessArgument]>,
    node: &ConfigNode,
    report: &mut ProblemReport,
) {
    let has_more = |given: &Value| *given != Value::Bool(false);
    let is_open = OPEN.iter().any(|key| input.contains_key(*key))
        || input.get("additionalProperties").is_some_and(has_more);
    let Some(Value::Object(known)) = input.get("properties").filter(|_| !is_open) else {
        return;
    };
    for argument in arguments.unwrap_or_default() {
        let ProcessArgument::Path(names) = argument else {
            continue;
        };
        let [group, name, ..] = names.as_slice() else {
            continue;
        };
        if group == "args" && !known.contains_key(name) {
            let hint = suggestion::hint(name, known.keys().map(String::as_str));
            let message = format!(
                "\"{ARGUMENTS}\" names \"$args.{name}\", and \"properties\" has no \"{name}\"{hint}"
            );
            report.push(Severity::Warning, node.position(ARGUMENTS), message);
        }
    }
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
    Ok((Map::read(value).unwrap_or_default(), node))
}

/// A prompt needs no file: its process may say all.
fn prompt(loader: &mut AppLoader, file: &str, name: &str) -> Result<PromptFile, FileProblem> {
    if !loader.has(file) {
        return Ok(PromptFile::default());
    }
    let (prompt, node) = loader.read(file)?;
    let mut report = ProblemReport::new(file);
    judge_prompt(name, &prompt, &node, &mut report);
    loader.take(report)?;
    Ok(prompt)
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
fn samples(loader: &mut AppLoader, file: &str) -> Result<Vec<McpSample>, FileProblem> {
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
            Ok(sample) => samples.push(sample),
            Err(_) => {
                return Err(loader.refuse(FileProblem {
                    line: Some(line),
                    ..FileProblem::new(Severity::Error, file, "the line is no JSON object")
                }));
            }
        }
    }
    Ok(samples)
}

/// The path of a file of the mapping; where it is not there, a near one is named.
fn existing(
    loader: &mut AppLoader,
    folder: &str,
    name: &str,
    ending: &str,
) -> Result<String, FileProblem> {
    let file = format!("{folder}/{name}{ending}");
    if loader.has(&file) {
        return Ok(file);
    }
    let there = loader.within(folder, ending);
    let hint = suggestion::hint(name, there.iter().map(|it| it.0.as_str()));
    let message = format!("the file is not there, so \"{name}\" cannot be called{hint}");
    Err(loader.refuse(FileProblem::new(Severity::Error, &file, message)))
}
