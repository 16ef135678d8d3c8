//! Ids of the parts of one message: `R.M1`, what goes on with it as `R.M1.c1`, and what takes its place as `R.M1.r1`.

use ambit_runtime::public_id;

/// The ids that a message's parts have had so far.
#[derive(Debug)]
pub struct PartIds {
    /// `R.M1`.
    message: String,
    /// What the last state is called as a whole.
    state: String,
    continued: usize,
    replaced: usize,
}

impl PartIds {
    /// For a message of a turn.
    pub fn of(request_id: &str, message_id: &str) -> Self {
        let message = public_id::message_id(request_id, message_id);
        Self {
            state: message.clone(),
            message,
            continued: 0,
            replaced: 0,
        }
    }

    /// The part that holds the message's state, or its beginning.
    pub fn state(&self) -> &str {
        &self.state
    }

    /// The next part of a text that goes on.
    pub fn go_on(&mut self) -> String {
        self.continued += 1;
        format!("{}.c{}", self.message, self.continued)
    }

    /// The part that takes the place of all before it.
    pub fn replace(&mut self) -> &str {
        self.replaced += 1;
        self.state = format!("{}.r{}", self.message, self.replaced);
        &self.state
    }
}

/// The message that a part is of.
pub fn message_of(part_id: &str) -> &str {
    let Some((message, suffix)) = part_id.rsplit_once('.') else {
        return part_id;
    };
    let number = suffix.strip_prefix(['c', 'r']);
    let is_suffix = number.is_some_and(|number| {
        !number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit())
    });
    // `R.M1` has one dot; what a script calls its messages may look like a suffix.
    match is_suffix && message.contains('.') {
        true => message,
        false => part_id,
    }
}

/// Whether a part goes on with one before it.
pub fn goes_on(part_id: &str) -> bool {
    let suffix = part_id.strip_prefix(message_of(part_id));
    suffix.is_some_and(|suffix| suffix.starts_with(".c"))
}

#[cfg(test)]
mod tests {
    use super::{PartIds, goes_on, message_of};

    #[test]
    fn parts_lead_back_to_their_message() {
        let mut ids = PartIds::of("01j9", "M1");
        assert_eq!((ids.state(), goes_on(ids.state())), ("01j9.M1", false));
        let second = ids.go_on();
        assert_eq!((second.as_str(), goes_on(&second)), ("01j9.M1.c1", true));
        assert_eq!(ids.replace(), "01j9.M1.r1");
        assert!(!goes_on(ids.state()));
        for part in [second.as_str(), ids.state(), "01j9.M1"] {
            assert_eq!(message_of(part), "01j9.M1");
        }
        assert_eq!(message_of("01j9.r1"), "01j9.r1");
    }
}
