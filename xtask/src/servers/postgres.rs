//! A private PostgreSQL server.

use super::account::Account;
use super::programs::Programs;
use super::tls::Certificate;
use super::{Folder, Private, free_port};
use crate::process::{Result, cannot_start};
use std::fs::File;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Stdio;
use std::time::Duration;

/// Starts it with its defaults (every commit synced), reachable on 127.0.0.1 alone; answers when it takes connections.
pub fn start(
    programs: &Programs,
    folder: &Folder,
    certificate: Option<&Certificate>,
) -> Result<(Private, u16)> {
    let data = folder.path.join("postgres");
    let account = Account::for_server(folder.user)?;
    std::fs::create_dir(&data)
        .and_then(|()| account.own(&data))
        .map_err(|error| format!("cannot make {}: {error}", data.display()))?;
    let mut initdb = account.run(&programs.initdb, folder);
    initdb.arg("-D").arg(&data).args(INITDB);
    let output = initdb
        .output()
        .map_err(|error| cannot_start(&initdb, &error))?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr);
        return Err(format!("initdb failed: {}", text.trim()));
    }

    let port = free_port()?;
    let log = folder.path.join("postgres.log");
    let file = File::create(&log).map_err(|error| format!("{}: {error}", log.display()))?;
    let mut command = account.run(&programs.postgres, folder);
    command.arg("-D").arg(&data).args(["-p", &port.to_string()]);
    for setting in SETTINGS {
        command.args(["-c", setting]);
    }
    if let Some(certificate) = certificate {
        let key = account.own(&certificate.key);
        key.map_err(|error| format!("cannot give away a key: {error}"))?;
        command.args(certificate.settings());
    }
    let child = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(file)
        .spawn()
        .map_err(|error| cannot_start(&command, &error))?;
    let server = Private {
        name: "PostgreSQL",
        child,
        stop: "-QUIT",
    };
    let server = server.wait(&log, || answers(port).unwrap_or(false))?;
    Ok((server, port))
}

/// How PostgreSQL at this port, or what stands in front of it, is called.
pub fn url(port: u16) -> String {
    format!("postgres://postgres@127.0.0.1:{port}/postgres")
}

const INITDB: &[&str] = &[
    "-U",
    "postgres",
    "-A",
    "trust",
    "-E",
    "UTF8",
    "--no-locale",
    "-N",
];

const SETTINGS: &[&str] = &[
    "listen_addresses=127.0.0.1",
    "unix_socket_directories=",
    "max_connections=300",
];

/// True where the server accepts a session: it answers the first message of the protocol with something else than an error.
pub fn answers(port: u16) -> std::io::Result<bool> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(Duration::from_secs(2)))?;
    let parameters = b"user\0postgres\0database\0postgres\0\0";
    let length = u32::try_from(8 + parameters.len()).unwrap_or_default();
    stream.write_all(&length.to_be_bytes())?;
    stream.write_all(&0x0003_0000_u32.to_be_bytes())?;
    stream.write_all(parameters)?;
    let mut kind = [0];
    stream.read_exact(&mut kind)?;
    Ok(kind != *b"E")
}
