//! The command that calls an operation.

use super::RouteDescription;
use super::schema::SchemaNames;
use serde_json::Value;

impl RouteDescription<'_> {
    /// A call with all that is required; what one chooses is in capitals.
    pub fn curl(&self, names: &SchemaNames<'_>) -> String {
        let mut words = vec!["curl".to_owned()];
        let stream = &self.operation["responses"]["200"]["content"]["text/event-stream"];
        if *stream != Value::Null {
            words.push("-N".to_owned());
        }
        if self.method != "GET" {
            words.push(format!("-X {}", self.method));
        }
        words.push(format!(
            "'http://127.0.0.1:8080{}{}'",
            self.filled_path(),
            self.query(names)
        ));
        if self.operation["security"].is_null() {
            words.push("-H 'authorization: Bearer KEY'".to_owned());
        }
        let content = &self.operation["requestBody"]["content"];
        let body = &content["application/json"]["example"];
        if *body != Value::Null {
            words.push("-H 'content-type: application/json'".to_owned());
            words.push(format!("-d '{body}'"));
        } else if content["multipart/form-data"] != Value::Null {
            words.push("-F file=@FILE".to_owned());
        }
        words.join(" ")
    }

    /// The path with `CHAT_ID` for `{chat_id}`.
    fn filled_path(&self) -> String {
        let mut path = String::new();
        for part in self.path.split_inclusive('/') {
            match part.contains('{') {
                true => path += &part.replace(['{', '}'], "").to_uppercase(),
                false => path += part,
            }
        }
        path
    }

    /// The parameters of the query that are required.
    fn query(&self, names: &SchemaNames<'_>) -> String {
        let parameters = self.parameters();
        let required = parameters.filter(|it| it["in"] == "query" && it["required"] == true);
        let pairs = required.map(|parameter| {
            let name = parameter["name"].as_str().unwrap_or_default();
            let value = match names.kind(&parameter["schema"]).as_str() {
                "whole number" | "number" => "1".to_owned(),
                _ => name.to_uppercase(),
            };
            format!("{name}={value}")
        });
        let pairs: Vec<String> = pairs.collect();
        match pairs.is_empty() {
            true => String::new(),
            false => format!("?{}", pairs.join("&")),
        }
    }
}
