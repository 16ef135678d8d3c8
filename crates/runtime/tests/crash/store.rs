//! The stores that processes can share.

use crate::stores::{POSTGRES, REDIS, SQLITE, Store};
use ambit_storage::Stores;
use ambit_storage::driver::{DriverOptions, Durability, FaultPoints};
use std::path::PathBuf;
use std::time::Duration;
use tempfile::TempDir;

pub const STORES: &[Store] = &[SQLITE, POSTGRES, REDIS];

/// One fresh store, and a folder with the app and the marks that its tools leave.
pub struct Fresh {
    pub url: String,
    pub folder: TempDir,
    /// Whether nodes use the tool servers of the app, and not the test's tools.
    pub has_servers: bool,
    _place: Option<TempDir>,
}

impl Fresh {
    pub fn new(store: &'static Store) -> Self {
        let (url, place) = (store.place)().expect("a store that is there");
        let folder = crate::app::folder();
        Self {
            url,
            folder,
            has_servers: false,
            _place: place,
        }
    }

    /// Where tools leave their marks.
    pub fn marks(&self) -> PathBuf {
        self.folder.path().join("marks")
    }
}

/// A node's own handles on a store, its clock so far ahead.
pub async fn open(url: &str, ahead: Duration, fault_points: FaultPoints) -> Stores {
    let options = DriverOptions {
        durability: Durability::Normal,
        fault_points,
        ..DriverOptions::default()
    };
    options.clock.advance(ahead);
    let stores = Stores::builder(options).open(url).await;
    stores.expect("the store opens").build().expect("stores")
}
