//! What stands for the other machines of `docs/guides/production.md`: databases of the configured server, and a proxy.

use std::ffi::OsString;
use std::io;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::thread;

/// Takes away what the third layout adds to the second.
const FORMER: &str = "SET search_path = ambit; \
     DROP FUNCTION drop_log, release, check_row_id, add_number, push_items, pop_item, tally; UPDATE layout SET version = 2";

/// Two databases of one server, which end with their test: one, and one whose name ends with `_copy`.
pub struct Databases {
    server: String,
    name: String,
}

impl Databases {
    /// Makes them on the server that tests use.
    pub fn make() -> Self {
        let server = std::env::var_os("TEST_POSTGRES_URL").unwrap();
        let made = Self {
            server: server.into_string().unwrap(),
            name: format!("t{:016x}", rand::random::<u64>()),
        };
        for name in made.names() {
            made.run(&made.server, &format!("CREATE DATABASE {name}"));
        }
        made
    }

    /// Makes of the first what the former version has left.
    pub fn give_former_layout(&self) {
        self.run(&self.address(), FORMER);
    }

    /// Where the first is.
    pub fn address(&self) -> String {
        let server = self.server.split('?').next().unwrap();
        let (server, _) = server.rsplit_once('/').unwrap();
        format!("{server}/{}", self.name)
    }

    /// The same without the password.
    pub fn shown_address(&self) -> String {
        match self.password() {
            Some(password) => self.address().replacen(&format!(":{password}@"), "@", 1),
            None => self.address(),
        }
    }

    pub fn password(&self) -> Option<&str> {
        let (_, rest) = self.server.split_once("//")?;
        let (user, _) = rest.rsplit_once('@')?;
        Some(user.split_once(':')?.1)
    }

    fn names(&self) -> [String; 2] {
        [self.name.clone(), format!("{}_copy", self.name)]
    }

    fn run(&self, database: &str, sql: &str) {
        let ran = psql(database, sql).output().unwrap();
        let said = String::from_utf8_lossy(&ran.stderr);
        assert!(ran.status.success(), "{sql}: {said}");
    }
}

impl Drop for Databases {
    fn drop(&mut self) {
        for name in self.names() {
            let sql = format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)");
            drop(psql(&self.server, &sql).output());
        }
    }
}

fn psql(database: &str, sql: &str) -> Command {
    let mut psql = Command::new("psql");
    psql.env("PATH", programs());
    psql.args(["--no-psqlrc", "--quiet", "--command", sql, database]);
    psql
}

/// A PATH with the program that is tested, and with those of PostgreSQL where Debian keeps them.
pub fn programs() -> OsString {
    let tested = Path::new(env!("CARGO_BIN_EXE_ambit")).parent().unwrap();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let versions = std::fs::read_dir("/usr/lib/postgresql");
    let versions = versions.into_iter().flatten().flatten();
    let folders = std::iter::once(tested.to_owned())
        .chain(std::env::split_paths(&path))
        .chain(versions.map(|version| version.path().join("bin")));
    std::env::join_paths(folders).unwrap()
}

/// Listens at a port that systems give to nobody who has not asked for it.
pub fn listener() -> TcpListener {
    loop {
        let port = 20_000 + rand::random::<u16>() % 12_000;
        if let Ok(listener) = TcpListener::bind(("127.0.0.1", port)) {
            return listener;
        }
    }
}

/// Joins each client to the next server that is there.
pub fn start_proxy(listener: TcpListener, servers: Vec<String>) {
    thread::spawn(move || {
        for (at, client) in listener.incoming().enumerate() {
            let in_turn = servers.iter().cycle().skip(at % servers.len());
            let mut in_turn = in_turn.take(servers.len());
            let server = in_turn.find_map(|server| TcpStream::connect(server).ok());
            if let (Ok(client), Some(server)) = (client, server) {
                pass_on(client.try_clone().unwrap(), server.try_clone().unwrap());
                pass_on(server, client);
            }
        }
    });
}

fn pass_on(mut from: TcpStream, mut to: TcpStream) {
    thread::spawn(move || {
        drop(io::copy(&mut from, &mut to));
        drop(to.shutdown(Shutdown::Write));
    });
}
