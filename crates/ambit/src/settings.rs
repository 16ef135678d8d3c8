//! Where the data is: options first, then the environment, then a file: that of the app that is run, or one in the folder
//! that the program is started in. And what else the environment says.

pub mod data_parts;
pub mod model_keys;
mod model_store;
pub mod serve;

use crate::command_error::{CommandError, Result};
use ambit::environment::environment;
use ambit::store_urls::{DATA_FILE, StoreUrls, absolute_path, file_path, path_text, shown_address};
use ambit_runtime::inspect::contexts;
use ambit_runtime::model::{ModelSecret, ModelSettings, ModelStore};
use ambit_storage::{Ambit, Caller, Stores};
use clap::Args;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The secret that columns of models with `crypt: AES` are encrypted with.
const MODEL_KEY_VARIABLE: &str = "AMBIT_MODEL_KEY";
/// Names the stores where no option does: one or more URLs, separated by white space.
const STORE_VARIABLE: &str = "AMBIT_STORE";
/// The token or API key with which `ambit chat --url` calls a server.
const TOKEN_VARIABLE: &str = "AMBIT_TOKEN";

/// What helps who has named a folder without an app.
pub const OTHER_APP: &str = "name the folder of one, or make one with `ambit new`";

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
    /// Where the tables of models are: `sqlite:path` or `postgres://…`, the same for all servers over a store. Without it AMBIT_MODELS
    /// is read, else they are beside the store that keeps the index
    #[arg(long, global = true, value_name = "URL")]
    models: Option<String>,
    /// The stores that everything is kept in unless an agent says otherwise, the primary first
    #[arg(long, global = true, value_name = "NAMES", value_delimiter = ',')]
    drivers: Vec<String>,
    /// The tenant
    #[arg(long, global = true, default_value = ambit_storage::address::DEFAULT_TENANT)]
    tenant: String,
}

/// Whose data is meant where nothing names a store.
#[derive(Args, Debug)]
pub struct AppOption {
    /// The app's folder, else AMBIT_APP, else the one that the program is started in: the data of its server is meant
    #[arg(long, global = true, value_name = "FOLDER")]
    app: Option<PathBuf>,
}

impl AppOption {
    /// The app's folder; empty for the one that the program is started in.
    pub fn folder(&self) -> PathBuf {
        data_folder(self.app.clone())
    }

    /// Whether the option names it.
    pub fn is_given(&self) -> bool {
        self.app.is_some()
    }
}

/// What an app has stored.
pub struct AppStores {
    pub stores: Stores,
    /// Where its models are.
    pub models: ModelSettings,
}

/// The options that can stand before a command, or before its own ones, as well as behind.
const ANYWHERE: [&str; 6] = [
    "--app",
    "--data",
    "--store",
    "--models",
    "--drivers",
    "--tenant",
];

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

    /// Opens the stores, which must be there already. Where nothing says otherwise, the data is that of this app.
    pub async fn open_in(&self, app: &Path) -> Result<Ambit> {
        let stores = self.open_stores(app).await?;
        Ok(self.as_system(&Ambit::builder(stores).build()))
    }

    /// The same, for a command that changes what is stored: the listeners of the app's agents are asked and told as by its server,
    /// if there is an app.
    pub async fn open_with_listeners(&self, app: &Path) -> Result<Ambit> {
        let folder = app_folder(Some(app.to_owned()).filter(|app| !app.as_os_str().is_empty()));
        if !has_app(&folder) {
            return self.open_in(app).await;
        }
        let stores = self.open_stores(app).await?;
        let ambit = contexts::of_app(folder, environment(), stores).await?;
        Ok(self.as_system(&ambit))
    }

    /// Opens the stores alone, which must be there already.
    pub async fn open_stores(&self, app: &Path) -> Result<Arc<Stores>> {
        let stores = self.stores(&app.join(DATA_FILE))?;
        stores.urls().try_for_each(check_is_there)?;
        Ok(Arc::new(stores.open().await?))
    }

    /// The installation, for the system of the tenant.
    pub fn as_system(&self, ambit: &Ambit) -> Ambit {
        ambit.acting_as(&Caller::system(&self.tenant))
    }

    /// Whether an option or the environment names a store.
    pub fn are_named(&self) -> bool {
        self.data.is_some() || !self.store.is_empty() || std::env::var_os(STORE_VARIABLE).is_some()
    }

    /// Where what belongs to no agent is kept, to be shown.
    pub fn place(&self, app: &Path) -> Result<String> {
        let stores = self.stores(&app.join(DATA_FILE))?;
        let primary = stores.primary();
        let primary = primary.map_err(|reason| CommandError::option("--drivers", reason))?;
        Ok(shown_address(primary))
    }

    /// Where all of the data is, to be shown.
    pub fn places(&self, app: &Path) -> Result<String> {
        let stores = self.stores(&app.join(DATA_FILE))?;
        let places: Vec<String> = stores.urls().map(shown_address).collect();
        Ok(places.join(", "))
    }

    /// Where a command over what is stored looks, to be shown.
    pub fn searched(&self, app: &Path) -> Result<String> {
        Ok(format!("{}, tenant \"{}\"", self.places(app)?, self.tenant))
    }

    /// Opens the stores of an app that is run, and makes those that are not there yet. Where nothing says otherwise, the data
    /// is in the app's folder.
    pub async fn open_for(&self, app: &Path) -> Result<Stores> {
        let stores = self.stores(&app.join(DATA_FILE))?;
        match &self.data {
            Some(folder) => make_data_folder(folder)?,
            None => stores.urls().try_for_each(check_folder)?,
        }
        Ok(stores.open().await?)
    }

    /// Opens what an app has stored, to change it; it must be there already.
    pub async fn change_app(&self, app: &Path) -> Result<AppStores> {
        let stores = self.stores(&app.join(DATA_FILE))?;
        stores.urls().try_for_each(check_is_there)?;
        open_app(&stores, self.model_store(app)?).await
    }

    /// Opens what an app has stored, to look at it. Nothing is made: where no store is there yet, what the app's files say is in memory
    /// until the command ends; where one of several is missing, it fails.
    pub async fn read_app(&self, app: &Path) -> Result<AppStores> {
        let stores = self.stores(&app.join(DATA_FILE))?;
        stores.urls().try_for_each(check_folder)?;
        if stores.urls().all(|url| missing(url).is_some()) {
            return open_app(&stores.in_memory(), ModelStore::Memory).await;
        }
        stores.urls().try_for_each(check_is_there)?;
        open_app(&stores, self.model_store(app)?).await
    }

    /// Where the models of an app are, and the secret of their encrypted columns.
    pub fn models(&self, app: &Path) -> Result<ModelSettings> {
        model_settings(self.model_store(app)?)
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

async fn open_app(stores: &StoreUrls, models: ModelStore) -> Result<AppStores> {
    Ok(AppStores {
        models: model_settings(models)?,
        stores: stores.open().await?,
    })
}

fn model_settings(store: ModelStore) -> Result<ModelSettings> {
    let key = variable(MODEL_KEY_VARIABLE)?.map(ModelSecret);
    Ok(ModelSettings { store, key })
}

/// The folder of an app that a command runs; an error where none is there, before anything is made for it.
pub fn present_app(named: Option<PathBuf>) -> Result<PathBuf> {
    let folder = app_folder(named);
    check_app(&folder, "name the folder of one with --app")?;
    Ok(folder)
}

/// Refuses a folder without an app, saying what helps.
pub fn check_app(folder: &Path, advice: &str) -> Result<()> {
    match has_app(folder) {
        true => Ok(()),
        false => Err(CommandError::Refused(format!(
            "there is no app.yao in {}, so it is no app; {advice}",
            absolute_path(folder).display()
        ))),
    }
}

/// Whether there is an app in a folder.
pub fn has_app(folder: &Path) -> bool {
    folder.join("app.yao").is_file()
}

/// The app's folder: the one that is named, else that of the environment, else the one that the program is started in.
pub fn app_folder(named: Option<PathBuf>) -> PathBuf {
    named_app(named).unwrap_or_else(|| PathBuf::from("."))
}

/// The app's folder, where an option or the environment names it.
fn named_app(named: Option<PathBuf>) -> Option<PathBuf> {
    named.or_else(|| std::env::var_os("AMBIT_APP").map(PathBuf::from))
}

/// The folder whose data is meant where nothing names a store, for the server as for every command over what it has stored: that of
/// the app which is named or which the environment names; empty for the one that the program is started in.
pub fn data_folder(named: Option<PathBuf>) -> PathBuf {
    named_app(named).unwrap_or_default()
}

/// The file with what was typed into conversations, below the folder for the state of programs; none where nobody says which that is.
pub fn history_file() -> Option<PathBuf> {
    let folder = |name: &str| {
        let path = std::env::var_os(name).map(PathBuf::from);
        path.filter(|path| path.is_absolute())
    };
    let of_home = || Some(folder("HOME")?.join(".local/state"));
    let state = folder("XDG_STATE_HOME").or_else(of_home)?;
    Some(state.join("ambit/chat-history"))
}

/// The token for a server, if there is one.
pub fn token() -> Option<String> {
    variable(TOKEN_VARIABLE).ok().flatten()
}

/// A variable that is set and not empty.
fn variable(name: &str) -> Result<Option<String>> {
    let Some(value) = std::env::var_os(name) else {
        return Ok(None);
    };
    let value = value.into_string();
    let value = value.map_err(|_| CommandError::option(name, "is not UTF-8"))?;
    Ok(Some(value).filter(|value| !value.is_empty()))
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
    let Some(path) = missing(url) else {
        return Ok(());
    };
    check_folder(url)?;
    let path = path.display();
    Err(CommandError::Refused(format!(
        "there is no store at {path}, where `ambit serve` would make it; name another one with --app, --data or --store, or in \
         {STORE_VARIABLE}"
    )))
}

/// A server makes its store, but not the folder around it: a path whose folder is not there may be misspelt.
fn check_folder(url: &str) -> Result<()> {
    let path = missing(url);
    let folder = path.as_deref().and_then(Path::parent);
    let Some(folder) = folder.filter(|folder| !folder.is_dir()) else {
        return Ok(());
    };
    Err(CommandError::Refused(format!(
        "there is no folder {}, where a store would be; name another one with --app, --data or --store, or in {STORE_VARIABLE}",
        folder.display()
    )))
}

/// Makes the folder of `--data`, but not the one around it.
fn make_data_folder(folder: &Path) -> Result<()> {
    let path = absolute_path(folder);
    if let Some(around) = path.parent().filter(|around| !around.is_dir()) {
        let reason = format!(
            "is {}, and there is no folder {}; make it, or name another one",
            folder.display(),
            around.display()
        );
        return Err(CommandError::option("--data", reason));
    }
    std::fs::create_dir_all(folder).map_err(|error| {
        let reason = format!("{} cannot be made: {error}", folder.display());
        CommandError::option("--data", reason)
    })
}

/// Where a store of files would be that is not there.
fn missing(url: &str) -> Option<PathBuf> {
    let path = file_path(url)?;
    (!path.exists()).then_some(path)
}

fn text(path: &Path) -> Result<&str> {
    path_text(path).map_err(|reason| CommandError::option("--data", reason))
}
