//! Files beside the rules that hold none are told of, and stop nothing.

use crate::rules::RULES;
use crate::site::{HELLO, TOKENS, write};
use ambit::auth::AuthConfig;
use ambit_runtime::app::App;
use std::collections::BTreeMap;

#[test]
fn backups_beside_the_rules_are_told_of_and_stop_nothing() {
    let folder = tempfile::tempdir().unwrap();
    write(&folder.path().join("app.yao"), "{}");
    let mut backups = [
        "openapi.yao.orig",
        "roles.yml.bak",
        "roles.yml.old",
        "roles.yml.swp",
        "roles.yml.tmp",
        "roles.yml~",
        "scopes.bak",
    ]
    .map(|name| format!("openapi/{name}"));
    for file in &backups {
        write(&folder.path().join(file), "- not read");
    }
    let app = App::load(folder.path(), &BTreeMap::new()).unwrap();
    let told = app.problems.iter().map(ToString::to_string);
    let mut told: Vec<String> = told.filter(|it| it.starts_with("openapi")).collect();
    let why = "no access rules are read from here: they are openapi.yao, roles.yml and scopes/";
    told.sort();
    backups.sort();
    assert_eq!(told, backups.map(|file| format!("{file}: {why}")));
}

#[test]
fn what_holds_no_rules_is_passed_over_with_one_notice_each() {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in HELLO.iter().chain([&TOKENS]).chain(RULES) {
        write(&folder.path().join(name), text);
    }
    for (name, text) in [
        ("features/chat.yml", "- wrong\n- {"),
        ("features/more/deep.yao", "{"),
        ("limits/rate.yml", "a: 1\na: 2"),
        ("certs/server.pem", "-"),
        ("user/entry.json", "{"),
        ("keys.json", "{"),
        ("notes.txt", "-"),
    ] {
        write(&folder.path().join("openapi").join(name), text);
    }
    let key = folder.path().join("openapi/certs/key.pem");
    std::os::unix::fs::symlink("/etc/hostname", key).unwrap();
    let app = App::load(folder.path(), &BTreeMap::new()).unwrap();
    let told = app.problems.iter().map(ToString::to_string);
    let told: Vec<String> = told.filter(|it| it.starts_with("openapi")).collect();
    let parts = ["certs", "features", "limits", "notes.txt", "user"];
    let why = "no access rules are read from here: they are openapi.yao, roles.yml and scopes/";
    let expected = parts.map(|part| format!("openapi/{part}: {why}"));
    assert_eq!(told, expected);
    assert!(AuthConfig::of(&app).is_ok());
}
