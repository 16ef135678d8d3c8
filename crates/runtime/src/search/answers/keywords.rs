//! The words to search the web for.

use super::{AnswerError, number, plain, read};
use ambit_search::terms::Analyzer;
use serde_json::Value;

/// What a word counts that says nothing of it.
const USUAL: f64 = 0.5;

/// A word or some words to search for.
#[derive(Clone, Debug, PartialEq)]
pub struct Keyword {
    pub text: String,
    /// How much it counts.
    pub weight: f64,
}

/// Reads keywords in the order in which they were given.
pub fn keywords(answer: &Value) -> Result<Vec<Keyword>, AnswerError> {
    read(
        answer,
        "{\"keywords\": [\"text\" or {\"k\", \"w\"}]}",
        |answer| {
            let given = match answer {
                Value::Object(members) => members.get("keywords")?,
                other => other,
            };
            let words = match given {
                Value::Array(list) => list.iter().map(keyword).collect::<Option<Vec<_>>>()?,
                one => vec![keyword(one)?],
            };
            let words = words.into_iter().filter(|word| !word.text.is_empty());
            Some(words.collect())
        },
    )
}

/// The words of a query that say something, without anybody's help.
pub fn query_words(query: &str, language: &str) -> Vec<Keyword> {
    let analyzer = Analyzer::new(language.parse().unwrap_or_default());
    // Stop words are among the terms of a query only where there is nothing else.
    let wanted = analyzer.query(query);
    let words = query.split(|letter: char| letter.is_whitespace() || letter.is_control());
    let words = words.map(|word| word.trim_matches(|letter: char| !letter.is_alphanumeric()));
    let says_something = |word: &&str| {
        let terms = analyzer.query(word);
        terms.iter().any(|term| wanted.contains(term))
    };
    let words = words.filter(says_something).map(|word| Keyword {
        text: word.to_owned(),
        weight: USUAL,
    });
    words.collect()
}

/// The query that they make: the heaviest first, each once, no more than so many.
pub fn joined(mut words: Vec<Keyword>, most: usize) -> String {
    words.sort_by(|one, other| other.weight.total_cmp(&one.weight));
    let mut texts: Vec<&str> = Vec::new();
    for word in &words {
        if !texts.contains(&word.text.as_str()) {
            texts.push(&word.text);
        }
        if texts.len() >= most {
            break;
        }
    }
    texts.truncate(most);
    texts.join(" ")
}

fn keyword(given: &Value) -> Option<Keyword> {
    if let Value::Object(members) = given {
        let weight = members.get("w").filter(|weight| !weight.is_null());
        return Some(Keyword {
            text: plain(members.get("k")?)?,
            weight: weight.map_or(Some(USUAL), number)?,
        });
    }
    let text = plain(given)?;
    let split = text.rsplit_once(':').and_then(|(word, weight)| {
        let weight: f64 = weight.trim().parse().ok()?;
        let is_weight = (0.0..=1.0).contains(&weight);
        is_weight.then(|| (word.trim().to_owned(), weight))
    });
    let (text, weight) = split.unwrap_or((text, USUAL));
    Some(Keyword { text, weight })
}
