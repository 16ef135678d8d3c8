//! A private Redis server.

use super::programs::Programs;
use super::{Folder, Private, free_port};
use crate::process::{Result, cannot_start};
use std::fs::File;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Starts it with an append-only file, reachable on 127.0.0.1 alone; answers when it answers.
pub fn start(programs: &Programs, folder: &Folder) -> Result<(Private, String)> {
    let port = free_port()?;
    let log = folder.path.join("redis.log");
    let file = File::create(&log).map_err(|error| format!("{}: {error}", log.display()))?;
    let mut command = Command::new(&programs.redis);
    command
        .args(["--port", &port.to_string(), "--bind", "127.0.0.1"])
        .args(["--appendonly", "yes", "--save", "", "--dir"])
        .arg(&folder.path);
    let child = command
        .stdin(Stdio::null())
        .stdout(file)
        .spawn()
        .map_err(|error| cannot_start(&command, &error))?;
    let server = Private {
        name: "Redis",
        child,
        stop: "-KILL",
    };
    let server = server.wait(&log, || answers(port).unwrap_or(false))?;
    Ok((server, format!("redis://127.0.0.1:{port}/0")))
}

fn answers(port: u16) -> std::io::Result<bool> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(Duration::from_secs(2)))?;
    stream.write_all(b"PING\r\n")?;
    let mut answer = [0; 5];
    stream.read_exact(&mut answer)?;
    Ok(answer == *b"+PONG")
}
