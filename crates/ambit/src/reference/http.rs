//! The page about the HTTP API, from the OpenAPI document.

mod curl;
mod schema;

use super::{ReferencePage, cell};
use crate::http::document;
use schema::SchemaNames;
use serde_json::Value;
use std::collections::BTreeMap;

const ABOUT: &str = "\
Every route that there is. A server tells the same for programs at `/openapi.json`, with the types of answers. Paths begin with `/v1`
unless `baseurl` of [openapi.yao](access.md) says otherwise; `KEY` is what `ambit keys new` prints, and an app without sign-in needs none.
What failures look like is on the page of [errors](errors.md), what streams are on that of [events](events.md).
";

/// The page.
pub fn page() -> ReferencePage {
    let document = serde_json::to_value(document("/v1")).unwrap_or_default();
    ReferencePage::new("http", "HTTP API", &text(&document))
}

/// The page of a document, by the tags of its operations.
fn text(document: &Value) -> String {
    let names = SchemaNames::of(document);
    let mut parts: BTreeMap<&str, String> = BTreeMap::new();
    for (path, item) in document["paths"].as_object().into_iter().flatten() {
        for (method, operation) in item.as_object().into_iter().flatten() {
            let tag = operation["tags"][0].as_str().unwrap_or("other");
            let route = RouteDescription {
                method: method.to_uppercase(),
                path,
                operation,
            };
            *parts.entry(tag).or_default() += &route.text(&names);
        }
    }
    let parts = parts.iter();
    let parts = parts.map(|(tag, operations)| format!("\n## {tag}\n{operations}"));
    let parts: String = parts.collect();
    format!("{ABOUT}{parts}")
}

/// An operation of the document.
struct RouteDescription<'a> {
    method: String,
    path: &'a str,
    operation: &'a Value,
}

impl RouteDescription<'_> {
    fn text(&self, names: &SchemaNames<'_>) -> String {
        let (method, path) = (&self.method, self.path);
        let mut text = format!("\n### {method} {path}\n\n");
        for part in ["summary", "description"] {
            if let Some(words) = self.operation[part].as_str() {
                text += &format!("{}\n\n", cell(words));
            }
        }
        text += &self.parameter_table(names);
        text += &self.body(names);
        text += &format!("```sh\n{}\n```\n\n", self.curl(names));
        text += &self.answers();
        text
    }

    fn parameters(&self) -> impl Iterator<Item = &Value> {
        let parameters = self.operation["parameters"].as_array();
        parameters.into_iter().flatten()
    }

    fn parameter_table(&self, names: &SchemaNames<'_>) -> String {
        let mut rows = String::new();
        for parameter in self.parameters() {
            let name = parameter["name"].as_str().unwrap_or_default();
            let place = parameter["in"].as_str().unwrap_or_default();
            let need = match parameter["required"].as_bool() {
                Some(true) => ", required",
                _ => "",
            };
            let is = names.kind(&parameter["schema"]);
            let means = cell(parameter["description"].as_str().unwrap_or_default());
            rows += &format!("| `{name}` | {place}{need} | {is} | {means} |\n");
        }
        match rows.is_empty() {
            true => rows,
            false => format!("| parameter | in | is | means |\n|---|---|---|---|\n{rows}\n"),
        }
    }

    fn body(&self, names: &SchemaNames<'_>) -> String {
        let content = &self.operation["requestBody"]["content"];
        let forms = content.as_object().into_iter().flatten();
        let mut text = String::new();
        for (form, content) in forms {
            let mut rows = String::new();
            for field in names.fields(&content["schema"]) {
                let (name, is, means) = (field.name, names.kind(field.schema), cell(field.means));
                let need = if field.is_required { ", required" } else { "" };
                rows += &format!("| `{name}` | {is}{need} | {means} |\n");
            }
            if !rows.is_empty() {
                text += &format!("| field of `{form}` | is | means |\n|---|---|---|\n{rows}\n");
            }
        }
        text
    }

    fn answers(&self) -> String {
        let answers = self.operation["responses"]
            .as_object()
            .into_iter()
            .flatten();
        let answers = answers.filter(|(status, _)| *status != "default");
        let answers = answers.map(|(status, answer)| {
            let words = cell(answer["description"].as_str().unwrap_or_default());
            match words.as_str() {
                "" => format!("`{status}`"),
                words => format!("`{status}` {words}"),
            }
        });
        let answers: Vec<String> = answers.collect();
        format!("Answers: {}.\n", answers.join("; "))
    }
}

#[cfg(test)]
mod tests {
    use super::page;
    use crate::http::document;
    use serde_json::Value;

    #[test]
    fn each_operation_is_there_with_its_command_and_each_json_body_is_shown() {
        let document = serde_json::to_value(document("/v1")).unwrap();
        let page = page().text;
        let paths = document["paths"].as_object().unwrap().iter();
        let mut count = 0;
        for (path, item) in paths {
            for (method, operation) in item.as_object().unwrap() {
                let heading = format!("\n### {} {path}\n", method.to_uppercase());
                assert!(page.contains(&heading), "{heading}");
                let json = &operation["requestBody"]["content"]["application/json"];
                let has_example = *json == Value::Null || json["example"] != Value::Null;
                assert!(
                    has_example,
                    "{method} {path} has no row in openapi/bodies.rs"
                );
                count += 1;
            }
        }
        assert_eq!(page.matches("```sh\ncurl ").count(), count);
    }
}
