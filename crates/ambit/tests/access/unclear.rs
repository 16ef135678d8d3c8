//! Rules that are not clear stop the server, and a reload with such rules changes nothing.

use crate::rules::RULES;
use crate::site::{HELLO, TOKENS, write};
use ambit::auth::AuthConfig;
use ambit_runtime::app::App;
use std::collections::BTreeMap;

/// What is said of the rules with this file in the place of theirs.
fn judged(file: &str, text: &str) -> Result<AuthConfig, String> {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in HELLO
        .iter()
        .chain([&TOKENS])
        .chain(RULES)
        .chain([&(file, text)])
    {
        write(&folder.path().join(name), text);
    }
    let app = App::load(folder.path(), &BTreeMap::new());
    let app = app.map_err(|problems| problems[0].to_string())?;
    AuthConfig::of(&app).map_err(|problem| problem.to_string())
}

const ROLES: &str = "openapi/roles.yml";
const SCOPES: &str = "openapi/scopes/scopes.yml";
const ALIASES: &str = "openapi/scopes/alias.yml";
const CHAT: &str = "openapi/scopes/chat/sessions.yml";
const MORE: &str = "openapi/scopes/more.yml";

#[test]
fn an_alias_may_name_scopes_that_are_not_there() {
    let text = "\"chat:reading\": [\"chat:read:own\", \"rooms:book:all\", \"otp:all\"]\n\"chat:all\": [\"chat:write:own\"]\n";
    let config = judged(ALIASES, text).unwrap();
    let told: Vec<String> = config.notices.iter().map(ToString::to_string).collect();
    let expected = "\"chat:reading\" names scopes that are not there, which grant nothing: rooms:book:all, otp:all";
    assert!(told.iter().any(|it| it.contains(expected)), "{told:?}");
    // What takes away must be there as a whole: the role `guard` is restricted by `chat:all`.
    let text = "\"chat:reading\": [\"rooms:book:all\"]\n\"chat:all\": [\"chat:reading\"]\n";
    let Err(problem) = judged(ALIASES, text) else {
        panic!("{text}");
    };
    let expected = "\"chat:all\" stands for \"rooms:book:all\" too, which is no scope: it would take away less than it says";
    assert!(
        problem.starts_with(ROLES) && problem.contains(expected),
        "{problem}"
    );
}

/// A file of rules, what it says, and what is said of that.
const UNCLEAR: &[(&str, &str, &str)] = &[
    (
        ROLES,
        "boss:\n  scopes: [\"chat:raed:own\"]",
        "openapi/roles.yml:2:12: unknown scope \"chat:raed:own\"; did you mean \"chat:read:own\"?",
    ),
    (
        ROLES,
        "boss: {scopes: [], restricted: [\"chat:reding\"]}",
        "unknown scope \"chat:reding\"; did you mean \"chat:reading\"?",
    ),
    (
        ROLES,
        "boss: {scopes: [], restricted: [\"*:*\"]}",
        "\"*:*\" means none of the app's scopes",
    ),
    (
        ROLES,
        "boss: {scopes: [\"chats:*:own\"]}",
        "\"chats:*:own\" means none of the app's scopes",
    ),
    (
        ROLES,
        "boss: {scopes: [\"*\"]}",
        "\"*\" is no scope and no alias: a scope has two parts or more, as in \"chat:read:own\"",
    ),
    (
        ROLES,
        "boss: {scope: []}",
        "unknown key \"boss.scope\"; did you mean \"scopes\"?",
    ),
    (ROLES, "boss: {name: x}", "\"boss.scopes\" is missing"),
    (
        ROLES,
        "a: {scopes: [], default: true}\nb: {scopes: [], default: true}",
        "\"b\" and \"a\" cannot both be the default role",
    ),
    (
        ROLES,
        "a: {scopes: []}\na: {scopes: []}",
        "\"a\" is given twice, first on line 1",
    ),
    (
        SCOPES,
        "defualt: deny",
        "unknown key \"defualt\"; did you mean \"default\"?",
    ),
    (
        SCOPES,
        "default: maybe",
        "\"default\" must be \"deny\" or \"allow\"",
    ),
    (
        SCOPES,
        "public: [\"/models\"]",
        "\"/models\" is no endpoint; write a method and a path, as in \"GET /chat/sessions\"",
    ),
    (
        SCOPES,
        "endpoints: [\"GET /agent/*\"]",
        "\"GET /agent/*\" must end with allow or deny, as in \"GET /kb/* allow\"",
    ),
    (
        SCOPES,
        "endpoints: [\"FETCH /agent/* allow\"]",
        "\"FETCH\" is none of the methods GET, POST, PUT, DELETE, PATCH",
    ),
    (
        ALIASES,
        "\"chat:reading\": [\"chat:all\"]\n\"chat:all\": [\"chat:reading\"]",
        "an alias stands for itself: chat:all → chat:reading → chat:all",
    ),
    (
        ALIASES,
        "\"chat:read:own\": []",
        "\"chat:read:own\" must not be the name of a scope, of OpenID's too, nor have a \"*\"",
    ),
    (
        ALIASES,
        "\"chat:reading\": [\"chat:reed:own\"]",
        "unknown scope \"chat:reed:own\"; did you mean \"chat:read:own\"?",
    ),
    (
        ALIASES,
        "\"chat:reading\": [\"rooms:*:all\"]",
        "\"rooms:*:all\" means none of the app's scopes",
    ),
    (
        ALIASES,
        "\"chat:reading\": [\"rooms\"]",
        "\"rooms\" is no scope and no alias: a scope has two parts or more, as in \"chat:read:own\"",
    ),
    (
        CHAT,
        "chat: {endpoints: []}",
        "\"chat\": a scope has two parts or more, as in \"chat:read:own\"",
    ),
    (
        CHAT,
        "\"chat:*:own\": {endpoints: []}",
        "\"chat:*:own\": a scope that is defined has no \"*\"",
    ),
    (
        CHAT,
        "chat:read:own: {endpoints: [\"GET chat\"]}",
        "the path \"chat\" must begin with \"/\"",
    ),
    (
        CHAT,
        "chat:read:own: {endpoint: [], endpoints: []}",
        "unknown key \"chat:read:own.endpoint\"; did you mean \"endpoints\"?",
    ),
    (
        CHAT,
        "chat:read:own: {endpoints: [], owner: yes please}",
        "\"chat:read:own.owner\" must be a boolean, not a string",
    ),
    (
        CHAT,
        "chat:read:own: {endpoints: [], extra: {region: {}}}",
        "\"chat:read:own.extra.region\" must be a string, a number, a boolean or a list of them",
    ),
    (
        MORE,
        "chat:read:own: {endpoints: []}",
        "the scope \"chat:read:own\" is also in openapi/scopes/chat/sessions.yml",
    ),
    (
        "openapi/scopes/more.yaml",
        "a:b:own: {endpoints: []}",
        "rules of scopes are read from files that end with .yml",
    ),
    (
        "openapi/roles.yaml",
        "a: {scopes: []}",
        "nothing of this name has a meaning in openapi/; did you mean \"roles.yml\"?",
    ),
    (
        "openapi/scopes/more.YML",
        "a:b:own: {endpoints: []}",
        "rules of scopes are read from files of openapi/scopes/ that end with .yml",
    ),
    (
        "openapi/roles.json",
        "{}",
        "nothing of this name has a meaning in openapi/; did you mean \"roles.yml\"?",
    ),
    (
        "openapi/openapi.json",
        "{}",
        "nothing of this name has a meaning in openapi/; did you mean \"openapi.yao\"?",
    ),
    (
        "openapi/scopes.yml",
        "default: deny",
        "nothing of this name has a meaning in openapi/; did you mean \"scopes\"?",
    ),
    (
        "openapi/openapi.yao",
        "{\"auth\": {\"api_keys\": true, \"default_role\": \"bos\"}}",
        "\"auth.default_role\" names the role \"bos\", which is not in openapi/roles.yml; did you mean \"boss\"?",
    ),
    (
        "openapi/openapi.yao",
        "{\"auth\": {\"dev_identity\": {\"constraints\": {\"owner\": true}}}}",
        "unknown key \"auth.dev_identity.constraints.owner\"",
    ),
    (
        "openapi/openapi.yao",
        "{\"api_keys\": true}",
        "unknown key \"api_keys\"; there are baseurl, auth, cors, limits",
    ),
    (
        "openapi/openapi.yao",
        "{\"auth\": {\"dev_identity\": {\"constraints\": {\"owner_only\": \"$ENV.NOT_SET\"}}}}",
        "\"auth.dev_identity.constraints\" names a variable that is not set or empty",
    ),
    (
        MORE,
        "a:b:all: {endpoints: [], extra: {region: [eu, $ENV.NOT_SET]}}",
        "\"a:b:all.extra\" names a variable that is not set or empty",
    ),
    (
        "openapi/openapi.yao",
        "{\"auth\": {\"issuers\": [{\"issuer\": \"i\", \"audience\": \"a\", \"jwks\": \"http://id.test/keys\"}]}}",
        "\"auth.issuers[0].jwks\" must begin with https://",
    ),
];

#[test]
fn g146_rules_that_are_not_clear_are_named_with_what_was_meant() {
    for &(file, text, expected) in UNCLEAR {
        let Err(problem) = judged(file, text) else {
            panic!("{file} is taken: {text}");
        };
        assert!(
            problem.starts_with(file) && problem.contains(expected),
            "{text}\n{problem}"
        );
    }
    for name in ["a:b:own", "a:b", "__yao:yao:execute:all"] {
        assert!(judged(MORE, &format!("{name}: {{endpoints: []}}")).is_ok());
    }
    // Who may do everything says so for names of each length.
    let root = "root: {scopes: [\"*:*\", \"*:*:*\", \"*:*:*:*:*:*\"]}";
    assert!(judged(ROLES, root).is_ok());
}

#[test]
fn g060_a_file_among_the_scopes_that_is_not_read_leaves_no_usual_rules() {
    let app = |file: &str| {
        let folder = tempfile::tempdir().unwrap();
        write(&folder.path().join("app.yao"), "{}");
        write(&folder.path().join(file), "a:b:own: {endpoints: []}");
        App::load(folder.path(), &BTreeMap::new())
    };
    for file in [
        "openapi/scopes",
        "openapi/scopes/chat.YML",
        "openapi/scopes/chat.yml.off",
        "openapi/scopes/chat/sessions.yml.txt",
    ] {
        let Err(problems) = app(file) else {
            panic!("{file} is passed over");
        };
        let why = "rules of scopes are read from files of openapi/scopes/ that end with .yml";
        let expected = format!("{file}: {why}");
        assert!(
            problems.iter().any(|it| it.to_string() == expected),
            "{file}"
        );
    }
    for file in ["openapi/scopes/README", "openapi/scopes/chat/notes.md"] {
        let app = app(file).unwrap();
        let told = app.problems.iter().map(ToString::to_string);
        let told: Vec<String> = told.filter(|it| it.starts_with("openapi")).collect();
        let why = "no access rules are read from this file";
        assert_eq!(told, [format!("{file}: {why}")]);
        let rules = AuthConfig::of(&app).unwrap().rules;
        assert_eq!(rules.roles().collect::<Vec<_>>(), ["admin", "user"]);
    }
}

#[test]
fn a_folder_of_scopes_without_files_counts_as_none() {
    let folder = tempfile::tempdir().unwrap();
    write(&folder.path().join("app.yao"), "{}");
    std::fs::create_dir_all(folder.path().join("openapi/scopes/chat")).unwrap();
    let app = App::load(folder.path(), &BTreeMap::new()).unwrap();
    let rules = AuthConfig::of(&app).unwrap().rules;
    assert_eq!(rules.roles().collect::<Vec<_>>(), ["admin", "user"]);
}

#[test]
fn rules_that_grant_nothing_to_anybody_are_warned_of() {
    let chat = "chat:read: {endpoints: [\"GET /chat/*\"]}";
    let warned = |more: &[(&str, &str)]| {
        let folder = tempfile::tempdir().unwrap();
        let files = [("app.yao", "{}"), TOKENS, (CHAT, chat)];
        for (name, text) in files.iter().chain(more) {
            write(&folder.path().join(name), text);
        }
        let app = App::load(folder.path(), &BTreeMap::new()).unwrap();
        let notices = AuthConfig::of(&app).unwrap().notices;
        notices.iter().any(|it| it.file == "openapi/scopes")
    };
    for (files, expected) in [
        (&[][..], true),
        (&[(ROLES, "user: {scopes: []}")], true),
        (
            &[(
                ROLES,
                "user: {scopes: [\"chat:*\"], restricted: [\"chat:read\"]}",
            )],
            true,
        ),
        (&[(SCOPES, "endpoints: [\"GET /kb/* deny\"]")], true),
        (&[(ROLES, "user: {scopes: [\"chat:read\"]}")], false),
        (&[(SCOPES, "public: [\"GET /models\"]")], false),
        (&[(SCOPES, "endpoints: [\"GET /kb/* allow\"]")], false),
        (
            &[(
                SCOPES,
                "public: [\"GET /user/entry\"]\nendpoints: [\"GET /sandbox/* allow\"]",
            )],
            true,
        ),
        (&[(SCOPES, "default: allow")], false),
        (&[("openapi/openapi.yao", "{}")], false),
    ] {
        assert_eq!(warned(files), expected, "{files:?}");
    }
}

#[test]
fn roles_of_the_app_stand_beside_the_usual_ones_where_the_scopes_are_the_usual_ones() {
    let folder = tempfile::tempdir().unwrap();
    write(&folder.path().join("app.yao"), "{}");
    let text = "reader: {scopes: [\"*:read:own\"]}\nuser: {scopes: [\"chat:read:team\"]}";
    write(&folder.path().join(ROLES), text);
    let app = App::load(folder.path(), &BTreeMap::new()).unwrap();
    let rules = AuthConfig::of(&app).unwrap().rules;
    assert_eq!(
        rules.roles().collect::<Vec<_>>(),
        ["admin", "reader", "user"]
    );
}
