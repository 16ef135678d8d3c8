//! Where models are beside a PostgreSQL store.

use crate::error::{Error, ErrorCode, Result};
use crate::model::database::LONGEST_NAME;
use ambit_storage::driver::postgres::PostgresServer;

/// The schema of a store whose address names none, and of its models.
const STORE: &str = "ambit";
const MODELS: &str = "models";

/// Where they are.
pub struct PostgresAddress {
    /// The server and its database.
    pub server: PostgresServer,
    /// The schema; letters, digits and `_` only, hence never in need of quotes.
    pub schema: String,
    /// What it is called in messages for the log; never the password.
    pub name: String,
}

impl PostgresAddress {
    /// Reads a store's URL: its own parameters, which begin with `ambit_`, are not for the client. How a proxy lends its
    /// connections is of the server.
    pub fn parse(url: &str) -> Result<Self> {
        let (server, query) = url.split_once('?').unwrap_or((url, ""));
        let mut schema = MODELS.to_owned();
        let mut foreign = Vec::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            match pair.split_once('=').unwrap_or((pair, "")) {
                ("ambit_schema", STORE) => {}
                ("ambit_schema", name) => schema = beside(name)?,
                ("ambit_pool_mode", _) => foreign.push(pair),
                (name, _) if name.starts_with("ambit_") => {}
                _ => foreign.push(pair),
            }
        }
        let url = match foreign.is_empty() {
            true => server.to_owned(),
            false => format!("{server}?{}", foreign.join("&")),
        };
        let mut server = PostgresServer::parse(&url).map_err(|error| {
            Error::new(
                ErrorCode::ConfigError,
                format!("the store for models: {error}"),
            )
        })?;
        if server.config.get_application_name().is_none() {
            server.config.application_name("ambit models");
        }
        let database = server.config.get_dbname().or(server.config.get_user());
        let database = database.unwrap_or("?");
        let name = format!("the models' PostgreSQL database {database}, schema {schema}");
        Ok(Self {
            server,
            schema,
            name,
        })
    }
}

fn beside(store: &str) -> Result<String> {
    let schema = format!("{store}_{MODELS}");
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    let is_name = !schema.starts_with(|first: char| first.is_ascii_digit());
    match is_name && schema.len() <= LONGEST_NAME && schema.bytes().all(fits) {
        true => Ok(schema),
        false => Err(wrong("no schema's name that models can be kept beside")),
    }
}

fn wrong(what: &str) -> Error {
    let message = format!(
        "the store for models has {what}; it looks like postgres://user@host:port/database"
    );
    Error::new(ErrorCode::ConfigError, message)
}
