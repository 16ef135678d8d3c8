//! `ambit serve` as a program.

use crate::site::{Answer, HELLO, Stream, TOKENS, write};
use ambit::http::ConsoleFiles;
use serde_json::json;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Output, Stdio};
use tempfile::TempDir;

/// A secret of the environment, which nothing may show.
const CANARY: &str = "canary-5e1f0c";

pub fn command(folder: &TempDir, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ambit"));
    command
        .args(arguments)
        .env_clear()
        .env("OPENAI_API_KEY", CANARY)
        .env("AMBIT_LOG", "trace")
        .env("AMBIT_LOG_FORMAT", "json")
        .current_dir(folder.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

pub fn run(folder: &TempDir, arguments: &[&str]) -> Output {
    command(folder, arguments).output().unwrap()
}

/// A key of the app in this folder, whose store a conversation with `hello` has made.
pub fn new_key(folder: &TempDir) -> String {
    let talked = run(folder, &["chat", "hello"]);
    assert!(talked.status.success(), "{talked:?}");
    let made = run(folder, &["keys", "new", "--user", "ann"]);
    String::from_utf8(made.stdout).unwrap().trim().to_owned()
}

/// A server that ends with its test.
pub struct Serving(pub Child);

impl Drop for Serving {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// The base address that a server prints, and all that it prints up to its last line.
pub fn address(server: &mut Child) -> (String, String) {
    let mut printed = String::new();
    let mut address = None;
    for line in BufReader::new(server.stdout.take().unwrap()).lines() {
        let line = line.unwrap();
        if let Some((_, found)) = line.split_once(" on ").filter(|_| printed.is_empty()) {
            address = Some(found.to_owned());
        }
        printed += &line;
        printed.push('\n');
        if line.starts_with("try: ") {
            break;
        }
    }
    (address.unwrap(), printed)
}

/// All that a server logs, read while it runs so that it never waits for its reader.
pub fn log(server: &mut Child) -> std::thread::JoinHandle<String> {
    let mut errors = server.stderr.take().unwrap();
    std::thread::spawn(move || {
        let mut log = String::new();
        errors.read_to_string(&mut log).unwrap();
        log
    })
}

#[tokio::test]
async fn without_an_app_the_welcome_app_is_served_until_the_process_is_told_to_stop() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = ["serve", "--listen", "127.0.0.1:0"];
    let mut server = Serving(command(&folder, &arguments).spawn().unwrap());
    let log = log(&mut server.0);
    let (base, printed) = address(&mut server.0);
    let greeting =
        format!("Ambit serves \"Welcome\" on {base}\nagents: welcome\ndevelopment mode: ");
    assert!(printed.starts_with(&greeting), "{printed}");
    let body = json!({"model": "welcome", "accept": "cui-web", "messages": [{"role": "user", "content": "private words"}]});
    let request = crate::site::client().post(format!("{base}/chat/completions"));
    let events = Stream::of(request.json(&body)).await.rest().await;
    assert_eq!(crate::turns::status(&events), json!("completed"));
    // SIGTERM is what a supervisor sends.
    let id = server.0.id().to_string();
    assert!(Command::new("kill").arg(id).status().unwrap().success());
    assert!(server.0.wait().unwrap().success());
    let log = log.join().unwrap();
    let answered = log
        .lines()
        .find(|line| line.contains("\"answered\""))
        .unwrap();
    let answered: serde_json::Value = serde_json::from_str(answered).unwrap();
    assert_eq!(answered["http.status"], json!(200));
    assert!(
        !log.contains(CANARY) && !log.contains("private words"),
        "{log}"
    );
    assert!(folder.path().join("ambit.db").exists());
}

/// Asks until this is answered.
async fn await_answer(base: &str, key: &str, expected: &str) {
    let began = std::time::Instant::now();
    let mut answer = String::new();
    while !answer.contains(expected) {
        assert!(began.elapsed().as_secs() < 60, "{answer}");
        let request = crate::site::client().post(format!("{base}/chat/completions"));
        let request = request.bearer_auth(key).json(&crate::turns::said("hi"));
        answer = Answer::of(request).await.text;
    }
}

fn hooks(folder: &TempDir, text: &str) {
    write(&folder.path().join("assistants/hello/src/index.ts"), text);
}

#[tokio::test]
async fn in_development_a_changed_file_takes_effect_at_once() {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in HELLO {
        write(&folder.path().join(name), text);
    }
    let arguments = ["serve", ".", "--dev", "--listen", "127.0.0.1:0"];
    let mut server = Serving(command(&folder, &arguments).spawn().unwrap());
    drop(log(&mut server.0));
    let (base, _) = address(&mut server.0);
    await_answer(&base, "", "echo: hi").await;
    hooks(&folder, "export function Create(ctx) { ctx.Send('new'); }");
    await_answer(&base, "", "new").await;
    hooks(&folder, "export function Create(ctx) {");
    await_answer(&base, "", "config_error").await;
}

#[tokio::test]
async fn g122_a_server_that_is_told_to_loads_its_app_again_all_or_nothing() {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in HELLO.iter().chain([&TOKENS]) {
        write(&folder.path().join(name), text);
    }
    let key = new_key(&folder);
    let arguments = ["serve", ".", "--listen", "127.0.0.1:0"];
    let mut serve = command(&folder, &arguments);
    let mut server = Serving(serve.env("AMBIT_LOG", "info").spawn().unwrap());
    let mut lines = BufReader::new(server.0.stderr.take().unwrap()).lines();
    let (base, _) = address(&mut server.0);
    let id = server.0.id().to_string();
    let mut reload = |outcome: &str| {
        let told = Command::new("kill").args(["-HUP", &id]).status();
        assert!(told.unwrap().success());
        assert!(lines.any(|line| line.unwrap().contains(outcome)));
    };
    await_answer(&base, &key, "echo: hi").await;
    hooks(&folder, "export function Create(ctx) { ctx.Send('new'); }");
    reload("the app's files are loaded again");
    await_answer(&base, &key, "new").await;
    hooks(&folder, "export function Create(ctx) {");
    reload("the app goes on as it was");
    await_answer(&base, &key, "new").await;
}

#[test]
fn g060_a_server_without_authentication_does_not_listen_beyond_this_machine() {
    let folder = tempfile::tempdir().unwrap();
    for address in ["0.0.0.0:0", "[::]:0"] {
        let ran = run(&folder, &["serve", "--listen", address]);
        let error = String::from_utf8(ran.stderr).unwrap();
        assert_eq!(ran.status.code(), Some(1));
        let expected = format!("it does not listen on {address}");
        assert!(
            error.contains(&expected) && error.contains("openapi/openapi.yao"),
            "{error}"
        );
    }
}

#[test]
fn the_option_for_development_is_refused_beyond_this_machine_by_its_name() {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in HELLO.iter().chain([&TOKENS]) {
        write(&folder.path().join(name), text);
    }
    let ran = run(&folder, &["serve", "--dev", "--listen", "0.0.0.0:0"]);
    let error = String::from_utf8(ran.stderr).unwrap();
    let expected = "ambit: --dev is for this machine alone, so the server does not listen on 0.0.0.0:0; leave it out, or listen on \
        127.0.0.1\n";
    assert_eq!((ran.status.code(), error.as_str()), (Some(1), expected));
}

#[test]
fn an_app_that_cannot_be_served_is_said_to_be_so() {
    let folder = tempfile::tempdir().unwrap();
    write(&folder.path().join("broken/app.yao"), "{");
    let ran = run(&folder, &["serve", "broken"]);
    let error = String::from_utf8(ran.stderr).unwrap();
    assert_eq!(ran.status.code(), Some(1));
    assert!(
        error.starts_with("ambit: the app in broken cannot be served:"),
        "{error}"
    );
}

#[test]
fn a_folder_without_an_app_is_named_with_what_helps() {
    let folder = tempfile::tempdir().unwrap();
    let nowhere = folder.path().canonicalize().unwrap().join("nowhere");
    let expected = format!(
        "ambit: there is no app.yao in {}, so it is no app; name the folder of one, or make one with `ambit new`\n",
        nowhere.display()
    );
    for arguments in [
        &["serve", "nowhere"][..],
        &["check", "nowhere"],
        &[
            "access",
            "explain",
            "user",
            "GET /models",
            "--app",
            "nowhere",
        ],
    ] {
        let ran = run(&folder, arguments);
        let error = String::from_utf8(ran.stderr).unwrap();
        assert_eq!(
            (ran.status.code(), &error),
            (Some(1), &expected),
            "{arguments:?}"
        );
        assert!(ran.stdout.is_empty(), "{arguments:?}");
    }
}

#[test]
fn keys_are_made_listed_and_removed_at_the_command_line() {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in HELLO {
        write(&folder.path().join(name), text);
    }
    let run = |arguments: &[&str]| {
        let ran = run(&folder, arguments);
        (ran.status.code(), String::from_utf8(ran.stdout).unwrap())
    };
    assert_eq!(run(&["chat", "hello"]).0, Some(0));
    let (code, key) = run(&["keys", "new", "--user", "ann", "--label", "script"]);
    assert!(
        code == Some(0) && key.starts_with("ambit_") && key.trim().len() == 46,
        "{key}"
    );
    let (_, list) = run(&["keys", "ls"]);
    let row = list.lines().nth(1).unwrap();
    let cells: Vec<&str> = row.split_whitespace().collect();
    assert_eq!(cells[1..], ["ann", "-", "-", "-", "-", "-", "script"]);
    assert!(!list.contains(key.trim()));
    assert_eq!(run(&["keys", "revoke", cells[0]]).0, Some(0));
    assert_eq!(run(&["keys", "ls"]).1, "");
    assert_eq!(run(&["keys", "new"]).0, Some(1));
}

#[test]
fn rules_that_are_not_clear_stop_serve_and_are_told_by_check() {
    let folder = tempfile::tempdir().unwrap();
    crate::site::write(&folder.path().join("app.yao"), "{}");
    let rules = "user: {scopes: [\"chat:raed:own\"]}";
    crate::site::write(&folder.path().join("openapi/roles.yml"), rules);
    for (arguments, begin) in [
        (&["serve", "."][..], "ambit: who may call is not clear: "),
        (&["check", "."], "ambit: 1 error"),
    ] {
        let ran = run(&folder, arguments);
        let (out, error) = (
            String::from_utf8(ran.stdout).unwrap(),
            String::from_utf8(ran.stderr).unwrap(),
        );
        assert_eq!(ran.status.code(), Some(1), "{out}{error}");
        assert!(error.starts_with(begin), "{error}");
        let told = format!("{out}{error}");
        let expected = "openapi/roles.yml:1:17: unknown scope \"chat:raed:own\"; did you mean \"chat:read:own\"?";
        assert!(told.contains(expected), "{told}");
    }
}

/// What a server prints of its console.
fn console(base: &str) -> String {
    let address = base.trim_end_matches("/v1");
    match ConsoleFiles::embedded().has_page() {
        true => format!("console: {address}/console/\n"),
        false => "console: none; this program was built without one\n".to_owned(),
    }
}

#[test]
fn the_console_is_named_unless_it_is_left_out() {
    for (more, left_out) in [
        (&[][..], None),
        (&["--no-console"], Some("left out by --no-console")),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let arguments = [&["serve", "--listen", "127.0.0.1:0"], more].concat();
        let mut server = Serving(command(&folder, &arguments).spawn().unwrap());
        drop(log(&mut server.0));
        let (base, printed) = address(&mut server.0);
        let expected = left_out.map_or_else(|| console(&base), |why| format!("console: {why}\n"));
        assert!(printed.contains(&expected), "{printed}");
    }
}

#[test]
fn the_console_is_opened_with_what_opens_addresses_here() {
    let folder = tempfile::tempdir().unwrap();
    let written = folder.path().join("written");
    write(
        &written,
        "#!/bin/sh\nprintf %s \"$1\" > opened.part && mv opened.part opened\n",
    );
    // What this process has written, another thread's child may hold open for a moment, and then it cannot be run.
    let mut install = Command::new("install");
    let install = install.arg(&written).arg(folder.path().join("xdg-open"));
    assert!(install.status().unwrap().success());
    let path = format!("{}:/usr/bin:/bin", folder.path().display());
    let mut command = command(&folder, &["serve", "--listen", "127.0.0.1:0", "--open"]);
    let mut server = Serving(command.env("PATH", path).spawn().unwrap());
    let log = log(&mut server.0);
    let (base, _) = address(&mut server.0);
    let said = console(&base);
    if let Some(expected) = said.trim().strip_prefix("console: http") {
        let opened = folder.path().join("opened");
        while !opened.exists() {
            std::thread::yield_now();
        }
        let opened = std::fs::read_to_string(opened).unwrap();
        assert_eq!(opened, format!("http{expected}"));
        return;
    }
    let id = server.0.id().to_string();
    assert!(Command::new("kill").arg(id).status().unwrap().success());
    assert!(server.0.wait().unwrap().success());
    let log = log.join().unwrap();
    assert!(log.contains("the console is not opened"), "{log}");
}
