//! Makes the tables at the first open, and refuses those of a newer Ambit.

use super::pool_mode::PoolMode;
use super::settings::PostgresSettings;
use super::sql_value::{SqlValue, bind, typed};
use super::transaction::failed;
use crate::address;
use crate::driver::{DriverOptions, Durability};
use crate::{Error, Result};
use tokio_postgres::{Client, IsolationLevel, Transaction};

/// What each version of the layout adds; the last one's number is the layout's.
const LAYOUTS: &[&[&str]] = &[
    &[include_str!("tables.sql"), include_str!("functions.sql")],
    &[include_str!("groups.sql")],
    &[include_str!("calls.sql")],
];

/// A key for advisory locks that no other schema and no other part of this one takes.
pub(super) fn lock_key(settings: &PostgresSettings, part: &str) -> i64 {
    let hash = address::hash(&["ambit", &settings.schema, part]);
    super::locks::number(&hash)
}

/// What every connection, or every transaction on one that is lent, is told first. Plans are made once, whatever the values:
/// left to itself, the server plans most statements here each time, which takes longer than doing them. Such plans are kept
/// from when the tables were empty, so what is only good for small tables is off; every query here walks an index. The time
/// limits free what a frozen node holds. Long bodies are packed with LZ4, which takes a third of the time, where the server can; on a
/// lent connection to look for that takes too long.
pub(super) const SET: &str = "SELECT set_config('search_path', $1, $3), set_config('synchronous_commit', $2, $3), \
     set_config('enable_seqscan', 'off', $3), set_config('enable_hashjoin', 'off', $3), \
     set_config('enable_mergejoin', 'off', $3), set_config('enable_material', 'off', $3), \
     set_config('jit', 'off', $3), set_config('plan_cache_mode', 'force_generic_plan', $3), set_config('default_transaction_isolation', 'read committed', $3), \
     set_config('default_transaction_read_only', 'off', $3), \
     set_config('lock_timeout', '30s', $3), set_config('idle_in_transaction_session_timeout', '60s', $3), \
     set_config('client_min_messages', 'error', $3), \
     (SELECT set_config(name, 'lz4', false) FROM pg_settings \
      WHERE NOT $3 AND name = 'default_toast_compression' AND 'lz4' = ANY (enumvals))";

/// How long a setting lasts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum SettingScope {
    Session,
    Transaction,
}

/// The values of `SET`.
pub(super) fn set(schema: &str, durability: Durability, scope: SettingScope) -> Vec<SqlValue> {
    let synchronous = match durability {
        Durability::Full => "on",
        Durability::Normal => "off",
    };
    let is_local = scope == SettingScope::Transaction;
    bind![schema.to_owned(), synchronous, is_local]
}

/// Brings the schema to the newest layout. Any number of processes may do so at once: all wait for the first.
pub(super) async fn migrate(
    settings: &PostgresSettings,
    options: &DriverOptions,
) -> Result<PoolMode> {
    let failed = |error| failed(settings, error);
    let server = &settings.server;
    let connecting = server.config.connect(server.tls.clone());
    let (mut client, connection) = connecting.await.map_err(failed)?;
    let work = async move {
        advance(&mut client, settings, options).await?;
        server.pool_mode(&client).await.map_err(failed)
    };
    let (done, _) = tokio::join!(work, connection);
    done
}

/// Leaves nothing on the connection, and prepares nothing: it may be lent.
async fn advance(
    client: &mut Client,
    settings: &PostgresSettings,
    options: &DriverOptions,
) -> Result<()> {
    let failed = |error| failed(settings, error);
    let transaction = client
        .build_transaction()
        .isolation_level(IsolationLevel::ReadCommitted)
        .read_only(false);
    let transaction = transaction.start().await.map_err(failed)?;
    let (schema, durability) = (&settings.schema, options.durability);
    let set = set(schema, durability, SettingScope::Transaction);
    let set = transaction.query_typed(SET, &typed(&set)).await;
    set.map_err(failed)?;
    let key = lock_key(settings, "layout");
    let lock = format!("SELECT pg_advisory_xact_lock({key})");
    transaction.batch_execute(&lock).await.map_err(failed)?;
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
        let exists = format!("SELECT to_regnamespace('{schema}') IS NOT NULL");
        let exists = transaction.query_typed_one(&exists, &[]).await;
        let exists = exists.map_err(failed)?;
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
        .batch_execute(&format!("UPDATE layout SET version = {known}"))
        .await
        .map_err(failed)?;
    transaction.commit().await.map_err(failed)
}

/// The layout that is there; 0 where there is none.
async fn layout(transaction: &Transaction<'_>) -> Result<i32, tokio_postgres::Error> {
    let exists = "SELECT to_regclass('layout') IS NOT NULL";
    let exists = transaction.query_typed_one(exists, &[]).await?;
    if !exists.get::<_, bool>(0) {
        return Ok(0);
    }
    let version = transaction.query_typed_one("SELECT version FROM layout", &[]);
    Ok(version.await?.get(0))
}
