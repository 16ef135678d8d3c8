//! Which models' database belongs to a store: the store notes the id that the database has, so that another one is noticed, as where
//! two nodes have different ones or one was not restored with the store.

use crate::error::Result;
use crate::model::database::{self, Database};
use crate::model::{ModelStore, database_note};
use ambit_storage::address::{DEFAULT_TENANT, Space, ValueKey};
use ambit_storage::batch::{Batch, BatchCheck, BatchWrite};
use ambit_storage::driver::ValuePart;
use ambit_storage::operation::Operation;
use ambit_storage::{Json, Stores};

/// The value with the id of the database.
const NAME: &str = "models-database";

/// Says why this database is not the one that belongs to the stores. Where they have noted none, this one belongs to them from
/// now on.
pub async fn check(stores: &Stores, database: &dyn Database) -> Result<Option<String>> {
    let own = database_note::identify(database).await?;
    if noted(stores).await?.is_none() {
        match note(stores, &own).await {
            // Another node has noted its own meanwhile.
            Err(ambit_storage::Error::Conflict { .. }) => {}
            noted => noted?,
        }
    }
    let noted = noted(stores).await?;
    Ok(noted.filter(|noted| *noted != own).map(|noted| {
        format!(
            "they are in database {own}, and the store belongs with database {noted}, which another node uses or which was not \
             restored with it: name the same one with --models, or run `ambit doctor --accept` if this one is meant"
        )
    }))
}

/// Says why the database at this place is not the one that belongs to the stores. Nothing is made or noted.
pub async fn examine_models(stores: &Stores, place: &ModelStore) -> Result<Option<String>> {
    let Some(noted) = noted(stores).await? else {
        return Ok(None);
    };
    Ok(match id_at(place).await {
        Ok(Some(own)) if own == noted => None,
        Ok(Some(own)) => Some(format!(
            "database {own} is not the one that belongs to the store, which is {noted}"
        )),
        Ok(None) => Some(format!(
            "database {noted}, which belongs to the store, is not there"
        )),
        Err(error) => Some(error.to_string()),
    })
}

/// Takes the database at this place as the one that belongs to the stores; where none is there, the next that is used.
pub async fn accept_models(stores: &Stores, place: &ModelStore) -> Result<()> {
    let own = id_at(place).await?;
    let op = match own {
        Some(id) => Operation::Set(Json::of(&id)?.into()),
        None => Operation::Del,
    };
    let noted = Batch::of([BatchWrite::apply(key(), op, None)]);
    stores.index()?.driver().commit(noted).await?;
    Ok(())
}

/// The id of the database at this place; none where none is there, or it has held no models.
async fn id_at(place: &ModelStore) -> Result<Option<String>> {
    if place.is_missing() {
        return Ok(None);
    }
    let opened = database::open(place).await?;
    let id = database_note::id(opened.as_ref()).await;
    let closed = opened.close().await;
    let id = id?;
    closed?;
    Ok(id)
}

async fn noted(stores: &Stores) -> Result<Option<String>> {
    let index = stores.index()?;
    let entry = index.driver().get(&key(), ValuePart::Whole).await?;
    Ok(entry.map(|entry| entry.value.to()).transpose()?)
}

async fn note(stores: &Stores, id: &str) -> Result<(), ambit_storage::Error> {
    let set = Operation::Set(Json::of(&id)?.into());
    let batch = Batch::of([BatchWrite::apply(key(), set, None)]);
    let batch = batch.checking(BatchCheck::version(key(), None));
    stores.index()?.driver().commit(batch).await?;
    Ok(())
}

fn key() -> ValueKey {
    Space::settings(DEFAULT_TENANT).key(NAME)
}
