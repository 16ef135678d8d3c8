//! A private pgbouncer in front of the PostgreSQL server: it lends connections for the length of a transaction.

use super::account::Account;
use super::programs::Programs;
use super::{Folder, Private, free_port, postgres};
use crate::process::{Result, cannot_start};
use std::fs::File;
use std::process::Stdio;

/// Starts it on 127.0.0.1; answers when it takes connections. Few connections of the server, so that clients share them.
pub fn start(programs: &Programs, folder: &Folder, server: u16) -> Result<(Private, u16)> {
    let port = free_port()?;
    let settings = format!(
        "[databases]\npostgres = host=127.0.0.1 port={server} user=postgres\n\
         [pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\n\
         auth_type = any\npool_mode = transaction\nmax_client_conn = 2000\ndefault_pool_size = 24\n"
    );
    let path = folder.path.join("pgbouncer.ini");
    std::fs::write(&path, settings).map_err(|error| format!("{}: {error}", path.display()))?;
    let log = folder.path.join("pgbouncer.log");
    let file = File::create(&log).map_err(|error| format!("{}: {error}", log.display()))?;
    let mut command = Account::for_server(folder.user)?.run(&programs.pgbouncer, folder);
    let child = command
        .arg(&path)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(file)
        .spawn()
        .map_err(|error| cannot_start(&command, &error))?;
    let pgbouncer = Private {
        name: "pgbouncer",
        child,
        stop: "-TERM",
    };
    let pgbouncer = pgbouncer.wait(&log, || postgres::answers(port).unwrap_or(false))?;
    Ok((pgbouncer, port))
}
