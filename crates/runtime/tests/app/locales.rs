//! Finding translations.

use crate::support::{load, texts};
use ambit_runtime::app::locales::Translations;
use serde_json::json;

const FILES: &[(&str, &str)] = &[
    (
        "agent/locales/zh-cn.yml",
        "tag: global tag\nglobal_tag: global tag",
    ),
    (
        "agent/locales/zh.yml",
        "tag: global language\nglobal_tag: global language\nglobal_language: global language",
    ),
    (
        "agent/locales/en-us.yml",
        "own_fallback: global fallback\nglobal_fallback: global fallback",
    ),
    ("assistants/a/package.yao", "name: A"),
    (
        "assistants/a/locales/ZH_CN.yml",
        "tag: own tag\nHello, you!: 你好\nlist: [x, { y: z }]\nnumber: 1\nnothing: null",
    ),
    (
        "assistants/a/locales/zh.yml",
        "tag: own language\nlanguage: own language",
    ),
    (
        "assistants/a/locales/en-us.yml",
        "own_fallback: own fallback",
    ),
];

#[test]
fn a_key_is_looked_up_from_the_nearest_to_the_farthest() {
    let app = load(FILES);
    let agent = app.agent("a").unwrap();
    let words = Translations {
        own: &agent.locales,
        global: &app.locales,
        locale: "zh-CN",
    };
    let cases = [
        ("tag", Some("own tag")),
        ("language", Some("own language")),
        ("global_tag", Some("global tag")),
        ("global_language", Some("global language")),
        ("own_fallback", Some("own fallback")),
        ("global_fallback", Some("global fallback")),
        ("list.0", Some("x")),
        ("list.1.y", Some("z")),
        ("number", Some("1")),
        ("nothing", None),
        ("missing", None),
    ];
    for (key, expected) in cases {
        assert_eq!(words.find(key), expected, "{key}");
    }
}

#[test]
fn a_text_is_translated_as_a_key_or_a_sentence_or_stays() {
    let app = load(FILES);
    let agent = app.agent("a").unwrap();
    let words = Translations {
        own: &agent.locales,
        global: &app.locales,
        locale: "zh_cn",
    };
    assert_eq!(words.say("Hello, you!"), "你好");
    assert_eq!(words.say("::Hello, you!"), "你好");
    assert_eq!(words.say("::Farewell"), "Farewell");
    assert_eq!(
        words.fill("{{tag}}, {{ missing }}, {{ number }}"),
        "own tag, {{ missing }}, 1"
    );
    assert_eq!(
        words.fill_value(&json!({"title": "{{ tag }}", "prompts": ["{{ language }}", 1]})),
        json!({"title": "own tag", "prompts": ["own language", 1]})
    );
}

#[test]
fn two_files_for_one_language_are_a_clash() {
    let app = load(&[
        ("agent/locales/zh-cn.yml", "a: b"),
        ("agent/locales/zh_CN.yml", "a: c"),
    ]);
    assert_eq!(
        texts(&app.problems),
        [
            "Error agent/locales/zh_CN.yml: its id \"zh-cn\" is also that of agent/locales/zh-cn.yml; rename one of them"
        ]
    );
}
