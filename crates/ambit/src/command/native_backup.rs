//! The commands that copy what other programs keep, by the tools of these, and those that put it back. None holds a password.

use crate::command_error::{CommandError, Result};
use crate::output::Output;
use crate::settings::data_parts::ServerPart;
use ambit::store_urls::{absolute_path, shown_address};
use ambit_storage::driver::postgres::PostgresServer;
use std::io::Write;
use std::path::Path;

/// The schema of a store whose URL names none.
const SCHEMA: &str = "ambit";

/// How other tools than Ambit copy one part, and put it back.
pub struct NativeBackup {
    part: String,
    commands: ToolCommands,
}

/// The commands of both ways.
struct ToolCommands {
    /// What is to be known before.
    note: &'static str,
    backup: Vec<String>,
    restore: Vec<String>,
}

impl NativeBackup {
    /// The commands for parts whose copies are in the folder of a backup.
    pub fn of_all(parts: &[&ServerPart], folder: &Path) -> Result<Vec<Self>> {
        for (at, part) in parts.iter().enumerate() {
            let name = copy_name(&part.part);
            let mut before = parts[..at].iter();
            if let Some(other) = before.find(|other| copy_name(&other.part) == name) {
                return Err(CommandError::Refused(format!(
                    "the copies of \"{}\" and \"{}\" would both be called {name}; name one of the stores otherwise, as in old=URL",
                    other.part, part.part
                )));
            }
        }
        parts.iter().map(|part| Self::of(part, folder)).collect()
    }

    fn of(part: &ServerPart, folder: &Path) -> Result<Self> {
        let copy = absolute_path(folder).join(copy_name(&part.part));
        let copy = copy.display().to_string();
        let commands = match part.url.split(':').next() {
            Some("postgres") => postgres(&part.url, &format!("{copy}.dump"))?,
            Some("redis") => redis(&part.url, &format!("{copy}.rdb"))?,
            _ => files(&part.url, &copy),
        };
        Ok(Self {
            part: part.part.clone(),
            commands,
        })
    }

    /// Says how the part is copied.
    pub fn print_backup(&self, out: &mut Output) -> Result<()> {
        writeln!(out, "{}: not copied; {}:", self.part, self.commands.note)?;
        print(&self.commands.backup, out)
    }

    /// Says how the part is put back.
    pub fn print_restore(&self, out: &mut Output) -> Result<()> {
        writeln!(out, "{}: not restored; {}:", self.part, self.commands.note)?;
        print(&self.commands.restore, out)
    }
}

fn copy_name(part: &str) -> String {
    part.replace(|sign: char| !sign.is_ascii_alphanumeric(), "-")
}

fn print(commands: &[String], out: &mut Output) -> Result<()> {
    for command in commands {
        writeln!(out, "  {command}")?;
    }
    Ok(())
}

fn postgres(url: &str, copy: &str) -> Result<ToolCommands> {
    let (server, query) = split(url)?;
    let pairs: Vec<&str> = query.split('&').filter(|pair| !pair.is_empty()).collect();
    let mut own = pairs
        .iter()
        .filter_map(|pair| pair.strip_prefix("ambit_schema="));
    let schema = own.next_back().unwrap_or(SCHEMA);
    let models = match schema {
        SCHEMA => "models".to_owned(),
        other => format!("{other}_models"),
    };
    let foreign = pairs.iter().filter(|pair| !pair.starts_with("ambit_"));
    let foreign: Vec<&str> = foreign.copied().collect();
    // What is no address is refused before any of it is shown: its parts cannot be told from its password.
    PostgresServer::parse(&with_query(server, &foreign))?;
    let open = foreign.iter().filter(|pair| !pair.starts_with("password="));
    let open: Vec<&str> = open.copied().collect();
    let database = quoted(&with_query(&without_password(server), &open));
    let (schema, models, copy) = (quoted(schema), quoted(&models), quoted(copy));
    Ok(ToolCommands {
        note: "its own tools do that, with the password from PGPASSWORD or ~/.pgpass",
        backup: vec![format!(
            "pg_dump --format=custom --schema={schema} --schema={models} --file={copy} --dbname={database}"
        )],
        restore: vec![format!(
            "pg_restore --exit-on-error --single-transaction --dbname={database} {copy}"
        )],
    })
}

fn redis(url: &str, copy: &str) -> Result<ToolCommands> {
    let (server, _) = split(url)?;
    let (server, user) = without_user(server);
    // A user without a password in the address it takes for the password.
    let user = user.map_or(String::new(), |user| format!(" --user {}", quoted(&user)));
    let (server, copy) = (quoted(&server), quoted(copy));
    let client = format!("redis-cli{user} -u {server}");
    Ok(ToolCommands {
        note: "its own tools do that, with the password from REDISCLI_AUTH",
        backup: vec![format!("{client} --rdb {copy}")],
        restore: vec![
            format!("{client} CONFIG GET dir"),
            "# stop the Redis server, and remove its appendonlydir if it has one, then".to_owned(),
            format!("cp {copy} DIR/dump.rdb"),
            "# start it with --appendonly no, and turn that on again by CONFIG SET appendonly yes"
                .to_owned(),
        ],
    })
}

fn files(url: &str, copy: &str) -> ToolCommands {
    let (folder, copy) = (quoted(&shown_address(url)), quoted(copy));
    ToolCommands {
        note: "it is a folder: stop all servers over it, then",
        backup: vec![format!("cp -a {folder} {copy}")],
        restore: vec![format!("test ! -e {folder} && cp -a {copy} {folder}")],
    }
}

/// An address without its query, and the query. Where these cannot be told from a password, nothing of it is shown.
fn split(url: &str) -> Result<(&str, &str)> {
    let (server, query) = url.split_once('?').unwrap_or((url, ""));
    if query.contains('@') {
        let reason = "the address of a store has an \"@\" behind its \"?\"; write what stands in a password as %3F and %40";
        return Err(CommandError::Refused(reason.to_owned()));
    }
    Ok((server, query))
}

fn with_query(server: &str, pairs: &[&str]) -> String {
    match pairs.is_empty() {
        true => server.to_owned(),
        false => format!("{server}?{}", pairs.join("&")),
    }
}

/// `scheme://user@host` of `scheme://user:password@host`.
fn without_password(server: &str) -> String {
    let (open, user) = without_user(server);
    match (open.split_once("//"), user) {
        (Some((scheme, host)), Some(user)) => format!("{scheme}//{user}@{host}"),
        _ => open,
    }
}

/// `scheme://host` and the user of `scheme://user:password@host`.
fn without_user(server: &str) -> (String, Option<String>) {
    let (scheme, rest) = server.split_once("//").unwrap_or(("", server));
    let Some((user, host)) = rest.rsplit_once('@') else {
        return (server.to_owned(), None);
    };
    let user = user.split(':').next().filter(|user| !user.is_empty());
    (format!("{scheme}//{host}"), user.map(str::to_owned))
}

/// As one word of a shell.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn backup(url: &str) -> Result<NativeBackup> {
        let part = ServerPart {
            part: "store it's".to_owned(),
            url: url.to_owned(),
        };
        NativeBackup::of(&part, Path::new("/b c"))
    }

    #[test]
    fn commands_are_whole_and_without_the_password() {
        let url = "postgres://me:canary@db:5433/app?ambit_schema=own&sslmode=disable&password=canary&ambit_pool=3";
        let made = backup(url).unwrap();
        assert_eq!(
            made.commands.backup,
            [
                "pg_dump --format=custom --schema='own' --schema='own_models' --file='/b c/store-it-s.dump' \
                 --dbname='postgres://me@db:5433/app?sslmode=disable'"
            ]
        );
        assert_eq!(
            made.commands.restore,
            [
                "pg_restore --exit-on-error --single-transaction --dbname='postgres://me@db:5433/app?sslmode=disable' \
                 '/b c/store-it-s.dump'"
            ]
        );
        let made = backup("redis://:canary@host:1/2?ambit_prefix=a").unwrap();
        assert_eq!(
            made.commands.backup,
            ["redis-cli -u 'redis://host:1/2' --rdb '/b c/store-it-s.rdb'"]
        );
        let made = backup("redis://me:canary@host:1").unwrap();
        assert_eq!(
            made.commands.backup,
            ["redis-cli --user 'me' -u 'redis://host:1' --rdb '/b c/store-it-s.rdb'"]
        );
        let made = backup("file:/it's").unwrap();
        assert_eq!(
            made.commands.backup,
            [r"cp -a '/it'\''s' '/b c/store-it-s'"]
        );
        assert_eq!(
            made.commands.restore,
            [r"test ! -e '/it'\''s' && cp -a '/b c/store-it-s' '/it'\''s'"]
        );
    }

    #[test]
    fn copies_with_one_name_are_refused() {
        let part = |name: &str| ServerPart {
            part: format!("store {name}"),
            url: "file:/a".to_owned(),
        };
        let refused = |one: &str, other: &str| {
            let parts = [part(one), part(other)];
            NativeBackup::of_all(&parts.each_ref(), Path::new("/b")).err()
        };
        let error = refused("a.b", "a-b").unwrap().to_string();
        assert!(error.contains("\"store a.b\" and \"store a-b\""), "{error}");
        assert!(refused("a.b", "ab").is_none());
    }

    #[test]
    fn what_is_no_address_is_refused_without_its_words() {
        for url in ["postgres://me:can?ary@host/db", "redis://me:can?ary@host"] {
            let refused = backup(url).err().unwrap().to_string();
            assert!(
                !refused.contains("can?ary") && !refused.contains("ary@"),
                "{refused}"
            );
        }
    }
}
