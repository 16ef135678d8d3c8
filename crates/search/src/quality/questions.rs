//! Questions with their judged answers, from lines of JSON or from BEIR's files.

use serde::Deserialize;
use serde::de::{Error, Unexpected};
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};

/// A question and what answers it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JudgedQuestion {
    /// What it is called in reports: its `_id` in BEIR's files, else the query.
    pub id: String,
    /// What is asked.
    pub query: String,
    /// How much each id answers it, above 0. At least one does.
    pub relevant: BTreeMap<String, u32>,
}

/// A file that was read.
#[derive(Clone, Copy, Debug)]
pub struct QuestionFile<'a> {
    /// What messages call it.
    pub name: &'a str,
    /// What it says.
    pub text: &'a str,
}

/// A line that says no question or judgement.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}, line {line}: {reason}")]
pub struct InvalidQuestions {
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// What is wrong, and what would be right.
    pub reason: String,
}

#[derive(Deserialize)]
struct QuestionLine {
    query: String,
    relevant: Vec<Judgement>,
}

struct Judgement {
    id: String,
    grade: u32,
}

#[derive(Deserialize)]
struct GradedId {
    id: String,
    grade: u32,
}

#[derive(Deserialize)]
struct BeirQuery {
    _id: String,
    text: String,
}

impl<'de> Deserialize<'de> for Judgement {
    fn deserialize<D: serde::Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        match Value::deserialize(input)? {
            Value::String(id) => Ok(Self { id, grade: 1 }),
            graded @ Value::Object(_) => {
                let GradedId { id, grade } =
                    serde_json::from_value(graded).map_err(D::Error::custom)?;
                Ok(Self { id, grade })
            }
            _ => Err(D::Error::invalid_type(
                Unexpected::Other("something else"),
                &"an id or {\"id\", \"grade\"} in `relevant`",
            )),
        }
    }
}

impl QuestionFile<'_> {
    /// The lines with their numbers, but for empty ones.
    fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        let lines = (1..).zip(self.text.lines());
        lines.filter(|(_, line)| !line.trim().is_empty())
    }

    fn invalid(&self, line: usize, reason: impl Into<String>) -> InvalidQuestions {
        InvalidQuestions {
            file: self.name.to_owned(),
            line,
            reason: reason.into(),
        }
    }

    fn parse<'a, T: Deserialize<'a>>(
        &self,
        line: usize,
        text: &'a str,
    ) -> Result<T, InvalidQuestions> {
        serde_json::from_str(text).map_err(|error| {
            // The line that the parser counts is always the first.
            let reason = error.to_string().replace(" at line 1 column", " at column");
            self.invalid(line, reason)
        })
    }
}

/// Reads lines `{"query", "relevant": ["id" | {"id", "grade"}]}`.
pub fn questions(file: QuestionFile<'_>) -> Result<Vec<JudgedQuestion>, InvalidQuestions> {
    let mut lines: HashMap<String, usize> = HashMap::new();
    let mut questions = Vec::new();
    for (number, line) in file.lines() {
        let line: QuestionLine = file.parse(number, line)?;
        if let Some(before) = lines.insert(line.query.clone(), number) {
            let reason = format!("line {before} has this query: put its answers together");
            return Err(file.invalid(number, reason));
        }
        let graded = line.relevant.into_iter().map(|it| (it.id, it.grade));
        let relevant: BTreeMap<String, u32> = graded.filter(|(_, grade)| *grade > 0).collect();
        if relevant.is_empty() {
            let reason = "`relevant` names no id with a grade above 0";
            return Err(file.invalid(number, reason));
        }
        questions.push(JudgedQuestion {
            id: line.query.clone(),
            query: line.query,
            relevant,
        });
    }
    at_least_one(&file, questions)
}

/// Reads BEIR's `queries.jsonl`, lines `{"_id", "text"}`, and a table of judgements: query, id and grade with tabs between them.
/// Queries that no judgement above 0 is known of are left out, as BEIR's files have the queries of several sets.
pub fn beir_questions(
    queries: QuestionFile<'_>,
    judgements: QuestionFile<'_>,
) -> Result<Vec<JudgedQuestion>, InvalidQuestions> {
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut questions: Vec<JudgedQuestion> = Vec::new();
    for (number, line) in queries.lines() {
        let query: BeirQuery = queries.parse(number, line)?;
        if places.insert(query._id.clone(), questions.len()).is_some() {
            let reason = format!("_id \"{}\" is that of another query too", query._id);
            return Err(queries.invalid(number, reason));
        }
        questions.push(JudgedQuestion {
            id: query._id,
            query: query.text,
            relevant: BTreeMap::new(),
        });
    }
    for (number, line) in judgements.lines() {
        let fields: Vec<&str> = line.split('\t').map(str::trim).collect();
        let [query, id, grade] = fields[..] else {
            let reason = "expected query, id and grade, with tabs between them";
            return Err(judgements.invalid(number, reason));
        };
        let Ok(grade) = grade.parse::<i64>() else {
            // The head of the table.
            if number == 1 {
                continue;
            }
            let reason = format!("the grade \"{grade}\" is no whole number");
            return Err(judgements.invalid(number, reason));
        };
        let Some(place) = places.get(query) else {
            let reason = format!("query \"{query}\" is not in {}", queries.name);
            return Err(judgements.invalid(number, reason));
        };
        if grade > 0 {
            let grade = u32::try_from(grade).unwrap_or(u32::MAX);
            questions[*place].relevant.insert(id.to_owned(), grade);
        }
    }
    questions.retain(|question| !question.relevant.is_empty());
    at_least_one(&judgements, questions)
}

fn at_least_one(
    file: &QuestionFile<'_>,
    questions: Vec<JudgedQuestion>,
) -> Result<Vec<JudgedQuestion>, InvalidQuestions> {
    if questions.is_empty() {
        return Err(file.invalid(1, "there is no question with an answer"));
    }
    Ok(questions)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Result<Vec<JudgedQuestion>, String> {
        let name = "questions.jsonl";
        questions(QuestionFile { name, text }).map_err(|error| error.to_string())
    }

    fn beir(queries: &str, judgements: &str) -> Result<Vec<JudgedQuestion>, String> {
        let queries = QuestionFile {
            name: "queries.jsonl",
            text: queries,
        };
        let judgements = QuestionFile {
            name: "qrels.tsv",
            text: judgements,
        };
        beir_questions(queries, judgements).map_err(|error| error.to_string())
    }

    fn question(id: &str, query: &str, relevant: &[(&str, u32)]) -> JudgedQuestion {
        let relevant = relevant
            .iter()
            .map(|(id, grade)| ((*id).to_owned(), *grade));
        JudgedQuestion {
            id: id.to_owned(),
            query: query.to_owned(),
            relevant: relevant.collect(),
        }
    }

    #[test]
    fn ids_stand_alone_or_with_a_grade() {
        let text = r#"{"query": "lift", "relevant": ["a", {"id": "b", "grade": 3}, {"id": "c", "grade": 0}]}

            {"query": "drag", "relevant": ["a"], "more": 1}"#;
        let expected = [
            question("lift", "lift", &[("a", 1), ("b", 3)]),
            question("drag", "drag", &[("a", 1)]),
        ];
        assert_eq!(lines(text), Ok(expected.into()));
    }

    #[test]
    fn a_wrong_line_is_named() {
        let good = r#"{"query": "lift", "relevant": ["a"]}"#;
        let cases = [
            (r#"{"query": "x"}"#, "missing field `relevant` at column 14"),
            (
                r#"{"query": "x", "relevant": [1]}"#,
                r#"invalid type: something else, expected an id or {"id", "grade"} in `relevant` at column 30"#,
            ),
            (
                r#"{"query": "x", "relevant": [{"id": "a", "grade": -1}]}"#,
                "invalid value: integer `-1`, expected u32 at column 53",
            ),
            (
                r#"{"query": "x", "relevant": []}"#,
                "`relevant` names no id with a grade above 0",
            ),
            (good, "line 1 has this query: put its answers together"),
        ];
        for (line, reason) in cases {
            let refused = lines(&format!("{good}\n{line}"));
            assert_eq!(refused, Err(format!("questions.jsonl, line 2: {reason}")));
        }
        let refused = Err("questions.jsonl, line 1: there is no question with an answer".into());
        assert_eq!(lines("\n"), refused);
    }

    #[test]
    fn beirs_files_are_joined_by_the_ids_of_queries() {
        let queries = "{\"_id\": \"1\", \"text\": \"lift\"}\n{\"_id\": \"2\", \"text\": \"drag\"}\n{\"_id\": \"3\", \"text\": \"heat\"}";
        let judgements = "query-id\tcorpus-id\tscore\n1\ta\t2\n1\tb\t0\n2\tc\t-1\n3\td\t1\r\n";
        let expected = [
            question("1", "lift", &[("a", 2)]),
            question("3", "heat", &[("d", 1)]),
        ];
        assert_eq!(beir(queries, judgements), Ok(expected.into()));
    }

    #[test]
    fn a_wrong_judgement_is_named() {
        let query = r#"{"_id": "1", "text": "lift"}"#;
        let cases = [
            (
                "1 a 1",
                "expected query, id and grade, with tabs between them",
            ),
            ("1\ta\tgood", "the grade \"good\" is no whole number"),
            ("2\ta\t1", "query \"2\" is not in queries.jsonl"),
        ];
        for (line, reason) in cases {
            let refused = beir(query, &format!("1\tb\t1\n{line}"));
            assert_eq!(refused, Err(format!("qrels.tsv, line 2: {reason}")));
        }
        let refused = beir(&format!("{query}\n{query}"), "1\ta\t1");
        let reason = "queries.jsonl, line 2: _id \"1\" is that of another query too";
        assert_eq!(refused, Err(reason.to_owned()));
    }
}
