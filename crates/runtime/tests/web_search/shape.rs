//! What a request of a service must look like, field by field.

use crate::server::SearchRequest;
use serde_json::{Map, Value};

/// The requests that a service takes.
pub struct RequestShape {
    pub method: &'static str,
    pub path: &'static str,
    /// The header with the key, and its value.
    pub key_header: Option<(&'static str, &'static str)>,
    /// Members of the body, or parameters of the address where there is no body.
    pub fields: &'static [FieldShape],
}

/// A member of the body, or a parameter.
pub struct FieldShape {
    pub name: &'static str,
    pub kind: FieldKind,
    pub is_required: bool,
}

/// What a member may be.
pub enum FieldKind {
    Text { longest: usize },
    Texts,
    Count { most: u64 },
    Exactly(&'static str),
    Boolean(bool),
    OneOf(&'static [&'static str]),
}

pub const fn required(name: &'static str, kind: FieldKind) -> FieldShape {
    FieldShape {
        name,
        kind,
        is_required: true,
    }
}

pub const fn optional(name: &'static str, kind: FieldKind) -> FieldShape {
    FieldShape {
        name,
        kind,
        is_required: false,
    }
}

impl RequestShape {
    /// The first thing that is wrong with a request.
    pub fn check(&self, request: &SearchRequest) -> Result<(), String> {
        if (request.method.as_str(), request.path.as_str()) != (self.method, self.path) {
            return Err(format!("no {} {} here", request.method, request.path));
        }
        self.check_headers(request)?;
        let members = match (&request.body, request.query.is_empty()) {
            (Some(Value::Object(body)), true) if self.method == "POST" => body.clone(),
            (None, _) if self.method == "GET" => parameters(&request.query)?,
            _ => return Err("the body and the parameters do not fit the method".to_owned()),
        };
        self.check_members(&members)
    }

    fn check_headers(&self, request: &SearchRequest) -> Result<(), String> {
        let mut expected = vec![("accept", "application/json")];
        expected.extend(self.key_header);
        if self.method == "POST" {
            expected.push(("content-type", "application/json"));
        }
        for (name, value) in &expected {
            if request.headers.get(*name).map(String::as_str) != Some(value) {
                return Err(format!("header {name} is wrong or missing"));
            }
        }
        let own = ["content-length", "host", "user-agent"];
        let is_known = |name: &str| own.contains(&name) || expected.iter().any(|it| it.0 == name);
        match request.headers.keys().find(|name| !is_known(name)) {
            Some(name) => Err(format!("unknown header {name}")),
            None => Ok(()),
        }
    }

    fn check_members(&self, members: &Map<String, Value>) -> Result<(), String> {
        for field in self.fields {
            match members.get(field.name) {
                Some(value) if !field.kind.takes(value) => {
                    return Err(format!("{} is no {}", value, field.name));
                }
                None if field.is_required => return Err(format!("{} is missing", field.name)),
                _ => {}
            }
        }
        let is_known = |name: &String| self.fields.iter().any(|field| field.name == name);
        match members.keys().find(|name| !is_known(name)) {
            Some(name) => Err(format!("unknown {name}")),
            None => Ok(()),
        }
    }
}

impl FieldKind {
    fn takes(&self, value: &Value) -> bool {
        let text = value.as_str();
        match self {
            Self::Text { longest } => {
                text.is_some_and(|text| !text.is_empty() && text.chars().count() <= *longest)
            }
            Self::Texts => value
                .as_array()
                .is_some_and(|list| !list.is_empty() && list.iter().all(Value::is_string)),
            Self::Count { most } => value
                .as_u64()
                .is_some_and(|count| (1..=*most).contains(&count)),
            Self::Exactly(exact) => text == Some(exact),
            Self::Boolean(exact) => value.as_bool() == Some(*exact),
            Self::OneOf(texts) => text.is_some_and(|text| texts.contains(&text)),
        }
    }
}

/// Parameters of an address as members: each once, digits as numbers.
fn parameters(query: &[(String, String)]) -> Result<Map<String, Value>, String> {
    let mut members = Map::new();
    for (name, text) in query {
        let value = text
            .parse::<u64>()
            .map_or_else(|_| text.as_str().into(), Value::from);
        if members.insert(name.clone(), value).is_some() {
            return Err(format!("{name} came twice"));
        }
    }
    Ok(members)
}
