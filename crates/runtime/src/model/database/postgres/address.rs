//! Where models are beside a PostgreSQL store.

use crate::error::{Error, ErrorCode, Result};
use crate::model::database::LONGEST_NAME;
use std::time::Duration;
use tokio_postgres::Config;

/// How long the server may take to answer a new connection, if the address does not say.
const CONNECT: Duration = Duration::from_secs(10);
/// The schema of a store whose address names none, and of its models.
const STORE: &str = "ambit";
const MODELS: &str = "models";

/// Where they are.
pub struct PostgresAddress {
    /// Server, database and user, for the client.
    pub config: Config,
    /// The schema; letters, digits and `_` only, hence never in need of quotes.
    pub schema: String,
    /// What it is called in messages for the log; never the password.
    pub name: String,
}

impl PostgresAddress {
    /// Reads a store's URL: its own parameters, which begin with `ambit_`, are not for the client.
    pub fn parse(url: &str) -> Result<Self> {
        let (server, query) = url.split_once('?').unwrap_or((url, ""));
        let mut schema = MODELS.to_owned();
        let mut foreign = Vec::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            match pair.split_once('=').unwrap_or((pair, "")) {
                ("ambit_schema", STORE) => {}
                ("ambit_schema", name) => schema = beside(name)?,
                (name, _) if name.starts_with("ambit_") => {}
                _ => foreign.push(pair),
            }
        }
        let url = match foreign.is_empty() {
            true => server.to_owned(),
            false => format!("{server}?{}", foreign.join("&")),
        };
        // The parser's own words may quote a part of the password, so they are not passed on.
        let parsed = url.parse();
        let mut config: Config =
            parsed.map_err(|_| wrong("no address of a PostgreSQL database"))?;
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT);
        }
        if config.get_application_name().is_none() {
            config.application_name("ambit models");
        }
        let database = config.get_dbname().or(config.get_user()).unwrap_or("?");
        let name = format!("the models' PostgreSQL database {database}, schema {schema}");
        Ok(Self {
            config,
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
