//! What a store holds, read past its driver.

use std::path::Path;
use tokio_postgres::NoTls;

/// Stores that can be looked into.
#[derive(Clone, Copy)]
pub enum StoreKind {
    Sqlite,
    File,
    Postgres,
    Redis,
}

impl StoreKind {
    /// The address of a fresh one, whose files lie in this folder if it has any.
    pub fn address(self, folder: &Path) -> String {
        let folder = folder.display();
        match self {
            Self::Sqlite => format!("sqlite:{folder}/ambit.db"),
            Self::File => format!("file:{folder}"),
            Self::Postgres => on_server("TEST_POSTGRES_URL", "ambit_schema"),
            Self::Redis => on_server("TEST_REDIS_URL", "ambit_prefix"),
        }
    }

    /// All names and contents of the one with this address.
    pub async fn bytes(self, address: &str, folder: &Path) -> Vec<u8> {
        match self {
            Self::Sqlite | Self::File => bytes_of_files(folder),
            Self::Postgres => bytes_of_tables(address).await,
            Self::Redis => bytes_of_keys(address).await,
        }
    }
}

/// A part of its own of the server that the variable names.
fn on_server(variable: &str, parameter: &str) -> String {
    let server = std::env::var_os(variable);
    let server =
        server.unwrap_or_else(|| panic!("{variable} is not set, which `cargo xtask test` does"));
    let server = server.into_string().unwrap();
    let join = if server.contains('?') { '&' } else { '?' };
    let part = rand::random::<u64>();
    format!("{server}{join}{parameter}=e{part:016x}")
}

/// The server of such an address, and what its part is called.
fn split(address: &str) -> (&str, &str) {
    let (server, parameter) = address.rsplit_once(['?', '&']).unwrap();
    (server, parameter.split_once('=').unwrap().1)
}

fn bytes_of_files(folder: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    // A folder may have gone since it was listed.
    for entry in std::fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        bytes.extend(path.as_os_str().as_encoded_bytes());
        bytes.extend(match path.is_dir() {
            true => bytes_of_files(&path),
            // One that has taken the place of another one was listed under a name that is gone.
            false => std::fs::read(&path).unwrap_or_default(),
        });
    }
    bytes
}

/// Every row of every table of a schema, and of those whose names begin like it.
async fn bytes_of_tables(address: &str) -> Vec<u8> {
    let (server, schema) = split(address);
    let (client, connection) = tokio_postgres::connect(server, NoTls).await.unwrap();
    let connection = tokio::spawn(connection);
    // Bytes are shown as the letters that they are, not as numbers.
    let shown = "SET bytea_output = escape";
    client.batch_execute(shown).await.unwrap();
    let tables = "SELECT format('%I.%I', schemaname, tablename) FROM pg_tables WHERE starts_with(schemaname::text, $1)";
    let mut bytes = Vec::new();
    for table in client.query(tables, &[&schema]).await.unwrap() {
        let table: String = table.get(0);
        let rows = format!("SELECT stored::text FROM {table} stored");
        for row in client.query(&rows, &[]).await.unwrap() {
            bytes.extend(row.get::<_, String>(0).into_bytes());
        }
    }
    drop(client);
    connection.await.unwrap().unwrap();
    bytes
}

/// Every key behind a prefix, and all that it holds.
async fn bytes_of_keys(address: &str) -> Vec<u8> {
    let (server, prefix) = split(address);
    let client = redis::Client::open(server).unwrap();
    let connection = client.get_multiplexed_async_connection().await;
    let mut connection = connection.unwrap();
    let mut all = redis::cmd("KEYS");
    all.arg(format!("{prefix}:*"));
    let keys: Vec<Vec<u8>> = all.query_async(&mut connection).await.unwrap();
    let mut bytes = Vec::new();
    for key in keys {
        let mut kind = redis::cmd("TYPE");
        let kind = kind.arg(&key).query_async::<String>(&mut connection);
        let (command, range): (&str, &[&str]) = match kind.await.unwrap().as_str() {
            "string" => ("MGET", &[]),
            "hash" => ("HGETALL", &[]),
            "set" => ("SMEMBERS", &[]),
            "list" => ("LRANGE", &["0", "-1"]),
            "zset" => ("ZRANGE", &["0", "-1"]),
            // It has ended meanwhile.
            "none" => continue,
            other => panic!("no command reads a {other}"),
        };
        let mut held = redis::cmd(command);
        held.arg(&key).arg(range);
        let held: Vec<Vec<u8>> = held.query_async(&mut connection).await.unwrap();
        bytes.extend(key);
        bytes.extend(held.concat());
    }
    bytes
}
