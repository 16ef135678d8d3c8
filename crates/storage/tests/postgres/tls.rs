//! Encrypted connections. `TEST_POSTGRES_CA` names the file of who signed the server's certificate, which must be good for
//! the host of `TEST_POSTGRES_URL`.

use super::{entry, space};
use ambit_storage::Result;
use ambit_storage::batch::{Batch, BatchWrite};
use ambit_storage::driver::{self, Driver, DriverOptions, ValuePart};
use std::sync::Arc;
use tempfile::NamedTempFile;

/// The certificate of somebody who signed nothing.
const STRANGER: &str = include_str!("stranger.pem");

fn authority() -> String {
    let file = std::env::var_os("TEST_POSTGRES_CA").unwrap();
    file.into_string().unwrap()
}

async fn open(url: &str, parameters: String) -> Result<Arc<dyn Driver>> {
    driver::open(&format!("{url}&{parameters}"), DriverOptions::default()).await
}

/// True where the server says that this driver's connections are encrypted.
async fn is_encrypted(url: &str, parameters: &str) -> bool {
    let name = format!("tls-{:08x}", rand::random::<u32>());
    let driver = open(url, format!("{parameters}&application_name={name}"));
    let driver = driver
        .await
        .unwrap_or_else(|error| panic!("{parameters}: {error}"));
    let append = BatchWrite::append(space("tls").log("items"), vec![entry(name.clone())]);
    driver.commit(Batch::of([append])).await.unwrap();
    driver
        .get(&space("tls").key("x"), ValuePart::Whole)
        .await
        .unwrap();
    let (server, _) = url.split_once('?').unwrap();
    let connect = tokio_postgres::connect(server, tokio_postgres::NoTls);
    let (client, connection) = connect.await.unwrap();
    tokio::spawn(connection);
    let question = "SELECT bool_and(ssl), count(*) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) \
         WHERE application_name = $1";
    let row = client.query_one(question, &[&name]).await.unwrap();
    assert!(row.get::<_, i64>(1) > 0);
    row.get(0)
}

pub async fn modes(url: String) {
    let authority = authority();
    assert!(!is_encrypted(&url, "sslmode=disable").await);
    for parameters in [
        "sslmode=prefer".to_owned(),
        "sslmode=require".to_owned(),
        format!("sslmode=require&sslrootcert={authority}"),
        format!("sslmode=verify-ca&sslrootcert={authority}"),
        format!("sslmode=verify-full&sslrootcert={authority}"),
    ] {
        assert!(is_encrypted(&url, &parameters).await, "{parameters}");
    }
}

pub async fn stranger(url: String) {
    let file = NamedTempFile::new().unwrap();
    std::fs::write(&file, STRANGER).unwrap();
    let path = file.path().display();
    for mode in ["require", "verify-ca", "verify-full"] {
        let parameters = format!("sslmode={mode}&sslrootcert={path}");
        let error = open(&url, parameters).await.err().unwrap().to_string();
        assert!(
            error.contains("UnknownIssuer") && error.contains("sslrootcert=FILE"),
            "{error}"
        );
    }
    let error = open(&url, "sslmode=verify-full".to_owned())
        .await
        .err()
        .unwrap();
    assert!(
        error.to_string().contains("invalid peer certificate"),
        "{error}"
    );
}

pub async fn another_host(url: String) {
    // The same server under a name that its certificate does not give.
    let authority = authority();
    let (server, _) = url.split_once('?').unwrap();
    let server: tokio_postgres::Config = server.parse().unwrap();
    let tokio_postgres::config::Host::Tcp(host) = &server.get_hosts()[0] else {
        panic!("the server's address is of the network");
    };
    let mut numbers = tokio::net::lookup_host((host.as_str(), 0)).await.unwrap();
    let number = numbers.next().unwrap().ip();
    let url = url.replacen(&format!("@{host}"), "@elsewhere.test", 1);
    let address = format!("hostaddr={number}&sslrootcert={authority}");
    let error = open(&url, format!("{address}&sslmode=verify-full"));
    let error = error.await.err().unwrap().to_string();
    assert!(
        error.contains("elsewhere.test:") && error.contains("alternative name"),
        "{error}"
    );
    let opened = open(&url, format!("{address}&sslmode=verify-ca")).await;
    assert_eq!(opened.map(drop).map_err(|error| error.to_string()), Ok(()));
}
