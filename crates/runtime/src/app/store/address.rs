//! Where a connector's store is, as storage's drivers are told.

use crate::app::Connector;
use crate::error::{Error, ErrorCode, Result};
use crate::llm::connector::TextOrNumber;
use std::path::Path;
use url::Url;

/// The address of a store: it holds the connector's password, and must not be told.
pub fn address(connector: &Connector, root: &Path) -> Result<String> {
    match connector.kind.as_str() {
        "redis" => server(connector, "redis", 6379),
        "postgres" => server(connector, "postgres", 5432),
        _ => match &connector.options.store.file {
            Some(TextOrNumber(file)) => Ok(format!("sqlite:{}", root.join(file).display())),
            None => Err(wrong(connector, "needs options.file")),
        },
    }
}

fn server(connector: &Connector, scheme: &str, port: u16) -> Result<String> {
    let unusable = |key: &str| wrong(connector, &format!("options.{key} cannot be used"));
    let mut url = Url::parse(&format!("{scheme}://127.0.0.1")).map_err(|_| unusable("host"))?;
    let store = &connector.options.store;
    if let Some(TextOrNumber(host)) = &store.host {
        url.set_host(Some(host)).map_err(|_| unusable("host"))?;
    }
    let port = match &store.port {
        Some(TextOrNumber(port)) => port.parse().map_err(|_| unusable("port"))?,
        None => port,
    };
    url.set_port(Some(port)).map_err(|()| unusable("port"))?;
    url.set_username(text(&store.user))
        .map_err(|()| unusable("user"))?;
    url.set_password(store.pass.as_ref().map(|password| password.0.as_str()))
        .map_err(|()| unusable("pass"))?;
    url.set_path(text(&store.db));
    Ok(url.into())
}

fn text(option: &Option<TextOrNumber>) -> &str {
    option.as_ref().map_or("", |text| &text.0)
}

fn wrong(connector: &Connector, what: &str) -> Error {
    let id = &connector.id;
    Error::new(
        ErrorCode::ConfigError,
        format!("connector \"{id}\": {what}"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Setting;
    use serde_json::{Value, json};

    fn of(kind: &str, options: &Value) -> String {
        let connector = Connector {
            id: "c".to_owned(),
            kind: kind.to_owned(),
            options: Setting::read(options.clone()).unwrap(),
            ..Connector::default()
        };
        match address(&connector, Path::new("/app")) {
            Ok(address) => address,
            Err(error) => error.message,
        }
    }

    #[test]
    fn options_of_a_connector_are_an_address() {
        let whole = json!({"host": "db", "port": "7000", "user": "me", "pass": "a/b:c", "db": 3});
        for (kind, options, expected) in [
            ("redis", json!({}), "redis://127.0.0.1:6379"),
            (
                "redis",
                json!({"pass": "x", "user": "", "db": "1"}),
                "redis://:x@127.0.0.1:6379/1",
            ),
            ("redis", whole.clone(), "redis://me:a%2Fb%3Ac@db:7000/3"),
            ("postgres", whole, "postgres://me:a%2Fb%3Ac@db:7000/3"),
            (
                "sqlite3",
                json!({"file": "data/s.db"}),
                "sqlite:/app/data/s.db",
            ),
            ("sqlite3", json!({}), "connector \"c\": needs options.file"),
            (
                "redis",
                json!({"port": "x"}),
                "connector \"c\": options.port cannot be used",
            ),
            (
                "redis",
                json!({"host": "a b"}),
                "connector \"c\": options.host cannot be used",
            ),
        ] {
            assert_eq!(of(kind, &options), expected);
        }
    }
}
