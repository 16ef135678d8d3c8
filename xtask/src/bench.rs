//! placeholder
use crate::process::Result;
pub fn run(_a: &[String]) -> Result<bool> {
    Ok(true)
}
