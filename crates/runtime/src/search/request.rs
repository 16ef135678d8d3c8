//! What is asked of a search, as scripts write it.

use super::SearchKind;
use crate::error::{Error, Result};
use crate::optional::optional;
use crate::web_search::TimeRange;
use ambit_search::filter::{InvalidFilter, MetadataFilter};
use serde_json::{Map, Value};

/// The most results that can be asked for.
const MOST: u64 = 100;

const RANGES: [TimeRange; 5] = [
    TimeRange::Hour,
    TimeRange::Day,
    TimeRange::Week,
    TimeRange::Month,
    TimeRange::Year,
];
const SCENARIOS: [&str; 4] = ["filter", "aggregation", "join", "complex"];

/// One search. What is not given is as the settings say.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SearchRequest {
    /// What is looked for.
    pub query: String,
    /// The most results.
    pub limit: Option<usize>,
    /// Whether and how the results are put in order once more.
    pub rerank: Option<RerankRequest>,
    /// What is searched.
    pub target: SearchTarget,
}

/// Putting results in order once more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RerankRequest {
    /// How many are kept.
    pub top_n: Option<usize>,
}

/// What is searched, and how.
#[derive(Clone, Debug, PartialEq)]
pub enum SearchTarget {
    /// The web.
    Web(WebTarget),
    /// Collections of knowledge.
    Kb(KnowledgeTarget),
    /// Tables of the app.
    Db(TableTarget),
}

/// A search of the web.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WebTarget {
    /// The sites that are searched; without any the whole web.
    pub sites: Vec<String>,
    /// How old results may be.
    pub time_range: Option<TimeRange>,
}

/// A search of collections.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KnowledgeTarget {
    /// The collections.
    pub collections: Option<Vec<String>>,
    /// How near a text must be, from 0 to 1.
    pub threshold: Option<f64>,
    /// What the metadata of documents must be.
    pub filter: Option<MetadataFilter>,
    /// The only document that is searched.
    pub document_id: Option<String>,
    /// Whether a graph was asked for, which there is not.
    pub has_graph: bool,
}

/// A search of tables.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TableTarget {
    /// The models.
    pub models: Option<Vec<String>>,
    /// What rows must meet, as in a QueryParam.
    pub wheres: Vec<Value>,
    /// Their order, as in a QueryParam.
    pub orders: Vec<Value>,
    /// The columns that rows have.
    pub select: Vec<String>,
    /// What kind of query is meant.
    pub scenario: Option<String>,
}

impl Default for SearchTarget {
    fn default() -> Self {
        Self::of(SearchKind::Web)
    }
}

impl SearchTarget {
    /// All of a kind that the settings name.
    pub fn of(kind: SearchKind) -> Self {
        match kind {
            SearchKind::Web => Self::Web(WebTarget::default()),
            SearchKind::Kb => Self::Kb(KnowledgeTarget::default()),
            SearchKind::Db => Self::Db(TableTarget::default()),
        }
    }

    /// What is searched.
    pub fn kind(&self) -> SearchKind {
        match self {
            Self::Web(_) => SearchKind::Web,
            Self::Kb(_) => SearchKind::Kb,
            Self::Db(_) => SearchKind::Db,
        }
    }
}

impl SearchRequest {
    /// A search with nothing but what is looked for.
    pub fn plain(kind: SearchKind, query: &str) -> Self {
        Self {
            query: query.to_owned(),
            target: SearchTarget::of(kind),
            ..Self::default()
        }
    }

    /// A search with the options of a script; `path` stands before their names in errors.
    pub fn read(
        kind: SearchKind,
        query: &str,
        options: &Map<String, Value>,
        path: &str,
    ) -> Result<Self> {
        let options = SearchOptionReader { options, path };
        let target = match kind {
            SearchKind::Web => SearchTarget::Web(WebTarget {
                sites: options.texts("sites")?.unwrap_or_default(),
                time_range: options.time_range()?,
            }),
            SearchKind::Kb => SearchTarget::Kb(KnowledgeTarget {
                collections: options.texts("collections")?,
                threshold: options.share("threshold")?,
                filter: options.filter("metadata")?,
                document_id: options.text("document_id")?,
                has_graph: options.flag("graph")?.unwrap_or_default(),
            }),
            SearchKind::Db => SearchTarget::Db(TableTarget {
                models: options.texts("models")?,
                wheres: options.conditions("wheres")?,
                orders: options.conditions("orders")?,
                select: options.texts("select")?.unwrap_or_default(),
                scenario: options.scenario()?,
            }),
        };
        Ok(Self {
            query: query.to_owned(),
            limit: options.number("limit")?,
            rerank: options.rerank()?,
            target,
        })
    }

    /// The options that a search of this kind has.
    pub fn option_names(kind: SearchKind) -> &'static [&'static str] {
        match kind {
            SearchKind::Web => &["limit", "sites", "time_range", "rerank"],
            SearchKind::Kb => &[
                "collections",
                "threshold",
                "limit",
                "graph",
                "metadata",
                "document_id",
                "rerank",
            ],
            SearchKind::Db => &[
                "models", "wheres", "orders", "select", "limit", "scenario", "rerank",
            ],
        }
    }
}

/// Reads the options of one search.
struct SearchOptionReader<'o> {
    options: &'o Map<String, Value>,
    path: &'o str,
}

impl SearchOptionReader<'_> {
    fn wrong(&self, name: &str, rule: &str) -> Error {
        let field = format!("{}{name}", self.path);
        Error::invalid(field.as_str(), format!("{field} {rule}"))
    }

    fn read<'v, T>(
        &'v self,
        name: &str,
        read: impl FnOnce(&'v Value) -> Option<T>,
        rule: &str,
    ) -> Result<Option<T>> {
        optional(self.options.get(name), read, || self.wrong(name, rule))
    }

    fn text(&self, name: &str) -> Result<Option<String>> {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        self.read(name, text, "must be a string")
    }

    fn flag(&self, name: &str) -> Result<Option<bool>> {
        self.read(name, Value::as_bool, "must be true or false")
    }

    fn filter(&self, name: &str) -> Result<Option<MetadataFilter>> {
        let Some(given) = self.options.get(name).filter(|given| !given.is_null()) else {
            return Ok(None);
        };
        let read = MetadataFilter::parse(given);
        let wrong = |fault: InvalidFilter| {
            let path = match fault.path.as_str() {
                "" => name.to_owned(),
                path => format!("{name}.{path}"),
            };
            self.wrong(&path, &fault.reason)
        };
        read.map(Some).map_err(wrong)
    }

    fn texts(&self, name: &str) -> Result<Option<Vec<String>>> {
        let texts = |value: &Value| {
            let texts = value.as_array()?.iter();
            texts.map(|text| text.as_str().map(str::to_owned)).collect()
        };
        self.read(name, texts, "must be an array of strings")
    }

    fn number(&self, name: &str) -> Result<Option<usize>> {
        let number = |value: &Value| {
            let number = value.as_f64().filter(|number| number.fract() == 0.0)?;
            (1.0..=MOST as f64)
                .contains(&number)
                .then_some(number as usize)
        };
        self.read(name, number, &format!("must be 1 to {MOST}"))
    }

    fn share(&self, name: &str) -> Result<Option<f64>> {
        let share = |value: &Value| value.as_f64().filter(|share| (0.0..=1.0).contains(share));
        self.read(name, share, "must be 0 to 1")
    }

    fn time_range(&self) -> Result<Option<TimeRange>> {
        let range = |value: &Value| {
            let name = value.as_str()?;
            RANGES.into_iter().find(|range| range.name() == name)
        };
        let names = RANGES.map(TimeRange::name).join(", ");
        self.read("time_range", range, &format!("must be one of {names}"))
    }

    fn scenario(&self) -> Result<Option<String>> {
        let known = |value: &Value| {
            let name = value.as_str().filter(|name| SCENARIOS.contains(name))?;
            Some(name.to_owned())
        };
        let names = SCENARIOS.join(", ");
        self.read("scenario", known, &format!("must be one of {names}"))
    }

    /// `rerank`: an object, or `true` for one without keys.
    fn rerank(&self) -> Result<Option<RerankRequest>> {
        let given = match self.options.get("rerank") {
            None | Some(Value::Null | Value::Bool(false)) => return Ok(None),
            Some(Value::Bool(true)) => return Ok(Some(RerankRequest::default())),
            Some(Value::Object(given)) => given,
            Some(_) => return Err(self.wrong("rerank", "must be an object")),
        };
        let path = format!("{}rerank.", self.path);
        let inner = SearchOptionReader {
            options: given,
            path: &path,
        };
        let top_n = inner.number("top_n")?;
        Ok(Some(RerankRequest { top_n }))
    }

    /// A list of objects that name columns, or of groups of such objects.
    fn conditions(&self, name: &str) -> Result<Vec<Value>> {
        let list = |value: &Value| value.as_array().cloned();
        let list = self
            .read(name, list, "must be an array")?
            .unwrap_or_default();
        self.check_conditions(name, &list)?;
        Ok(list)
    }

    fn check_conditions(&self, name: &str, list: &[Value]) -> Result<()> {
        for (index, entry) in list.iter().enumerate() {
            let at = format!("{name}[{index}]");
            let Some(members) = entry.as_object() else {
                return Err(self.wrong(&at, "must be an object"));
            };
            match members.get("wheres").filter(|_| name.starts_with("wheres")) {
                Some(Value::Array(inner)) => {
                    self.check_conditions(&format!("{at}.wheres"), inner)?;
                }
                Some(_) => return Err(self.wrong(&format!("{at}.wheres"), "must be an array")),
                None if !members.get("column").is_some_and(Value::is_string) => {
                    return Err(self.wrong(&format!("{at}.column"), "must be a string"));
                }
                None => {}
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn error(kind: SearchKind, options: &Value) -> String {
        let options = options.as_object().unwrap();
        let read = SearchRequest::read(kind, "x", options, "requests[1].");
        read.unwrap_err().message
    }

    #[test]
    fn wrong_options_are_named_with_their_place() {
        let (web, kb, db) = (SearchKind::Web, SearchKind::Kb, SearchKind::Db);
        for (kind, options, expected) in [
            (web, json!({"limit": 0}), "limit must be 1 to 100"),
            (kb, json!({"limit": 101}), "limit must be 1 to 100"),
            (db, json!({"limit": 1.5}), "limit must be 1 to 100"),
            (
                web,
                json!({"time_range": "eon"}),
                "time_range must be one of hour, day, week, month, year",
            ),
            (
                web,
                json!({"sites": "a.com"}),
                "sites must be an array of strings",
            ),
            (web, json!({"rerank": 3}), "rerank must be an object"),
            (
                web,
                json!({"rerank": {"top_n": 0}}),
                "rerank.top_n must be 1 to 100",
            ),
            (kb, json!({"threshold": 2}), "threshold must be 0 to 1"),
            (
                kb,
                json!({"metadata": []}),
                "metadata must be an object of paths and conditions",
            ),
            (
                kb,
                json!({"collections": [1]}),
                "collections must be an array of strings",
            ),
            (
                db,
                json!({"scenario": "x"}),
                "scenario must be one of filter, aggregation, join, complex",
            ),
            (db, json!({"wheres": {}}), "wheres must be an array"),
            (db, json!({"wheres": [1]}), "wheres[0] must be an object"),
            (
                db,
                json!({"wheres": [{"wheres": [{"op": "="}]}]}),
                "wheres[0].wheres[0].column must be a string",
            ),
            (
                db,
                json!({"orders": [{}]}),
                "orders[0].column must be a string",
            ),
        ] {
            assert_eq!(error(kind, &options), format!("requests[1].{expected}"));
        }
    }

    #[test]
    fn options_are_read_and_null_says_nothing() {
        let options =
            json!({"limit": 3.0, "sites": ["a.com"], "time_range": "week", "rerank": {"top_n": 2}});
        let read =
            SearchRequest::read(SearchKind::Web, "x", options.as_object().unwrap(), "").unwrap();
        let expected = SearchRequest {
            query: "x".to_owned(),
            limit: Some(3),
            rerank: Some(RerankRequest { top_n: Some(2) }),
            target: SearchTarget::Web(WebTarget {
                sites: vec!["a.com".to_owned()],
                time_range: Some(TimeRange::Week),
            }),
        };
        assert_eq!(read, expected);
        let nothing = json!({"limit": null, "models": null, "wheres": null, "rerank": null});
        let read =
            SearchRequest::read(SearchKind::Db, "x", nothing.as_object().unwrap(), "").unwrap();
        assert_eq!(read, SearchRequest::plain(SearchKind::Db, "x"));
    }
}
