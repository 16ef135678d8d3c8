//! Another key for the encrypted columns of an app's models, while no server runs.

use crate::app::App;
use crate::error::{Error, ErrorCode, Result};
use crate::model::database::LazyDatabase;
use crate::model::rekey::{self, RekeyReport};
use crate::model::{ColumnCipher, ModelBackend, ModelSecret, ModelSettings, TableModels};
use crate::{node_record, process};
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
    let old = ColumnCipher::new(&old.0)?;
    let new = ColumnCipher::of_variable("AMBIT_MODEL_KEY_NEW", &new.0)?;
    check_nobody_runs(stores).await?;
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
    let done = run(&models, stores, &new).await;
    let closed = models.database().close().await;
    let report = done?;
    closed?;
    Ok(report)
}

/// A server says that it is there before it looks whether a run has begun: whichever of the two comes first, the other one sees it.
async fn run(models: &TableModels, stores: &Stores, new: &ColumnCipher) -> Result<RekeyReport> {
    let is_first = rekey::begin(models, new).await?;
    if let Err(error) = check_nobody_runs(stores).await {
        if is_first {
            rekey::forget(models).await?;
        }
        return Err(error);
    }
    rekey::rekey(models, new).await
}

async fn check_nobody_runs(stores: &Stores) -> Result<()> {
    match node_record::heard(stores).await?.is_empty() {
        true => Ok(()),
        false => Err(refused(
            "a server runs over this store: stop all of them; one that was killed is forgotten after half a minute",
        )),
    }
}

fn refused(message: &str) -> Error {
    Error::new(ErrorCode::Conflict, message)
}
