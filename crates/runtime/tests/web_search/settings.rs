//! Settings where the files say nothing.

use crate::support::settings;
use ambit_runtime::web_search::{ItemFields, WebSearchSettings};
use serde_json::json;
use std::time::Duration;

#[test]
fn defaults_are_those_of_the_reference() {
    let read = settings(json!({"timeout": "0s", "cache": "0s", "http": {}}));
    assert!(read == WebSearchSettings::default());
    assert_eq!((read.max_results, read.fetch, read.private), (10, 0, false));
    assert_eq!(
        (read.engine.as_str(), read.http.method.as_str()),
        ("google", "GET")
    );
    assert_eq!(
        (read.timeout, read.cache),
        (Duration::from_secs(10), Duration::ZERO)
    );
    let ItemFields {
        title,
        url,
        content,
        score,
        date,
    } = read.http.fields;
    let names = [title, url, content, score, date];
    assert_eq!(names, ["title", "url", "content", "score", "date"]);
}

#[test]
fn the_variable_of_the_key_is_the_usual_one_unless_it_is_named() {
    let variable = |json| settings(json).key_variable().map(str::to_owned);
    let named = |name: &str| Some(name.to_owned());
    assert_eq!(
        variable(json!({"provider": "tavily"})),
        named("TAVILY_API_KEY")
    );
    assert_eq!(
        variable(json!({"provider": "serper"})),
        named("SERPER_API_KEY")
    );
    assert_eq!(
        variable(json!({"provider": "serpapi"})),
        named("SERPAPI_API_KEY")
    );
    assert_eq!(variable(json!({"provider": "http"})), None);
    assert_eq!(variable(json!({"provider": "scripted"})), None);
    assert_eq!(variable(json!({"provider": "custom"})), None);
    let own = json!({"provider": "tavily", "api_key_env": "$ENV.MINE"});
    assert_eq!(variable(own), named("MINE"));
    assert_eq!(variable(json!({"api_key_env": "MINE"})), named("MINE"));
}
