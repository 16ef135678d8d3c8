//! The servers' programs, which are installed where they are missing and that is possible.

use crate::packages::{self, search};
use crate::process::Result;
use std::path::{Path, PathBuf};

/// A server that can be started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// PostgreSQL.
    Postgres,
    /// What lends connections of PostgreSQL.
    Pgbouncer,
    /// Redis, or Valkey.
    Redis,
}

impl Program {
    fn package(self) -> &'static str {
        match self {
            Self::Postgres => "postgresql",
            Self::Pgbouncer => "pgbouncer",
            Self::Redis => "redis-server",
        }
    }

    fn is_there(self) -> bool {
        match self {
            Self::Postgres => program("initdb").and(program("postgres")).is_some(),
            Self::Pgbouncer => program("pgbouncer").is_some(),
            Self::Redis => redis_server().is_some(),
        }
    }
}

/// The programs of the servers.
#[derive(Debug)]
pub struct Programs {
    /// Makes a PostgreSQL data folder.
    pub initdb: PathBuf,
    /// The PostgreSQL server.
    pub postgres: PathBuf,
    /// The proxy in front of it.
    pub pgbouncer: PathBuf,
    /// The Redis server.
    pub redis: PathBuf,
}

/// Finds the programs that are needed; installs the Debian packages of those that are missing if this is root on Debian.
pub fn find(wanted: &[Program]) -> Result<Programs> {
    let missing = || -> Vec<&str> {
        let missing = wanted.iter().filter(|program| !program.is_there());
        missing.map(|program| program.package()).collect()
    };
    let needed = missing();
    if !needed.is_empty() {
        packages::install(&needed).map_err(|what| advice(&needed, what))?;
    }
    let still = missing();
    if !still.is_empty() {
        return Err(advice(
            &still,
            "are installed, but their programs were not found",
        ));
    }
    Ok(Programs {
        initdb: program("initdb").unwrap_or_default(),
        postgres: program("postgres").unwrap_or_default(),
        pgbouncer: program("pgbouncer").unwrap_or_default(),
        redis: redis_server().unwrap_or_default(),
    })
}

fn redis_server() -> Option<PathBuf> {
    program("redis-server").or_else(|| program("valkey-server"))
}

fn advice(packages: &[&str], what: &str) -> String {
    format!(
        "the packages {} {what}. Install them (Debian: apt-get install {}; Homebrew: brew install postgresql pgbouncer redis), \
         or name running servers in TEST_POSTGRES_URL and TEST_REDIS_URL",
        packages.join(" and "),
        packages.join(" "),
    )
}

fn program(name: &str) -> Option<PathBuf> {
    search(name, &folders())
}

/// The PATH, then where Debian and Homebrew keep servers, the newest version first.
fn folders() -> Vec<PathBuf> {
    let mut folders = packages::path();
    folders.extend(versions(Path::new("/usr/lib/postgresql"), "bin"));
    for prefix in ["/opt/homebrew", "/usr/local"] {
        folders.push(Path::new(prefix).join("bin"));
        folders.extend(versions(&Path::new(prefix).join("opt"), "bin"));
    }
    folders.push(PathBuf::from("/usr/sbin"));
    folders
}

fn versions(folder: &Path, within: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    let number = |path: &Path| -> u32 {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let digits = name.trim_start_matches(|letter: char| !letter.is_ascii_digit());
        digits.parse().unwrap_or(0)
    };
    found.sort_by_key(|path| std::cmp::Reverse(number(path)));
    found.into_iter().map(|path| path.join(within)).collect()
}

#[cfg(test)]
mod tests {
    use super::{advice, search, versions};
    use std::path::Path;

    #[test]
    fn the_newest_version_comes_first() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        for version in ["9", "15", "17"] {
            std::fs::create_dir_all(root.join(version).join("bin")).unwrap();
        }
        std::fs::write(root.join("15/bin/postgres"), "").unwrap();
        let found = versions(root, "bin");
        let expected = ["17", "15", "9"].map(|version| root.join(version).join("bin"));
        assert_eq!(found, expected);
        assert_eq!(
            search("postgres", &found),
            Some(root.join("15/bin/postgres"))
        );
        assert_eq!(search("initdb", &found), None);
        assert_eq!(versions(Path::new("/nowhere"), "bin").len(), 0);
    }

    #[test]
    fn the_advice_names_the_packages() {
        let text = advice(&["postgresql", "redis-server"], "are missing");
        assert!(text.contains("apt-get install postgresql redis-server"));
    }
}
