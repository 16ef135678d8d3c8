//! What is too large to be looked at costs whoever is asked to look at it little, however it comes.

#![cfg(target_os = "linux")]

use crate::place::Place;
use serde_json::{Value, json};
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};

const TEN_GIGABYTES: usize = 10 << 30;
const PIECE: usize = 64 << 10;
/// As large as a file may be.
const LARGEST: usize = 64 << 20;
/// So much may the server grow, whatever it is sent.
const GROWTH: usize = 64_000_000;

/// A server that is stopped with the test.
struct Server {
    process: Child,
    address: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// How a body says how long it is.
#[derive(Clone, Copy, Debug)]
enum BodyLength {
    Announced,
    Chunked,
}

/// An app with a file of ten gigabytes, which takes no room on the disk, among the documents of a collection.
fn app() -> Place {
    let place = Place::new();
    assert_eq!(place.run_as(&["new", "shop"]).code, 0);
    place.make_store("shop/ambit.db");
    for folder in ["shop/kb", "shop/docs"] {
        fs::create_dir_all(place.path(folder)).unwrap();
    }
    let rules = json!({"documents": ["docs/*"], "public": true});
    fs::write(place.path("shop/kb/rules.kb.yao"), rules.to_string()).unwrap();
    fs::write(place.path("shop/docs/tea.md"), "Green tea.").unwrap();
    let large = File::create(place.path("shop/docs/large.txt")).unwrap();
    large.set_len(TEN_GIGABYTES as u64).unwrap();
    place
}

impl Server {
    fn start(place: &Place) -> Self {
        let arguments = [
            "serve",
            "shop",
            "--dev",
            "--listen",
            "127.0.0.1:0",
            "--log",
            "off",
        ];
        let mut process = place
            .command(&arguments)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut greeting = String::new();
        let mut printed = BufReader::new(process.stdout.as_mut().unwrap());
        printed.read_line(&mut greeting).unwrap();
        let address = greeting.trim_end().trim_end_matches("/v1");
        let address = address.rsplit('/').next().unwrap().to_owned();
        Self { process, address }
    }

    /// The most memory that it has had.
    fn peak(&self) -> usize {
        peak_memory(self.process.id()).unwrap()
    }

    fn connect(&self) -> TcpStream {
        TcpStream::connect(&self.address).unwrap()
    }

    /// The status and the JSON of an answer to a request with this body.
    fn send(&self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let body = match body {
            Value::Null => String::new(),
            body => body.to_string(),
        };
        let head = format!(
            "{method} /v1{path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            self.address,
            body.len()
        );
        let mut line = self.connect();
        line.write_all(format!("{head}{body}").as_bytes()).unwrap();
        let mut answer = String::new();
        line.read_to_string(&mut answer).unwrap();
        let body = answer.split_once("\r\n\r\n").unwrap().1;
        (status(&answer), serde_json::from_str(body).unwrap())
    }

    /// The status of the answer to a form with a file of ten gigabytes, of which no more is made than the server takes.
    fn upload(&self, length: BodyLength) -> u16 {
        let begin =
            "--x\r\ncontent-disposition: form-data; name=\"file\"; filename=\"a.txt\"\r\n\r\n";
        let how = match length {
            BodyLength::Announced => format!("content-length: {}", begin.len() + TEN_GIGABYTES),
            BodyLength::Chunked => "transfer-encoding: chunked".to_owned(),
        };
        let head = format!(
            "POST /v1/kb/collections/c/documents HTTP/1.1\r\nhost: {}\r\n{how}\r\ncontent-type: multipart/form-data; boundary=x\r\n\r\n",
            self.address
        );
        let mut line = self.connect();
        let answer = BufReader::new(line.try_clone().unwrap());
        let sending = std::thread::spawn(move || {
            line.write_all(head.as_bytes())?;
            send_piece(&mut line, begin.as_bytes(), length)?;
            let text = b"text ".repeat(PIECE / 5);
            (0..TEN_GIGABYTES / text.len()).try_for_each(|_| send_piece(&mut line, &text, length))
        });
        let mut lines = answer.lines();
        let first = lines.next().unwrap().unwrap();
        // The server hears no more of it before all is sent.
        assert!(sending.join().unwrap().is_err());
        status(&first)
    }
}

impl Server {
    /// Adds the largest file that is accepted; the status and the JSON of the answer.
    fn add_largest(&self) -> (u16, Value) {
        let begin =
            "--x\r\ncontent-disposition: form-data; name=\"file\"; filename=\"a.txt\"\r\n\r\n";
        let end = "\r\n--x--\r\n";
        let length = begin.len() + LARGEST + end.len();
        let head = format!(
            "POST /v1/kb/collections/c/documents HTTP/1.1\r\nhost: {}\r\nconnection: close\r\ncontent-length: {length}\r\ncontent-type: multipart/form-data; boundary=x\r\n\r\n",
            self.address
        );
        let mut line = self.connect();
        line.write_all(format!("{head}{begin}").as_bytes()).unwrap();
        let text = b"some text with words \n".repeat(PIECE);
        let mut left = LARGEST;
        while left > 0 {
            let piece = &text[..text.len().min(left)];
            line.write_all(piece).unwrap();
            left -= piece.len();
        }
        line.write_all(end.as_bytes()).unwrap();
        let mut answer = String::new();
        line.read_to_string(&mut answer).unwrap();
        let body = answer.split_once("\r\n\r\n").unwrap().1;
        (status(&answer), serde_json::from_str(body).unwrap())
    }
}

/// The most bytes of memory that a process has had, while it runs.
fn peak_memory(process: u32) -> Option<usize> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kilobytes: usize = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes << 10)
}

fn send_piece(line: &mut TcpStream, piece: &[u8], length: BodyLength) -> std::io::Result<()> {
    match length {
        BodyLength::Announced => line.write_all(piece),
        BodyLength::Chunked => {
            let size = format!("{:x}\r\n", piece.len());
            line.write_all(&[size.as_bytes(), piece, b"\r\n"].concat())
        }
    }
}

fn status(answer: &str) -> u16 {
    answer.split(' ').nth(1).unwrap().parse().unwrap()
}

#[test]
fn g207_ten_gigabytes_of_text_are_refused_and_cost_the_server_little() {
    let place = app();
    let server = Server::start(&place);
    let made = server.send("POST", "/kb/collections", &json!({"id": "c"}));
    assert_eq!(made.0, 201, "{made:?}");
    let tea = json!({"text": "A heron drinks tea.", "name": "a.md", "doc_id": "small"});
    let added = server.send("POST", "/kb/collections/c/documents/text", &tea);
    assert_eq!(added.0, 200, "{added:?}");
    let before = server.peak();
    for length in [BodyLength::Announced, BodyLength::Chunked] {
        assert_eq!(server.upload(length), 413, "{length:?}");
        let grown = server.peak().saturating_sub(before);
        let most = match length {
            BodyLength::Announced => GROWTH / 5,
            BodyLength::Chunked => GROWTH,
        };
        assert!(grown < most, "{length:?}: {grown} bytes");
    }
    let query = json!({"query": "tea", "collections": ["c", "rules"]});
    let (_, found) = server.send("POST", "/kb/search", &query);
    let items = found["items"].as_array().unwrap().iter();
    let mut ids: Vec<&str> = items
        .map(|item| item["document_id"].as_str().unwrap())
        .collect();
    ids.sort_unstable();
    assert_eq!(ids, ["rules:docs/tea.md", "small"]);
    for collection in ["c", "rules"] {
        let path = format!("/kb/collections/{collection}/documents");
        let (_, listed) = server.send("GET", &path, &Value::Null);
        assert_eq!(listed["total"], 1, "{listed}");
    }
}

#[test]
fn g207_the_largest_upload_is_never_whole_in_the_servers_memory() {
    let place = app();
    let server = Server::start(&place);
    let made = server.send("POST", "/kb/collections", &json!({"id": "c"}));
    assert_eq!(made.0, 201, "{made:?}");
    let tea = json!({"text": "A heron drinks tea.", "name": "a.md", "doc_id": "small"});
    let added = server.send("POST", "/kb/collections/c/documents/text", &tea);
    assert_eq!(added.0, 200, "{added:?}");
    let before = server.peak();
    let (status, added) = server.add_largest();
    assert_eq!(status, 202, "{added}");
    let document = added["documents"][0]["document_id"].as_str().unwrap();
    let path = format!("/kb/documents/{document}");
    let ended = loop {
        let (_, now) = server.send("GET", &path, &Value::Null);
        if ["ready", "failed"].contains(&now["status"].as_str().unwrap()) {
            break now;
        }
    };
    // It has more text than a document may have.
    assert_eq!(ended["status"], "failed", "{ended}");
    assert_eq!(ended["bytes"], LARGEST);
    let grown = server.peak().saturating_sub(before);
    assert!(grown < GROWTH, "{grown} bytes");
}

#[test]
fn g207_a_file_that_is_too_large_is_not_read_by_the_command_line() {
    let place = app();
    let add = [
        "kb",
        "add",
        "docs",
        "shop/docs/tea.md",
        "shop/docs/large.txt",
        "--app",
        "shop",
    ];
    let refused = place.run_as(&add);
    assert_eq!(refused.code, 1, "{refused:?}");
    let expected = "shop/docs/large.txt has more than 67108864 bytes (ambit.search.limits.file): nothing was added\n";
    assert!(refused.err.ends_with(expected), "{}", refused.err);
}

/// The most memory that a command has had at its end, which must be a good one.
fn peak_of(place: &Place, arguments: &[&str]) -> usize {
    let mut process = place.command(arguments).spawn().unwrap();
    let mut peak = 0;
    loop {
        // One that has ended has no memory to tell of.
        peak = peak.max(peak_memory(process.id()).unwrap_or(0));
        if let Some(status) = process.try_wait().unwrap() {
            assert!(status.success(), "{arguments:?}: {status}");
            return peak;
        }
        std::thread::yield_now();
    }
}

#[test]
fn g207_the_largest_file_is_never_whole_in_the_memory_of_the_command_line() {
    let place = app();
    let text = b"some text with words \n".repeat(LARGEST / 22);
    fs::write(place.path("largest.txt"), text).unwrap();
    let add = |file| peak_of(&place, &["kb", "add", "docs", file, "--app", "shop"]);
    // It may end before it was looked at.
    let small = (0..5).map(|_| add("shop/docs/tea.md")).max().unwrap();
    let grown = add("largest.txt").saturating_sub(small);
    assert!(small > 0 && grown < GROWTH, "{grown} bytes");
}
