//! Where the data is: options first, then the environment, then a file: that of the app that is run, or one in the folder
//! that the program is started in. And what else the environment says.

pub mod serve;

use crate::command_error::{CommandError, Result};
use ambit::store_urls::{DATA_FILE, StoreUrls, path_text};
use ambit_runtime::model::{ModelSecret, ModelSettings};
use ambit_storage::{Ambit, Caller, Stores};
use clap::Args;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

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
        self.open_in(Path::new("")).await
    }

    /// The same with the data of this app where nothing says otherwise.
    pub async fn open_in(&self, app: &Path) -> Result<Ambit> {
        let stores = self.stores(&app.join(DATA_FILE))?;
        stores.urls().try_for_each(check_is_there)?;
        Ok(self.acting(stores.open().await?))
    }

    /// Opens the stores, and makes those that are not there yet. Where nothing says otherwise, the data is that of this app.
    pub async fn begin_in(&self, app: &Path) -> Result<Ambit> {
        Ok(self.acting(self.open_for(app).await?))
    }

    /// Whether an option or the environment names a store.
    pub fn are_named(&self) -> bool {
        self.data.is_some() || !self.store.is_empty() || std::env::var_os(STORE_VARIABLE).is_some()
    }

    /// Whether a store of files would have to be made.
    pub fn is_missing(&self, app: &Path) -> Result<bool> {
        let stores = self.stores(&app.join(DATA_FILE))?;
        Ok(stores.urls().any(|url| missing(url).is_some()))
    }

    /// Where what belongs to no agent is kept, to be shown: a URL may hold a password.
    pub fn place(&self, app: &Path) -> Result<String> {
        let stores = self.stores(&app.join(DATA_FILE))?;
        let primary = stores.primary();
        let primary = primary.map_err(|reason| CommandError::option("--drivers", reason))?;
        let (kind, address) = primary.split_once(':').unwrap_or_default();
        let path = address.split('?').next().unwrap_or_default();
        Ok(match kind {
            "sqlite" | "file" => std::path::absolute(path)?.display().to_string(),
            _ => format!("the {kind} store"),
        })
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
        Ok(self.stores(&app.join(DATA_FILE))?.open().await?)
    }

    /// Where the models of an app are, and the secret of their encrypted columns.
    pub fn models(&self, app: &Path) -> Result<ModelSettings> {
        let store = self.stores(&app.join(DATA_FILE))?.models(app);
        let key = std::env::var_os(MODEL_KEY_VARIABLE).map(OsString::into_string);
        let key = key
            .transpose()
            .map_err(|_| CommandError::option(MODEL_KEY_VARIABLE, "is not UTF-8"))?;
        let key = key.filter(|key| !key.is_empty()).map(ModelSecret);
        Ok(ModelSettings { store, key })
    }

    /// The URL of the store that keeps the index.
    pub fn primary(&self) -> Result<String> {
        let stores = self.stores(Path::new(DATA_FILE))?;
        stores.urls().try_for_each(check_is_there)?;
        let primary = stores.primary();
        let primary = primary.map_err(|reason| CommandError::option("--drivers", reason))?;
        Ok(primary.to_owned())
    }

    fn stores(&self, default: &Path) -> Result<StoreUrls> {
        if self.data.is_some() && !self.store.is_empty() {
            let reason = "cannot be given together with --store; its file is the store sqlite:FOLDER/ambit.db";
            return Err(CommandError::option("--data", reason));
        }
        let urls = match (&self.data, self.store.is_empty()) {
            (Some(folder), _) => vec![format!("sqlite:{}", text(&folder.join(DATA_FILE))?)],
            (None, false) => self.store.clone(),
            (None, true) => from_environment(default)?,
        };
        let stores = StoreUrls::parse(&urls);
        let stores = stores.map_err(|reason| CommandError::option("--store", reason))?;
        Ok(stores.with_default_drivers(&self.drivers))
    }
}

/// The app's folder: the one that is named, else that of the environment, else the one that the program is started in.
pub fn app_folder(named: Option<PathBuf>) -> PathBuf {
    named_app(named).unwrap_or_else(|| PathBuf::from("."))
}

/// The app's folder, where an option or the environment names it.
pub fn named_app(named: Option<PathBuf>) -> Option<PathBuf> {
    named.or_else(|| std::env::var_os("AMBIT_APP").map(PathBuf::from))
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

/// A command looks at what is stored; it does not begin an empty store where nobody has put one.
fn check_is_there(url: &str) -> Result<()> {
    missing(url).map_or(Ok(()), |path| {
        Err(CommandError::Refused(format!(
            "there is no store at {path}; name it with --store or --data, or in {STORE_VARIABLE}"
        )))
    })
}

/// Where a store of files would be that is not there.
fn missing(url: &str) -> Option<&str> {
    let Some(("sqlite" | "file", address)) = url.split_once(':') else {
        return None;
    };
    let path = address.split('?').next().unwrap_or_default();
    (!Path::new(path).exists()).then_some(path)
}

fn text(path: &Path) -> Result<&str> {
    path_text(path).map_err(|reason| CommandError::option("--data", reason))
}
