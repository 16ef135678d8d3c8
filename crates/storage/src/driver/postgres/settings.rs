//! Reads the address of a PostgreSQL store: what is ours, and what is for the client.

use super::server::PostgresServer;
use crate::{Error, Result};

/// The schema where the address names none.
const SCHEMA: &str = "ambit";
/// Connections where the address gives no number.
const POOL: usize = 16;

/// Where the store is, and how it is used.
#[derive(Clone)]
pub(super) struct PostgresSettings {
    pub(super) server: PostgresServer,
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
        let mut server =
            PostgresServer::parse(&format!("postgres:{server}?{}", foreign.join("&")))?;
        if server.config.get_application_name().is_none() {
            server.config.application_name("ambit");
        }
        let name = format!("PostgreSQL at {server}, schema {schema}");
        Ok(Self {
            server,
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
