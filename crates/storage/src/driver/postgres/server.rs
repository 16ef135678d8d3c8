//! Reads the address of a PostgreSQL server as the server's own clients do: `postgres://user@host:port/database?sslmode=…`.

use super::pool_mode::PoolMode;
use super::tls::TlsParameters;
use crate::{Error, Result};
use std::fmt;
use std::time::Duration;
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres::{Client, Config};
use tokio_postgres_rustls::MakeRustlsConnect;

/// How long the server may take to answer a new connection, if the address does not say.
const CONNECT: Duration = Duration::from_secs(10);

/// How a PostgreSQL server is reached. Shows as host, port and database, never with the password.
#[derive(Clone)]
pub struct PostgresServer {
    /// Server, database and user, for the client.
    pub config: Config,
    /// The encryption of its connections.
    pub tls: MakeRustlsConnect,
    /// What the address says of a proxy, if it says anything.
    mode: Option<PoolMode>,
}

impl PostgresServer {
    /// Reads an address. Of Ambit's own parameters only `ambit_pool_mode` may be left in it, `session` or `transaction`:
    /// how long a proxy lends a connection. `sslmode` is `disable`, `prefer` (where there is
    /// none), `require`, `verify-ca` or `verify-full`; `sslrootcert` is a file of certificates, or `system`.
    pub fn parse(address: &str) -> Result<Self> {
        let (server, query) = address.split_once('?').unwrap_or((address, ""));
        let mut tls = TlsParameters::default();
        let mut mode = None;
        let mut foreign = Vec::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            if name == "ambit_pool_mode" {
                mode = Some(PoolMode::named(value)?);
            } else if !tls.take(name, value)? {
                foreign.push(pair);
            }
        }
        // The parser's own words may quote a part of the password, so they are not passed on.
        let mut config: Config =
            format!("{server}?{}", foreign.join("&"))
                .parse()
                .map_err(|_| {
                    let form =
                        "should look like postgres://user@host:port/database?sslmode=verify-full";
                    Error::invalid("driver", format!("the PostgreSQL address {form}"))
                })?;
        let (encryption, tls) = tls.connector()?;
        config.ssl_mode(encryption);
        complete(&mut config);
        Ok(Self { config, tls, mode })
    }

    /// Whether the server's connections are one's own: as the address says, or as this connection of it seems to be.
    pub async fn pool_mode(
        &self,
        client: &Client,
    ) -> std::result::Result<PoolMode, tokio_postgres::Error> {
        match self.mode {
            Some(mode) => Ok(mode),
            None => PoolMode::detect(client).await,
        }
    }
}

/// Adds what the address leaves open.
fn complete(config: &mut Config) {
    if config.get_connect_timeout().is_none() {
        config.connect_timeout(CONNECT);
    }
    if config.get_hosts().is_empty() {
        // The client wants a name for TLS, also where there is only a number.
        let numbers = config.get_hostaddrs().to_vec();
        for number in numbers {
            config.host(number.to_string());
        }
    }
    #[cfg(unix)]
    if config
        .get_hosts()
        .iter()
        .all(|host| matches!(host, Host::Unix(_)))
    {
        // As for all clients of PostgreSQL: a socket in the file system is never encrypted.
        config.ssl_mode(SslMode::Disable);
    }
}

impl fmt::Display for PostgresServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ports = self.config.get_ports();
        let port = |at: usize| ports.get(at).or(ports.last()).copied().unwrap_or(5432);
        let hosts = self.config.get_hosts().iter().enumerate();
        let hosts: Vec<String> = hosts
            .map(|(at, host)| match host {
                Host::Tcp(host) => format!("{host}:{}", port(at)),
                #[cfg(unix)]
                Host::Unix(folder) => format!("{}:{}", folder.display(), port(at)),
            })
            .collect();
        let user = self.config.get_user();
        let database = self.config.get_dbname().or(user).unwrap_or("?");
        write!(f, "{}/{database}", hosts.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tls_parameters_are_taken_out_of_the_address() {
        let server = PostgresServer::parse("postgres://me@db/app?sslmode=verify-full").unwrap();
        assert_eq!(server.config.get_ssl_mode(), SslMode::Require);
        assert_eq!(server.to_string(), "db:5432/app");
        let server = PostgresServer::parse("postgres://me@db/app").unwrap();
        assert_eq!(server.config.get_ssl_mode(), SslMode::Prefer);
    }

    #[test]
    fn modes_of_a_proxy_have_the_names_of_pgbouncer() {
        let mode =
            |name: &str| PostgresServer::parse(&format!("postgres://db?ambit_pool_mode={name}"));
        assert_eq!(mode("session").unwrap().mode, Some(PoolMode::Session));
        assert_eq!(
            mode("transaction").unwrap().mode,
            Some(PoolMode::Transaction)
        );
        let error = mode("statement").err().unwrap().to_string();
        assert!(error.contains("must be session or transaction"), "{error}");
    }

    #[test]
    #[cfg(unix)]
    fn sockets_of_the_file_system_are_not_encrypted() {
        let server = PostgresServer::parse("postgres://me@%2Frun%2Fdb/app?sslmode=require");
        assert_eq!(server.unwrap().config.get_ssl_mode(), SslMode::Disable);
    }
}
