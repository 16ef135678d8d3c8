//! What a change of the key asks of its database.

use crate::bed::{Bed, Place, SECRET, app, both, write};
use crate::secrets::{CARD, NEW_SECRET};
use ambit_runtime::model::database::{
    AccessMode, Database, LazyDatabase, SqlCell, SqlDialect, SqlRow, SqlStatement, Transaction,
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
    statements: Vec<SqlStatement>,
    is_ended: bool,
    /// Cards that others could change between the look at them and their change.
    free: Vec<SqlRow>,
}

impl SeenTransaction {
    fn sql(&self) -> Vec<&str> {
        let statements = self.statements.iter();
        statements.map(|it| it.sql.as_str()).collect()
    }
}

type Seen = Arc<Mutex<Vec<SeenTransaction>>>;

/// Notes what is done with a database.
struct WatchedDatabase {
    database: LazyDatabase,
    other: Arc<LazyDatabase>,
    seen: Seen,
}

/// The models of cards over a watched database, and what is noted of it.
fn watched(place: &Place) -> (Bed, Seen) {
    let seen = Seen::default();
    let database = WatchedDatabase {
        database: LazyDatabase::new(place.store.clone()),
        other: Arc::new(LazyDatabase::new(place.store.clone())),
        seen: seen.clone(),
    };
    let old = ColumnCipher::new(SECRET).unwrap();
    (Bed::over(Arc::new(database), old, &[CARD]), seen)
}

/// What finds the cards of a batch.
const LOOK: &str = "SELECT \"id\", ";

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
            other: self.other.clone(),
            seen: self.seen.clone(),
        }))
    }

    async fn close(&self) -> Result<()> {
        self.other.close().await?;
        self.database.close().await
    }
}

struct WatchedTransaction {
    transaction: Box<dyn Transaction>,
    at: usize,
    other: Arc<LazyDatabase>,
    seen: Seen,
}

impl WatchedTransaction {
    fn note(&self, statement: &SqlStatement) {
        let statements = &mut self.seen.lock().unwrap()[self.at].statements;
        statements.push(statement.clone());
    }
}

/// Those of these cards that nobody has locked.
async fn free_cards(database: &LazyDatabase, cards: &[SqlRow]) -> Result<Vec<SqlRow>> {
    let ids = cards.iter().map(|card| match &card[0] {
        SqlCell::Integer(id) => id.to_string(),
        other => panic!("{other:?}"),
    });
    let ids: Vec<String> = ids.collect();
    let ids = ids.join(", ");
    let mut asking = database.begin(AccessMode::Write).await?;
    let sql = format!("SELECT \"id\" FROM \"card\" WHERE \"id\" IN ({ids}) FOR UPDATE SKIP LOCKED");
    let free = asking.rows(sql.into()).await?;
    asking.commit().await?;
    Ok(free)
}

#[async_trait]
impl Transaction for WatchedTransaction {
    fn dialect(&self) -> SqlDialect {
        self.transaction.dialect()
    }

    async fn rows(&mut self, statement: SqlStatement) -> Result<Vec<SqlRow>> {
        self.note(&statement);
        let is_look = statement.sql.starts_with(LOOK);
        let rows = self.transaction.rows(statement).await?;
        // In SQLite the whole file is locked.
        if is_look && !rows.is_empty() && self.dialect() == SqlDialect::Postgres {
            let free = free_cards(&self.other, &rows).await?;
            self.seen.lock().unwrap()[self.at].free.extend(free);
        }
        Ok(rows)
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
            let (bed, seen) = watched(place);
            assert_eq!(rekey(&bed.models, &new).await.unwrap().changed, changed);
            let is_postgres = bed.models.database().dialect() == SqlDialect::Postgres;
            bed.models.database().close().await.unwrap();
            let seen = seen.lock().unwrap();
            assert!(seen.iter().all(|transaction| transaction.is_ended));
            let before = seen.iter().filter_map(|transaction| {
                let mut statements = transaction.sql();
                let at = statements.iter().position(|sql| sql.starts_with(LOOK))?;
                statements.truncate(at);
                Some(statements)
            });
            let before: Vec<Vec<&str>> = before.collect();
            let unlimited = ["SET LOCAL statement_timeout TO 0"];
            let expected = if is_postgres { &unlimited[..] } else { &[] };
            // The number, what finds none behind it, and a column without values.
            assert_eq!(before, [expected; 3]);
        }
    })
    .await;
}

#[tokio::test]
async fn each_batch_is_found_by_the_key_behind_the_one_before_and_nobody_changes_it_meanwhile() {
    both(async |place| {
        let bed = place.open(&[CARD]);
        // Two batches.
        let cells = (0..501).map(|at| json!([at.to_string(), {"at": at}]));
        let cells = cells.collect::<serde_json::Value>();
        let saved = bed.call("card.Insert", json!([["number", "more"], cells]));
        assert_eq!(saved.await, json!(null));
        bed.models.database().close().await.unwrap();
        let (bed, seen) = watched(place);
        let new = ColumnCipher::new(NEW_SECRET).unwrap();
        let report = rekey(&bed.models, &new).await.unwrap();
        assert_eq!(report.changed, 2 * 501);
        let seen = std::mem::take(&mut *seen.lock().unwrap());
        assert!(seen.iter().all(|transaction| transaction.free.is_empty()));
        let statements = seen.into_iter().flat_map(|it| it.statements);
        let of_batches = statements
            .filter(|it| it.sql.starts_with(LOOK) || it.sql.starts_with("UPDATE \"card\""));
        let (behind, first): (Vec<SqlStatement>, Vec<SqlStatement>) =
            of_batches.partition(|it| it.sql.contains("\"id\" > "));
        // Of each of the two columns: the second batch, and what finds none behind it.
        assert_eq!((first.len(), behind.len()), (2 * 2, 2 * 3));
        if bed.models.database().dialect() == SqlDialect::Sqlite {
            let reading = bed.models.database().begin(AccessMode::Read).await;
            let mut reading = reading.unwrap();
            for SqlStatement { sql, values, .. } in behind {
                let explain = SqlStatement::new(format!("EXPLAIN QUERY PLAN {sql}"), values);
                let plan = reading.rows(explain).await.unwrap();
                assert!(!format!("{plan:?}").contains("SCAN"), "{sql}: {plan:?}");
            }
        }
        bed.models.database().close().await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn rows_that_have_no_key_are_encrypted_anew_too() {
    both(async |place| {
        let bed = place.open(&[CARD]);
        let [old, new] = [SECRET, NEW_SECRET].map(|key| ColumnCipher::new(key).unwrap());
        // The table is another program's: what the model calls its key is none. Two batches.
        let rows = (0..501).map(|at| {
            let number = old.seal("card.number", &at.to_string()).unwrap();
            format!("(NULL, '{number}')")
        });
        let rows: Vec<String> = rows.collect();
        let make = "CREATE TABLE \"card\" (\"id\" bigint, \"number\" text)".to_owned();
        let fill = format!("INSERT INTO \"card\" VALUES {}", rows.join(", "));
        let begun = bed.models.database().begin(AccessMode::Write).await;
        let mut writing = begun.unwrap();
        for sql in [make, fill] {
            writing.run(sql.into()).await.unwrap();
        }
        writing.commit().await.unwrap();
        let report = rekey(&bed.models, &new).await.unwrap();
        assert_eq!((report.changed, report.unreadable.len()), (501, 0));
        assert_eq!(rekey(&bed.models, &new).await.unwrap().changed, 0);
        bed.models.database().close().await.unwrap();
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
