//! What is searched for.

use super::settings::TimeRange;

/// A search of the web.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WebQuery {
    /// The words.
    pub query: String,
    /// The most results.
    pub limit: usize,
    /// The sites that are searched; without any the whole web.
    pub sites: Vec<String>,
    /// How old results may be.
    pub time_range: Option<TimeRange>,
}

impl WebQuery {
    /// The words behind the sites, as search engines write them.
    pub fn with_sites(&self) -> String {
        let sites: Vec<String> = self
            .sites
            .iter()
            .map(|site| format!("site:{site}"))
            .collect();
        match sites.as_slice() {
            [] => self.query.clone(),
            [site] => format!("{site} {}", self.query),
            _ => format!("({}) {}", sites.join(" OR "), self.query),
        }
    }
}

/// The beginning of a text that has at most so many characters; it ends with a word if it has an end of one.
pub fn cut_at_word(text: &str, most: usize) -> &str {
    let Some((end, next)) = text.char_indices().nth(most) else {
        return text;
    };
    let head = &text[..end];
    let word = match next.is_whitespace() {
        true => None,
        false => head.rfind(char::is_whitespace),
    };
    word.map_or(head, |end| &head[..end]).trim_end()
}

#[cfg(test)]
mod tests {
    use super::{WebQuery, cut_at_word};

    #[test]
    fn a_long_text_is_cut_at_a_word() {
        assert_eq!(cut_at_word("one two", 7), "one two");
        assert_eq!(cut_at_word("one two three", 9), "one two");
        assert_eq!(cut_at_word("one two three", 7), "one two");
        assert_eq!(cut_at_word("one two three", 8), "one two");
        assert_eq!(cut_at_word("größer", 4), "größ");
        assert_eq!(cut_at_word("日本語の検索", 3), "日本語");
    }

    #[test]
    fn sites_stand_in_front_of_the_words() {
        let query = |sites: &[&str]| WebQuery {
            query: "rust".to_owned(),
            sites: sites.iter().map(|site| (*site).to_owned()).collect(),
            ..WebQuery::default()
        };
        assert_eq!(query(&[]).with_sites(), "rust");
        assert_eq!(query(&["a.com"]).with_sites(), "site:a.com rust");
        assert_eq!(
            query(&["a.com", "b.com"]).with_sites(),
            "(site:a.com OR site:b.com) rust"
        );
    }
}
