//! How an answer is to be generated.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Number, Value};
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// Makes the options: each is stated once, with its type.
macro_rules! generation_options {
    ($($(#[$doc:meta])+ $name:ident: $kind:ty,)+) => {
        /// How an answer is to be generated. An option without a value is not set.
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
        #[serde(from = "Map<String, Value>", into = "Map<String, Value>")]
        pub struct GenerationOptions {
            $($(#[$doc])+ pub $name: Option<$kind>,)+
            /// All others, and those that are not what they must be.
            pub extra: Map<String, Value>,
        }

        impl GenerationOptions {
            /// The options that there are.
            pub const NAMES: &[&str] = &[$(stringify!($name)),+];

            /// Sets an option; `null` leaves it unset.
            pub fn set(&mut self, name: &str, value: Value) {
                self.remove(name);
                match name {
                    $(stringify!($name) => self.$name = read(&value),)+
                    _ => {}
                }
                if !self.is_set(name) && !value.is_null() {
                    self.extra.insert(name.to_owned(), value);
                }
            }

            /// Leaves an option unset; true if it was set.
            pub fn remove(&mut self, name: &str) -> bool {
                let was_other = self.extra.shift_remove(name).is_some();
                match name {
                    $(stringify!($name) => self.$name.take().is_some() || was_other,)+
                    _ => was_other,
                }
            }

            fn is_set(&self, name: &str) -> bool {
                match name {
                    $(stringify!($name) => self.$name.is_some(),)+
                    _ => false,
                }
            }
        }

        impl From<GenerationOptions> for Map<String, Value> {
            fn from(options: GenerationOptions) -> Self {
                let mut all = Self::new();
                $(if let Some(value) = &options.$name {
                    // All of these are written as JSON without fail.
                    let value = serde_json::to_value(value).unwrap_or_default();
                    all.insert(stringify!($name).to_owned(), value);
                })+
                all.extend(options.extra);
                all
            }
        }
    };
}

generation_options! {
    /// How freely words are chosen.
    temperature: Number,
    /// The same, by the share of the likeliest words.
    top_p: Number,
    /// Tokens of the answer at most.
    max_tokens: Number,
    /// The same, thinking included.
    max_completion_tokens: Number,
    /// Where the answer ends.
    stop: StopSequences,
    /// How little is said again.
    presence_penalty: Number,
    /// The same, by how often it was said.
    frequency_penalty: Number,
    /// How likely single tokens are.
    logit_bias: BTreeMap<String, Number>,
    /// What makes answers come again.
    seed: Number,
    /// The form of the answer.
    response_format: ResponseFormat,
    /// How much the model thinks.
    reasoning_effort: String,
    /// Whether tools are called, and which.
    tool_choice: ToolChoice,
    /// Whether several tools may be called at once.
    parallel_tool_calls: bool,
    /// For whom the answer is.
    user: String,
    /// What the answer is made of.
    modalities: Vec<String>,
    /// How an answer sounds.
    audio: Map<String, Value>,
}

fn read<T: DeserializeOwned>(value: &Value) -> Option<T> {
    T::deserialize(value).ok()
}

impl GenerationOptions {
    /// The same with what `later` sets.
    pub fn merge(&mut self, later: Self) {
        self.extend(Map::from(later));
    }

    /// The options that there are in JSON: those that are set, and those that have another form.
    pub fn known(&self) -> Map<String, Value> {
        let mut all = Map::from(self.clone());
        all.retain(|name, _| Self::NAMES.contains(&name.as_str()));
        all
    }

    /// Tokens that the answer may have.
    pub fn limit(&self) -> Option<u64> {
        let limit = |limit: &Option<Number>| limit.as_ref()?.as_u64();
        limit(&self.max_completion_tokens).or_else(|| limit(&self.max_tokens))
    }

    /// Whether the answer is to have a form of its own.
    pub fn is_structured(&self) -> bool {
        let form = self.response_format.as_ref();
        form.is_some_and(|form| form.kind != "text")
    }
}

impl From<Map<String, Value>> for GenerationOptions {
    fn from(all: Map<String, Value>) -> Self {
        let mut options = Self::default();
        options.extend(all);
        options
    }
}

impl Extend<(String, Value)> for GenerationOptions {
    fn extend<T: IntoIterator<Item = (String, Value)>>(&mut self, all: T) {
        all.into_iter()
            .for_each(|(name, value)| self.set(&name, value));
    }
}

/// Texts at which an answer ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub enum StopSequences {
    /// One.
    One(String),
    /// Any of these.
    Many(Vec<String>),
}

impl StopSequences {
    /// All of them.
    pub fn texts(&self) -> &[String] {
        match self {
            Self::One(text) => std::slice::from_ref(text),
            Self::Many(texts) => texts,
        }
    }
}

/// Whether tools are called, and which.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub enum ToolChoice {
    /// `auto`, `none` or `required`.
    Mode(String),
    /// `{type: "function", function: {name}}`, or what only one provider knows.
    #[schema(value_type = Object)]
    Object(Map<String, Value>),
}

impl ToolChoice {
    /// The word for it.
    pub fn mode(&self) -> Option<&str> {
        match self {
            Self::Mode(mode) => Some(mode),
            Self::Object(_) => None,
        }
    }

    /// The one tool that is to be called.
    pub fn function(&self) -> Option<&str> {
        match self {
            Self::Mode(_) => None,
            Self::Object(choice) => choice.get("function")?.get("name")?.as_str(),
        }
    }
}

/// The form of an answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ResponseFormat {
    /// `text`, `json_object` or `json_schema`.
    #[serde(rename = "type")]
    pub kind: String,
    /// `json_schema` and others.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl ResponseFormat {
    /// The schema that the answer fits.
    pub fn schema(&self) -> Option<&Value> {
        self.extra.get("json_schema")?.get("schema")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn options(options: Value) -> GenerationOptions {
        serde_json::from_value(options).unwrap()
    }

    #[test]
    fn options_are_read_and_written_as_they_came() {
        let all = json!({"temperature": 1, "top_p": 0.30000000000000004, "stop": "x", "seed": -3, "logit_bias": {"5": -1.5},
            "response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": {"type": "object"}}},
            "tool_choice": {"type": "function", "function": {"name": "f"}}, "top_k": 4, "max_tokens": 10});
        let read = options(all.clone());
        assert_eq!(json!(read), all);
        assert_eq!(read.extra.keys().collect::<Vec<_>>(), ["top_k"]);
        assert_eq!((read.limit(), read.is_structured()), (Some(10), true));
        let odd =
            json!({"temperature": "hot", "stop": [1], "response_format": {}, "max_tokens": -1});
        let read = options(odd.clone());
        assert_eq!(
            (json!(read), read.limit(), read.is_structured()),
            (odd, None, false)
        );
        assert_eq!(options(json!({"seed": null})), GenerationOptions::default());
    }

    #[test]
    fn the_later_options_count() {
        let mut all =
            options(json!({"temperature": 1, "stop": "a", "max_tokens": "many", "top_k": 1}));
        all.merge(options(
            json!({"temperature": "hot", "max_tokens": 5, "top_k": 2, "seed": null}),
        ));
        assert_eq!(
            json!(all),
            json!({"stop": "a", "max_tokens": 5, "temperature": "hot", "top_k": 2})
        );
        assert_eq!(
            [all.remove("temperature"), all.remove("temperature")],
            [true, false]
        );
        assert_eq!([all.remove("stop"), all.remove("seed")], [true, false]);
        assert_eq!(json!(all), json!({"max_tokens": 5, "top_k": 2}));
    }
}
