//! Choosing prompts and filling them in.

use crate::support::{environment, load, load_with};
use ambit_runtime::app::App;
use ambit_runtime::app::locales::Translations;
use ambit_runtime::app::prompts::{
    FilledPrompts, PromptChoice, PromptSelection, PromptVariables, choose, fill,
};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::json;

const FILES: &[(&str, &str)] = &[
    ("agent/prompts.yml", "- { role: system, content: global }"),
    ("assistants/a/package.yao", "name: A\ndefault_mode: task"),
    (
        "assistants/a/prompts.yml",
        "- { role: system, content: default }",
    ),
    (
        "assistants/a/prompts/task.yml",
        "- { role: system, content: task }",
    ),
    (
        "assistants/a/prompts/chat/prompts.yml",
        "- { role: system, content: chat }",
    ),
    (
        "assistants/a/prompts/chat/friendly.yml",
        "- { role: system, content: friendly }",
    ),
    (
        "assistants/b/package.yao",
        "name: B\ndisable_global_prompts: true",
    ),
    (
        "assistants/b/prompts.yml",
        "- { role: system, content: only }",
    ),
    ("assistants/c/package.yao", "name: C"),
];

fn contents(chosen: &PromptSelection<'_>) -> Vec<String> {
    chosen.all().map(|prompt| prompt.content.clone()).collect()
}

#[test]
fn a_preset_replaces_the_default_and_comes_after_the_global_prompts() {
    let app = load(FILES);
    let agent = app.agent("a").unwrap();
    let cases = [
        (None, None, "task"),
        (None, Some("chat"), "chat"),
        (None, Some("nothing"), "default"),
        (Some("chat.friendly"), Some("task"), "friendly"),
        (Some("chat"), None, "chat"),
        (Some(""), Some("chat"), "chat"),
    ];
    for (preset, mode, expected) in cases {
        let wish = PromptChoice {
            preset,
            mode,
            is_without_global: false,
        };
        let chosen = choose(&app, &agent, &wish);
        assert_eq!(
            contents(&chosen),
            ["global", expected],
            "{preset:?} {mode:?}"
        );
        assert_eq!(chosen.warning, None);
    }
}

#[test]
fn an_unknown_preset_gives_the_default_prompts_and_a_warning() {
    let app = load(FILES);
    let agent = app.agent("a").unwrap();
    let wish = PromptChoice {
        preset: Some("chat.freindly"),
        mode: Some("task"),
        is_without_global: true,
    };
    let chosen = choose(&app, &agent, &wish);
    assert_eq!(contents(&chosen), ["default"]);
    assert_eq!(
        chosen.warning.as_deref(),
        Some(
            "agent \"a\" has no prompt preset \"chat.freindly\", so its default prompts are used; did you mean \
             \"chat.friendly\"?"
        )
    );
}

#[test]
fn global_prompts_are_left_out_where_the_package_says_so_and_never_make_an_agent_have_prompts() {
    let app = load(FILES);
    let chosen = |id: &str| {
        let agent = app.agent(id).unwrap();
        let chosen = choose(&app, &agent, &PromptChoice::default());
        (contents(&chosen), chosen.own.is_empty())
    };
    assert_eq!(chosen("b"), (vec!["only".to_owned()], false));
    assert_eq!(chosen("c"), (vec!["global".to_owned()], true));
}

/// An agent `a` whose only prompt is this text.
fn app(text: &str) -> App {
    let prompts = json!([{"role": "user", "content": text, "name": "n"}]).to_string();
    load_with(
        &[
            (
                "app.yao",
                "{\"ambit\": {\"capabilities\": {\"prompt_env\": [\"SHOWN\", \"UNSET\"]}}}",
            ),
            ("assistants/a/package.yao", "name: A"),
            ("assistants/a/prompts.yml", &prompts),
            (
                "assistants/a/assets/deep/rules.md",
                "rule: $CTX.USER_ID {{ hi }} @assets/deep/rules.md",
            ),
            (
                "assistants/a/locales/en-us.yml",
                "hi: Hi, {{ hi }} $CTX.CHAT_ID",
            ),
        ],
        &[("SHOWN", "shown $CTX.CHAT_ID"), ("HIDDEN", "secret")],
    )
}

fn filled(text: &str) -> FilledPrompts {
    let app = app(text);
    let agent = app.agent("a").unwrap();
    let context = [
        ("USER_ID", "alice"),
        ("CHAT_ID", "c1"),
        ("ASSISTANT_NAME", "{{ hi }}"),
    ];
    let metadata = json!({"topic": "cats", "Level": 3, "user_id": "mallory", "date": "never", "timezone": "Asia/Tokyo"});
    let values = PromptVariables {
        now: "2026-03-09T23:04:05Z".parse::<Timestamp>().unwrap(),
        zone: Some(TimeZone::get("Europe/Berlin").unwrap()),
        context: context
            .into_iter()
            .map(|(name, value)| (name, value.to_owned()))
            .collect(),
        metadata: metadata.as_object().unwrap().clone(),
        environment: app.prompt_variables(),
    };
    let words = Translations {
        own: &agent.locales,
        global: &app.locales,
        locale: "en-us",
    };
    fill(&agent.prompts, &values, &words)
}

fn text(text: &str) -> String {
    filled(text).prompts[0].content.clone()
}

#[test]
fn variables_are_replaced_by_values() {
    let cases = [
        (
            "$SYS.DATETIME $SYS.DATE $SYS.TIME",
            "2026-03-10 00:04:05 2026-03-10 00:04:05",
        ),
        (
            "$SYS.TIMEZONE $SYS.WEEKDAY $SYS.UNIX",
            "Europe/Berlin Tuesday 1773097445",
        ),
        (
            "$SYS.YEAR/$SYS.MONTH/$SYS.DAY $SYS.HOUR:$SYS.MINUTE:$SYS.SECOND",
            "2026/03/10 00:04:05",
        ),
        (
            "$CTX.DATE $CTX.TIME $CTX.TIMEZONE",
            "2026-03-10 08:04:05 Asia/Tokyo",
        ),
        (
            "$CTX.USER_ID $ctx.user_id {{ $CTX.User_Id }} {{$CTX.CHAT_ID}}",
            "alice alice alice c1",
        ),
        (
            "$CTX.TOPIC $CTX.level [$CTX.missing] [$CTX.THEME]",
            "cats 3 [] []",
        ),
        ("$ENV.HIDDEN|$ENV.UNSET|", "||"),
        (
            "{{ unknown }} $OTHER.X $SYS @assets/none",
            "{{ unknown }} $OTHER.X $SYS @assets/none",
        ),
        ("$5 and 100$", "$5 and 100$"),
    ];
    for (given, expected) in cases {
        assert_eq!(text(given), expected, "{given}");
    }
}

#[test]
fn what_was_put_in_is_not_looked_at_again() {
    let cases = [
        ("$ENV.SHOWN", "shown $CTX.CHAT_ID"),
        ("$CTX.ASSISTANT_NAME", "{{ hi }}"),
        ("{{ hi }}", "Hi, {{ hi }} $CTX.CHAT_ID"),
        (
            "See @assets/deep/rules.md.",
            "See rule: $CTX.USER_ID {{ hi }} @assets/deep/rules.md.",
        ),
    ];
    for (given, expected) in cases {
        assert_eq!(text(given), expected, "{given}");
    }
}

#[test]
fn what_cannot_be_filled_in_is_told_without_its_value() {
    let filled = filled("$ENV.HIDDEN $SYS.NOW $CTX.MISSING");
    assert_eq!(
        filled.warnings,
        [
            "$ENV.HIDDEN is empty in prompts: it is not set, or not listed in ambit.capabilities.prompt_env of app.yao",
            "$SYS.NOW is not known and stays as it is",
        ]
    );
    assert_eq!(filled.prompts[0].content, " $SYS.NOW ");
    assert_eq!(
        (
            filled.prompts[0].role.as_str(),
            filled.prompts[0].name.as_deref()
        ),
        ("user", Some("n"))
    );
}

#[test]
fn a_wrong_time_zone_of_a_request_falls_back_to_the_servers() {
    let app = load(&[
        ("assistants/a/package.yao", "name: A"),
        (
            "assistants/a/prompts.yml",
            "- { role: user, content: $CTX.TIMEZONE }",
        ),
    ]);
    let agent = app.agent("a").unwrap();
    let values = PromptVariables {
        zone: Some(TimeZone::get("Europe/Berlin").unwrap()),
        metadata: json!({"timezone": "Mars/Olympus"})
            .as_object()
            .unwrap()
            .clone(),
        environment: environment(&[]),
        ..PromptVariables::default()
    };
    let words = Translations {
        own: &agent.locales,
        global: &app.locales,
        locale: "en-us",
    };
    let filled = fill(&agent.prompts, &values, &words);
    assert_eq!(filled.prompts[0].content, "Europe/Berlin");
    assert_eq!(
        filled.warnings,
        ["metadata.timezone is no time zone, so the server's is used"]
    );
}
