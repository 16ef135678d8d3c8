//! Makes the tables at the first open, and refuses those of a newer Ambit.

use super::settings::PostgresSettings;
use super::transaction::failed;
use crate::address;
use crate::driver::{DriverOptions, Durability};
use crate::{Error, Result};
use tokio_postgres::{Client, Transaction};

/// What each version of the layout adds; the last one's number is the layout's.
const LAYOUTS: &[&[&str]] = &[&[include_str!("tables.sql"), include_str!("functions.sql")]];

/// A key for advisory locks that no other schema and no other part of this one takes.
pub(super) fn lock_key(settings: &PostgresSettings, part: &str) -> i64 {
    let hash = address::hash(&["ambit", &settings.schema, part]);
    super::locks::number(&hash)
}

/// What every connection is told first. Plans are kept from when the tables were empty, so what is only good for small
/// tables is off; every query here walks an index. The time limits free what a frozen node holds.
pub(super) fn setup(settings: &PostgresSettings, options: &DriverOptions) -> String {
    let synchronous = match options.durability {
        Durability::Full => "on",
        Durability::Normal => "off",
    };
    format!(
        "SET search_path TO {}; SET synchronous_commit TO {synchronous}; SET enable_seqscan TO off; \
         SET enable_hashjoin TO off; SET enable_mergejoin TO off; SET enable_material TO off; SET jit TO off; \
         SET default_transaction_isolation TO 'read committed'; SET lock_timeout TO '30s'; \
         SET idle_in_transaction_session_timeout TO '60s'; SET client_min_messages TO error",
        settings.schema
    )
}

/// Brings the schema to the newest layout. Any number of processes may do so at once: all wait for the first.
pub(super) async fn migrate(settings: &PostgresSettings, options: &DriverOptions) -> Result<()> {
    let failed = |error| failed(settings, error);
    let server = &settings.server;
    let connecting = server.config.connect(server.tls.clone());
    let (mut client, connection) = connecting.await.map_err(failed)?;
    let work = async move {
        client
            .batch_execute(&setup(settings, options))
            .await
            .map_err(failed)?;
        advance(&mut client, settings).await
    };
    let (done, _) = tokio::join!(work, connection);
    done
}

async fn advance(client: &mut Client, settings: &PostgresSettings) -> Result<()> {
    let failed = |error| failed(settings, error);
    let transaction = client.transaction().await.map_err(failed)?;
    transaction
        .query(
            "SELECT pg_advisory_xact_lock($1)",
            &[&lock_key(settings, "layout")],
        )
        .await
        .map_err(failed)?;
    let known = i32::try_from(LAYOUTS.len()).unwrap_or(i32::MAX);
    let found = layout(&transaction).await.map_err(failed)?;
    if found > known {
        return Err(Error::invalid(
            "driver",
            format!(
                "{} has layout {found}, written by a newer Ambit; this one knows up to {known}: use that newer one",
                settings.name
            ),
        ));
    }
    if found == known {
        return Ok(());
    }
    if found == 0 {
        let exists = "SELECT to_regnamespace($1) IS NOT NULL";
        let exists = transaction
            .query_one(exists, &[&settings.schema])
            .await
            .map_err(failed)?;
        let mut first =
            "CREATE TABLE layout (version integer NOT NULL); INSERT INTO layout VALUES (0)"
                .to_owned();
        if !exists.get::<_, bool>(0) {
            first = format!("CREATE SCHEMA {}; {first}", settings.schema);
        }
        transaction.batch_execute(&first).await.map_err(failed)?;
    }
    for step in LAYOUTS.iter().skip(usize::try_from(found).unwrap_or(0)) {
        for script in *step {
            transaction.batch_execute(script).await.map_err(failed)?;
        }
    }
    transaction
        .execute("UPDATE layout SET version = $1", &[&known])
        .await
        .map_err(failed)?;
    transaction.commit().await.map_err(failed)
}

/// The layout that is there; 0 where there is none.
async fn layout(transaction: &Transaction<'_>) -> Result<i32, tokio_postgres::Error> {
    let exists = "SELECT to_regclass('layout') IS NOT NULL";
    if !transaction.query_one(exists, &[]).await?.get::<_, bool>(0) {
        return Ok(0);
    }
    let version = transaction.query_one("SELECT version FROM layout", &[]);
    Ok(version.await?.get(0))
}
