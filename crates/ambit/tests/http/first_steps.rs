//! What a server tells those who begin with it: what to try, where a key goes, and why an agent is not seen.

use crate::conversation::converse;
use crate::process::{Serving, address, command, log, new_key};
use crate::site::{Answer, HELLO, TOKENS, write};
use serde_json::json;

#[tokio::test]
async fn an_agent_that_a_caller_may_not_see_is_told_to_the_operator_alone() {
    let folder = tempfile::tempdir().unwrap();
    let private = (
        "assistants/alone/package.yao",
        r#"{"name": "Alone", "connector": "script"}"#,
    );
    for (name, text) in HELLO.iter().chain([&TOKENS, &private]) {
        write(&folder.path().join(name), text);
    }
    let key = new_key(&folder);
    let mut server = Serving(
        command(&folder, &["serve", ".", "--listen", "127.0.0.1:0"])
            .spawn()
            .unwrap(),
    );
    let log = log(&mut server.0);
    let (base, _) = address(&mut server.0);
    let body = json!({"model": "alone", "messages": [{"role": "user", "content": "hi"}]});
    let request = crate::site::client().post(format!("{base}/chat/completions"));
    let answer = Answer::of(request.bearer_auth(&key).json(&body)).await;
    assert_eq!(answer.status, 404, "{}", answer.text);
    assert!(!answer.text.contains("public"), "{}", answer.text);
    drop(server);
    let log = log.join().unwrap();
    assert!(
        log.contains("the agent exists, but the caller may not see it"),
        "{log}"
    );
    assert!(
        log.contains("so only callers without limits on data do"),
        "{log}"
    );
}

#[test]
fn a_chat_with_a_server_that_takes_keys_says_where_the_key_goes() {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in HELLO.iter().chain([&TOKENS]) {
        write(&folder.path().join(name), text);
    }
    let arguments = ["serve", ".", "--listen", "127.0.0.1:0"];
    let mut server = Serving(command(&folder, &arguments).spawn().unwrap());
    drop(log(&mut server.0));
    let (base, _) = address(&mut server.0);
    let chat = |token: &str| {
        let mut chat = command(&folder, &["chat", "hello", "--url", &base]);
        let ended = converse(chat.env("AMBIT_TOKEN", token), "hi\n");
        String::from_utf8(ended.stderr).unwrap()
    };
    let without = "the server answers nobody whom it does not know; set AMBIT_TOKEN to a token or an API key for it\n";
    assert!(chat("").ends_with(without), "{}", chat(""));
    let wrong = chat("ambit_wrong");
    assert!(
        wrong.ends_with("; AMBIT_TOKEN holds what was sent\n"),
        "{wrong}"
    );
}

#[test]
fn what_is_to_be_tried_can_be_called_wherever_the_server_listens() {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in HELLO.iter().chain([&TOKENS]) {
        write(&folder.path().join("shop").join(name), text);
    }
    let arguments = ["serve", "shop", "--listen", "0.0.0.0:0"];
    let mut server = Serving(command(&folder, &arguments).spawn().unwrap());
    drop(log(&mut server.0));
    let (base, printed) = address(&mut server.0);
    assert!(base.starts_with("http://0.0.0.0:"), "{printed}");
    let called = base.replace("0.0.0.0", "127.0.0.1");
    let tried = format!("\ntry: curl -N {called}/chat/completions ");
    assert!(printed.contains(&tried), "{printed}");
    let key = "\na key: ambit keys new --user ann --app shop\n";
    assert!(printed.contains(key), "{printed}");
}

#[test]
fn an_agent_is_tried_beside_a_key_with_which_it_is_seen() {
    let private = (
        "assistants/alone/package.yao",
        r#"{"name": "Alone", "connector": "script"}"#,
    );
    let (hello, others) = (HELLO[1], [HELLO[0], HELLO[3], TOKENS, private]);
    for (files, tried, role) in [(&[hello][..], "hello", ""), (&[], "alone", " --role admin")] {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in others.iter().chain(files) {
            write(&folder.path().join(name), text);
        }
        let arguments = ["serve", ".", "--listen", "127.0.0.1:0"];
        let mut server = Serving(command(&folder, &arguments).spawn().unwrap());
        drop(log(&mut server.0));
        let (base, printed) = address(&mut server.0);
        let document = base.replace("/v1", "/openapi.json");
        assert!(
            printed.contains(&format!("routes: {document}\n")),
            "{printed}"
        );
        assert!(
            printed.contains(&format!("\"model\":\"{tried}\"")),
            "{printed}"
        );
        let key = format!("\na key: ambit keys new --user ann{role}\n");
        assert!(printed.contains(&key), "{printed}");
    }
}
