//! `ambit keys` and `ambit access explain`.

use crate::rules::RULES;
use crate::site::{HELLO, TOKENS, write};
use ambit::auth::AuthConfig;
use ambit_runtime::app::App;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

fn place() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in HELLO.iter().chain([&TOKENS]).chain(RULES) {
        write(&folder.path().join(name), text);
    }
    folder
}

/// The same with what a conversation leaves.
fn place_with_store() -> TempDir {
    let folder = place();
    assert_eq!(run(&folder, &["chat", "hello"]).0, Some(0));
    folder
}

/// What a command prints, and what it says went wrong.
fn run(folder: &TempDir, arguments: &[&str]) -> (Option<i32>, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ambit"));
    command
        .args(arguments)
        .current_dir(folder.path())
        .env_clear();
    let ran = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (ran.status.code(), text(ran.stdout), text(ran.stderr))
}

fn explained(folder: &TempDir, who: &str, what: &str) -> String {
    let (code, out, error) = run(folder, &["access", "explain", who, what]);
    assert_eq!((code, error.as_str()), (Some(0), ""), "{out}");
    out
}

#[test]
fn a_decision_is_explained_by_its_rules() {
    let folder = place();
    for (who, what, expected) in [
        (
            "reader",
            "GET /chat/sessions",
            "GET /chat/sessions: granted, limited by owner_only\n\
             rule \"GET /chat/sessions\" (openapi/scopes/chat/sessions.yml) needs scope \"chat:read:own\", which role \"reader\" grants as \"chat:reading\", limited by owner_only\n",
        ),
        (
            "guard",
            "GET /v1/chat/sessions/x",
            "GET /chat/sessions/x: denied\n\
             rule \"GET /chat/sessions/:chat_id\" (openapi/scopes/chat/sessions.yml) needs scope \"chat:read:own\", which role \"guard\" restricts as \"chat:all\"\n",
        ),
        (
            "reader,writer",
            "delete /chat/sessions/x",
            "DELETE /chat/sessions/x: denied\n\
             rule \"DELETE /chat/sessions/:chat_id\" (openapi/scopes/chat/sessions.yml) needs scope \"chat:remove:own\", which role \"writer\" restricts\n",
        ),
        (
            r#"{"user_id": "ann", "team_id": "red", "roles": ["boss"], "scope": "memory:read:own"}"#,
            "GET /chat/sessions",
            "GET /chat/sessions: denied\n\
             rule \"GET /chat/sessions\" (openapi/scopes/chat/sessions.yml) needs scope \"chat:read:own\", which the scope of the credentials leaves out\n\
             the credentials are for the scope \"memory:read:own\"\n",
        ),
        (
            r#"{"user_id": "ann", "team_id": "red", "roles": "bos"}"#,
            "GET /agent/assistants",
            "GET /agent/assistants: granted, limited by team_only\n\
             rule \"GET /agent/* allow\" (openapi/scopes/scopes.yml) grants it to every caller, limited as usual\n\
             role \"bos\" is none of the app's roles and grants nothing; did you mean \"boss\"?\n",
        ),
        (
            "boss",
            "GET /trace/traces",
            "GET /trace/traces: denied\nno rule is about it, so it is denied\n",
        ),
        (
            "boss",
            "GET /models",
            "GET /models: granted to everybody, without a caller\n\
             rule \"GET /models\" (openapi/scopes/scopes.yml) opens it to everybody\n",
        ),
        (
            "boss",
            "GET /nothing",
            "GET /nothing is no route of this server\nGET /nothing: denied\nno rule is about it, so it is denied\n",
        ),
    ] {
        assert_eq!(explained(&folder, who, what), expected, "{who} {what}");
    }
}

#[test]
fn a_key_is_made_with_roles_scopes_and_an_end_and_explained_by_its_id() {
    let folder = place_with_store();
    let new = [
        "keys",
        "new",
        "--user",
        "ann",
        "--role",
        "boss",
        "--scope",
        "chat:read:own",
        "--scope",
        "chat:write:own",
        "--until",
        "2199-01-01",
    ];
    let (code, key, error) = run(&folder, &new);
    assert!(code == Some(0) && key.starts_with("ambit_"), "{error}");
    let (_, list, _) = run(&folder, &["keys", "ls"]);
    let cells: Vec<&str> = list.lines().nth(1).unwrap().split_whitespace().collect();
    assert_eq!(
        cells[1..],
        [
            "ann",
            "-",
            "-",
            "boss",
            "chat:read:own",
            "chat:write:own",
            "2199-01-01",
            "00:00:00Z",
            "-"
        ]
    );
    let told = explained(&folder, cells[0], "GET /usage");
    assert!(told.starts_with("GET /usage: denied\n"), "{told}");
    let told = explained(&folder, cells[0], "GET /chat/sessions");
    assert!(
        told.starts_with("GET /chat/sessions: granted, limited by owner_only\n"),
        "{told}"
    );
    assert_eq!(run(&folder, &["keys", "revoke", cells[0]]).0, Some(0));
    assert_eq!(run(&folder, &["keys", "ls"]).1, "");
}

#[test]
fn what_cannot_be_meant_is_refused() {
    let folder = place();
    for (arguments, expected) in [
        (
            &["keys", "new", "--user", "ann", "--scope", "a:b:c d:e:f"][..],
            "ambit: --scope is given \"a:b:c d:e:f\", which is no name; repeat the option for several\n",
        ),
        (
            &["keys", "new", "--user", "ann", "--role", "raeder"],
            "ambit: --role is given \"raeder\", which is no role of the app; did you mean \"reader\"? There are boss, guard, reader, writer\n",
        ),
        (
            &["keys", "new", "--user", "ann", "--role", "editor"],
            "ambit: --role is given \"editor\", which is no role of the app; there are boss, guard, reader, writer\n",
        ),
        (
            &["keys", "new", "--user", "ann", "--scope", "chat:raed:own"],
            "ambit: --scope is given \"chat:raed:own\", which is no scope of the app; did you mean \"chat:read:own\"?\n",
        ),
        (
            &["keys", "new", "--user", "ann", "--scope", "chat:read"],
            "ambit: --scope is given \"chat:read\", which is no scope of the app; there are chat:read:own\n",
        ),
        (
            &["keys", "new", "--user", "", "--role", "boss"],
            "ambit: --user is given no name; name whom the key acts for, or leave the option out\n",
        ),
        (
            &["keys", "new", "--label", "x"],
            "ambit: the key is nobody's: name whom it acts for with --user, or what it may do with --role\n",
        ),
        (
            &["keys", "new", "--user", "ann", "--app", "nowhere"],
            "ambit: --app is nowhere, where no app.yao is; name the folder of an app\n",
        ),
        (
            &["keys", "new", "--user", "ann", "--until", "2001-01-01"],
            "ambit: --until is 2001-01-01, which is over\n",
        ),
        (
            &["keys", "new", "--user", "ann", "--until", "soon"],
            "ambit: --until is \"soon\"; write a day as 2026-11-21 or a time as 2026-11-21T09:30:00Z\n",
        ),
        (
            &["access", "explain", "boss", "sessions"],
            "ambit: \"sessions\" is no request; write it as \"GET /chat/sessions\"\n",
        ),
        (
            &["access", "explain", "{\"user_id\": 1}", "GET /usage"],
            "ambit: <WHO> is no identity: invalid type: integer `1`, expected a string at line 1 column 13\n",
        ),
        (
            &["access", "explain", "{\"role\": [\"boss\"]}", "GET /usage"],
            "ambit: <WHO> says \"role\", which nothing reads; did you mean \"roles\"?\n",
        ),
    ] {
        let refused = (Some(1), String::new(), expected.to_owned());
        assert_eq!(run(&folder, arguments), refused, "{arguments:?}");
    }
}

#[test]
fn an_unknown_caller_is_said_to_be_so() {
    let folder = place_with_store();
    let nothing = run(&folder, &["keys", "new", "--user", "ann", "--days", "0"]);
    assert_eq!((nothing.0, nothing.1.as_str()), (Some(1), ""));
    assert_eq!(run(&folder, &["keys", "new", "--user", "ann"]).0, Some(0));
    let (code, _, error) = run(&folder, &["access", "explain", "bos", "GET /usage"]);
    let expected = "ambit: \"bos\" is neither a role of the app (boss, guard, reader, writer) nor the id of a key; `ambit keys ls` lists the keys\n";
    assert_eq!((code, error.as_str()), (Some(1), expected));
}

/// What docs/access.md shows: files of `openapi/`, and a command with what it prints.
#[test]
fn the_page_about_access_shows_what_is() {
    let page =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/access.md"));
    let page = page.unwrap();
    let folder = tempfile::tempdir().unwrap();
    write(&folder.path().join("app.yao"), "{}");
    let (mut file, mut printed) = (String::new(), String::new());
    for line in page.lines().filter_map(|line| line.strip_prefix("    ")) {
        if let Some(name) = line.strip_prefix("# ") {
            file = format!("openapi/{name}");
            write(&folder.path().join(&file), "");
        } else if line.starts_with("$ ") {
            file = String::new();
        } else if file.is_empty() {
            printed += &format!("{line}\n");
        } else {
            let path = folder.path().join(&file);
            let before = std::fs::read_to_string(&path).unwrap();
            write(&path, &format!("{before}{line}\n"));
        }
    }
    assert!(page.contains("$ ambit access explain lead \"POST /chat/completions\"\n"));
    assert_eq!(
        explained(&folder, "lead", "POST /chat/completions"),
        printed
    );

    let rows = page
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split_once("` |"));
    let named: Vec<&str> = rows
        .map(|(name, _)| name)
        .filter(|name| name.contains(':'))
        .collect();
    let levels = ["own", "team", "default", "all"];
    let all = named
        .iter()
        .flat_map(|name| levels.map(|level| format!("{name}:{level}")));
    let at_all = page.split("At the level `all` alone").nth(1).unwrap();
    let at_all = at_all.split('`').filter(|name| name.ends_with(":all"));
    let all: BTreeSet<String> = all.chain(at_all.map(str::to_owned)).collect();
    let bare = tempfile::tempdir().unwrap();
    write(&bare.path().join("app.yao"), "{}");
    let app = App::load(bare.path(), &BTreeMap::new()).unwrap();
    let rules = AuthConfig::of(&app).unwrap().rules;
    assert_eq!(
        rules.scopes().map(str::to_owned).collect::<BTreeSet<_>>(),
        all
    );
}
