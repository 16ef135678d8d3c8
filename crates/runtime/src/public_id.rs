//! Ids as clients know them. What one turn numbers – its messages and calls – is named so that no two turns share a name.

/// Returns the id of a turn's message: `R.M1`.
pub fn message_id(request_id: &str, message_id: &str) -> String {
    format!("{request_id}.{message_id}")
}

/// Returns the id of the call that a turn's message shows: `call_R_M8`.
pub fn call_id(request_id: &str, message_id: &str) -> String {
    format!("call_{request_id}_{message_id}")
}

/// Returns the turn and the message of a call's id; none of an id that a provider has made.
pub fn split_call_id(id: &str) -> Option<(&str, &str)> {
    id.strip_prefix("call_")?.split_once('_')
}

#[cfg(test)]
mod tests {
    use super::{call_id, split_call_id};

    #[test]
    fn an_id_of_a_call_leads_back_to_its_message() {
        assert_eq!(split_call_id(&call_id("01j9", "M8")), Some(("01j9", "M8")));
        assert_eq!(split_call_id("call_abc"), None);
        assert_eq!(split_call_id("toolu_01"), None);
    }
}
