//! Which search settings count: those of all levels, merged key by key.

use crate::support::{load, load_with, texts};
use ambit_runtime::app::{App, EffectiveSearch};
use serde_json::{Map, Value, json};
use std::time::Duration;

/// The settings of the app's agent `a` with these levels above its files.
fn effective(app: &App, levels: &[Value]) -> EffectiveSearch {
    let levels: Vec<&Map<String, Value>> = levels.iter().filter_map(Value::as_object).collect();
    let agent = app.agents["a"].as_ref().unwrap();
    EffectiveSearch::of(app, agent, &levels)
}

/// An app whose agent says this, below these settings of all agents.
fn app(all: &str, package: &str) -> App {
    load(&[
        ("agent/search.yml", all),
        ("assistants/a/package.yao", package),
    ])
}

#[test]
fn levels_merge_key_by_key_and_later_ones_win() {
    let all = "web: {provider: tavily, max_results: 3, cache: 5m, http: {headers: {a: '1', b: '2'}}}\nweights: {auto: 0.1}";
    let app = app(
        all,
        r#"{"name": "a", "search": {"web": {"max_results": 4, "cache": "0s", "http": {"headers": {"b": "3"}}}, "weights": {"user": 2}}}"#,
    );
    let call = json!({"web": {"max_results": 5, "provider": null}, "options": {"timeout": "1s"}});
    let create = json!({"web": {"engine": "bing"}, "need_search": true, "query": "x"});
    let found = effective(&app, &[call, create]);
    assert_eq!(found.faults, Vec::<String>::new());
    let settings = found.settings;
    assert_eq!(settings.web.provider, "tavily");
    assert_eq!(settings.web.max_results, 5);
    assert_eq!(settings.web.cache, Duration::ZERO);
    assert_eq!(settings.web.engine, "bing");
    let headers: Vec<(&str, &str)> = settings
        .web
        .http
        .headers
        .iter()
        .map(|(name, text)| (name.as_str(), text.as_str()))
        .collect();
    assert_eq!(headers, [("a", "1"), ("b", "3")]);
    assert_eq!((settings.weights.user, settings.weights.auto), (2.0, 0.1));
    assert_eq!(settings.options.timeout, Duration::from_secs(1));
}

#[test]
fn lists_are_replaced_and_those_of_the_package_are_added_once() {
    let app = app(
        "kb: {collections: [a, b]}\ndb: {models: [m]}",
        r#"{"name": "a", "search": {"kb": {"collections": ["c", "d"]}}, "kb": {"collections": ["d", "e"]}, "db": {"models": ["n", "m"]}}"#,
    );
    let names = |found: EffectiveSearch| (found.settings.kb.collections, found.settings.db.models);
    let (collections, models) = names(effective(&app, &[]));
    assert_eq!(collections, ["c", "d", "e"]);
    assert_eq!(models, ["m", "n"]);
    let (collections, _) = names(effective(&app, &[json!({"kb": {"collections": []}})]));
    assert_eq!(collections, ["d", "e"]);
}

#[test]
fn options_of_the_package_count_where_its_search_says_nothing() {
    let found = |search: &str| {
        let package = format!(
            r#"{{"name": "a", "search": {search}, "kb": {{"options": {{"top_k": 2, "score_threshold": 0.2}}}}, "db": {{"options": {{"limit": 3}}}}}}"#
        );
        let app = app(
            "kb: {max_results: 8, threshold: 0.8}\ndb: {max_results: 9}",
            &package,
        );
        let settings = effective(&app, &[]).settings;
        (
            settings.kb.max_results,
            settings.kb.threshold,
            settings.db.max_results,
        )
    };
    assert_eq!(found("{}"), (2, 0.2, 3));
    let own = r#"{"kb": {"max_results": 5}, "db": {"max_results": 6}}"#;
    assert_eq!(found(own), (5, 0.2, 6));
}

#[test]
fn what_is_wrong_in_a_level_is_told_and_changes_nothing() {
    let app = app("web: {provider: tavily}", r#"{"name": "a"}"#);
    let wrong = json!({"web": {"provider": 5, "max_results": 2, "api_key_env": "$ENV.KEY"}, "kb": [], "rerank": null});
    let found = effective(&app, &[wrong]);
    assert_eq!(
        found.faults,
        [
            "\"web.provider\" must be a string, not a number",
            "\"kb\" must be an object, not a list"
        ]
    );
    assert_eq!(found.settings.web.provider, "tavily");
    assert_eq!(found.settings.web.max_results, 2);
    assert_eq!(found.settings.web.api_key_env, "$ENV.KEY");
    assert!(!found.is_reranked);
    assert!(effective(&app, &[json!({"rerank": {}})]).is_reranked);
}

#[test]
fn settings_that_no_search_can_use_are_told_when_the_app_is_loaded() {
    for (search, expected) in [
        (
            r#"{"web": {"provider": "tavily"}}"#,
            "\"search.web\": tavily: TAVILY_API_KEY is not set",
        ),
        (
            r#"{"web": {"provider": "serper", "api_key_env": "$ENV.MY_KEY"}}"#,
            "\"search.web\": serper: MY_KEY is not set",
        ),
        (
            r#"{"web": {"max_results": 3}}"#,
            "\"search.web\": no provider searches the web: set \"search.web.provider\" or \"uses.web\"",
        ),
        (
            r#"{"web": {"provider": "http"}}"#,
            "\"search.web\": http: \"web.http.url\" is no address of a web server",
        ),
        (
            r#"{"web": {"provider": "http", "http": {"url": "http://searx:8080/search"}}}"#,
            "\"search.web\": http: only https is allowed, unless \"web.private\" is true",
        ),
        (
            r#"{"web": {"provider": "scripted"}}"#,
            "\"search.web.results\": the provider \"scripted\" answers from here, and there is nothing",
        ),
        (
            r#"{"kb": {"threshold": 7}}"#,
            "\"search.kb.threshold\": must be 0 to 1",
        ),
        (
            r#"{"citation": {"format": "yaml"}}"#,
            "\"search.citation.format\": is neither \"xml\", nor an address, nor a form with {id} or {index} such as \"[{index}]\"",
        ),
    ] {
        let package = format!(
            r#"{{"name": "a", "prompts": [{{"role": "system", "content": "x"}}], "search": {search}}}"#
        );
        let told = texts(&load(&[("assistants/a/package.yao", &package)]).problems);
        let expected = format!("Warning assistants/a/package.yao: {expected}");
        assert_eq!(told, [expected], "{search}");
    }
}

#[test]
fn settings_of_all_agents_are_told_of_once_and_what_another_does_is_not() {
    let package = r#"{"name": "a", "search": {"web": {"max_results": 3}}}"#;
    let agent = ("assistants/a/package.yao", package);
    let all = ("agent/search.yml", "web: {provider: tavily}");
    let told = |app: App| texts(&app.problems);
    assert_eq!(
        told(load(&[agent, all])),
        ["Warning agent/search.yml: \"web\": tavily: TAVILY_API_KEY is not set"]
    );
    let set = [("TAVILY_API_KEY", "k")];
    assert_eq!(told(load_with(&[agent, all], &set)), Vec::<String>::new());
    let uses = |named: &str| format!("uses: {{web: {named}}}");
    for (named, expected) in [
        ("disabled", vec![]),
        ("a", vec![]),
        (
            "serper",
            vec!["Warning agent/search.yml: \"web\": serper: SERPER_API_KEY is not set"],
        ),
    ] {
        let defaults = uses(named);
        let app = load(&[agent, all, ("agent/agent.yml", &defaults)]);
        assert_eq!(told(app), expected, "{named}");
    }
}
