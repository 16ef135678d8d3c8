//! A private PostgreSQL server.

use super::programs::Programs;
use super::tls::Certificate;
use super::{Folder, Private, free_port};
use crate::process::{Result, cannot_start};
use std::fs::File;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Starts it with its defaults (every commit synced), reachable on 127.0.0.1 alone; answers when it takes connections.
pub fn start(
    programs: &Programs,
    folder: &Folder,
    certificate: Option<&Certificate>,
) -> Result<(Private, String)> {
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
        command.args(["-c", "ssl=on"]);
        for (setting, file) in [
            ("ssl_cert_file", &certificate.chain),
            ("ssl_key_file", &certificate.key),
        ] {
            command.arg("-c");
            command.arg(format!("{setting}={}", file.display()));
        }
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
    let url = format!("postgres://postgres@127.0.0.1:{port}/postgres");
    Ok((server, url))
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

/// The account the server runs as: PostgreSQL refuses to be root.
struct Account(Option<(u32, u32)>);

impl Account {
    fn for_server(user: u32) -> Result<Self> {
        if user != 0 {
            return Ok(Self(None));
        }
        let accounts = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
        let found = ["postgres", "nobody"]
            .iter()
            .find_map(|name| ids(&accounts, name));
        match found {
            Some(ids) => Ok(Self(Some(ids))),
            None => Err("PostgreSQL refuses to run as root, and there is no account \"postgres\" or \"nobody\"; \
                         run this command as an ordinary user"
                .to_owned()),
        }
    }

    fn own(&self, path: &Path) -> std::io::Result<()> {
        match self.0 {
            Some((user, group)) => chown(path, Some(user), Some(group)),
            None => Ok(()),
        }
    }

    fn run(&self, program: &Path, folder: &Folder) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&folder.path);
        if let Some((user, group)) = self.0 {
            command.uid(user).gid(group);
        }
        command
    }
}

/// The user's and group's numbers of an account in a passwd file.
fn ids(accounts: &str, name: &str) -> Option<(u32, u32)> {
    let mut lines = accounts.lines().map(|line| line.split(':'));
    let mut fields =
        lines.find_map(|mut fields| (fields.next() == Some(name)).then_some(fields))?;
    fields.next();
    Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
}

/// True where the server accepts a session: it answers the first message of the protocol with something else than an error.
fn answers(port: u16) -> std::io::Result<bool> {
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

#[cfg(test)]
mod tests {
    use super::ids;

    #[test]
    fn an_account_is_found_by_its_whole_name() {
        let accounts = "root:x:0:0::/root:/bin/sh\npostgres2:x:7:7:::\npostgres:x:101:104:PostgreSQL:/var:/bin/sh\n";
        assert_eq!(ids(accounts, "postgres"), Some((101, 104)));
        assert_eq!(ids(accounts, "nobody"), None);
    }
}
