//! Whether a server is ready, from the command line.

use crate::app::talk;
use crate::place::{Place, Ran, told};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::thread::{JoinHandle, spawn};

/// Answers one request with this status; tells what was asked for.
fn answers(status: &'static str) -> (SocketAddr, JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let answering = spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let lines = BufReader::new(stream.try_clone().unwrap()).lines();
        let mut head = lines.map(Result::unwrap);
        let asked = head.next().unwrap();
        assert!(head.any(|line| line.is_empty()));
        let answer = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
        stream.write_all(answer.as_bytes()).unwrap();
        asked
    });
    (address, answering)
}

#[test]
fn a_server_that_is_ready_is_asked_under_its_address() {
    let (address, answering) = answers("200 OK");
    let url = format!("http://{address}");
    let ran = Place::new().run_as(&["health", &format!("{url}/")]);
    assert_eq!(ran, Ran::printed(&format!("{url}/ is ready\n")));
    assert_eq!(answering.join().unwrap(), "GET /readyz HTTP/1.1");
}

#[test]
fn the_server_of_the_environment_is_asked_on_this_machine() {
    let (address, answering) = answers("200 OK");
    let place = Place::new();
    let mut health = place.command(&["health"]);
    health.env("AMBIT_LISTEN", format!("0.0.0.0:{}", address.port()));
    health.env("http_proxy", "http://127.0.0.1:1");
    let ran = told(health.output().unwrap());
    assert_eq!(ran, Ran::printed(&format!("http://{address} is ready\n")));
    answering.join().unwrap();
}

#[test]
fn a_server_that_cannot_work_is_not_ready() {
    let (address, answering) = answers("503 Service Unavailable");
    let url = format!("http://{address}");
    let ran = Place::new().run_as(&["health", &url]);
    let expected = format!("{url} is not ready: it answers 503 Service Unavailable");
    assert_eq!(ran, Ran::refused(&expected));
    answering.join().unwrap();
}

#[test]
fn where_another_path_is_named_the_server_alone_is_asked_for() {
    let (address, answering) = answers("404 Not Found");
    let url = format!("http://{address}/v1");
    let ran = Place::new().run_as(&["health", &url]);
    let advice = "; name the server alone, as http://127.0.0.1:8080";
    let expected = format!("{url} is not ready: it answers 404 Not Found{advice}");
    assert_eq!(ran, Ran::refused(&expected));
    answering.join().unwrap();
}

/// Says this to whoever says something, until that one goes.
fn says(answer: &'static [u8]) -> (SocketAddr, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let saying = spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        assert!(stream.read(&mut [0; 16384]).unwrap() > 0);
        stream.write_all(answer).unwrap();
        // Whoever does not understand may leave without a word.
        let _ = stream.read_to_end(&mut Vec::new());
    });
    (address, saying)
}

#[test]
fn who_asks_over_the_wrong_one_of_http_and_https_is_told_the_other() {
    let alert = b"\x15\x03\x03\x00\x02\x02\x46";
    let plain = b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n";
    for (scheme, answer, advice) in [
        (
            "http",
            &alert[..],
            "; if the server speaks HTTPS, write https://",
        ),
        (
            "https",
            &plain[..],
            "; if the server speaks plain HTTP, write http://",
        ),
    ] {
        let (address, saying) = says(answer);
        let ran = Place::new().run_as(&["health", &format!("{scheme}://{address}")]);
        assert_eq!((ran.code, ran.out.as_str()), (1, ""));
        assert!(ran.err.trim_end().ends_with(advice), "{}", ran.err);
        saying.join().unwrap();
    }
}

#[test]
fn where_no_server_listens_none_is_ready() {
    let url = "http://127.0.0.1:1".to_owned();
    let ran = Place::new().run_as(&["health", &url]);
    assert_eq!((ran.code, ran.out.as_str()), (1, ""));
    let expected = format!("ambit: {url} is not ready: ");
    assert!(ran.err.starts_with(&expected), "{}", ran.err);
    let advice = "; start it with `ambit serve`, or name where it listens";
    assert!(ran.err.trim_end().ends_with(advice), "{}", ran.err);
    let place = Place::new();
    let ran = talk(place.command(&["chat", "hello", "--url", &url]), "hello\n");
    assert!(
        ran.err.contains("the server cannot be reached: "),
        "{ran:?}"
    );
    assert!(ran.err.contains(advice), "{ran:?}");
}

#[test]
fn what_is_no_address_is_refused_with_how_to_write_one() {
    for url in [
        "127.0.0.1:8080",
        "localhost:8080",
        "ftp://localhost",
        "http://",
    ] {
        let expected =
            format!("\"{url}\" is no address of a server; write it as http://127.0.0.1:8080");
        for command in [&["health", url][..], &["chat", "hello", "--url", url]] {
            let ran = Place::new().run_as(command);
            assert_eq!(ran, Ran::refused(&expected), "{command:?}");
        }
    }
}
