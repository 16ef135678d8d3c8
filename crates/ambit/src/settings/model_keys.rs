//! The secret that takes the place of the one that columns of models are encrypted with.

use crate::command_error::{CommandError, Result};
use ambit_runtime::ModelSecret;

/// The secret that columns of models are to be encrypted with.
const NEW_KEY_VARIABLE: &str = "AMBIT_MODEL_KEY_NEW";

/// The new secret, which the environment must give.
pub fn new_model_key() -> Result<ModelSecret> {
    let value = std::env::var_os(NEW_KEY_VARIABLE).unwrap_or_default();
    let value = value
        .into_string()
        .map_err(|_| CommandError::option(NEW_KEY_VARIABLE, "is not UTF-8"))?;
    if value.is_empty() {
        let reason = "is not set; it is the key that takes the place of AMBIT_MODEL_KEY";
        return Err(CommandError::option(NEW_KEY_VARIABLE, reason));
    }
    Ok(ModelSecret(value))
}
