//! A server that speaks HTTPS by itself.

use crate::conversation::converse;
use crate::process::{Serving, address, command, run};
use crate::site::{HELLO, Stream, TOKENS, client, write};
use crate::turns::{status, streamed};
use reqwest::tls::{Certificate, TlsInfo};
use reqwest::{Client, Url};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use serde_json::json;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Command;
use std::sync::mpsc::{Receiver, channel};
use tempfile::TempDir;

const AUTHORITY: &str = include_str!("tls/authority.pem");
/// Certificates and their keys.
const FIRST: [&str; 2] = [
    include_str!("tls/first.pem"),
    include_str!("tls/first.key.pem"),
];
const SECOND: [&str; 2] = [
    include_str!("tls/second.pem"),
    include_str!("tls/second.key.pem"),
];
const SERVE: [&str; 8] = [
    "serve",
    ".",
    "--tls-cert",
    "server.pem",
    "--tls-key",
    "server.key.pem",
    "--listen",
    "127.0.0.1:0",
];

fn put(folder: &Path, [certificate, key]: [&str; 2]) {
    write(&folder.join("server.pem"), certificate);
    write(&folder.join("server.key.pem"), key);
}

/// The app that everybody may use, with more files, and with this certificate and key beside it.
fn app(files: &[(&str, &str)], pair: [&str; 2]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in HELLO.iter().chain(files) {
        write(&folder.path().join(name), text);
    }
    put(folder.path(), pair);
    folder
}

/// A client that trusts the authority of these tests alone, over connections of its own.
fn trusting() -> Client {
    // Whoever has made a client before has chosen what encrypts.
    drop(client());
    let authority = Certificate::from_pem(AUTHORITY.as_bytes()).unwrap();
    let client = Client::builder().tls_certs_only([authority]);
    client.tls_info(true).build().unwrap()
}

/// The certificate that a new connection to this address is shown.
async fn certificate(base: &str) -> Vec<u8> {
    let url = Url::parse(base).unwrap().join("/healthz").unwrap();
    let answer = trusting().get(url).send().await.unwrap();
    assert_eq!(answer.status().as_u16(), 200);
    let shown = answer.extensions().get::<TlsInfo>().unwrap();
    shown.peer_certificate().unwrap().to_vec()
}

fn der([certificate, _]: [&str; 2]) -> Vec<u8> {
    let read = CertificateDer::from_pem_slice(certificate.as_bytes());
    read.unwrap().to_vec()
}

/// The lines of a server's log, as they come.
fn lines(server: &mut Serving) -> Receiver<String> {
    let errors = BufReader::new(server.0.stderr.take().unwrap());
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for line in errors.lines() {
            // The rest is read too, so that the server never waits for its reader.
            let _ = sender.send(line.unwrap());
        }
    });
    receiver
}

fn hang_up(server: &Serving) {
    let id = server.0.id().to_string();
    let told = Command::new("kill").args(["-HUP", &id]).status();
    assert!(told.unwrap().success());
}

#[tokio::test]
async fn a_new_certificate_is_for_new_connections_and_one_that_is_wrong_for_none() {
    let folder = app(&[], FIRST);
    let mut server = Serving(command(&folder, &SERVE).spawn().unwrap());
    let log = lines(&mut server);
    let (base, printed) = address(&mut server.0);
    assert!(base.starts_with("https://127.0.0.1:"), "{printed}");
    assert!(
        printed.contains("routes: https://") && printed.contains("curl -N https://"),
        "{printed}"
    );
    assert_eq!(certificate(&base).await, der(FIRST));
    let asked = trusting().post(format!("{base}/chat/completions"));
    let mut open = Stream::of(asked.json(&streamed("go on slowly"))).await;
    open.until(|data| data["type"] == "text").await;
    put(folder.path(), SECOND);
    hang_up(&server);
    while certificate(&base).await != der(SECOND) {}
    assert_eq!(status(&open.rest().await), json!("completed"));
    // A key that is another one's is told, and the server goes on.
    put(folder.path(), [FIRST[0], SECOND[1]]);
    hang_up(&server);
    let told = log
        .iter()
        .find(|line| line.contains("goes on with the certificate"));
    assert!(told.unwrap().contains("server.key.pem"));
    assert_eq!(certificate(&base).await, der(SECOND));
}

#[test]
fn a_server_does_not_begin_with_a_key_that_is_not_its_certificate_s() {
    for (pair, message) in [
        (
            [FIRST[0], SECOND[1]],
            "server.pem and server.key.pem are no certificate and its key",
        ),
        (
            [FIRST[1], FIRST[1]],
            "server.pem cannot be used: there is no certificate",
        ),
        ([FIRST[0], FIRST[0]], "server.key.pem cannot be used"),
    ] {
        let ended = run(&app(&[], pair), &SERVE);
        let told = String::from_utf8(ended.stderr).unwrap();
        assert!(
            !ended.status.success() && told.contains(message),
            "{message}: {told}"
        );
        assert!(!told.contains("PRIVATE"), "{told}");
    }
    let halves = [&SERVE[..4], &SERVE[6..]].concat();
    let ended = run(&app(&[], FIRST), &halves);
    let told = String::from_utf8(ended.stderr).unwrap();
    assert!(told.contains("--tls-cert needs its key"), "{told}");
}

#[tokio::test]
async fn a_cookie_of_an_encrypted_server_is_sent_over_encrypted_connections_alone() {
    let folder = app(&[TOKENS], FIRST);
    let mut server = Serving(command(&folder, &SERVE).spawn().unwrap());
    drop(lines(&mut server));
    let (base, _) = address(&mut server.0);
    let token = crate::auth::token(&json!({"sub": "ann"}));
    let asked = trusting().post(format!("{base}/session"));
    let asked = asked.header("x-ambit-console", "1").bearer_auth(token);
    let answer = asked.send().await.unwrap();
    assert_eq!(answer.status().as_u16(), 201);
    let cookie = answer.headers()["set-cookie"].to_str().unwrap();
    assert!(
        cookie.starts_with("__Host-ambit-") && cookie.contains("; Secure"),
        "{cookie}"
    );
}

/// What `ambit chat` says of the server at this address, where it trusts the authority in this file, or else the system's.
fn chat(folder: &TempDir, base: &str, authority: Option<&Path>) -> String {
    let mut chat = command(folder, &["chat", "hello", "--url", base]);
    if let Some(authority) = authority {
        chat.env("SSL_CERT_FILE", authority);
    }
    let ended = converse(&mut chat, "hi\n");
    assert!(!ended.status.success(), "{ended:?}");
    String::from_utf8(ended.stderr).unwrap()
}

#[test]
fn a_conversation_says_what_is_wrong_with_the_certificate_of_its_server() {
    let folder = app(&[], FIRST);
    let authority = folder.path().join("authority.pem");
    write(&authority, AUTHORITY);
    let nobody = folder.path().join("nobody.pem");
    write(&nobody, "");
    for (listen, authority, why) in [
        ("127.0.0.1:0", None, "UnknownIssuer"),
        ("127.0.0.1:0", Some(nobody.as_path()), "UnknownIssuer"),
        (
            "127.0.0.2:0",
            Some(authority.as_path()),
            "not valid for name \"127.0.0.2\"",
        ),
    ] {
        let serve = [&SERVE[..7], &[listen]].concat();
        let mut server = Serving(command(&folder, &serve).spawn().unwrap());
        drop(lines(&mut server));
        let (base, _) = address(&mut server.0);
        let told = chat(&folder, &base, authority);
        let certificate = told.split("invalid peer certificate: ").nth(1);
        let certificate = certificate.unwrap_or_else(|| panic!("{told}"));
        assert!(certificate.contains(why), "{told}");
        assert!(certificate.contains("SSL_CERT_FILE"), "{told}");
    }
}

#[test]
fn the_health_of_an_encrypted_server_is_told_on_its_own_machine_and_to_who_trusts_its_authority() {
    let folder = app(&[], FIRST);
    write(&folder.path().join("authority.pem"), AUTHORITY);
    write(&folder.path().join("empty.pem"), "");
    let mut server = Serving(command(&folder, &SERVE).spawn().unwrap());
    drop(lines(&mut server));
    let (base, _) = address(&mut server.0);
    let url = base.trim_end_matches("/v1");
    let ready = format!("{url} is ready\n");
    let said = |asked: &mut Command| {
        let asked = asked.output().unwrap();
        let text = [asked.stdout, asked.stderr].concat();
        (asked.status.success(), String::from_utf8(text).unwrap())
    };
    let mut own = command(&folder, &["health"]);
    own.env("AMBIT_LISTEN", url.trim_start_matches("https://"));
    own.env("AMBIT_TLS_CERT", "server.pem");
    assert_eq!(said(&mut own), (true, ready.clone()));
    for trusting in [&["--ca", "authority.pem"][..], &["--insecure"]] {
        let mut health = command(&folder, &[&["health", url], trusting].concat());
        assert_eq!(said(&mut health), (true, ready.clone()), "{trusting:?}");
    }
    let (is_ready, told) = said(&mut command(&folder, &["health", url]));
    assert!(!is_ready && told.contains("its signer with --ca"), "{told}");
    let (is_ready, told) = said(&mut command(&folder, &["health", url, "--ca", "empty.pem"]));
    let expected =
        "ambit: --ca names empty.pem, which holds none; name a file of certificates (PEM)\n";
    assert_eq!((is_ready, told.as_str()), (false, expected));
}
