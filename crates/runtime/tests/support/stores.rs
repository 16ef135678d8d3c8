//! The kinds of stores that processes can share, each with a fresh place.

use tempfile::TempDir;

/// A kind of store.
pub struct Store {
    pub name: &'static str,
    /// A fresh place for it; none where its server is not configured.
    pub place: fn() -> Option<(String, Option<TempDir>)>,
}

pub const SQLITE: Store = Store {
    name: "sqlite",
    place: || {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let url = format!("sqlite:{}/ambit.db", folder.path().display());
        Some((url, Some(folder)))
    },
};

pub const POSTGRES: Store = Store {
    name: "postgres",
    place: || server("TEST_POSTGRES_URL", "ambit_schema"),
};

pub const REDIS: Store = Store {
    name: "redis",
    place: || server("TEST_REDIS_URL", "ambit_prefix"),
};

fn server(variable: &str, parameter: &str) -> Option<(String, Option<TempDir>)> {
    let server = std::env::var_os(variable)?;
    let server = server.to_str().expect("the server's address is text");
    let join = if server.contains('?') { '&' } else { '?' };
    let fresh = rand::random::<u64>();
    Some((format!("{server}{join}{parameter}=t{fresh:016x}"), None))
}
