//! A query of the app's tables.

use super::{AnswerError, read};
use serde_json::{Map, Value};

/// A query that somebody has made.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QueryDslAnswer {
    pub dsl: Map<String, Value>,
    pub explain: String,
    pub warnings: Vec<String>,
}

/// Reads `{"dsl", "explain", "warnings"}`, or a query alone. Fields of the query are texts then, and nothing selects `*`.
pub fn query_dsl(answer: &Value) -> Result<QueryDslAnswer, AnswerError> {
    read(answer, "{\"dsl\": {\"select\", \"from\", …}}", |answer| {
        let members = answer.as_object()?;
        let Some(dsl) = members.get("dsl") else {
            let is_query = members.contains_key("from") || members.contains_key("select");
            return is_query.then(|| QueryDslAnswer {
                dsl: plain_query(members),
                ..QueryDslAnswer::default()
            });
        };
        let warnings = members.get("warnings").and_then(Value::as_array);
        let warnings = warnings.into_iter().flatten().filter_map(Value::as_str);
        let explain = members.get("explain").and_then(Value::as_str);
        Some(QueryDslAnswer {
            dsl: plain_query(dsl.as_object()?),
            explain: explain.unwrap_or_default().to_owned(),
            warnings: warnings.map(str::to_owned).collect(),
        })
    })
}

/// The query with each field that is only named as a text, in all its parts.
fn plain_query(query: &Map<String, Value>) -> Map<String, Value> {
    let mut plain = Map::new();
    for (name, value) in query {
        let value = match (name.as_str(), value) {
            ("field", value) => plain_field(value),
            ("select" | "groups", Value::Array(fields)) => {
                let fields = fields.iter().map(plain_field);
                fields.filter(|field| *field != "*").collect()
            }
            (_, value) => plain_part(value),
        };
        let is_nothing = name == "select" && value.as_array().is_some_and(Vec::is_empty);
        if !is_nothing {
            plain.insert(name.clone(), value);
        }
    }
    plain
}

fn plain_part(part: &Value) -> Value {
    match part {
        Value::Object(members) => plain_query(members).into(),
        Value::Array(parts) => parts.iter().map(plain_part).collect(),
        other => other.clone(),
    }
}

fn plain_field(field: &Value) -> Value {
    match field {
        Value::Object(members) if members.len() == 1 && members.contains_key("field") => {
            plain_field(&members["field"])
        }
        other => plain_part(other),
    }
}
