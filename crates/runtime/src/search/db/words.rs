//! Finding rows by words: rows with all words first, then with any, ranked as chunks of an index are.

use super::record::{TITLES, item};
use super::{FoundRows, TableSearchCall, plain_columns};
use crate::error::{Error, Result};
use crate::model::database::AccessMode;
use crate::model::query::{QueryParam, ReadContext};
use crate::model::{TableColumn, TableModel};
use crate::search::Searcher;
use ambit_search::terms::{Analyzer, TermCounts};
use ambit_search::text_ranking::rank_texts;
use serde_json::{Map, Value, json};
use std::collections::HashSet;
use std::sync::Arc;

/// Words of a query that count, the longest ones.
const WORDS: usize = 8;
/// Rows that are read and ranked.
const ROWS: usize = 1_000;
/// The types of columns whose texts are searched.
const TEXTS: &[&str] = &["string", "char", "text", "mediumText", "longText"];

/// A row that has some of the words.
struct CandidateRow {
    model: Arc<TableModel>,
    data: Map<String, Value>,
    terms: TermCounts,
}

impl Searcher {
    pub(super) async fn find_by_words(
        &self,
        call: &TableSearchCall<'_>,
    ) -> Result<FoundRows, String> {
        let mut found = FoundRows::default();
        let mut rows = Vec::new();
        let words = longest_words(call.query);
        let mut read = 0;
        for model in &call.models {
            match self.candidates(model, call, &words, &mut found.unmet).await {
                Ok(candidates) => {
                    rows.extend(candidates);
                    read += 1;
                }
                Err(error) => found.notes.push(error.message),
            }
        }
        if read == 0 {
            return Err(found.notes.join(", "));
        }
        let analyzer = Analyzer::default();
        let terms: Vec<TermCounts> = rows
            .iter_mut()
            .map(|row| std::mem::take(&mut row.terms))
            .collect();
        let ranked = rank_texts(&terms, analyzer.query(call.query)).await;
        let ranked = ranked.map_err(|error| Error::from(error).message)?;
        let mut scores = vec![0.0; rows.len()];
        for row in &ranked {
            scores[row.text] = row.score;
        }
        let items = rows.into_iter().zip(scores);
        let mut items: Vec<_> = items
            .map(|(row, score)| item(&row.model, row.data, score))
            .collect();
        if call.target.orders.is_empty() {
            // Rows of the same score keep the order in which they were read.
            items.sort_by(|one, other| other.score.total_cmp(&one.score));
        }
        items.truncate(call.limit);
        found.items = items;
        Ok(found)
    }

    /// The rows of a model with any of the words, those with all of them first.
    async fn candidates(
        &self,
        model: &Arc<TableModel>,
        call: &TableSearchCall<'_>,
        words: &[String],
        unmet: &mut Vec<String>,
    ) -> Result<Vec<CandidateRow>> {
        let columns = searched_columns(model, &call.target.select);
        check_select(model, &call.target.select)?;
        // What is asked of rows is checked in any case.
        QueryParam::parse_wheres(&self.models, model, &json!({"wheres": call.target.wheres}))?;
        if columns.is_empty() || words.is_empty() {
            return Ok(Vec::new());
        }
        let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
        let all: Vec<Value> = words
            .iter()
            .map(|word| has_any(&names, std::slice::from_ref(word)))
            .collect();
        let mut rows = self.read_rows(model, call, all, unmet).await?;
        if words.len() > 1 && rows.len() < ROWS {
            let any = self
                .read_rows(model, call, vec![has_any(&names, words)], unmet)
                .await?;
            let known: HashSet<String> = rows.iter().map(|row| identity(model, row)).collect();
            rows.extend(
                any.into_iter()
                    .filter(|row| !known.contains(&identity(model, row))),
            );
            rows.truncate(ROWS);
        }
        let candidate = |mut data: Map<String, Value>| {
            let terms = terms(&columns, &data);
            let select = &call.target.select;
            data.retain(|name, _| select.is_empty() || select.iter().any(|wanted| wanted == name));
            CandidateRow {
                model: Arc::clone(model),
                data,
                terms,
            }
        };
        Ok(rows.into_iter().map(candidate).collect())
    }

    /// The rows that meet these conditions and those of the call, the newest first.
    async fn read_rows(
        &self,
        model: &Arc<TableModel>,
        call: &TableSearchCall<'_>,
        mut conditions: Vec<Value>,
        unmet: &mut Vec<String>,
    ) -> Result<Vec<Map<String, Value>>> {
        let target = call.target;
        if !target.wheres.is_empty() {
            conditions.push(json!({"wheres": target.wheres}));
        }
        let key = model.key().map(|key| key.name.as_str());
        let mut orders = target.orders.clone();
        orders.extend(key.map(|key| json!({"column": key, "option": "desc"})));
        let mut select = target.select.clone();
        if select.is_empty() {
            select.extend(plain_columns(model).map(|column| column.name.clone()));
        } else {
            select.extend(key.map(str::to_owned));
        }
        let param =
            json!({"select": select, "wheres": conditions, "orders": orders, "limit": ROWS});
        let param = QueryParam::parse(&self.models, model, &param)?;
        let mut reading = ReadContext::new(&self.models, &self.authorized);
        let mut transaction = self.models.begin(model, AccessMode::Read).await?;
        let rows = param.load(&mut *transaction, &mut reading).await?;
        transaction.commit().await?;
        for why in reading.unmet {
            if !unmet.contains(&why) {
                unmet.push(why);
            }
        }
        let rows = rows.into_iter().filter_map(|row| match row {
            Value::Object(row) => Some(row),
            _ => None,
        });
        Ok(rows.collect())
    }
}

/// The words that are looked for: each once, the longest ones.
fn longest_words(query: &str) -> Vec<String> {
    let mut words = Analyzer::default().words(query);
    // The sort keeps the order of the query among equals.
    words.sort_by_key(|word| std::cmp::Reverse(word.chars().count()));
    words.truncate(WORDS);
    words
}

/// The columns whose texts are searched; of those that are selected, where some are.
fn searched_columns<'m>(model: &'m TableModel, select: &[String]) -> Vec<&'m TableColumn> {
    let is_searched = |column: &&TableColumn| {
        let is_wanted = select.is_empty() || select.contains(&column.name);
        is_wanted && TEXTS.contains(&column.kind.name)
    };
    plain_columns(model).filter(is_searched).collect()
}

/// A condition: one of the columns has one of the words.
fn has_any(columns: &[&str], words: &[String]) -> Value {
    let pairs = columns
        .iter()
        .flat_map(|column| words.iter().map(move |word| (column, word)));
    let tests = pairs.map(|(column, word)| json!({"column": column, "op": "match", "value": word, "method": "orwhere"}));
    json!({"wheres": tests.collect::<Vec<Value>>()})
}

/// Fails where a column is to be shown that is encrypted: what is found goes to models and clients.
fn check_select(model: &TableModel, select: &[String]) -> Result<()> {
    let named = select.iter().filter_map(|name| model.column(name));
    match named.into_iter().find(|column| column.crypt.is_some()) {
        None => Ok(()),
        Some(column) => {
            let (id, name) = (&model.id, &column.name);
            let text = format!("models.{id}: column \"{name}\" is encrypted: no search shows it");
            Err(Error::invalid("select", text))
        }
    }
}

/// What a row is known by.
fn identity(model: &TableModel, row: &Map<String, Value>) -> String {
    match model.key().and_then(|key| row.get(&key.name)) {
        Some(key) => key.to_string(),
        None => Value::Object(row.clone()).to_string(),
    }
}

/// The terms of a row's texts; those of its title count twice.
fn terms(columns: &[&TableColumn], row: &Map<String, Value>) -> TermCounts {
    let analyzer = Analyzer::default();
    let mut counts = TermCounts::new();
    for column in columns {
        let Some(text) = row.get(&column.name).and_then(Value::as_str) else {
            continue;
        };
        let weight = if TITLES.contains(&column.name.as_str()) {
            2
        } else {
            1
        };
        analyzer.count(text, weight, &mut counts);
    }
    counts
}
