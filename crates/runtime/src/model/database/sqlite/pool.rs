//! Connections that wait for a transaction.

use crate::error::Result;
use crate::lock::lock;
use crate::model::database::failure;
use std::sync::{Arc, Mutex};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};

/// Connections of one kind, each used by one transaction at a time.
pub struct ConnectionPool<C> {
    idle: Mutex<Vec<Arc<C>>>,
    free: Arc<Semaphore>,
    count: u32,
    /// What failures are told of.
    pub name: String,
}

impl<C> ConnectionPool<C> {
    /// These connections.
    pub fn new(connections: Vec<C>, name: &str) -> Arc<Self> {
        let count = u32::try_from(connections.len()).unwrap_or(u32::MAX);
        Arc::new(Self {
            free: Arc::new(Semaphore::new(connections.len())),
            idle: Mutex::new(connections.into_iter().map(Arc::new).collect()),
            count,
            name: name.to_owned(),
        })
    }

    /// Waits for a free connection.
    pub async fn take(self: &Arc<Self>) -> Result<PoolLease<C>> {
        let permit = Arc::clone(&self.free).acquire_owned().await;
        let permit = permit.map_err(|_| failure::closed(&self.name))?;
        let connection = lock(&self.idle).pop();
        let connection = connection.ok_or_else(|| failure::closed(&self.name))?;
        Ok(PoolLease {
            connection,
            pool: Arc::clone(self),
            _permit: permit,
        })
    }

    /// Waits until all connections are back, and takes them away.
    pub async fn drain(&self) -> PoolDrain<'_, C> {
        let all = self.free.acquire_many(self.count).await;
        // Those of a closed pool were taken away before.
        let connections = match &all {
            Ok(_) => std::mem::take(&mut *lock(&self.idle)),
            Err(_) => Vec::new(),
        };
        let connections = connections.into_iter().filter_map(Arc::into_inner);
        PoolDrain {
            connections: connections.collect(),
            pool: self,
            _all: all.ok(),
        }
    }
}

/// A connection while one transaction has it.
pub struct PoolLease<C> {
    /// The connection.
    pub connection: Arc<C>,
    /// Where it goes back to.
    pub pool: Arc<ConnectionPool<C>>,
    /// Released last, when the connection is back.
    _permit: OwnedSemaphorePermit,
}

impl<C> Drop for PoolLease<C> {
    fn drop(&mut self) {
        lock(&self.pool.idle).push(Arc::clone(&self.connection));
    }
}

/// The connections of a pool that is closed when this is dropped.
pub struct PoolDrain<'p, C> {
    /// The connections.
    pub connections: Vec<C>,
    pool: &'p ConnectionPool<C>,
    /// Others that close the pool wait for it.
    _all: Option<SemaphorePermit<'p>>,
}

impl<C> Drop for PoolDrain<'_, C> {
    fn drop(&mut self) {
        self.pool.free.close();
    }
}
