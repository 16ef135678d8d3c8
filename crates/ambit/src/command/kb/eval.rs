//! `ambit kb eval`

mod ids;

use super::vectors::wait_for_vectors;
use super::{AppArguments, OpenCollections};
use crate::command::CommandOutcome;
use crate::command_error::{CommandError, Result};
use crate::output::{Output, json_line, one_line};
use ambit_knowledge::KnowledgeQuery;
use ambit_search::quality::{
    JudgedQuestion, QualityComparison, QualityReport, QualityScores, QuestionFile, beir_questions,
    questions,
};
use clap::Args;
use ids::DocumentNames;
use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// At most so many chunks are looked at: a document ranks by its best one.
const CHUNKS: usize = 100;
/// So many unknown ids are named.
const SHOWN: usize = 5;

#[derive(Args, Debug)]
pub struct EvalArguments {
    /// The collection
    collection: String,
    /// Questions, one JSON object a line: {"query", "relevant": ["id" or {"id", "grade"}]}, or the queries of BEIR
    questions: PathBuf,
    /// The judgements of BEIR, a table of query, document and grade
    #[arg(long, value_name = "FILE")]
    qrels: Option<PathBuf>,
    /// How many documents of each ranking count
    #[arg(long, default_value_t = 10)]
    k: usize,
    /// Writes the figures of all questions
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,
    /// Compares with figures that were written before
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
    /// Vectors that are still being made are waited for, as long as another one comes within so many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    patience: u64,
    #[command(flatten)]
    pub(super) app: AppArguments,
}

pub(super) async fn run(
    open: &OpenCollections,
    arguments: &EvalArguments,
    out: &mut Output,
) -> Result<CommandOutcome> {
    if !(1..=CHUNKS).contains(&arguments.k) {
        return Err(CommandError::option(
            "--k",
            format!("must be 1 to {CHUNKS}"),
        ));
    }
    let asked = asked(arguments)?;
    let baseline = arguments.baseline.as_deref().map(baseline).transpose()?;
    wait(open, arguments).await?;
    let names = DocumentNames::of(open, &arguments.collection).await?;
    tell_unknown(&names, open, arguments, &asked).await?;
    let (mut scores, mut notes) = (BTreeMap::new(), Vec::new());
    for question in &asked {
        let found = ranked(open, &arguments.collection, &question.query).await?;
        notes.extend(found.notes.into_iter().next());
        let ranked: Vec<&str> = found
            .documents
            .iter()
            .map(|id| names.as_judged(id, question))
            .collect();
        let score = QualityScores::of(&ranked, &question.relevant, arguments.k);
        scores.insert(question.id.clone(), score);
    }
    tell_notes(&notes, asked.len());
    let report = QualityReport::of(arguments.k, scores);
    if let Some(path) = &arguments.save {
        let text = serde_json::to_string_pretty(&report).map_err(std::io::Error::from)?;
        fs::write(path, text + "\n").map_err(|error| unreadable("write", path, &error))?;
    }
    print(&report, open.is_json, out)?;
    match baseline {
        Some(baseline) => compare(&report, &baseline, open.is_json, out),
        None => Ok(CommandOutcome::Done),
    }
}

/// Waits until the collection is what it will be, and says where it is not.
async fn wait(open: &OpenCollections, arguments: &EvalArguments) -> Result<()> {
    let collection = &arguments.collection;
    let patience = Duration::from_secs(arguments.patience);
    if let Some(missing) = wait_for_vectors(open, collection, patience).await? {
        eprintln!("ambit: {missing}: the figures are those of this state");
    }
    let failed = open.read_collection(collection).await?.failed;
    if failed > 0 {
        eprintln!(
            "ambit: {failed} documents have failed, and are not found as they should be: `ambit kb ls {}` says why",
            one_line(collection)
        );
    }
    Ok(())
}

/// Says which ids of the questions are of nothing in the collection.
async fn tell_unknown(
    names: &DocumentNames,
    open: &OpenCollections,
    arguments: &EvalArguments,
    asked: &[JudgedQuestion],
) -> Result<()> {
    let unknown = names.unknown(open, asked).await?;
    if unknown.is_empty() {
        return Ok(());
    }
    let first: Vec<&str> = unknown.iter().take(SHOWN).map(String::as_str).collect();
    let more = if unknown.len() > SHOWN { ", …" } else { "" };
    eprintln!(
        "ambit: ids in \"relevant\" that collection \"{}\" does not have ({}): {}{more}",
        one_line(&arguments.collection),
        unknown.len(),
        one_line(&first.join(", ")),
    );
    Ok(())
}

/// Says of how many questions not all was searched that there is, and why of the first.
fn tell_notes(notes: &[String], asked: usize) {
    if let Some(first) = notes.first() {
        eprintln!(
            "ambit: not all was searched for {} of {}: {}",
            notes.len(),
            questions_in_words(asked),
            one_line(first),
        );
    }
}

fn unreadable(what: &str, path: &Path, error: &std::io::Error) -> CommandError {
    CommandError::Refused(format!("cannot {what} {}: {error}", path.display()))
}

fn text(path: &Path) -> Result<String> {
    fs::read_to_string(path).map_err(|error| unreadable("read", path, &error))
}

fn asked(arguments: &EvalArguments) -> Result<Vec<JudgedQuestion>> {
    let (name, content) = (
        arguments.questions.display().to_string(),
        text(&arguments.questions)?,
    );
    let file = QuestionFile {
        name: &name,
        text: &content,
    };
    let read = match &arguments.qrels {
        None => questions(file),
        Some(path) => {
            let (name, content) = (path.display().to_string(), text(path)?);
            let qrels = QuestionFile {
                name: &name,
                text: &content,
            };
            beir_questions(file, qrels)
        }
    };
    let read = read.map_err(|error| CommandError::Refused(error.to_string()))?;
    if read.is_empty() {
        return Err(CommandError::Refused(format!("{name} holds no questions")));
    }
    Ok(read)
}

fn baseline(path: &Path) -> Result<QualityReport> {
    let (name, content) = (path.display().to_string(), text(path)?);
    let file = QuestionFile {
        name: &name,
        text: &content,
    };
    QualityReport::read(file).map_err(|error| CommandError::Refused(error.to_string()))
}

/// What a query finds.
struct RankedDocuments {
    /// The best first.
    documents: Vec<String>,
    /// What was not searched.
    notes: Vec<String>,
}

async fn ranked(open: &OpenCollections, collection: &str, query: &str) -> Result<RankedDocuments> {
    let mut query = KnowledgeQuery::new(query, &[collection]);
    query.limit = CHUNKS;
    query.is_counted = false;
    let found = open.base.search(&open.reach, &query).await?;
    if let Some(error) = found.error {
        return Err(CommandError::Refused(error));
    }
    let mut documents: Vec<String> = Vec::new();
    for item in found.items {
        // A section of a file of records has an id of its own.
        let own = item
            .metadata
            .get("id")
            .and_then(|id| id.as_str())
            .map(str::to_owned);
        let id = own.unwrap_or(item.document_id);
        if !documents.contains(&id) {
            documents.push(id);
        }
    }
    Ok(RankedDocuments {
        documents,
        notes: found.notes,
    })
}

fn print(report: &QualityReport, is_json: bool, out: &mut Output) -> Result<()> {
    let mean = &report.mean;
    if is_json {
        json_line(out, report)?;
        return Ok(());
    }
    let k = report.k;
    writeln!(out, "{}", questions_in_words(report.questions.len()))?;
    writeln!(out, "nDCG@{k}    {:.4}", mean.ndcg)?;
    writeln!(out, "recall@{k}  {:.4}", mean.recall)?;
    writeln!(out, "MRR@{k}     {:.4}", mean.mrr)?;
    Ok(())
}

fn questions_in_words(count: usize) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} question{plural}")
}

fn compare(
    report: &QualityReport,
    baseline: &QualityReport,
    is_json: bool,
    out: &mut Output,
) -> Result<CommandOutcome> {
    let compared = report.compare(baseline);
    let compared = compared.map_err(|error| CommandError::Refused(error.to_string()))?;
    if is_json {
        json_line(out, &compared)?;
    } else {
        print_comparison(report, &compared, out)?;
    }
    match compared.is_failure() {
        true => Err(CommandError::Refused(
            "the ranking got worse than the baseline".to_owned(),
        )),
        false => Ok(CommandOutcome::Done),
    }
}

fn print_comparison(
    report: &QualityReport,
    compared: &QualityComparison,
    out: &mut Output,
) -> Result<()> {
    let is_new = |id: &&String| report.questions.contains_key(*id);
    let new = compared.unmatched.iter().filter(is_new).count();
    let (all, gone) = (report.questions.len(), compared.unmatched.len() - new);
    let change = compared.change.ndcg;
    writeln!(
        out,
        "nDCG {change:+.4} against the baseline, over {} of {}",
        all - new,
        questions_in_words(all)
    )?;
    for (count, what) in [
        (new, "not in the baseline"),
        (gone, "in the baseline alone"),
    ] {
        if count > 0 {
            writeln!(out, "not compared: {count} {what}")?;
        }
    }
    for question in &compared.worse {
        writeln!(
            out,
            "worse: {} ({:.4}, was {:.4})",
            one_line(&question.id),
            question.after,
            question.before
        )?;
    }
    Ok(())
}
