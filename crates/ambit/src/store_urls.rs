//! Stores as a program names them: by URLs.

use crate::suggestion;
use ambit_runtime::ModelStore;
use ambit_storage::driver::{self, DRIVERS, DriverOptions};
use ambit_storage::{Result, Stores};
use std::path::{Path, PathBuf};

/// The file with an app's data, in its folder.
pub const DATA_FILE: &str = "ambit.db";
/// The tables of its models beside it.
const MODELS_FILE: &str = "models.db";

/// Stores with their names.
#[derive(Default)]
pub struct StoreUrls {
    stores: Vec<NamedStore>,
    default_drivers: Vec<String>,
}

/// A store by name.
struct NamedStore {
    name: String,
    url: String,
}

impl StoreUrls {
    /// Reads URLs such as `sqlite:ambit.db`, or `name=URL` for a store that is not called by its kind. What is wrong is said as it
    /// goes on behind the name of the option: URLs can hold passwords, so none is repeated.
    pub fn parse(urls: &[String]) -> Result<Self, String> {
        let mut stores: Vec<NamedStore> = Vec::new();
        for url in urls {
            let store = NamedStore::parse(url)?;
            if stores.iter().any(|other| other.name == store.name) {
                return Err(format!(
                    "is given two stores called \"{name}\"; name one of them, as in old-{name}=URL",
                    name = store.name
                ));
            }
            stores.push(store);
        }
        Ok(Self {
            stores,
            default_drivers: Vec::new(),
        })
    }

    /// Keeps everything in the stores of these names unless an agent says otherwise; without any, in the first.
    pub fn with_default_drivers(self, names: &[String]) -> Self {
        Self {
            default_drivers: names.to_vec(),
            ..self
        }
    }

    /// Returns the URLs.
    pub fn urls(&self) -> impl Iterator<Item = &str> {
        self.stores.iter().map(|store| store.url.as_str())
    }

    /// Returns the names of the stores with their URLs.
    pub fn named(&self) -> impl Iterator<Item = (&str, &str)> {
        let stores = self.stores.iter();
        stores.map(|store| (store.name.as_str(), store.url.as_str()))
    }

    /// Returns the URL of the store that keeps the index; an error where it is none of these.
    pub fn primary(&self) -> Result<&str, String> {
        let wanted = self.default_drivers.first();
        let mut stores = self.stores.iter();
        let found = stores.find(|store| wanted.is_none_or(|name| store.name == *name));
        found.map(|store| store.url.as_str()).ok_or_else(|| {
            let names: Vec<&str> = self
                .stores
                .iter()
                .map(|store| store.name.as_str())
                .collect();
            let name = wanted.map_or("", String::as_str);
            format!("\"{name}\" is not set up{}", suggestion::offer(name, names))
        })
    }

    /// Returns stores of the same names in the memory of this process.
    pub fn in_memory(&self) -> Self {
        let stores = self.stores.iter().map(|store| NamedStore {
            name: store.name.clone(),
            url: "memory:".to_owned(),
        });
        Self {
            stores: stores.collect(),
            default_drivers: self.default_drivers.clone(),
        }
    }

    /// Opens the stores, and makes those that are not there yet.
    pub async fn open(&self) -> Result<Stores> {
        // The same for all, so that what they do is counted together.
        let options = DriverOptions::default();
        let mut builder = Stores::builder(options.clone());
        for store in &self.stores {
            let opened = driver::open(&store.url, options.clone()).await?;
            builder = builder.driver(&store.name, opened);
        }
        if !self.default_drivers.is_empty() {
            let names: Vec<&str> = self.default_drivers.iter().map(String::as_str).collect();
            builder = builder.default_drivers(&names);
        }
        builder.build()
    }

    /// Returns where the models of an app are: beside what keeps the index. In a PostgreSQL database that is a schema `models`,
    /// beside an SQLite file a file `models.db`, and for the other stores a file `models.db` in the app's folder.
    pub fn models(&self, app: &Path) -> ModelStore {
        let url = self.primary().unwrap_or_default();
        let (kind, address) = url.split_once(':').unwrap_or_default();
        let address = address.split('?').next().unwrap_or_default();
        match kind {
            "postgres" => ModelStore::Postgres(url.to_owned()),
            "memory" => ModelStore::Memory,
            "sqlite" => ModelStore::Sqlite(Path::new(address).with_file_name(MODELS_FILE)),
            _ => ModelStore::Sqlite(app.join(MODELS_FILE)),
        }
    }
}

impl NamedStore {
    fn parse(given: &str) -> Result<Self, String> {
        let (name, url) = match given.split_once('=') {
            Some((name, url)) if !name.contains(':') => (Some(name), url),
            _ => (None, given),
        };
        let scheme = url.split(':').next().unwrap_or_default();
        if !url.contains(':') || !DRIVERS.iter().any(|(known, _)| *known == scheme) {
            let known: Vec<&str> = DRIVERS.iter().map(|(name, _)| *name).collect();
            return Err(format!(
                "is given \"{scheme}\", which is no kind of store{}; write it as sqlite:ambit.db",
                suggestion::offer(scheme, known)
            ));
        }
        if path_of(url) == Some("") {
            return Err(format!(
                "is given a store of the kind {scheme} that names no file or folder; write it as sqlite:ambit.db or file:folder"
            ));
        }
        Ok(Self {
            name: name.unwrap_or(scheme).to_owned(),
            url: url.to_owned(),
        })
    }
}

/// Returns where a store of files is, from wherever one looks; none for a store of another kind.
pub fn file_path(url: &str) -> Option<PathBuf> {
    path_of(url).map(|path| absolute_path(Path::new(path)))
}

/// The path in the URL of a store of files.
fn path_of(url: &str) -> Option<&str> {
    let (kind, address) = url.split_once(':')?;
    match kind {
        "sqlite" => Some(address.rsplit_once('?').map_or(address, |(path, _)| path)),
        "file" => address.split('?').next(),
        _ => None,
    }
}

/// Returns the path with the folder that the program is started in before it, where it is not whole.
pub fn absolute_path(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// Returns where a store is, to be shown: the path of its file or folder, or the address of its server, without the name and the
/// password that are used there.
pub fn shown_address(url: &str) -> String {
    if let Some(path) = file_path(url) {
        return path.display().to_string();
    }
    let (kind, address) = url.split_once(':').unwrap_or((url, ""));
    let (server, parameters) = address.split_once('?').unwrap_or((address, ""));
    // Where a "?" is part of a password, what is before it is too.
    let is_clear = server.starts_with("//") && !parameters.contains('@');
    if !is_clear {
        return format!("a store of the kind {kind}");
    }
    let server = server.trim_start_matches('/');
    let server = server.rsplit_once('@').map_or(server, |(_, host)| host);
    // Others can be secrets: `password=…`.
    let own = parameters.split('&').filter(|pair| {
        let (name, _) = pair.split_once('=').unwrap_or_default();
        matches!(name, "ambit_schema" | "ambit_prefix")
    });
    let own: Vec<&str> = own.collect();
    let mark = if own.is_empty() { "" } else { "?" };
    format!("{kind}://{server}{mark}{}", own.join("&"))
}

/// Returns the path as text, which a store's URL needs.
pub fn path_text(path: &Path) -> Result<&str, String> {
    let reason = || format!("{} is not UTF-8; use another folder", path.display());
    path.to_str().ok_or_else(reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_the_stores_do_is_counted() {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite:{}", folder.path().join("a.db").display());
        let stores = StoreUrls::parse(&[url]).unwrap().open().await.unwrap();
        assert!(stores.options().work.counts().statements > 0);
    }

    #[test]
    fn a_store_of_files_that_names_none_is_refused() {
        for url in ["sqlite:", "file:", "old=sqlite:?busy_ms=1"] {
            let refused = StoreUrls::parse(&[url.to_owned()]).err();
            let refused = refused.unwrap_or_default();
            assert!(
                refused.contains("names no file or folder"),
                "{url}: {refused}"
            );
        }
    }

    #[test]
    fn an_address_is_shown_without_what_is_secret() {
        let here = std::env::current_dir().unwrap();
        let here = here.display();
        for (url, expected) in [
            ("sqlite:./a/b.db?busy_ms=1", format!("{here}/a/b.db")),
            ("file:a", format!("{here}/a")),
            ("sqlite:/a/b.db", "/a/b.db".to_owned()),
            (
                "postgres://me:p/w@host:1/db?password=x&ambit_schema=own",
                "postgres://host:1/db?ambit_schema=own".to_owned(),
            ),
            ("redis://:pw@host:1/2", "redis://host:1/2".to_owned()),
            ("redis://host", "redis://host".to_owned()),
            (
                "postgres://me:p?w@host/db",
                "a store of the kind postgres".to_owned(),
            ),
            (
                "postgres:host=a password=x",
                "a store of the kind postgres".to_owned(),
            ),
            ("memory:", "a store of the kind memory".to_owned()),
        ] {
            assert_eq!(shown_address(url), expected, "{url}");
        }
    }

    #[test]
    fn models_are_beside_the_store_that_keeps_the_index() {
        let away = "postgres://me@host/db?ambit_schema=own";
        let cases: [(&[&str], &[&str], ModelStore); 5] = [
            (
                &["sqlite:data/ambit.db?x=1"],
                &[],
                ModelStore::Sqlite("data/models.db".into()),
            ),
            (&[away], &[], ModelStore::Postgres(away.to_owned())),
            (
                &["redis://host", away],
                &["postgres", "redis"],
                ModelStore::Postgres(away.to_owned()),
            ),
            (
                &["redis://host"],
                &[],
                ModelStore::Sqlite("app/models.db".into()),
            ),
            (&["memory:"], &[], ModelStore::Memory),
        ];
        for (urls, drivers, expected) in cases {
            let texts = |list: &[&str]| -> Vec<String> {
                list.iter().map(|&text| text.to_owned()).collect()
            };
            let stores = StoreUrls::parse(&texts(urls)).unwrap();
            let stores = stores.with_default_drivers(&texts(drivers));
            let store = stores.models(Path::new("app"));
            assert!(store == expected, "{store:?}");
        }
    }
}
