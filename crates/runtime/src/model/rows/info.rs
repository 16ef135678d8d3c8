//! Methods about the model itself.

use super::{ModelMethod, reads};
use futures::FutureExt;
use serde_json::Value;

/// The definition as it is written.
pub const METADATA: ModelMethod = reads("Metadata", |call| {
    let mut source = call.model.source.clone();
    if let Value::Object(fields) = &mut source {
        fields.insert("id".to_owned(), call.model.id.clone().into());
    }
    std::future::ready(Ok(source)).boxed()
});

/// The name of the method that says whether the model can be used.
pub const EXISTS: &str = "Exists";

/// Whether the model can be used.
pub const IS_THERE: ModelMethod = reads(EXISTS, |_| std::future::ready(Ok(true.into())).boxed());
