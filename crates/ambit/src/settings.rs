//! Where the data is: options first, then the environment, then a file: that of the app that is run, or one in the folder
//! that the program is started in. And what else the environment says.

pub mod serve;

use crate::command_error::{CommandError, Result};
use crate::suggestion;
use ambit_runtime::model::{ModelSecret, ModelSettings, ModelStore};
use ambit_storage::driver::{DRIVERS, DriverOptions};
use ambit_storage::{Ambit, Caller, Stores, driver};
use clap::Args;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The file of a data folder; where none is named, that is the one that the program is started in.
const DATA_FILE: &str = "ambit.db";
/// The tables of models beside it.
const MODELS_FILE: &str = "models.db";
/// The secret that columns of models with `crypt: AES` are encrypted with.
const MODEL_KEY_VARIABLE: &str = "AMBIT_MODEL_KEY";
/// Names the stores where no option does: one or more URLs, separated by white space.
const STORE_VARIABLE: &str = "AMBIT_STORE";
/// The token or API key with which `ambit chat --url` calls a server.
const TOKEN_VARIABLE: &str = "AMBIT_TOKEN";

/// Which stores, and whose part of them.
#[derive(Args, Debug)]
#[command(next_help_heading = "Where the data is")]
pub struct StoreOptions {
    /// The folder with the data, in an SQLite file `ambit.db`
    #[arg(long, global = true, value_name = "FOLDER")]
    data: Option<PathBuf>,
    /// A store: `sqlite:path`, `postgres://…`, `redis://…`, `file:folder`, or `name=URL` to name it otherwise than by its
    /// kind. May be given several times; the first keeps the index. Without it AMBIT_STORE is read
    #[arg(long, global = true, value_name = "URL")]
    store: Vec<String>,
    /// The stores that everything is kept in unless an agent says otherwise, the primary first
    #[arg(long, global = true, value_name = "NAMES", value_delimiter = ',')]
    drivers: Vec<String>,
    /// The tenant
    #[arg(long, global = true, default_value = ambit_storage::address::DEFAULT_TENANT)]
    tenant: String,
}

/// The options that can stand before a command as well as behind it.
const ANYWHERE: [&str; 4] = ["--data", "--store", "--drivers", "--tenant"];

/// A store by name.
struct NamedStore {
    name: String,
    url: String,
}

impl StoreOptions {
    /// Refuses an option both before and behind the command: the parser would take one of them and drop the other.
    pub fn check_places(&self, arguments: &[OsString]) -> Result<()> {
        for option in ANYWHERE {
            let is_it = |given: &&OsString| {
                let given = given.to_str().unwrap_or_default();
                let rest = given.strip_prefix(option);
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
            };
            let given = arguments.iter().filter(is_it).count();
            let taken = if option == "--store" {
                self.store.len()
            } else {
                1
            };
            if given > taken {
                let reason =
                    "is given in several places; give it in one, before the command or behind it";
                return Err(CommandError::option(option, reason));
            }
        }
        Ok(())
    }

    /// Opens the stores, which must be there already.
    pub async fn open(&self) -> Result<Ambit> {
        let stores = self.stores(Path::new(DATA_FILE))?;
        stores
            .iter()
            .try_for_each(|store| check_is_there(&store.url))?;
        Ok(self.acting(self.open_all(&stores).await?))
    }

    /// Opens the stores, and makes those that are not there yet.
    pub async fn begin(&self) -> Result<Ambit> {
        Ok(self.acting(self.open_for(Path::new("")).await?))
    }

    fn acting(&self, stores: Stores) -> Ambit {
        let ambit = Ambit::builder(stores).build();
        ambit.acting_as(&Caller::system(&self.tenant))
    }

    /// Opens the stores of an app that is run, and makes those that are not there yet. Where nothing says otherwise, the data
    /// is in the app's folder.
    pub async fn open_for(&self, app: &Path) -> Result<Stores> {
        if let Some(folder) = &self.data {
            std::fs::create_dir_all(folder).map_err(|error| {
                let reason = format!("{} cannot be made: {error}", folder.display());
                CommandError::option("--data", reason)
            })?;
        }
        let stores = self.stores(&app.join(DATA_FILE))?;
        self.open_all(&stores).await
    }

    /// Where the models of an app are: beside what keeps the index. In a PostgreSQL database that is a schema `models`, beside an
    /// SQLite file a file `models.db`, and for the other stores a file `models.db` in the app's folder.
    pub fn models(&self, app: &Path) -> Result<ModelSettings> {
        let stores = self.stores(&app.join(DATA_FILE))?;
        let first = self.drivers.first();
        let index = stores
            .iter()
            .find(|store| first.is_none_or(|name| store.name == *name));
        let url = index.map_or("", |store| store.url.as_str());
        let (kind, address) = url.split_once(':').unwrap_or_default();
        let address = address.split('?').next().unwrap_or_default();
        let store = match kind {
            "postgres" => ModelStore::Postgres(url.to_owned()),
            "memory" => ModelStore::Memory,
            "sqlite" => ModelStore::Sqlite(Path::new(address).with_file_name(MODELS_FILE)),
            _ => ModelStore::Sqlite(app.join(MODELS_FILE)),
        };
        let key = std::env::var_os(MODEL_KEY_VARIABLE).map(OsString::into_string);
        let key = key
            .transpose()
            .map_err(|_| CommandError::option(MODEL_KEY_VARIABLE, "is not UTF-8"))?;
        let key = key.filter(|key| !key.is_empty()).map(ModelSecret);
        Ok(ModelSettings { store, key })
    }

    async fn open_all(&self, stores: &[NamedStore]) -> Result<Stores> {
        let mut builder = Stores::builder(DriverOptions::default());
        for store in stores {
            let opened = driver::open(&store.url, DriverOptions::default()).await?;
            builder = builder.driver(&store.name, opened);
        }
        if !self.drivers.is_empty() {
            let names: Vec<&str> = self.drivers.iter().map(String::as_str).collect();
            builder = builder.default_drivers(&names);
        }
        Ok(builder.build()?)
    }

    /// The URL of the store that keeps the index.
    pub fn primary(&self) -> Result<String> {
        let stores = self.stores(Path::new(DATA_FILE))?;
        stores
            .iter()
            .try_for_each(|store| check_is_there(&store.url))?;
        let wanted = self.drivers.first();
        let found = match wanted {
            Some(name) => stores.iter().find(|store| store.name == *name),
            None => stores.first(),
        };
        let found = found.ok_or_else(|| {
            let names = stores.iter().map(|store| store.name.as_str());
            let name = wanted.map_or("", String::as_str);
            let offer = suggestion::offer(name, names.collect::<Vec<_>>());
            CommandError::option("--drivers", format!("\"{name}\" is not set up{offer}"))
        })?;
        Ok(found.url.clone())
    }

    fn stores(&self, default: &Path) -> Result<Vec<NamedStore>> {
        if self.data.is_some() && !self.store.is_empty() {
            let reason = "cannot be given together with --store; its file is the store sqlite:FOLDER/ambit.db";
            return Err(CommandError::option("--data", reason));
        }
        let urls = match (&self.data, self.store.is_empty()) {
            (Some(folder), _) => vec![format!("sqlite:{}", text(&folder.join(DATA_FILE))?)],
            (None, false) => self.store.clone(),
            (None, true) => from_environment(default)?,
        };
        let mut stores: Vec<NamedStore> = Vec::new();
        for url in urls {
            let store = named(&url)?;
            if stores.iter().any(|other| other.name == store.name) {
                let reason = format!(
                    "is given two stores called \"{name}\"; name one of them, as in old-{name}=URL",
                    name = store.name
                );
                return Err(CommandError::option("--store", reason));
            }
            stores.push(store);
        }
        Ok(stores)
    }
}

/// What `$ENV.NAME` stands for in an app's files. A variable that is not UTF-8 is none.
pub fn environment() -> BTreeMap<String, String> {
    let text = |(name, value): (OsString, OsString)| {
        Some((name.into_string().ok()?, value.into_string().ok()?))
    };
    std::env::vars_os().filter_map(text).collect()
}

/// The app's folder: the one that is named, else that of the environment, else the one that the program is started in.
pub fn app_folder(named: Option<PathBuf>) -> PathBuf {
    let named = named.or_else(|| std::env::var_os("AMBIT_APP").map(PathBuf::from));
    named.unwrap_or_else(|| PathBuf::from("."))
}

/// The token for a server, if there is one.
pub fn token() -> Option<String> {
    let value = std::env::var_os(TOKEN_VARIABLE)?.into_string().ok()?;
    (!value.is_empty()).then_some(value)
}

fn from_environment(default: &Path) -> Result<Vec<String>> {
    let Some(value) = std::env::var_os(STORE_VARIABLE) else {
        return Ok(vec![format!("sqlite:{}", text(default)?)]);
    };
    let value = value
        .to_str()
        .ok_or_else(|| CommandError::option(STORE_VARIABLE, "is not UTF-8; name a store's URL"))?;
    let urls: Vec<String> = value.split_whitespace().map(str::to_owned).collect();
    if urls.is_empty() {
        let reason = "is set but empty; name a store's URL, as in sqlite:ambit.db, or unset it";
        return Err(CommandError::option(STORE_VARIABLE, reason));
    }
    Ok(urls)
}

/// The store and its name. URLs can hold passwords, so no message repeats them.
fn named(given: &str) -> Result<NamedStore> {
    let (name, url) = match given.split_once('=') {
        Some((name, url)) if !name.contains(':') => (Some(name), url),
        _ => (None, given),
    };
    let scheme = url.split(':').next().unwrap_or_default();
    if !url.contains(':') || !DRIVERS.iter().any(|(known, _)| *known == scheme) {
        let known: Vec<&str> = DRIVERS.iter().map(|(name, _)| *name).collect();
        let reason = format!(
            "is given \"{scheme}\", which is no kind of store{}; write it as sqlite:ambit.db",
            suggestion::offer(scheme, known)
        );
        return Err(CommandError::option("--store", reason));
    }
    let name = name.unwrap_or(scheme).to_owned();
    Ok(NamedStore {
        name,
        url: url.to_owned(),
    })
}

/// A command looks at what is stored; it does not begin an empty store where nobody has put one.
fn check_is_there(url: &str) -> Result<()> {
    let Some(("sqlite" | "file", address)) = url.split_once(':') else {
        return Ok(());
    };
    let path = address.split('?').next().unwrap_or_default();
    if Path::new(path).exists() {
        return Ok(());
    }
    Err(CommandError::Refused(format!(
        "there is no store at {path}; name it with --store or --data, or in {STORE_VARIABLE}"
    )))
}

fn text(path: &Path) -> Result<&str> {
    path.to_str().ok_or_else(|| {
        let reason = format!("{} is not UTF-8; use another folder", path.display());
        CommandError::option("--data", reason)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

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
            let texts = |list: &[&str]| list.iter().map(|&text| text.to_owned()).collect();
            let options = StoreOptions {
                data: None,
                store: texts(urls),
                drivers: texts(drivers),
                tenant: String::new(),
            };
            let place = options.models(Path::new("app")).unwrap();
            assert!(place.store == expected, "{:?}", place.store);
        }
    }
}
