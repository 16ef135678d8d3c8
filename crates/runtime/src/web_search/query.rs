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

#[cfg(test)]
mod tests {
    use super::WebQuery;

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
