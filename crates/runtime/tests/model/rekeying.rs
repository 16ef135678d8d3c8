//! What a change of the key asks of its database.

use crate::bed::{Bed, SECRET, app, both, write};
use crate::secrets::{CARD, NEW_SECRET};
use ambit_runtime::model::database::{
    AccessMode, Database, LazyDatabase, SqlDialect, SqlRow, SqlStatement, Transaction,
};
use ambit_runtime::model::rekey::rekey;
use ambit_runtime::model::{ColumnCipher, ModelSecret, ModelSettings};
use ambit_runtime::{Result, Runtime, RuntimeSettings, rekey_models};
use ambit_storage::Stores;
use ambit_storage::driver::DriverOptions;
use async_trait::async_trait;
use serde_json::json;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What was done in each transaction, and whether it was ended.
#[derive(Default)]
struct SeenTransaction {
    statements: Vec<String>,
    is_ended: bool,
}

type Seen = Arc<Mutex<Vec<SeenTransaction>>>;

/// Notes what is done with a database.
struct WatchedDatabase {
    database: LazyDatabase,
    seen: Seen,
}

#[async_trait]
impl Database for WatchedDatabase {
    fn dialect(&self) -> SqlDialect {
        self.database.dialect()
    }

    async fn begin(&self, access: AccessMode) -> Result<Box<dyn Transaction>> {
        let transaction = self.database.begin(access).await?;
        let mut seen = self.seen.lock().unwrap();
        seen.push(SeenTransaction::default());
        Ok(Box::new(WatchedTransaction {
            transaction,
            at: seen.len() - 1,
            seen: self.seen.clone(),
        }))
    }

    async fn close(&self) -> Result<()> {
        self.database.close().await
    }
}

struct WatchedTransaction {
    transaction: Box<dyn Transaction>,
    at: usize,
    seen: Seen,
}

impl WatchedTransaction {
    fn note(&self, statement: &SqlStatement) {
        let statements = &mut self.seen.lock().unwrap()[self.at].statements;
        statements.push(statement.sql.clone());
    }
}

#[async_trait]
impl Transaction for WatchedTransaction {
    fn dialect(&self) -> SqlDialect {
        self.transaction.dialect()
    }

    async fn rows(&mut self, statement: SqlStatement) -> Result<Vec<SqlRow>> {
        self.note(&statement);
        self.transaction.rows(statement).await
    }

    async fn run(&mut self, statement: SqlStatement) -> Result<u64> {
        self.note(&statement);
        self.transaction.run(statement).await
    }

    async fn commit(self: Box<Self>) -> Result<()> {
        self.seen.lock().unwrap()[self.at].is_ended = true;
        self.transaction.commit().await
    }
}

#[tokio::test]
async fn batches_may_take_long_and_give_their_connections_back_also_where_they_are_done() {
    both(async |place| {
        let bed = place.open(&[CARD]);
        bed.call("card.Create", json!([{"number": "1"}])).await;
        bed.models.database().close().await.unwrap();
        let new = ColumnCipher::new(NEW_SECRET).unwrap();
        for changed in [1, 0] {
            let seen = Seen::default();
            let watched = WatchedDatabase {
                database: LazyDatabase::new(place.store.clone()),
                seen: seen.clone(),
            };
            let old = ColumnCipher::new(SECRET).unwrap();
            let bed = Bed::over(Arc::new(watched), old, &[CARD]);
            assert_eq!(rekey(&bed.models, &new).await.unwrap().changed, changed);
            let is_postgres = bed.models.database().dialect() == SqlDialect::Postgres;
            bed.models.database().close().await.unwrap();
            let seen = seen.lock().unwrap();
            assert!(seen.iter().all(|transaction| transaction.is_ended));
            let of_batches = seen.iter().filter_map(|transaction| {
                let mut statements = transaction.statements.iter();
                let at = statements.position(|sql| sql.starts_with("SELECT DISTINCT"))?;
                Some(&transaction.statements[..at])
            });
            let before: Vec<&[String]> = of_batches.collect();
            let unlimited = ["SET LOCAL statement_timeout TO 0".to_owned()];
            let expected = if is_postgres { &unlimited[..] } else { &[] };
            // The number, what finds none behind it, and a column without values.
            assert_eq!(before, [expected; 3]);
        }
    })
    .await;
}

#[tokio::test]
async fn a_server_with_encrypted_columns_is_heard_from_its_start_on() {
    both(async |place| {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "app.yao", r#"{"name": "Test"}"#);
        write(folder.path(), CARD.0, CARD.1);
        let stores = Stores::builder(DriverOptions::default()).build().unwrap();
        let stores = Arc::new(stores);
        let models = ModelSettings {
            store: place.store.clone(),
            key: Some(ModelSecret(SECRET.to_owned())),
        };
        let mut settings = RuntimeSettings::new(folder.path(), stores.clone());
        settings.models = models.clone();
        let runtime = Runtime::open(settings).await.unwrap();
        let new = ModelSecret(NEW_SECRET.to_owned());
        let files = app(&[CARD]);
        let refused = rekey_models(&files, &stores, models, &new).await;
        let refused = refused.unwrap_err().message;
        assert!(
            refused.contains("a server runs over this store"),
            "{refused}"
        );
        runtime.close(Duration::ZERO).await.unwrap();
    })
    .await;
}
