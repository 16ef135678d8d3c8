//! `mcps/mapping/<id path>/`: what processes are as tools, resources and prompts.

use super::loader::AppLoader;
use super::problem::{FileProblem, Severity};
use super::read::{ConfigNode, FieldMap, FieldSpec, ValueKind};
use super::references;
use crate::schema::{self, SchemaError};
use ambit_storage::suggestion;
use serde_json::{Map, Value};

const SCHEMA: ValueKind = ValueKind::Map(&ValueKind::Any);

const RESOURCE: ValueKind = ValueKind::Object(&[
    FieldSpec::required("uri", ValueKind::Text),
    FieldSpec::new("name", ValueKind::Text),
    FieldSpec::new("description", ValueKind::Text),
    FieldSpec::new("mimeType", ValueKind::Text),
    FieldSpec::new("schema", SCHEMA),
    FieldSpec::new("x-process-args", ValueKind::List(&ValueKind::Any)),
]);

const PROMPT: ValueKind = ValueKind::Object(&[
    FieldSpec::new("name", ValueKind::Text),
    FieldSpec::new("description", ValueKind::Text),
    FieldSpec::new("template", ValueKind::Text),
    FieldSpec::new(
        "arguments",
        ValueKind::List(&ValueKind::Object(&[
            FieldSpec::required("name", ValueKind::Text),
            FieldSpec::new("description", ValueKind::Text),
            FieldSpec::new("required", ValueKind::Boolean),
        ])),
    ),
    FieldSpec::new(
        "messages",
        ValueKind::List(&ValueKind::Object(&[
            FieldSpec::required("role", ValueKind::OneOf(&["user", "assistant"])),
            FieldSpec::required("content", ValueKind::Any),
        ])),
    ),
]);

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
    server: &FieldMap,
) -> Result<McpMapping, FileProblem> {
    let processes = |kind: &str| {
        let named = server.object(kind).0.into_iter();
        named.filter_map(|(name, process)| Some((name, process.as_str()?.to_owned())))
    };
    let mut mapping = McpMapping::default();
    for (name, process) in processes("tools") {
        mapping.tools.push(tool(loader, folder, (name, process))?);
    }
    for (name, process) in processes("resources") {
        let resource = resource(loader, folder, (name, process))?;
        mapping.resources.push(resource);
    }
    for (name, process) in processes("prompts") {
        let prompt = prompt(loader, folder, (name, process))?;
        mapping.prompts.push(prompt);
    }
    Ok(mapping)
}

fn tool(
    loader: &mut AppLoader,
    folder: &str,
    (name, process): (String, String),
) -> Result<ToolMapping, FileProblem> {
    let schemes = format!("{folder}/schemes");
    let file = format!("{schemes}/{name}.in.yao");
    if !loader.has(&file) {
        return Err(missing(loader, (&schemes, ".in.yao"), &name));
    }
    let (mut input, node) = schema(loader, &file)?;
    let arguments = match input.remove("x-process-args") {
        None => None,
        Some(Value::Array(arguments)) => Some(arguments),
        Some(_) => {
            let message =
                "\"x-process-args\" must be a list: \":arguments\", \"$args.name\" or plain values";
            return Err(refuse(loader, (&file, &node, "x-process-args"), message));
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
    let (value, node) = loader.value(file, &SCHEMA)?;
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
    (name, process): (String, String),
) -> Result<ResourceMapping, FileProblem> {
    let resources = format!("{folder}/resources");
    let file = format!("{resources}/{name}.res.yao");
    if !loader.has(&file) {
        return Err(missing(loader, (&resources, ".res.yao"), &name));
    }
    let fields = loader.fields(&file, &RESOURCE)?;
    Ok(ResourceMapping {
        samples: samples(loader, &format!("{resources}/{name}.jsonl"))?,
        process,
        uri: fields.text("uri"),
        label: fields.optional("name").unwrap_or_else(|| name.clone()),
        description: fields.text("description"),
        mime_type: fields.optional("mimeType"),
        schema: fields.0.get("schema").cloned(),
        arguments: fields
            .0
            .contains_key("x-process-args")
            .then(|| fields.list("x-process-args")),
        name,
    })
}

/// A prompt needs no file: its process may say all.
fn prompt(
    loader: &mut AppLoader,
    folder: &str,
    (name, process): (String, String),
) -> Result<PromptMapping, FileProblem> {
    let file = format!("{folder}/prompts/{name}.pmt.yao");
    let mut fields = FieldMap::default();
    if loader.has(&file) {
        let (own, node) = loader.placed(&file, &PROMPT)?;
        judge_prompt(loader, (&file, &node), (&name, &own))?;
        fields = own;
    }
    Ok(PromptMapping {
        name,
        process,
        description: fields.text("description"),
        arguments: fields.list("arguments"),
        messages: fields.list("messages"),
        template: fields.optional("template"),
    })
}

/// A prompt is called by the name that the server gives it, and has its text from one place.
fn judge_prompt(
    loader: &mut AppLoader,
    (file, node): (&str, &ConfigNode),
    (name, fields): (&str, &FieldMap),
) -> Result<(), FileProblem> {
    let own = fields.text("name");
    if let Some(own_node) = node.get("name").filter(|_| !own.is_empty() && own != name) {
        let message = format!(
            "\"name\" has no effect: the prompt is called \"{name}\", as the server's file says"
        );
        references::warn(loader, (file, own_node), message);
    }
    if !fields.list("messages").is_empty() && fields.optional("template").is_some() {
        let message = "a prompt has \"messages\" or a \"template\", not both";
        return Err(refuse(loader, (file, node, "template"), message));
    }
    Ok(())
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
fn missing(loader: &mut AppLoader, (folder, ending): (&str, &str), name: &str) -> FileProblem {
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

fn refuse(
    loader: &mut AppLoader,
    (file, node, key): (&str, &ConfigNode, &str),
    message: &str,
) -> FileProblem {
    let at = node.get(key).map(|node| node.at);
    loader.refuse(FileProblem {
        line: at.map(|at| at.line),
        column: at.map(|at| at.column),
        ..FileProblem::new(Severity::Error, file, message)
    })
}
