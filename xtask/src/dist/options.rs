//! What `cargo xtask dist` is asked for.

use crate::process::Result;
use std::path::PathBuf;

pub const HELP: &str = "\
cargo xtask dist [OPTIONS]   an archive, a Debian package, a container image and checksums, in target/dist-packages
  --binary PATH     of this program, which is stripped already, instead of building one
  --target TRIPLE   for this platform instead of the one that cargo builds for";

/// What to package, and for which platform.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct DistOptions {
    pub binary: Option<PathBuf>,
    pub target: Option<String>,
}

impl DistOptions {
    /// The options, or `None` where help is asked for.
    pub fn of(arguments: &[String]) -> Result<Option<Self>> {
        let mut options = Self::default();
        let mut rest = arguments.iter();
        while let Some(option) = rest.next() {
            let mut value = || {
                let value = rest.next().cloned();
                value.ok_or_else(|| format!("{option} needs a value"))
            };
            match option.as_str() {
                "--help" | "-h" => return Ok(None),
                "--binary" => options.binary = Some(PathBuf::from(value()?)),
                "--target" => options.target = Some(value()?),
                _ => return Err(format!("{option} is unknown\n{HELP}")),
            }
        }
        Ok(Some(options))
    }
}
