//! The failure of a turn, for its client and for the log.

use crate::error::Error;
use crate::turn::Turn;

impl Turn {
    /// Shows why the turn has failed, which is its last message.
    pub(super) fn show_failure(&self, error: &Error) {
        let id = self.context.id();
        self.log_failure(error);
        let props = [
            ("message", error.message.clone()),
            ("code", error.code.to_string()),
        ];
        let props = props.map(|(name, text)| (name.to_owned(), text.into()));
        let outbox = self.output.outbox.for_author(Default::default());
        if let Err(error) = outbox.show("error", props.into_iter().collect()) {
            tracing::warn!(request.id = id, %error, "a failure could not be shown");
        }
    }

    /// Says why the turn has failed, unless the log has it.
    fn log_failure(&self, error: &Error) {
        let id = self.context.id();
        match (&error.cause, self.context.unlogged(error)) {
            (Some(_), _) => {
                tracing::error!(request.id = id, error.code = %error.code, "a turn has failed: {error}");
            }
            (None, Some(why)) => {
                tracing::warn!(request.id = id, error.code = %error.code, error.message = why, "a turn has failed");
            }
            (None, None) => {}
        }
    }
}
