//! A database that is opened by the first who needs it: an app without models has none.

use super::{Access, Database, Dialect, ModelStore, Transaction, open};
use crate::error::Result;
use async_trait::async_trait;
use std::sync::Arc;
use tokio::sync::OnceCell;

/// A database that may not be open yet.
pub struct Lazy {
    store: ModelStore,
    opened: OnceCell<Arc<dyn Database>>,
}

impl Lazy {
    /// The database of this place.
    pub fn new(store: ModelStore) -> Self {
        Self {
            store,
            opened: OnceCell::new(),
        }
    }
}

#[async_trait]
impl Database for Lazy {
    fn dialect(&self) -> Dialect {
        match self.store {
            ModelStore::Postgres(_) => Dialect::Postgres,
            ModelStore::Memory | ModelStore::Sqlite(_) => Dialect::Sqlite,
        }
    }

    async fn begin(&self, access: Access) -> Result<Box<dyn Transaction>> {
        let opened = self.opened.get_or_try_init(|| open(&self.store)).await?;
        opened.begin(access).await
    }

    async fn close(&self) -> Result<()> {
        match self.opened.get() {
            Some(opened) => opened.close().await,
            None => Ok(()),
        }
    }
}
