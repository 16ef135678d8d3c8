//! Any search that answers in JSON: what is asked and where the results stand is said by settings.

use super::endpoint::{WebEndpoint, WebRequest};
use super::item::{ItemPaths, at};
use super::settings::{HttpSearchSettings, TimeRange};
use super::{
    WebAnswer, WebProviderContext, WebQuery, WebSearchEntry, WebSearchFailure, WebSearchProvider,
};
use crate::value_text::value_text;
use async_trait::async_trait;
use serde_json::{Map, Value};

/// The row of the table.
pub const ROW: WebSearchEntry = WebSearchEntry {
    name: "http",
    key_variable: None,
    open,
};

struct HttpProvider {
    endpoint: WebEndpoint,
    settings: HttpSearchSettings,
    key: String,
}

fn open(context: &WebProviderContext<'_>) -> Result<Box<dyn WebSearchProvider>, WebSearchFailure> {
    let settings = &context.settings.http;
    // Without a variable the service needs no key.
    let key = match context.settings.api_key_env.as_str() {
        "" => "",
        _ => context.required_key()?,
    };
    Ok(Box::new(HttpProvider {
        endpoint: WebEndpoint::of(context, &settings.url)?,
        settings: settings.clone(),
        key: key.to_owned(),
    }))
}

#[async_trait]
impl WebSearchProvider for HttpProvider {
    async fn search(&self, query: &WebQuery) -> Result<WebAnswer, WebSearchFailure> {
        let settings = &self.settings;
        let values = self.values(query);
        let headers = settings.headers.iter();
        let headers = headers.filter_map(|(name, text)| {
            // A line of a header has no line breaks.
            let value = values
                .fill(text)?
                .split_whitespace()
                .collect::<Vec<_>>()
                .join(" ");
            Some((name.clone(), value))
        });
        let parameters = settings.query.iter();
        let parameters = parameters.filter_map(|(name, value)| match value {
            Value::Null => None,
            value => Some((name.clone(), values.fill(&value_text(value))?)),
        });
        let request = WebRequest {
            headers: headers.collect(),
            query: parameters.collect(),
            body: settings
                .body
                .as_ref()
                .and_then(|body| values.fill_texts(body)),
        };
        let answer = self.endpoint.send(&settings.method, request).await?;
        let error = match settings.error.as_str() {
            "" => None,
            path => at(&answer, path),
        };
        if error.is_some_and(is_error) {
            return Err(WebSearchFailure::ProviderError);
        }
        let list = at(&answer, &settings.items).ok_or(WebSearchFailure::Unreadable)?;
        Ok(WebAnswer {
            items: ItemPaths::from(&settings.fields).read(list, query.limit)?,
            notes: Vec::new(),
        })
    }
}

impl HttpProvider {
    fn values(&self, query: &WebQuery) -> TemplateValues {
        TemplateValues([
            ("query", query.query.clone()),
            ("limit", query.limit.to_string()),
            ("sites", query.sites.join(",")),
            (
                "time_range",
                query.time_range.map_or("", TimeRange::name).to_owned(),
            ),
            ("key", self.key.clone()),
        ])
    }
}

/// What stands for the names in braces.
struct TemplateValues([(&'static str, String); 5]);

impl TemplateValues {
    /// The text with values in place of names. None if nothing is left of it. What values hold in braces stays as it is: a
    /// query that names the key does not get it.
    fn fill(&self, template: &str) -> Option<String> {
        let mut text = String::new();
        let mut rest = template;
        while let Some(start) = rest.find('{') {
            text.push_str(&rest[..start]);
            let inside = &rest[start + 1..];
            let known = self.0.iter().find_map(|(name, value)| {
                let after = inside.strip_prefix(name)?.strip_prefix('}')?;
                Some((value, after))
            });
            match known {
                Some((value, after)) => {
                    text.push_str(value);
                    rest = after;
                }
                None => {
                    text.push('{');
                    rest = inside;
                }
            }
        }
        text.push_str(rest);
        (!text.trim().is_empty() || template.trim().is_empty()).then_some(text)
    }

    /// The same for all texts of a value.
    fn fill_texts(&self, value: &Value) -> Option<Value> {
        Some(match value {
            Value::String(text) => Value::String(self.fill(text)?),
            Value::Array(items) => Value::Array(
                items
                    .iter()
                    .filter_map(|item| self.fill_texts(item))
                    .collect(),
            ),
            Value::Object(members) => {
                let members = members.iter();
                let members = members
                    .filter_map(|(name, value)| Some((name.clone(), self.fill_texts(value)?)));
                Value::Object(members.collect::<Map<_, _>>())
            }
            other => other.clone(),
        })
    }
}

/// Services that always have the member say by an empty one that nothing is wrong.
fn is_error(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::TemplateValues;
    use serde_json::json;

    fn values() -> TemplateValues {
        TemplateValues([
            ("query", "{key} {limit}".to_owned()),
            ("limit", "5".to_owned()),
            ("sites", "a.com,b.com".to_owned()),
            ("time_range", String::new()),
            ("key", "secret".to_owned()),
        ])
    }

    #[test]
    fn names_in_braces_are_filled_in_once() {
        let values = values();
        let filled = |text: &str| values.fill(text);
        assert_eq!(filled("q={query}").as_deref(), Some("q={key} {limit}"));
        assert_eq!(filled("{limit}{sites}").as_deref(), Some("5a.com,b.com"));
        assert_eq!(filled("{other} {key").as_deref(), Some("{other} {key"));
        assert_eq!(filled("{{key}}").as_deref(), Some("{secret}"));
        assert_eq!(filled("").as_deref(), Some(""));
        assert_eq!(filled("{time_range}"), None);
    }

    #[test]
    fn texts_of_a_body_are_filled_and_empty_ones_left_out() {
        let body = json!({"q": "{query}", "n": 5, "age": "{time_range}", "in": ["{sites}", "{time_range}", true]});
        let filled = json!({"q": "{key} {limit}", "n": 5, "in": ["a.com,b.com", true]});
        assert_eq!(values().fill_texts(&body), Some(filled));
    }
}
