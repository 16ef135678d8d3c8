//! Another key for the encrypted columns of an app's models, while no server runs.

use crate::app::App;
use crate::error::{Error, ErrorCode, Result};
use crate::model::database::LazyDatabase;
use crate::model::rekey::{RekeyReport, rekey};
use crate::model::{ColumnCipher, ModelBackend, ModelSecret, ModelSettings};
use crate::{nodes, process};
use ambit_storage::Stores;
use std::sync::Arc;

/// Encrypts what the key of these settings has encrypted with another one. Refused while a server is heard of in the stores: it
/// would go on with the old key.
pub async fn rekey_models(
    app: &App,
    stores: &Stores,
    place: ModelSettings,
    new: &ModelSecret,
) -> Result<RekeyReport> {
    let Some(old) = place.key else {
        return Err(refused(
            "the present key is not known: set AMBIT_MODEL_KEY to it",
        ));
    };
    let (old, new) = (ColumnCipher::new(&old.0)?, ColumnCipher::new(&new.0)?);
    if !nodes::heard(stores).await?.is_empty() {
        return Err(refused(
            "a server runs over this store: stop all of them; one that was killed is forgotten after half a minute",
        ));
    }
    // A database that is not there has no values, and need not be made.
    if place.store.is_missing() {
        return Ok(RekeyReport::default());
    }
    let backend = ModelBackend {
        database: Arc::new(LazyDatabase::new(place.store)),
        cipher: old,
        roles: Vec::new(),
    };
    let models = process::table_models(app, backend);
    let done = rekey(&models, &new).await;
    let closed = models.database().close().await;
    let report = done?;
    closed?;
    Ok(report)
}

fn refused(message: &str) -> Error {
    Error::new(ErrorCode::Conflict, message)
}
