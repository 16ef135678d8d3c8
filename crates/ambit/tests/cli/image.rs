//! The app of the container image.

use crate::app::{repository, talk};
use crate::place::{Place, Ran, Serving, told};
use std::process::Command;

/// The welcome app as the image has it.
fn place_with_app() -> Place {
    let place = Place::new();
    std::fs::create_dir(place.path("app")).unwrap();
    for folder in ["examples/welcome/.", "dist/image/app/."] {
        let mut copy = Command::new("cp");
        copy.arg("-R")
            .arg(repository(folder))
            .arg(place.path("app"));
        assert!(copy.status().unwrap().success());
    }
    place
}

#[test]
fn it_is_without_fault() {
    let ran = place_with_app().run_as(&["check", "app"]);
    let clean = Ran::printed("nothing is broken: 0 errors, 0 warnings, 0 notices\n");
    assert_eq!(ran, clean);
}

#[test]
fn it_is_served_beyond_this_machine_to_those_who_have_a_key() {
    let place = place_with_app();
    let serve = ["serve", "app", "--listen", "0.0.0.0:0", "--log", "error"];
    let server = Serving::of(place.command(&serve));
    let address = server.base.trim_end_matches("/v1");
    let port = address.rsplit(':').next().unwrap();
    let url = format!("http://127.0.0.1:{port}");

    let mut health = place.command(&["health"]);
    health.env("AMBIT_LISTEN", format!("0.0.0.0:{port}"));
    let ran = told(health.output().unwrap());
    assert_eq!(ran, Ran::printed(&format!("{url} is ready\n")));

    let key = place.run_as(&["--data", "app", "keys", "new", "--user", "ann"]);
    let ask = |key: &str| {
        let mut chat = place.command(&["chat", "welcome", "--url", &url]);
        chat.env("AMBIT_TOKEN", key);
        talk(chat, "Hello\n")
    };
    let answered = ask(key.out.trim());
    assert!(answered.out.starts_with("Hello! "), "{answered:?}");
    let refused = ask("");
    assert!(refused.out.trim().is_empty(), "{refused:?}");
    assert!(refused.err.contains("set AMBIT_TOKEN"), "{refused:?}");
}

#[test]
fn it_is_what_is_served_in_its_folder() {
    let place = place_with_app();
    // The program's own app is not served beyond this machine.
    let mut serve = place.command(&["serve", "--listen", "0.0.0.0:0", "--log", "error"]);
    serve.current_dir(place.path("app"));
    let server = Serving::of(serve);
    let base = server.base.as_str();
    assert!(base.starts_with("http://0.0.0.0:"), "{base}");
}
