//! What a connector must not tell: providers like to repeat keys in their errors.

use crate::llm::Connector;
use serde_json::Value;
use url::Url;

/// Shorter texts are words rather than secrets; hiding them would spoil messages.
const SHORTEST: usize = 6;

/// Texts that never appear in an error.
#[derive(Default)]
pub struct Secrets(Vec<String>);

impl Secrets {
    /// The key, all headers, credentials in addresses, and long texts of what is added to bodies.
    pub fn of(connector: &Connector) -> Self {
        let mut secrets = Self::default();
        let options = &connector.options.provider;
        for text in options.headers.values().chain([&options.key]) {
            secrets.add(text, SHORTEST);
        }
        for value in options.extra_body.values() {
            secrets.leaves(Some(value), 16);
        }
        for address in [&options.host, &options.proxy, &options.http_proxy] {
            secrets.address(Some(address));
        }
        secrets.longest_first()
    }

    /// What a service is called with: credentials, such as its token, its headers and its environment; long arguments; and of
    /// its address credentials and long parts of the path.
    pub fn of_service<'a>(
        credentials: impl Iterator<Item = &'a String>,
        arguments: &[String],
        url: &str,
    ) -> Self {
        let mut secrets = Self::default();
        credentials.for_each(|text| secrets.add(text, SHORTEST));
        arguments.iter().for_each(|text| secrets.add(text, 16));
        secrets.address(Some(url));
        // Some services put the key of an account into the path.
        let url = Url::parse(url).ok();
        for part in url.iter().flat_map(Url::path_segments).flatten() {
            secrets.add(part, 16);
        }
        secrets.longest_first()
    }

    /// Those of several services together.
    pub fn joined(all: impl IntoIterator<Item = Self>) -> Self {
        let mut secrets: Vec<String> = all.into_iter().flat_map(|it| it.0).collect();
        secrets.sort_unstable();
        secrets.dedup();
        Self(secrets).longest_first()
    }

    /// The text with secrets replaced.
    pub fn hide(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, secret| {
            text.replace(secret.as_str(), "***")
        })
    }

    /// One may be the beginning of another.
    fn longest_first(mut self) -> Self {
        self.0.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        self
    }

    fn leaves(&mut self, value: Option<&Value>, shortest: usize) {
        match value {
            Some(Value::String(text)) => self.add(text, shortest),
            Some(Value::Array(items)) => {
                for item in items {
                    self.leaves(Some(item), shortest);
                }
            }
            Some(Value::Object(members)) => {
                for member in members.values() {
                    self.leaves(Some(member), shortest);
                }
            }
            _ => {}
        }
    }

    fn address(&mut self, address: Option<&str>) {
        let Some(url) = address.and_then(|address| Url::parse(address).ok()) else {
            return;
        };
        self.add(url.username(), SHORTEST);
        self.add(url.password().unwrap_or_default(), 1);
        for (_, value) in url.query_pairs() {
            self.add(&value, SHORTEST);
        }
    }

    fn add(&mut self, text: &str, shortest: usize) {
        // `Bearer abc`: the token alone is a secret too.
        for secret in [text.trim(), text.rsplit(' ').next().unwrap_or_default()] {
            if secret.len() >= shortest && !self.0.iter().any(|known| known == secret) {
                self.0.push(secret.to_owned());
            }
        }
    }
}
