//! Whether and what is to be searched.

use super::items;
use super::{AnswerError, number, read};
use crate::search::{SearchItem, SearchKind};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Whether and what is to be searched.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SearchIntent {
    pub need_search: bool,
    /// What; without it all that is configured.
    pub search_types: Option<Vec<SearchKind>>,
    pub confidence: Option<f64>,
    pub reason: Option<String>,
    /// The question, made to stand alone.
    pub query: Option<String>,
}

/// What the agent or tool of `uses.search` answers.
#[derive(Clone, Debug, PartialEq)]
pub enum IntentAnswer {
    /// What is to be searched.
    Intent(SearchIntent),
    /// The results themselves.
    Items(Vec<SearchItem>),
}

/// Reads an intent, or results in its place.
pub fn intent(answer: &Value) -> Result<IntentAnswer, AnswerError> {
    let expected = "{\"need_search\", \"search_types\"} or {\"items\"}";
    read(answer, expected, |answer| {
        let members = answer.as_object()?;
        if given(members, "items").is_some() {
            return items::of(members).map(IntentAnswer::Items);
        }
        let intent = of(members)?;
        let says_something = intent.need_search || members.contains_key("need_search");
        (says_something || intent.search_types.is_some()).then_some(IntentAnswer::Intent(intent))
    })
}

/// The intent in what `Create` returned as `search`: it wants a search unless it says otherwise.
pub fn create_intent(returned: &Map<String, Value>) -> SearchIntent {
    let has_choice = returned.contains_key("need_search") || types(returned).is_some();
    let mut intent = of(returned).unwrap_or_default();
    intent.need_search |= !has_choice;
    intent
}

/// The types that somebody named and that there are not.
pub fn unknown_types(intent: &Map<String, Value>) -> Vec<String> {
    let named = named_types(intent).into_iter().flatten();
    let unknown = named.filter(|name| kind_named(name).is_none());
    unknown.map(str::to_owned).collect()
}

/// `None` where a key does not have its form.
fn of(members: &Map<String, Value>) -> Option<SearchIntent> {
    let search_types = types(members);
    let has_any = search_types.as_ref().is_some_and(|types| !types.is_empty());
    let text = |name: &str| {
        let text = members.get(name)?.as_str()?.trim();
        (!text.is_empty()).then(|| text.to_owned())
    };
    Some(SearchIntent {
        need_search: match given(members, "need_search") {
            Some(wanted) => wanted.as_bool()?,
            None => has_any,
        },
        search_types,
        confidence: members.get("confidence").and_then(number),
        reason: text("reason"),
        query: text("query"),
    })
}

/// The value of a key; null says nothing.
fn given<'m>(members: &'m Map<String, Value>, key: &str) -> Option<&'m Value> {
    members.get(key).filter(|value| !value.is_null())
}

/// The types that there are, each once; others are dropped.
fn types(members: &Map<String, Value>) -> Option<Vec<SearchKind>> {
    let mut types = Vec::new();
    for name in named_types(members)? {
        types.extend(kind_named(name).filter(|known| !types.contains(known)));
    }
    Some(types)
}

fn named_types(members: &Map<String, Value>) -> Option<impl Iterator<Item = &str>> {
    let named = given(members, "search_types").or_else(|| given(members, "types"));
    Some(named?.as_array()?.iter().filter_map(Value::as_str))
}

fn kind_named(name: &str) -> Option<SearchKind> {
    SearchKind::named(&name.trim().to_lowercase())
}
