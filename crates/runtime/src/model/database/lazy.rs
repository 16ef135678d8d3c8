//! A database that is opened by the first who needs it: an app without models has none.

use super::{AccessMode, Database, ModelStore, SqlDialect, Transaction, open};
use crate::error::Result;
use async_trait::async_trait;
use std::sync::Arc;
use tokio::sync::OnceCell;

/// A database that may not be open yet.
pub struct LazyDatabase {
    store: ModelStore,
    opened: OnceCell<Arc<dyn Database>>,
}

impl LazyDatabase {
    /// The database of this place.
    pub fn new(store: ModelStore) -> Self {
        Self {
            store,
            opened: OnceCell::new(),
        }
    }
}

#[async_trait]
impl Database for LazyDatabase {
    fn dialect(&self) -> SqlDialect {
        match self.store {
            ModelStore::Postgres(_) => SqlDialect::Postgres,
            ModelStore::Memory | ModelStore::Sqlite(_) => SqlDialect::Sqlite,
        }
    }

    async fn begin(&self, access: AccessMode) -> Result<Box<dyn Transaction>> {
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
