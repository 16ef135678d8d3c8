//! Finding rows by words: rows with all words first, then with any, ranked as chunks of an index are.

use super::record::{TITLES, item};
use super::{FoundRows, TableSearchCall, plain_columns};
use crate::error::{Error, Result};
use crate::model::database::AccessMode;
use crate::model::query::{
    ColumnCondition, ConditionChain, ConditionContext, ConditionNode, QueryFault, QueryOrder,
    QueryParam, ReadContext,
};
use crate::model::{TableColumn, TableModel};
use crate::search::{SearchItem, Searcher};
use ambit_search::terms::{Analyzer, QueryTerm, TermCounts};
use ambit_search::text_ranking::rank_texts;
use serde_json::{Map, Value, json};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Words of a query that count, the longest ones.
const WORDS: usize = 8;
/// Rows that are read and ranked.
const ROWS: usize = 1_000;
/// The types of columns whose texts are searched.
const TEXTS: &[&str] = &["string", "char", "text", "mediumText", "longText"];

/// Characters of a row's texts that are ranked, and those of each text of a row that is shown.
const RANKED: u32 = 8_192;
const SHOWN: u32 = 20_000;
/// Stands for all terms of a row that are not asked for: no text has it, and the row stays as long as it is.
const OTHERS: &str = "\0";

/// A row that has some of the words.
struct CandidateRow {
    model: Arc<TableModel>,
    /// Its key; all of it where the model has none.
    data: Map<String, Value>,
    terms: TermCounts,
    /// How well it fits.
    score: f64,
}

/// What is read of rows.
struct RowReading<'a> {
    columns: Vec<String>,
    /// What they must meet beside the call's conditions.
    conditions: Vec<ConditionNode<ColumnCondition>>,
    /// So many characters of each text.
    characters: u32,
    unmet: &'a mut Vec<String>,
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
                Err(error) => found.notes.push(self.told(error)),
            }
        }
        if read == 0 {
            return Err(found.notes.join(", "));
        }
        let rows = ranked(rows, call).await;
        let items = match rows {
            Ok(rows) => self.shown(rows, call, &mut found.unmet).await,
            Err(error) => Err(error),
        };
        found.items = items.map_err(|error| self.told(error))?;
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
        let asked = json!({"select": call.target.select, "wheres": call.target.wheres});
        QueryParam::parse(&self.models, model, &asked)?;
        if columns.is_empty() || words.is_empty() {
            return Ok(Vec::new());
        }
        let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
        let about = self.conditions_on(model);
        let any = |words: &[String]| {
            has_any(about, &names, words).map_err(|fault| fault_of(model, &fault))
        };
        let each = words.iter().map(|word| any(std::slice::from_ref(word)));
        let mut reading = RowReading {
            columns: match model.key() {
                Some(key) => names
                    .iter()
                    .copied()
                    .chain([key.name.as_str()])
                    .map(str::to_owned)
                    .collect(),
                None => shown_columns(model, call),
            },
            conditions: each.collect::<Result<_>>()?,
            characters: RANKED / u32::try_from(names.len()).unwrap_or(RANKED).min(RANKED),
            unmet,
        };
        let mut rows = self.read_rows(model, call, &mut reading).await?;
        if words.len() > 1 && rows.len() < ROWS {
            reading.conditions = vec![any(words)?];
            let more = self.read_rows(model, call, &mut reading).await?;
            let known: HashSet<String> = rows.iter().map(|row| identity(model, row)).collect();
            let is_new = |row: &Map<String, Value>| !known.contains(&identity(model, row));
            rows.extend(more.into_iter().filter(is_new));
            rows.truncate(ROWS);
        }
        let asked = Analyzer::default().query(call.query);
        let mut candidates = Vec::with_capacity(rows.len());
        for mut data in rows {
            let terms = terms(&columns, &data, &asked);
            if let Some(key) = model.key() {
                data.retain(|name, _| *name == key.name);
            }
            candidates.push(CandidateRow {
                model: Arc::clone(model),
                data,
                terms,
                score: 0.0,
            });
            // Time-outs and other turns are not held up by many long texts.
            tokio::task::yield_now().await;
        }
        Ok(candidates)
    }

    /// The rows that meet these conditions and those of the call, the newest first.
    async fn read_rows(
        &self,
        model: &Arc<TableModel>,
        call: &TableSearchCall<'_>,
        wanted: &mut RowReading<'_>,
    ) -> Result<Vec<Map<String, Value>>> {
        let target = call.target;
        let asked = json!({"select": wanted.columns, "wheres": target.wheres, "orders": target.orders, "limit": ROWS});
        let param = QueryParam::parse(&self.models, model, &asked)?;
        let conditions = ConditionChain::all(wanted.conditions.iter().cloned());
        let mut param = param.narrowed(conditions)?;
        param.orders.extend(model.key().map(QueryOrder::descending));
        param.text_limit = Some(wanted.characters);
        let mut reading = ReadContext::new(&self.models, &self.authorized);
        let mut transaction = self.models.begin(model, AccessMode::Read).await?;
        let rows = param.load(&mut *transaction, &mut reading).await?;
        transaction.commit().await?;
        for why in reading.unmet {
            if !wanted.unmet.contains(&why) {
                wanted.unmet.push(why);
            }
        }
        let rows = rows.into_iter().filter_map(|row| match row {
            Value::Object(row) => Some(row),
            _ => None,
        });
        Ok(rows.collect())
    }

    /// The rows as items. Only those that are kept are read as a whole; one that has gone meanwhile is none.
    async fn shown(
        &self,
        rows: Vec<CandidateRow>,
        call: &TableSearchCall<'_>,
        unmet: &mut Vec<String>,
    ) -> Result<Vec<SearchItem>> {
        let mut whole: HashMap<String, Map<String, Value>> = HashMap::new();
        for model in &call.models {
            let own = rows.iter().filter(|row| row.model.id == model.id);
            let keys = own.filter_map(|row| row.data.get(&model.key()?.name));
            let keys: Vec<Value> = keys.cloned().collect();
            let Some(key) = model.key().filter(|_| !keys.is_empty()) else {
                continue;
            };
            let mut columns = shown_columns(model, call);
            columns.push(key.name.clone());
            let about = self.conditions_on(model);
            let is_one = about.compare(&key.name, "in", &keys.into());
            let is_one = is_one.map_err(|fault| fault_of(model, &fault))?;
            let mut reading = RowReading {
                columns,
                conditions: vec![ConditionNode::Test(is_one)],
                characters: SHOWN,
                unmet: &mut *unmet,
            };
            let read = self.read_rows(model, call, &mut reading).await?;
            whole.extend(read.into_iter().map(|row| (place(model, &row), row)));
        }
        let shown = rows.into_iter().filter_map(|row| {
            let mut data = match row.model.key() {
                Some(_) => whole.remove(&place(&row.model, &row.data))?,
                None => row.data,
            };
            let select = &call.target.select;
            data.retain(|name, _| select.is_empty() || select.contains(name));
            Some(item(&row.model, data, row.score))
        });
        Ok(shown.collect())
    }

    fn conditions_on<'s>(&'s self, model: &'s TableModel) -> ConditionContext<'s> {
        ConditionContext {
            models: &self.models,
            model,
            depth: 0,
            may_reach: None,
        }
    }
}

/// The rows that are kept, the best first.
async fn ranked(
    mut rows: Vec<CandidateRow>,
    call: &TableSearchCall<'_>,
) -> Result<Vec<CandidateRow>> {
    let terms = rows.iter_mut().map(|row| std::mem::take(&mut row.terms));
    let terms: Vec<TermCounts> = terms.collect();
    let found = rank_texts(&terms, Analyzer::default().query(call.query)).await?;
    for row in &found {
        rows[row.text].score = row.score;
    }
    if call.target.orders.is_empty() {
        // Rows of the same score keep the order in which they were read.
        rows.sort_by(|one, other| other.score.total_cmp(&one.score));
    }
    rows.truncate(call.limit);
    Ok(rows)
}

/// The columns that rows are shown with.
fn shown_columns(model: &TableModel, call: &TableSearchCall<'_>) -> Vec<String> {
    match call.target.select.as_slice() {
        [] => plain_columns(model)
            .map(|column| column.name.clone())
            .collect(),
        select => select.to_vec(),
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
fn has_any(
    about: ConditionContext<'_>,
    columns: &[&str],
    words: &[String],
) -> Result<ConditionNode<ColumnCondition>, QueryFault> {
    let pairs = columns
        .iter()
        .flat_map(|column| words.iter().map(move |word| (column, word)));
    let tests = pairs.map(|(column, word)| about.compare(column, "match", &word.as_str().into()));
    let tests: Vec<ColumnCondition> = tests.collect::<Result<_, QueryFault>>()?;
    Ok(ConditionNode::any(tests))
}

/// The failure of a condition on a model's rows.
fn fault_of(model: &TableModel, fault: &QueryFault) -> Error {
    fault.error(&format!("models.{}", model.id))
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

/// The same among rows of several models.
fn place(model: &TableModel, row: &Map<String, Value>) -> String {
    format!("{}:{}", model.id, identity(model, row))
}

/// The terms of a row's texts that are asked for, and how many others there are; those of its title count twice.
fn terms(columns: &[&TableColumn], row: &Map<String, Value>, asked: &[QueryTerm]) -> TermCounts {
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
    let is_asked = |term: &str| {
        asked.iter().any(|asked| match asked {
            QueryTerm::Exact(exact) => term == exact,
            QueryTerm::Prefix(prefix) => term.starts_with(prefix),
        })
    };
    let mut others = 0;
    counts.retain(|term, count| {
        let is_kept = is_asked(term);
        others += if is_kept { 0 } else { *count };
        is_kept
    });
    if others > 0 {
        counts.insert(OTHERS.to_owned(), others);
    }
    counts
}
