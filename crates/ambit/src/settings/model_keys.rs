//! The secret that takes the place of the one that columns of models are encrypted with.

use super::variable;
use crate::command_error::{CommandError, Result};
use ambit_runtime::ModelSecret;

/// The secret that columns of models are to be encrypted with.
const NEW_KEY_VARIABLE: &str = "AMBIT_MODEL_KEY_NEW";

/// The new secret, which the environment must give.
pub fn new_model_key() -> Result<ModelSecret> {
    let key = variable(NEW_KEY_VARIABLE)?.map(ModelSecret);
    key.ok_or_else(|| {
        let reason = "is not set; it is the key that takes the place of AMBIT_MODEL_KEY";
        CommandError::option(NEW_KEY_VARIABLE, reason)
    })
}
