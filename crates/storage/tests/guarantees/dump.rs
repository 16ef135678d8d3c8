//! Every byte that a store keeps, read past its driver: files, tables, keys.

use crate::bed::{Bed, snapshot};
use futures::future::join_all;
use std::path::Path;
use std::time::{Duration, Instant};

/// True where the store keeps this text anywhere.
pub async fn keeps(bed: &Bed, text: &str) -> bool {
    let hex: String = text.bytes().map(|byte| format!("{byte:02x}")).collect();
    let dump = bytes(bed).await;
    let has = |wanted: &[u8]| dump.windows(wanted.len()).any(|part| part == wanted);
    has(text.as_bytes()) || has(hex.as_bytes())
}

/// True where the store keeps this text nowhere: at once, or where a file is rewritten for that, soon. One whose last rewriting
/// was slow, as on a busy machine, is not rewritten again right behind it, so that this is for what is removed in several steps.
pub async fn forgets(bed: &Bed, text: &str) -> bool {
    let begun = Instant::now();
    while keeps(bed, text).await {
        let is_rewritten = bed.fresh.place.url.starts_with("sqlite:");
        // Guards against hanging: how long it is put off depends on how long the last rewriting took.
        if !is_rewritten || begun.elapsed() > Duration::from_secs(60) {
            return false;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    true
}

async fn bytes(bed: &Bed) -> Vec<u8> {
    let url = bed.fresh.place.url.as_str();
    match url.split(':').next().unwrap_or_default() {
        "file" => files(Path::new(&url[5..])),
        "sqlite" => files(Path::new(&url[7..]).parent().unwrap()),
        "redis" => keys(url).await,
        "memory" | "toy" => format!("{:?}", snapshot(bed.driver.as_ref()).await).into_bytes(),
        _ => tables(url).await,
    }
}

fn files(folder: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    for item in std::fs::read_dir(folder).unwrap() {
        let path = item.unwrap().path();
        bytes.extend_from_slice(path.to_str().unwrap().as_bytes());
        bytes.extend(if path.is_dir() {
            files(&path)
        } else {
            std::fs::read(&path).unwrap()
        });
    }
    bytes
}

/// The address without our own parameter, and that parameter's value.
fn apart<'a>(url: &'a str, parameter: &str) -> (&'a str, &'a str) {
    let at = url.find(parameter).unwrap();
    (&url[..at - 1], &url[at + parameter.len() + 1..])
}

async fn tables(url: &str) -> Vec<u8> {
    let (server, schema) = apart(url, "ambit_schema");
    let connect = tokio_postgres::connect(server, tokio_postgres::NoTls);
    let (client, connection) = connect.await.unwrap();
    let connection = tokio::spawn(connection);
    let named = "select table_name::text from information_schema.tables where table_schema = $1";
    let tables = client.query(named, &[&schema]).await.unwrap();
    assert!(!tables.is_empty(), "{schema} has no tables");
    let texts = join_all(tables.iter().map(|row| {
        let table: String = row.get(0);
        let (client, schema) = (&client, schema.to_owned());
        async move {
            let all =
                format!("select coalesce(string_agg(t::text, ' '), '') from {schema}.{table} t");
            let row = client.query_one(&all, &[]).await.unwrap();
            row.get::<_, String>(0)
        }
    }));
    let bytes = texts.await.join(" ").into_bytes();
    connection.abort();
    bytes
}

async fn keys(url: &str) -> Vec<u8> {
    let (server, prefix) = apart(url, "ambit_prefix");
    let client = redis::Client::open(server).unwrap();
    let mut connection = client.get_multiplexed_async_connection().await.unwrap();
    let mut ask = redis::cmd("KEYS");
    ask.arg(format!("{prefix}*"));
    let keys: Vec<String> = ask.query_async(&mut connection).await.unwrap();
    let mut bytes = Vec::new();
    for key in keys {
        bytes.extend_from_slice(key.as_bytes());
        let mut ask = redis::cmd("TYPE");
        let kind: String = ask.arg(&key).query_async(&mut connection).await.unwrap();
        let mut ask = match kind.as_str() {
            "string" => redis::cmd("GET"),
            "hash" => redis::cmd("HGETALL"),
            "set" => redis::cmd("SMEMBERS"),
            "list" => redis::cmd("LRANGE"),
            "zset" => redis::cmd("ZRANGE"),
            "stream" => redis::cmd("XRANGE"),
            other => panic!("{key} is a {other}"),
        };
        ask.arg(&key);
        match kind.as_str() {
            "list" | "zset" => ask.arg(0).arg(-1),
            "stream" => ask.arg("-").arg("+"),
            _ => &mut ask,
        };
        let value: redis::Value = ask.query_async(&mut connection).await.unwrap();
        flatten(&value, &mut bytes);
    }
    bytes
}

fn flatten(value: &redis::Value, bytes: &mut Vec<u8>) {
    match value {
        redis::Value::BulkString(text) => bytes.extend_from_slice(text),
        redis::Value::SimpleString(text) => bytes.extend_from_slice(text.as_bytes()),
        redis::Value::Array(items) | redis::Value::Set(items) => {
            items.iter().for_each(|item| flatten(item, bytes));
        }
        redis::Value::Map(pairs) => pairs.iter().for_each(|(name, value)| {
            flatten(name, bytes);
            flatten(value, bytes);
        }),
        other => bytes.extend_from_slice(format!("{other:?}").as_bytes()),
    }
}
