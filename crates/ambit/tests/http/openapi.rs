//! Answers, compared with what the OpenAPI document says of them.

use super::Answer;
use boon::{Compiler, SchemaIndex, Schemas};
use reqwest::Method;
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::sync::LazyLock;

/// The server's document, and the same document when no object may have fields that it does not name.
static DOCUMENTS: LazyLock<[OpenApi; 2]> = LazyLock::new(|| {
    let published = serde_json::to_value(ambit::http::document("/v1")).unwrap();
    let mut closed = published.clone();
    close(&mut closed["components"]["schemas"]);
    [OpenApi::of(&published), OpenApi::of(&closed)]
});

/// Fails where an answer is not as the document says.
pub fn check(method: &Method, path: &str, answer: &Answer) {
    for document in &*DOCUMENTS {
        document.check(method, path, answer);
    }
}

struct OpenApi {
    schemas: Schemas,
    operations: Vec<Operation>,
    failure: SchemaIndex,
    /// Of what would be one of Anthropic's routes.
    anthropic_failure: SchemaIndex,
}

struct Operation {
    method: String,
    /// The parts of the path, `{name}` for what varies.
    parts: Vec<String>,
    /// By status, or `default`: by content type, the schema.
    answers: HashMap<String, HashMap<String, SchemaIndex>>,
    /// By status, or `default`: the names of the headers, in small letters.
    headers: HashMap<String, Vec<String>>,
}

/// Headers that tell clients something, but for those that begin with `x-ambit-`.
const TELLING: [&str; 4] = ["etag", "location", "retry-after", "www-authenticate"];

impl OpenApi {
    fn of(document: &Value) -> Self {
        let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
        let url = "mem:///openapi.json";
        compiler.add_resource(url, document.clone()).unwrap();
        let mut compile = |pointer: &str| {
            let compiled = compiler.compile(&format!("{url}#{pointer}"), &mut schemas);
            compiled.unwrap_or_else(|error| panic!("{pointer}: {error:#}"))
        };
        let failure = compile("/components/schemas/ErrorBody");
        let anthropic_failure = compile("/components/schemas/AnthropicFailure");
        let items = object(&document["paths"]).iter();
        let all = items.flat_map(|(path, item)| object(item).iter().map(move |of| (path, of)));
        let operations = all.map(|(path, (method, operation))| {
            let pointer = format!("/paths/{}/{method}/responses", escape(path));
            let (mut answers, mut headers) = (HashMap::new(), HashMap::new());
            for (status, answer) in object(&operation["responses"]) {
                let content = answer.get("content").map(object);
                let kinds = content.into_iter().flat_map(Map::keys).map(|kind| {
                    let content = format!("{pointer}/{status}/content/{}", escape(kind));
                    (kind.clone(), compile(&format!("{content}/schema")))
                });
                answers.insert(status.clone(), kinds.collect());
                let names = answer.get("headers").map(object);
                let names = names.into_iter().flat_map(Map::keys);
                let names = names.map(|name| name.to_lowercase());
                headers.insert(status.clone(), names.collect());
            }
            Operation {
                method: method.to_uppercase(),
                parts: path.split('/').map(str::to_owned).collect(),
                answers,
                headers,
            }
        });
        let operations = operations.collect();
        Self {
            schemas,
            operations,
            failure,
            anthropic_failure,
        }
    }

    fn check(&self, method: &Method, path: &str, answer: &Answer) {
        let said = format!("{method} {path} {}: {}", answer.status, answer.text);
        let kind = answer.header("content-type");
        let kind = kind.and_then(|kind| kind.split(';').next());
        let schema = match self.operation(method, path) {
            Some(operation) => {
                operation.check_headers(answer);
                operation.schema(answer.status, kind, &said)
            }
            None => {
                assert!(matches!(answer.status, 401 | 403 | 404 | 405), "{said}");
                match path == "/v1/messages" || path.starts_with("/v1/messages/") {
                    true => Some(self.anthropic_failure),
                    false => Some(self.failure),
                }
            }
        };
        // A HEAD request has no body, and text has no schema of its own.
        let values = match kind {
            _ if method == Method::HEAD => Vec::new(),
            Some("application/json") => vec![answer.json()],
            Some("text/event-stream") => events(&answer.text),
            _ => Vec::new(),
        };
        for value in values {
            let schema = schema.unwrap_or_else(|| panic!("{said}: there is no schema"));
            if let Err(error) = self.schemas.validate(&value, schema) {
                panic!("{said} is not as the document says: {error:#}\n{value}");
            }
        }
    }

    /// The operation of a request; of several the one with the most parts that are spelt out. The last part of one may have slashes.
    fn operation(&self, method: &Method, path: &str) -> Option<&Operation> {
        let method = match *method {
            Method::HEAD => "GET",
            _ => method.as_str(),
        };
        // Two tests choose a base path.
        let path = path.replace("/api/v2/", "/v1/");
        let parts: Vec<&str> = path.split('/').collect();
        let found = self.operations.iter().filter(|operation| {
            let mut pairs = operation.parts.iter().zip(&parts);
            let last = operation.parts.last().map(String::as_str);
            let is_longer = last == Some("{path}") && parts.len() > operation.parts.len();
            operation.method == method
                && (operation.parts.len() == parts.len() || is_longer)
                && pairs.all(|(known, part)| known.starts_with('{') || known == part)
        });
        found.max_by_key(|operation| {
            let spelt = operation.parts.iter().filter(|part| !part.starts_with('{'));
            spelt.count()
        })
    }
}

impl Operation {
    /// Fails where an answer has a header that clients read and the document does not name.
    fn check_headers(&self, answer: &Answer) {
        let status = answer.status.to_string();
        let known = self.headers.get(&status);
        let known = known.or_else(|| self.headers.get("default"));
        for name in answer.headers.keys().map(|name| name.as_str()) {
            let is_telling = TELLING.contains(&name) || name.starts_with("x-ambit-");
            let is_known = known.is_some_and(|known| known.iter().any(|known| known == name));
            assert!(
                !is_telling || is_known,
                "{} {} {status}: {name} is not in the document",
                self.method,
                self.parts.join("/")
            );
        }
    }

    fn schema(&self, status: u16, kind: Option<&str>, said: &str) -> Option<SchemaIndex> {
        let answer = self.answers.get(&status.to_string());
        let answer = answer.or_else(|| self.answers.get("default").filter(|_| status >= 400));
        let answer = answer.unwrap_or_else(|| panic!("{said}: the status is not in the document"));
        let Some(kind) = kind else {
            assert!(answer.is_empty(), "{said}: there is no content");
            return None;
        };
        let schema = answer.get(kind);
        let schema = schema.unwrap_or_else(|| panic!("{said}: {kind} is not in the document"));
        Some(*schema)
    }
}

/// The data of the events of a stream that is JSON.
fn events(stream: &str) -> Vec<Value> {
    let data = stream
        .lines()
        .filter_map(|line| line.strip_prefix("data: "));
    let json = data.filter(|data| *data != "[DONE]");
    json.map(|data| serde_json::from_str(data).unwrap())
        .collect()
}

/// Lets no object have fields that the document does not name, unless it says that it may.
fn close(schemas: &mut Value) {
    let mut parts = Vec::new();
    names_of_parts(schemas, &mut parts);
    for (name, schema) in schemas.as_object_mut().unwrap() {
        // A part of another object is closed where it is used.
        if !parts.contains(name) {
            close_objects(schema);
        }
    }
}

fn close_objects(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            let inner = fields.iter_mut().filter(|(name, _)| *name != "allOf");
            inner.for_each(|(_, inner)| close_objects(inner));
            let is_object = fields.contains_key("properties") || fields.contains_key("allOf");
            if is_object && !fields.contains_key("additionalProperties") {
                fields.insert("unevaluatedProperties".to_owned(), false.into());
            }
        }
        Value::Array(items) => items.iter_mut().for_each(close_objects),
        _ => {}
    }
}

/// The schemas that stand in an `allOf`.
fn names_of_parts(schema: &Value, found: &mut Vec<String>) {
    match schema {
        Value::Object(fields) => {
            let parts = fields.get("allOf").and_then(Value::as_array);
            let parts = parts
                .into_iter()
                .flatten()
                .filter_map(|part| part["$ref"].as_str());
            found.extend(parts.filter_map(|part| Some(part.rsplit_once('/')?.1.to_owned())));
            fields
                .values()
                .for_each(|inner| names_of_parts(inner, found));
        }
        Value::Array(items) => items.iter().for_each(|item| names_of_parts(item, found)),
        _ => {}
    }
}

fn object(value: &Value) -> &Map<String, Value> {
    value.as_object().unwrap()
}

/// A name as a JSON pointer within an address has it.
fn escape(name: &str) -> String {
    let name = name.replace('~', "~0").replace('/', "~1");
    name.replace('{', "%7B").replace('}', "%7D")
}
