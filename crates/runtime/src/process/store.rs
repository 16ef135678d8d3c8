//! The stores of an app: in memory, in the database, or behind a connector. Each is opened once, when it is first used.

mod lru;

use crate::app::{App, AppStore, StoreOptions, address, is_internal};
use crate::error::{Error, ErrorCode, Result};
use crate::lock::lock;
use crate::model::database::{Database, LazyDatabase};
use crate::model::{self, ColumnCipher, ModelStore};
use crate::model_pairing;
use ambit_storage::Stores;
use ambit_storage::driver::{self, Driver};
use ambit_storage::memory::{Memory, MemorySettings, Ttl};
use ambit_storage::upkeep::{Sweeper, SweeperOptions};
use lru::LruDriver;
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use tokio::sync::OnceCell;

/// The stores that are open. They outlive a reload, with what they hold.
pub struct OpenStores {
    stores: Arc<Stores>,
    drivers: Mutex<HashMap<String, DriverCell>>,
    sweepers: Mutex<Vec<Sweeper>>,
    models: Arc<dyn Database>,
    /// Whether models are still there when this process has ended.
    keeps_models: bool,
    cipher: ColumnCipher,
}

/// A driver that is opened by the first who needs it.
type DriverCell = Arc<OnceCell<Arc<dyn Driver>>>;

impl OpenStores {
    /// None yet. Stores in the database are kept in the first of these.
    pub fn new(stores: Arc<Stores>) -> Self {
        Self {
            stores,
            drivers: Mutex::default(),
            sweepers: Mutex::default(),
            models: Arc::new(LazyDatabase::new(ModelStore::Memory)),
            keeps_models: false,
            cipher: ColumnCipher::default(),
        }
    }

    /// The same with a place for models, which are otherwise in memory.
    pub fn with_models(self, place: model::ModelSettings) -> Result<Self> {
        let cipher = place.key.map(|key| ColumnCipher::new(&key.0)).transpose()?;
        Ok(Self {
            keeps_models: place.store != ModelStore::Memory,
            models: Arc::new(LazyDatabase::new(place.store)),
            cipher: cipher.unwrap_or_default(),
            ..self
        })
    }

    /// What the models of an app are made with.
    pub fn models(&self, roles: Vec<Map<String, Value>>) -> model::ModelBackend {
        model::ModelBackend {
            database: Arc::clone(&self.models),
            cipher: self.cipher.clone(),
            roles,
        }
    }

    /// Says why the models' database is not the one that belongs to the stores.
    pub async fn unpaired_models(&self) -> Result<Option<String>> {
        match self.keeps_models {
            true => model_pairing::check(&self.stores, self.models.as_ref()).await,
            false => Ok(None),
        }
    }

    /// A store of an app, for scripts that may keep values of this many bytes.
    pub async fn open(&self, app: &App, id: &str, value_limit: usize) -> Result<Memory> {
        if is_internal(id) {
            let message = format!("permission_denied: store {id}");
            return Err(Error::new(ErrorCode::PermissionDenied, message));
        }
        let store = app.store(id)?;
        let driver = self.driver(app, &store).await?;
        let life = store.file.option.ttl.map(|life| life.as_millis());
        let life = life.and_then(|millis| i64::try_from(millis).ok());
        let default_ttl = life.map_or(Ttl::Never, Ttl::After);
        let settings = MemorySettings {
            default_ttl,
            value_limit,
        };
        Ok(Memory::store(driver, id, settings)?)
    }

    async fn driver(&self, app: &App, store: &AppStore) -> Result<Arc<dyn Driver>> {
        let options = self.stores.options();
        if store.is_lru {
            let size = match store.file.option.size {
                0 => StoreOptions::default().size,
                size => size,
            };
            let made =
                || async { Ok(Arc::new(LruDriver::new(size, options.clone())) as Arc<dyn Driver>) };
            return self.once(format!("lru:{size}:{}", store.id), made).await;
        }
        let Some(connector) = &store.file.connector else {
            return Ok(self.stores.index()?.driver().clone());
        };
        let connector = app.storage(connector)?;
        let url = address(&connector, &app.root)?;
        let opened = || async {
            let opened = driver::open(&url, options.clone()).await;
            let opened = opened.map_err(|error| unreachable(&store.id, error))?;
            let sweeper = Sweeper::start(opened.clone(), SweeperOptions::default());
            lock(&self.sweepers).push(sweeper);
            Ok(opened)
        };
        self.once(url.clone(), opened).await
    }

    async fn once<F: Future<Output = Result<Arc<dyn Driver>>>>(
        &self,
        name: String,
        open: impl FnOnce() -> F,
    ) -> Result<Arc<dyn Driver>> {
        let cell = lock(&self.drivers).entry(name).or_default().clone();
        cell.get_or_try_init(open).await.cloned()
    }

    /// Closes them.
    pub async fn close(&self) -> Result<()> {
        let sweepers = std::mem::take(&mut *lock(&self.sweepers));
        for sweeper in sweepers {
            sweeper.stop().await;
        }
        let cells = std::mem::take(&mut *lock(&self.drivers));
        let mut closed = Ok(());
        for driver in cells.values().filter_map(|cell| cell.get()) {
            closed = closed.and(driver.close().await);
        }
        self.models.close().await?;
        Ok(closed?)
    }
}

fn unreachable(id: &str, error: ambit_storage::Error) -> Error {
    let mut error = Error::from(error);
    error.message = format!("store \"{id}\": {}", error.message);
    error
}
