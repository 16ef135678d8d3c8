//! `ambit chat` beside what is said: help, agents that are not there, and a terminal with its history.

use crate::app::talk;
use crate::place::{Place, Ran, Serving, told};
use serde_json::json;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

fn shop() -> Place {
    let place = Place::new();
    assert_eq!(place.run_as(&["new", "shop"]).code, 0);
    place
}

#[test]
fn help_is_shown_and_not_said() {
    let place = shop();
    let chat = place.command(&["chat", "hello", "--app", "shop"]);
    let said = talk(chat, "/help\nand you?\n");
    assert_eq!((said.code, said.out.as_str()), (0, "echo: and you?\n"));
    assert!(said.err.starts_with("/help    shows this\n"), "{said:?}");
}

#[test]
fn an_agent_that_is_not_there_is_refused_with_those_that_are() {
    let place = shop();
    let here = place.run_as(&["chat", "nobody", "--app", "shop"]);
    let expected = "agent \"nobody\" not found; the agents are: hello";
    assert_eq!(here, Ran::refused(expected));
    let serve = ["serve", "shop", "--listen", "127.0.0.1:0", "--log", "error"];
    let server = Serving::of(place.command(&serve));
    let chat = place.command(&["chat", "nobody", "--url", &server.base]);
    let there = talk(chat, "hello\n");
    assert_eq!((there.code, there.out.as_str()), (2, ""));
    assert!(there.err.contains("\"nobody\" not found"), "{there:?}");
    assert!(there.err.ends_with("he agents are: hello\n"), "{there:?}");
}

/// Runs a program on a terminal of its own: each time that a text is shown, types what follows it.
const ON_A_TERMINAL: &str = r#"
import json, os, pty, signal, sys

signal.alarm(300)
child, terminal = pty.fork()
if child == 0:
    os.execv(sys.argv[2], sys.argv[2:])
shown = b""
for text, keys in json.loads(sys.argv[1]):
    while text.encode() not in shown:
        shown += os.read(terminal, 4096)
    shown = shown.split(text.encode(), 1)[1]
    os.write(terminal, keys.encode())
try:
    while os.read(terminal, 4096):
        pass
except OSError:
    pass
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"#;

/// A conversation on a terminal of somebody who lives in the folder, from the first prompt to its end.
fn type_lines(place: &Place, more: &[&str], steps: &[(&str, &str)]) {
    let mut typing = Command::new("python3");
    typing
        .args(["-c", ON_A_TERMINAL, &json!(steps).to_string()])
        .args([
            env!("CARGO_BIN_EXE_ambit"),
            "chat",
            "hello",
            "--app",
            "shop",
        ])
        .args(more)
        .current_dir(place.path(""))
        .env("HOME", place.path(""))
        .env("TERM", "xterm")
        .env_remove("XDG_STATE_HOME")
        .env_remove("AMBIT_STORE")
        .env_remove("AMBIT_MODELS")
        .env_remove("AMBIT_APP")
        .env_remove("AMBIT_MODEL_KEY");
    let typed = told(typing.output().unwrap());
    assert_eq!(typed.code, 0, "{typed:?}");
}

/// What ends a conversation.
const CTRL_D: &str = "\u{4}";

#[test]
fn lines_are_edited_on_a_terminal_and_come_back_another_time() {
    let place = shop();
    // To the beginning of the line.
    let first = [
        ("> ", "lamp\u{1}red \r"),
        ("echo: red lamp", ""),
        ("> ", CTRL_D),
    ];
    type_lines(&place, &[], &first);
    let history = place.path(".local/state/ambit/chat-history");
    let kept = std::fs::read_to_string(&history).unwrap();
    assert!(kept.ends_with("red lamp\n"), "{kept}");
    let mode = history.metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    // The line before, and its end.
    let again = [
        ("> ", "\u{1b}[A!\r"),
        ("echo: red lamp!", ""),
        ("> ", CTRL_D),
    ];
    type_lines(&place, &[], &again);
    // Ctrl-C ends it too, where no answer comes.
    type_lines(&place, &[], &[("> ", "\u{3}")]);
}

#[test]
fn nothing_is_kept_of_what_is_typed_where_that_is_not_wanted() {
    let place = shop();
    let steps = [("> ", "a secret\r"), ("echo: a secret", ""), ("> ", CTRL_D)];
    type_lines(&place, &["--no-history"], &steps);
    assert!(!place.path(".local").exists());
}
