//! The account that servers run as.

use super::Folder;
use crate::process::Result;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

/// An account: PostgreSQL and pgbouncer refuse to be root.
pub struct Account(Option<(u32, u32)>);

impl Account {
    /// The user who runs this program, unless that is root.
    pub fn for_server(user: u32) -> Result<Self> {
        if user != 0 {
            return Ok(Self(None));
        }
        let accounts = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
        let found = ["postgres", "nobody"]
            .iter()
            .find_map(|name| ids(&accounts, name));
        match found {
            Some(ids) => Ok(Self(Some(ids))),
            None => Err("PostgreSQL refuses to run as root, and there is no account \"postgres\" or \"nobody\"; \
                         run this command as an ordinary user"
                .to_owned()),
        }
    }

    /// Gives it a file or folder.
    pub fn own(&self, path: &Path) -> std::io::Result<()> {
        match self.0 {
            Some((user, group)) => chown(path, Some(user), Some(group)),
            None => Ok(()),
        }
    }

    /// A program that it runs, in the servers' folder.
    pub fn run(&self, program: &Path, folder: &Folder) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&folder.path);
        if let Some((user, group)) = self.0 {
            command.uid(user).gid(group);
        }
        command
    }
}

/// The user's and group's numbers of an account in a passwd file.
fn ids(accounts: &str, name: &str) -> Option<(u32, u32)> {
    let mut lines = accounts.lines().map(|line| line.split(':'));
    let mut fields =
        lines.find_map(|mut fields| (fields.next() == Some(name)).then_some(fields))?;
    fields.next();
    Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::ids;

    #[test]
    fn an_account_is_found_by_its_whole_name() {
        let accounts = "root:x:0:0::/root:/bin/sh\npostgres2:x:7:7:::\npostgres:x:101:104:PostgreSQL:/var:/bin/sh\n";
        assert_eq!(ids(accounts, "postgres"), Some((101, 104)));
        assert_eq!(ids(accounts, "nobody"), None);
    }
}
