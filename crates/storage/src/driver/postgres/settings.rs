//! Reads the address of a PostgreSQL store: what is ours, and what is for the client.

use crate::{Error, Result};
use std::time::Duration;
use tokio_postgres::Config;
use tokio_postgres::config::Host;

/// The schema where the address names none.
const SCHEMA: &str = "ambit";
/// Connections where the address gives no number.
const POOL: usize = 16;
/// How long the server may take to answer a new connection, if the address does not say.
const CONNECT: Duration = Duration::from_secs(10);
const FORM: &str =
    "should look like postgres://user@host:port/database?ambit_schema=ambit&ambit_pool=16";

/// Where the store is, and how it is used.
#[derive(Clone)]
pub(super) struct PostgresSettings {
    /// Server, database and user, for the client.
    pub(super) config: Config,
    /// The schema that holds the tables; letters, digits and `_` only, hence never in need of quotes.
    pub(super) schema: String,
    /// The largest number of connections for batches and reads; one more listens.
    pub(super) pool: usize,
    /// The store's name in messages: host, port and database, never the password.
    pub(super) name: String,
}

impl PostgresSettings {
    /// Reads what stands behind `postgres:`.
    pub(super) fn parse(address: &str) -> Result<Self> {
        let (server, query) = address.split_once('?').unwrap_or((address, ""));
        let (mut schema, mut pool) = (SCHEMA.to_owned(), POOL);
        let mut foreign = Vec::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            match pair.split_once('=').unwrap_or((pair, "")) {
                ("ambit_schema", name) => schema = checked_schema(name)?,
                ("ambit_pool", size) => pool = checked_pool(size)?,
                _ => foreign.push(pair),
            }
        }
        let query = if foreign.is_empty() {
            String::new()
        } else {
            format!("?{}", foreign.join("&"))
        };
        // The parser's own words may quote a part of the password, so they are not passed on.
        let mut config: Config = format!("postgres:{server}{query}")
            .parse()
            .map_err(|_| Error::invalid("driver", format!("the PostgreSQL address {FORM}")))?;
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT);
        }
        if config.get_application_name().is_none() {
            config.application_name("ambit");
        }
        let name = name(&config, &schema);
        Ok(Self {
            config,
            schema,
            pool,
            name,
        })
    }
}

fn checked_schema(name: &str) -> Result<String> {
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    let starts_well = name
        .as_bytes()
        .first()
        .is_some_and(|first| !first.is_ascii_digit());
    if name.len() > 63 || !starts_well || !name.bytes().all(fits) {
        return Err(Error::invalid(
            "ambit_schema",
            format!("\"{name}\" must be 1 to 63 of a-z, 0-9 and _, and not start with a digit"),
        ));
    }
    Ok(name.to_owned())
}

fn checked_pool(size: &str) -> Result<usize> {
    size.parse()
        .ok()
        .filter(|size| (1..=1_000).contains(size))
        .ok_or_else(|| {
            Error::invalid(
                "ambit_pool",
                format!("\"{size}\" must be a number of connections from 1 to 1000"),
            )
        })
}

fn name(config: &Config, schema: &str) -> String {
    let ports = config.get_ports();
    let port = |at: usize| ports.get(at).or(ports.last()).copied().unwrap_or(5432);
    let hosts: Vec<String> = config
        .get_hosts()
        .iter()
        .enumerate()
        .map(|(at, host)| match host {
            Host::Tcp(host) => format!("{host}:{}", port(at)),
            #[cfg(unix)]
            Host::Unix(folder) => format!("{}:{}", folder.display(), port(at)),
        })
        .collect();
    let database = config.get_dbname().or(config.get_user()).unwrap_or("?");
    format!(
        "PostgreSQL at {}/{database}, schema {schema}",
        hosts.join(",")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_parameters_are_taken_out_of_the_address() {
        let settings = PostgresSettings::parse(
            "//me:secret@db:5433/app?ambit_schema=t_1&sslmode=disable&ambit_pool=3",
        )
        .unwrap();
        assert_eq!(settings.schema, "t_1");
        assert_eq!(settings.pool, 3);
        assert_eq!(settings.name, "PostgreSQL at db:5433/app, schema t_1");
    }

    #[test]
    fn g072_a_bad_address_is_refused_without_its_password() {
        for address in [
            "//me:canary@db:port/app",
            "//me:can@canary@db/app?x=canary",
            "//db/app?ambit_schema=A;drop",
            "//db/app?ambit_pool=0",
        ] {
            let error = PostgresSettings::parse(address)
                .err()
                .expect(address)
                .to_string();
            assert!(!error.contains("canary"), "{error}");
        }
    }
}
