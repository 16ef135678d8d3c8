//! Words of others on their way to the log: what a conversation has said stays out of it, for providers and exceptions like to repeat
//! what they were given.

use crate::error::{Disclosure, Error, ErrorCode};
use ambit_script::HostValue;
use ambit_storage::quotes::without_quotes;
use serde_json::Value;

/// Stands for what is left out.
const HIDDEN: char = '…';
/// Words of this many letters or fewer tell nothing.
const SHORTEST: usize = 2;
/// Texts of more bytes without a space are no words.
const LONGEST_WORD: usize = 64 << 10;
/// Bytes of text that are kept of what a run reads.
const MOST_READ: usize = 1 << 20;
/// What messages of failures say of themselves. Who finds these words in the log learns nothing of a conversation.
const PLAIN: &str = "\
    access allowed and answer answered api are argument arguments array assistant bad been bytes call cannot code connection connector \
    content context credit data defined does error exceeded exist expected failed field for found from function get has have http \
    input internal invalid json key large length limit long many maximum message messages missing model must name not null number \
    object output overloaded parameter permission please policy prompt property provider quota rate reached read reported request \
    requests required response role server set status string such system than that the this timeout token tokens tool too try type \
    undefined unexpected unknown unsupported user value was with you your";

/// What is told of a veto, whose words may be those of the event.
pub(crate) const VETOED: &str = "a listener vetoed it";

/// Why something was refused, for the log: without what the message quotes, and of a veto without the listener's words.
pub fn refusal(error: &Error) -> String {
    match error.code {
        ErrorCode::Vetoed => VETOED.to_owned(),
        _ => without_quotes(&error.message),
    }
}

/// Stands for words that may be those of a provider, a tool or a script.
const OTHERS: &str = "whoever was asked is told why";

/// Why a request could not be answered, for the log: without what the message quotes, and of failures of others, who like to repeat what
/// they were given, the code alone.
pub fn server_failure(error: &Error) -> String {
    match error.code {
        _ if error.cause.is_some() => error.to_string(),
        ErrorCode::LlmError
        | ErrorCode::LlmRateLimited
        | ErrorCode::LlmContentFilter
        | ErrorCode::McpError
        | ErrorCode::ToolError
        | ErrorCode::SearchError
        | ErrorCode::HookError
        | ErrorCode::Own(_) => OTHERS.to_owned(),
        // Of the app's files.
        ErrorCode::ConfigError => error.message.clone(),
        _ => refusal(error),
    }
}

/// Why something failed, for the log, in full but for the words of a veto.
pub(crate) fn failure(error: &Error) -> String {
    match error.code {
        ErrorCode::Vetoed => VETOED.to_owned(),
        _ => error.to_string(),
    }
}

/// Leaves out of texts what these values say.
pub(crate) struct EchoFilter {
    /// All texts of the values, in lower case.
    said: String,
    /// Whether there was more than that, so that nothing is shown.
    is_cut: bool,
}

impl EchoFilter {
    /// What the texts of this value say is left out.
    pub fn of(value: &Value) -> Self {
        Self::of_run(value, &ReadText::default())
    }

    /// What the texts of this value say is left out, and what the run has read that was given it.
    pub fn of_run(value: &Value, read: &ReadText) -> Self {
        let mut said = CollectedText::within(usize::MAX);
        said.add(value);
        Self {
            said: (said.text + &read.0.text).to_lowercase(),
            is_cut: read.0.is_cut,
        }
    }

    /// The message of a failure for the log: without words that were said and, where internals are withheld, without what it quotes,
    /// which may be of memory, rows or earlier turns.
    pub fn logged(&self, message: &str, disclosure: Disclosure) -> String {
        let shown = self.apply(message);
        match disclosure {
            Disclosure::Full => shown,
            Disclosure::Withheld => without_quotes(&shown),
        }
    }

    /// The text without words that were said.
    pub fn apply(&self, text: &str) -> String {
        if self.is_cut {
            return HIDDEN.to_string();
        }
        let mut shown = String::with_capacity(text.len());
        let mut word = String::new();
        for letter in text.chars() {
            if letter.is_alphanumeric() {
                word.push(letter);
                continue;
            }
            self.show(&word, &mut shown);
            word.clear();
            shown.push(letter);
        }
        self.show(&word, &mut shown);
        shown
    }

    fn show(&self, word: &str, shown: &mut String) {
        match self.was_said(&word.to_lowercase()) {
            true => shown.push(HIDDEN),
            false => shown.push_str(word),
        }
    }

    fn was_said(&self, word: &str) -> bool {
        // Scripts without spaces have sentences in the place of words.
        if !word.is_ascii() {
            return word.chars().any(|letter| self.said.contains(letter));
        }
        word.len() > SHORTEST && !is_plain(word) && self.said.contains(word)
    }
}

fn is_plain(word: &str) -> bool {
    PLAIN.split(' ').any(|plain| plain == word)
}

/// Whether a text is long and without any space, as files are that messages carry: it has no words.
fn is_encoded(text: &str) -> bool {
    text.len() > LONGEST_WORD && text.bytes().all(|byte| byte.is_ascii_graphic())
}

/// What a run has read: of memory, of rows, and what else its calls were answered. Its failures may quote it.
pub(crate) struct ReadText(CollectedText);

impl Default for ReadText {
    fn default() -> Self {
        Self(CollectedText::within(MOST_READ))
    }
}

impl ReadText {
    /// Adds the answer of a call.
    pub fn add(&mut self, answer: &HostValue) {
        match answer {
            HostValue::Json(value) => self.0.add(value),
            HostValue::Shared(value) => self.0.add(value),
            HostValue::Undefined | HostValue::Receiver => {}
            HostValue::List(items) => items.iter().for_each(|item| self.add(item)),
            HostValue::Map(members) => members.iter().for_each(|(_, member)| self.add(member)),
            HostValue::Object(object) => {
                let members = object.members.iter();
                members.for_each(|(_, member)| self.add(member));
            }
        }
    }
}

/// The texts of values, one a line.
struct CollectedText {
    text: String,
    /// Bytes that it may have.
    most: usize,
    is_cut: bool,
}

impl CollectedText {
    fn within(most: usize) -> Self {
        Self {
            text: String::new(),
            most,
            is_cut: false,
        }
    }

    fn add(&mut self, value: &Value) {
        match value {
            _ if self.is_cut => {}
            Value::String(text) if is_encoded(text) => {}
            Value::String(text) => self.push(text),
            Value::Number(number) => self.push(&number.to_string()),
            Value::Array(items) => items.iter().for_each(|item| self.add(item)),
            Value::Object(members) => members.values().for_each(|member| self.add(member)),
            Value::Null | Value::Bool(_) => {}
        }
    }

    fn push(&mut self, text: &str) {
        if text.len() >= self.most - self.text.len() {
            self.is_cut = true;
            return;
        }
        self.text.push_str(text);
        self.text.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::{EchoFilter, MOST_READ, ReadText, server_failure};
    use crate::error::{Error, ErrorCode};
    use ambit_script::HostValue;
    use serde_json::{Value, json};

    #[test]
    fn what_was_said_is_left_out_of_the_words_of_others() {
        let said = json!([{"role": "user", "content": "My order 4711 is late, grüße"}, {"content": [{"text": "Ann's model"}]}]);
        let filter = EchoFilter::of(&said);
        for (text, shown) in [
            (
                "the provider answered 400: no such model",
                "the provider answered 400: no such model",
            ),
            (
                "cannot parse \"my ORDER 4711 is\"",
                "cannot parse \"my … … is\"",
            ),
            (
                "Invalid prompt: 'lat' and Grüße of Ann",
                "Invalid prompt: '…' and … of …",
            ),
            ("", ""),
        ] {
            assert_eq!(filter.apply(text), shown);
        }
    }

    #[test]
    fn failures_of_requests_are_logged_without_the_words_of_tools_and_providers() {
        let own = |code: &str| Error::new(ErrorCode::from(code), "no file for \"Ann\" here");
        for (error, shown) in [
            (own("mcp_error"), "whoever was asked is told why"),
            (own("llm_error"), "whoever was asked is told why"),
            (own("out_of_paper"), "whoever was asked is told why"),
            (own("unavailable"), "no file for \"…\" here"),
            (own("config_error"), "no file for \"Ann\" here"),
        ] {
            assert_eq!(server_failure(&error), shown, "{}", error.code);
        }
    }

    #[test]
    fn files_in_messages_have_no_words() {
        let (file, words) = ("late".repeat(20_000), "late ".repeat(20_000));
        for (said, shown) in [(file, "it is late"), (words, "it is …")] {
            assert_eq!(EchoFilter::of(&json!([said])).apply("it is late"), shown);
        }
    }

    #[test]
    fn what_a_run_has_read_is_left_out_and_everything_where_it_has_read_too_much() {
        let shown = |answers: Vec<HostValue>| {
            let mut read = ReadText::default();
            answers.iter().for_each(|answer| read.add(answer));
            let filter = EchoFilter::of_run(&json!(["lamp"]), &read);
            filter.apply("cannot sell the lamp to Ann of Rome")
        };
        let rows = HostValue::Json(json!([{"name": "Ann"}]));
        let member = ("place".to_owned(), HostValue::Json(json!("Rome")));
        let map = HostValue::List(vec![HostValue::Map(vec![member])]);
        assert_eq!(shown(vec![rows, map]), "cannot sell the … to … of …");
        let long = HostValue::Json(Value::from("a ".repeat(MOST_READ)));
        assert_eq!(shown(vec![long]), "…");
    }
}
