//! Addresses of resources as templates: `echo://health/{part}?check={check}`.

use indexmap::IndexMap;
use percent_encoding::percent_decode_str;

/// The variables of an address.
pub struct UriVariables {
    /// Those of its path.
    pub path: IndexMap<String, String>,
    /// Those of its query.
    pub query: IndexMap<String, String>,
}

/// A template.
pub struct UriTemplate<'a> {
    path: &'a str,
    query: &'a str,
}

impl<'a> UriTemplate<'a> {
    /// Reads a template; every text is one.
    pub fn new(text: &'a str) -> Self {
        let (path, query) = text.split_once('?').unwrap_or((text, ""));
        // `{?a,b}` says the same as `?a={a}&b={b}`.
        let path = path.strip_suffix('{').unwrap_or(path);
        Self { path, query }
    }

    /// The variables of the path and of the query of an address, if it fits. What the query has beyond the template is kept.
    pub fn variables(&self, uri: &str) -> Option<UriVariables> {
        let (path, query) = uri.split_once('?').unwrap_or((uri, ""));
        let in_path = path_variables(self.path, path)?;
        let given: Vec<(String, String)> = url::form_urlencoded::parse(query.as_bytes())
            .into_owned()
            .collect();
        let mut in_query: IndexMap<String, String> = given.iter().cloned().collect();
        for pair in self.query.split('&') {
            let Some((key, wanted)) = pair.split_once('=') else {
                continue;
            };
            let variable = wanted
                .strip_prefix('{')
                .and_then(|name| name.strip_suffix('}'));
            let value = given.iter().find(|(name, _)| name == key);
            match (variable, value) {
                (None, Some((_, value))) if value == wanted => {}
                (None, _) => return None,
                (Some(name), Some((_, value))) if name != key => {
                    in_query.swap_remove(key);
                    in_query.insert(name.to_owned(), value.clone());
                }
                (Some(_), _) => {}
            }
        }
        Some(UriVariables {
            path: in_path,
            query: in_query,
        })
    }
}

/// A variable of the path stands for everything up to the letter behind it, and never for a `/`, unless it is `{+name}`.
fn path_variables(template: &str, path: &str) -> Option<IndexMap<String, String>> {
    let mut found = IndexMap::new();
    let (mut template, mut path) = (template, path);
    while let Some((before, rest)) = template.split_once('{') {
        path = path.strip_prefix(before)?;
        let (name, after) = rest.split_once('}')?;
        let next = after.split('{').next().unwrap_or_default();
        let (name, may_have_slash) = match name.strip_prefix('+') {
            Some(name) => (name, true),
            None => (name, false),
        };
        let end = match next.is_empty() {
            true => path.len(),
            false => path.find(next)?,
        };
        let value = &path[..end];
        if value.is_empty() || (value.contains('/') && !may_have_slash) {
            return None;
        }
        found.insert(
            name.to_owned(),
            percent_decode_str(value).decode_utf8_lossy().into_owned(),
        );
        (template, path) = (after, &path[end..]);
    }
    (template == path).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Map, Value, json};

    fn read(template: &str, uri: &str) -> Value {
        let object = |texts: IndexMap<String, String>| {
            let values = texts.into_iter().map(|(name, text)| (name, text.into()));
            Value::Object(values.collect::<Map<_, _>>())
        };
        match UriTemplate::new(template).variables(uri) {
            Some(UriVariables { path, query }) => json!([object(path), object(query)]),
            None => Value::Null,
        }
    }

    #[test]
    fn addresses_give_the_variables_of_their_template() {
        for (template, uri, variables) in [
            ("echo://health", "echo://health", json!([{}, {}])),
            (
                "echo://health?check={check}",
                "echo://health?check=disk%201",
                json!([{}, {"check": "disk 1"}]),
            ),
            (
                "echo://health?check={check}",
                "echo://health",
                json!([{}, {}]),
            ),
            (
                "echo://health?check={part}",
                "echo://health?check=a&more=b",
                json!([{}, {"more": "b", "part": "a"}]),
            ),
            (
                "pets://{id}/{part}",
                "pets://7/na%C3%A4me",
                json!([{"id": "7", "part": "naäme"}, {}]),
            ),
            (
                "files:///{+path}",
                "files:///a/b.txt",
                json!([{"path": "a/b.txt"}, {}]),
            ),
            (
                "pets://all{?page,size}",
                "pets://all?page=2",
                json!([{}, {"page": "2"}]),
            ),
            (
                "pets://all?kind=cat",
                "pets://all?kind=cat",
                json!([{}, {"kind": "cat"}]),
            ),
        ] {
            assert_eq!(read(template, uri), variables, "{template} {uri}");
        }
    }

    #[test]
    fn other_addresses_do_not_fit() {
        for (template, uri) in [
            ("echo://health", "echo://healthy"),
            ("pets://{id}", "pets://"),
            ("pets://{id}", "pets://7/name"),
            ("pets://{id}/name", "pets://7"),
            ("pets://all?kind=cat", "pets://all?kind=dog"),
            ("pets://all?kind=cat", "pets://all"),
        ] {
            assert_eq!(read(template, uri), Value::Null, "{template} {uri}");
        }
    }
}
