//! The connection: where the server is, whether it may be trusted with data, and how scripts are run on it.

use crate::clock::Clock;
use crate::{Error, Result};
use parking_lot::Mutex;
use redis::aio::{ConnectionManager, ConnectionManagerConfig};
use redis::{Client, ErrorKind, FromRedisValue, RedisError, Script};
use std::time::Duration;

/// The prefix of all keys where the address names none.
const DEFAULT_PREFIX: &str = "ambit";

/// The scripts, each with what they share in front of it.
#[derive(Debug)]
pub struct LuaScripts {
    pub load: Script,
    pub commit: Script,
    pub sweep: Script,
    pub check: Script,
}

impl Default for LuaScripts {
    fn default() -> Self {
        let script = |code: &str| Script::new(&format!("{}{code}", include_str!("prelude.lua")));
        Self {
            load: script(include_str!("load.lua")),
            commit: script(include_str!("commit.lua")),
            sweep: script(include_str!("sweep.lua")),
            check: script(include_str!("check.lua")),
        }
    }
}

/// One server and the keys behind one prefix.
pub struct RedisServer {
    /// `host:port`, for messages: never with a password.
    pub place: String,
    pub prefix: String,
    /// Opens connections of their own, for subscriptions.
    pub client: Client,
    pub scripts: LuaScripts,
    clock: Clock,
    connection: Mutex<Option<ConnectionManager>>,
}

impl RedisServer {
    /// Connects to `//host:port/db?ambit_prefix=name`.
    pub async fn open(address: &str, clock: Clock) -> Result<Self> {
        let (url, prefix) = split_prefix(address)?;
        let client = Client::open(format!("redis:{url}")).map_err(|error| {
            let reason = error.detail().unwrap_or("it cannot be read").to_owned();
            Error::invalid(
                "driver",
                format!("the address of a redis store is redis://host:port/db: {reason}"),
            )
        })?;
        let place = client.get_connection_info().addr().to_string();
        let config = ConnectionManagerConfig::new()
            .set_number_of_retries(1)
            .set_connection_timeout(Some(Duration::from_secs(5)))
            .set_response_timeout(Some(Duration::from_secs(60)));
        let connection = client
            .get_connection_manager_with_config(config)
            .await
            .map_err(|error| failure(&place, error))?;
        Ok(Self {
            place,
            prefix,
            client,
            scripts: LuaScripts::default(),
            clock,
            connection: Mutex::new(Some(connection)),
        })
    }

    /// Fails where the server may throw data away to make room.
    pub async fn refuse_eviction(&self) -> Result<()> {
        let memory = self.memory().await?;
        let policy = setting(&memory, "maxmemory_policy").unwrap_or("noeviction");
        if policy == "noeviction" || setting(&memory, "maxmemory") == Some("0") {
            return Ok(());
        }
        Err(Error::invalid(
            format!("redis {}", self.place),
            format!(
                "may evict what is stored: its maxmemory-policy is {policy}; set it to noeviction (CONFIG SET \
                 maxmemory-policy noeviction), or open the store with force"
            ),
        ))
    }

    /// The bytes of memory that the server uses.
    pub async fn used_memory(&self) -> Result<Option<u64>> {
        let memory = self.memory().await?;
        Ok(setting(&memory, "used_memory").and_then(|bytes| bytes.parse().ok()))
    }

    /// What the server says of its memory.
    async fn memory(&self) -> Result<String> {
        self.ask(redis::cmd("INFO").arg("memory")).await
    }

    /// A key, or the name of a channel.
    pub fn key(&self, kind: &str) -> String {
        format!("{}:{kind}", self.prefix)
    }

    /// A key of one space or index.
    pub fn key_of(&self, kind: &str, digest: &str) -> String {
        format!("{}:{kind}:{digest}", self.prefix)
    }

    /// Runs a script that may run twice: if the connection was lost, it is asked again on a new one.
    pub async fn read<T: FromRedisValue>(&self, script: &Script, words: &[String]) -> Result<T> {
        match self.invoke(script, words).await? {
            Err(error) if error.is_io_error() => self.invoke(script, words).await?,
            result => result,
        }
        .map_err(|error| failure(&self.place, error))
    }

    /// Runs a script that writes; it is sent once.
    pub async fn write<T: FromRedisValue>(&self, script: &Script, words: &[String]) -> Result<T> {
        self.invoke(script, words)
            .await?
            .map_err(|error| failure(&self.place, error))
    }

    /// One command that may run twice.
    pub async fn ask<T: FromRedisValue>(&self, command: &redis::Cmd) -> Result<T> {
        let mut connection = self.connection()?;
        match command.query_async(&mut connection).await {
            Err(error) if error.is_io_error() => command.query_async(&mut connection).await,
            result => result,
        }
        .map_err(|error| failure(&self.place, error))
    }

    /// Many commands at once that may run twice.
    pub async fn ask_all<T: FromRedisValue>(&self, commands: &redis::Pipeline) -> Result<T> {
        let mut connection = self.connection()?;
        match commands.query_async(&mut connection).await {
            Err(error) if error.is_io_error() => commands.query_async(&mut connection).await,
            result => result,
        }
        .map_err(|error| failure(&self.place, error))
    }

    /// Lets go of the connection; later calls fail.
    pub fn close(&self) {
        self.connection.lock().take();
    }

    async fn invoke<T: FromRedisValue>(
        &self,
        script: &Script,
        words: &[String],
    ) -> Result<redis::RedisResult<T>> {
        let mut connection = self.connection()?;
        let mut invocation = script.prepare_invoke();
        invocation.arg(&self.prefix).arg(self.clock.offset());
        for word in words {
            invocation.arg(word);
        }
        Ok(invocation.invoke_async(&mut connection).await)
    }

    fn connection(&self) -> Result<ConnectionManager> {
        let connection = self.connection.lock();
        let closed = || Error::closed(format!("the redis store at {}", self.place));
        connection.clone().ok_or_else(closed)
    }
}

/// What stands behind a name in the server's words about its memory.
fn setting<'a>(memory: &'a str, name: &str) -> Option<&'a str> {
    let mut lines = memory.lines();
    let value = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    value.map(str::trim)
}

/// A failure of the server or the way to it.
pub fn failure(place: &str, error: RedisError) -> Error {
    let what = format!("the redis store at {place}");
    match error.kind() {
        // The client's words repeat the whole answer, and with it what is stored.
        ErrorKind::Parse | ErrorKind::UnexpectedReturnType => Error::Unavailable {
            what: format!("{what} (its answer has another form than expected)"),
            source: None,
        },
        _ => Error::unavailable(what, error),
    }
}

/// The address without our own parameter, and that parameter.
fn split_prefix(address: &str) -> Result<(String, String)> {
    let (base, query) = address.split_once('?').unwrap_or((address, ""));
    let mut prefix = DEFAULT_PREFIX;
    let mut others = Vec::new();
    for parameter in query.split('&').filter(|parameter| !parameter.is_empty()) {
        match parameter.strip_prefix("ambit_prefix=") {
            Some(name) => prefix = name,
            None => others.push(parameter),
        }
    }
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    if prefix.is_empty() || !prefix.bytes().all(is_plain) {
        return Err(Error::invalid(
            "ambit_prefix",
            format!("\"{prefix}\" is not made of letters, digits, '-', '_' and '.'"),
        ));
    }
    let url = if others.is_empty() {
        base.to_owned()
    } else {
        format!("{base}?{}", others.join("&"))
    };
    Ok((url, prefix.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_of_another_form_is_not_quoted() {
        let answer = redis::Value::SimpleString("canary4711".to_owned());
        let wrong = redis::from_redis_value::<i64>(answer).unwrap_err();
        assert!(wrong.to_string().contains("canary4711"), "{wrong}");
        let failed = failure("h", wrong.into()).to_string();
        let expected =
            "the redis store at h (its answer has another form than expected) is unavailable";
        assert_eq!(failed, expected);
    }

    #[test]
    fn the_prefix_is_taken_out_of_the_address() {
        let split = |address: &str| split_prefix(address).map_err(|error| error.to_string());
        let pair = |url: &str, prefix: &str| Ok((url.to_owned(), prefix.to_owned()));
        assert_eq!(split("//h:1/2"), pair("//h:1/2", "ambit"));
        assert_eq!(split("//h?ambit_prefix=a-1"), pair("//h", "a-1"));
        assert_eq!(
            split("//h?protocol=resp3&ambit_prefix=a"),
            pair("//h?protocol=resp3", "a")
        );
        assert!(split("//h?ambit_prefix=").is_err());
        assert!(split("//h?ambit_prefix=a:b").is_err());
    }
}
