//! Reading a QueryDSL. All that is wrong is gathered, so that who writes it, a model perhaps, is told at once.

use super::super::chain::ConditionChain;
use super::super::fault::{QueryFault, QueryResult};
use super::super::object::QueryObject;
use super::super::wheres::DEPTH;
use super::field::{is_name, split_alias};
use super::field_type::ComparisonClass;
use super::query::{
    FieldCondition, QueryDsl, QueryField, QuerySource, RowRange, SourceJoin, SourceRows,
};
use super::resolve::NameScope;
use crate::model::{TableModel, TableModels};
use sea_query::JoinType;
use serde_json::{Map, Value};
use std::sync::Arc;

const KEYS: &[&str] = &[
    "select", "from", "wheres", "orders", "groups", "havings", "first", "limit", "offset", "page",
    "pagesize", "joins", "query", "name", "comment",
];

/// What is needed to read a query.
pub struct DslReader<'m> {
    /// All models.
    pub models: &'m TableModels,
    /// The id of a model: those beside it are found by their last name.
    pub near: &'m str,
    /// The values of `?:name`.
    pub values: &'m Map<String, Value>,
    /// What is wrong so far.
    pub faults: Vec<QueryFault>,
    depth: usize,
}

impl<'m> DslReader<'m> {
    /// A reader.
    pub fn new(models: &'m TableModels, near: &'m str, values: &'m Map<String, Value>) -> Self {
        Self {
            models,
            near,
            values,
            faults: Vec::new(),
            depth: 0,
        }
    }

    /// A query. What is wrong with it is among the faults, and then it cannot be used.
    pub fn query(&mut self, dsl: &Value, path: &str) -> Option<QueryDsl> {
        if self.depth > DEPTH {
            let text = format!("queries may be {DEPTH} levels deep");
            self.faults.push(QueryFault::new("too_deep", path, text));
            return None;
        }
        self.depth += 1;
        let read = self.parts(dsl, path);
        self.depth -= 1;
        read
    }

    /// What was read, or none and one fault more.
    pub fn take<T>(&mut self, read: QueryResult<T>, path: &str) -> Option<T> {
        match read {
            Ok(value) => Some(value),
            Err(fault) if path.is_empty() => {
                self.faults.push(fault);
                None
            }
            Err(fault) => {
                self.faults.push(fault.within(path));
                None
            }
        }
    }

    fn parts(&mut self, dsl: &Value, path: &str) -> Option<QueryDsl> {
        let object = self.take(QueryObject::of(dsl, "a query"), path)?;
        self.check_keys(object, path);
        let sources = self.sources(object, path)?;
        let mut scope = NameScope {
            sources: &sources,
            outputs: &[],
        };
        let outputs = self.outputs(object, scope, path);
        scope.outputs = &outputs;
        let groups = self.fields(object, "groups", scope, path);
        let groups = groups.into_iter().map(|(field, _)| field).collect();
        let orders = self.fields(object, "orders", scope, path);
        let wheres = self.conditions(object, "wheres", scope, path);
        let havings = self.conditions(object, "havings", scope, path);
        let range = self.take(row_range(object), path).unwrap_or_default();
        self.check_aggregates(&wheres, path);
        let dsl = QueryDsl {
            outputs,
            wheres,
            groups,
            havings,
            orders,
            range,
            sources: Vec::new(),
        };
        let faults = dsl.check_groups();
        self.faults
            .extend(faults.into_iter().map(|fault| match path {
                "" => fault,
                path => fault.within(path),
            }));
        Some(QueryDsl { sources, ..dsl })
    }

    fn check_keys(&mut self, object: QueryObject<'_>, path: &str) {
        for (key, _) in object.entries() {
            let fault = match key {
                "sql" => QueryFault::new(
                    "refused",
                    key,
                    "sql is refused: a query names models and fields",
                ),
                "debug" => QueryFault::new("refused", key, "debug is refused: it would show SQL"),
                key if KEYS.contains(&key) => continue,
                key => QueryFault::unknown("key", key, key, KEYS.iter().copied()),
            };
            self.take::<()>(Err(fault), path);
        }
    }

    fn sources(&mut self, object: QueryObject<'_>, path: &str) -> Option<Vec<QuerySource>> {
        let first = match (object.get("query"), object.get("from")) {
            (Some(_), Some(_)) => {
                let text = "from stands beside query: only one can be meant";
                let fault = QueryFault::new("conflict", "from", text);
                return self.take(Err(fault), path);
            }
            (Some(query), None) => self.sub_source(query, &join(path, "query"))?,
            (None, _) => {
                let from = self.take(object.text("from"), path)?;
                let missing = || QueryFault::new("missing_from", "from", "from is missing");
                let from = self.take(from.ok_or_else(missing), path)?;
                let read = self.source(from);
                self.take(read, &join(path, "from"))?
            }
        };
        let mut sources = vec![first];
        let joins = self.take(object.list("joins"), path)?;
        for (index, entry) in joins.iter().enumerate() {
            let at = join(path, &format!("joins[{index}]"));
            let read = self.joined(entry, &sources);
            sources.push(self.take(read, &at)?);
        }
        Some(sources)
    }

    /// A query in the place of a table.
    fn sub_source(&mut self, query: &Value, path: &str) -> Option<QuerySource> {
        let dsl = self.query(query, path)?;
        let name = query.get("name").and_then(Value::as_str).unwrap_or("query");
        let wrong = || QueryFault::form("name", "name", "must be a name: letters, digits and _");
        let alias = self.take(
            is_name(name).then(|| name.to_owned()).ok_or_else(wrong),
            path,
        )?;
        Some(QuerySource {
            alias,
            rows: SourceRows::Query(Box::new(dsl)),
            join: None,
            narrowed: None,
        })
    }

    /// A model, by its id or its table.
    fn source(&self, text: &str) -> QueryResult<QuerySource> {
        let (name, alias) = split_alias(text.trim())?;
        let name = name.strip_prefix('$').unwrap_or(name);
        let model = self.model(name)?;
        Ok(QuerySource {
            alias: alias.map_or_else(|| model.table.clone(), str::to_owned),
            rows: SourceRows::Model(model),
            join: None,
            narrowed: None,
        })
    }

    fn model(&self, name: &str) -> QueryResult<Arc<TableModel>> {
        if let Ok(model) = self.models.find(name, self.near) {
            return Ok(model);
        }
        let all: Vec<Arc<TableModel>> = self.models.all().collect();
        let found = all.iter().find(|model| model.table == name);
        found.cloned().ok_or_else(|| {
            let known = all.iter().map(|model| model.id.as_str());
            QueryFault::unknown("table", name, "", known)
        })
    }

    fn joined(&self, entry: &Value, before: &[QuerySource]) -> QueryResult<QuerySource> {
        let entry = QueryObject::of(entry, "a join")?;
        entry.has_only(&["from", "key", "foreign", "left", "right", "comment"])?;
        let needed = |key: &'static str| {
            let missing = || QueryFault::new("missing_key", key, format!("{key} is missing"));
            entry.text(key)?.ok_or_else(missing)
        };
        let source = self
            .source(needed("from")?)
            .map_err(|fault| fault.within("from"))?;
        if before
            .iter()
            .any(|other| other.alias.eq_ignore_ascii_case(&source.alias))
        {
            let text = format!(
                "there are two tables \"{}\": name one with `as`",
                source.alias
            );
            return Err(QueryFault::new("same_name", "from", text));
        }
        let kind = match (entry.flag("left")?, entry.flag("right")?) {
            (true, true) => {
                return Err(QueryFault::new(
                    "conflict",
                    "right",
                    "left stands beside right",
                ));
            }
            (true, false) => JoinType::LeftJoin,
            (false, true) => JoinType::RightJoin,
            (false, false) => JoinType::InnerJoin,
        };
        let mut sources = before.to_vec();
        sources.push(source.clone());
        let scope = NameScope {
            sources: &sources,
            outputs: &[],
        };
        let field = |key| {
            let field = self.field(needed(key)?, scope).map(|(field, _)| field);
            field.map_err(|fault| fault.within(key))
        };
        let (key, foreign) = (field("key")?, field("foreign")?);
        if key.is_aggregate() || foreign.is_aggregate() {
            let text = "tables are not joined by functions of groups";
            return Err(QueryFault::new("misplaced_function", "", text));
        }
        if !is_comparable(&key, &foreign) {
            let text = "key and foreign are columns of types that cannot be compared";
            return Err(QueryFault::new("unfit_column", "", text));
        }
        let join = Some(SourceJoin { kind, key, foreign });
        Ok(QuerySource { join, ..source })
    }

    fn check_aggregates(&mut self, wheres: &ConditionChain<FieldCondition>, path: &str) {
        if wheres.tests().any(|test| test.field.is_aggregate()) {
            let (text, at) = ("functions of groups stand in havings", join(path, "wheres"));
            self.faults
                .push(QueryFault::new("misplaced_function", &at, text));
        }
    }
}

/// Whether the values of two fields can be the same.
pub fn is_comparable(one: &QueryField, other: &QueryField) -> bool {
    let class = one.holds().class();
    class != ComparisonClass::Other && class == other.holds().class()
}

/// A key within a place.
pub fn join(path: &str, key: &str) -> String {
    match path {
        "" => key.to_owned(),
        path => format!("{path}.{key}"),
    }
}

fn row_range(object: QueryObject<'_>) -> QueryResult<RowRange> {
    let range = RowRange {
        first: object.flag("first")?,
        limit: object.rows("limit", 0)?,
        offset: object.count("offset", 0)?,
        page: object.count("page", 1)?,
        pagesize: object.rows("pagesize", 1)?,
    };
    let is_paged = range.page.is_some() || range.pagesize.is_some();
    if is_paged && (range.limit.is_some() || range.offset.is_some() || range.first) {
        let text = "page and pagesize stand beside first, limit or offset: only one can be meant";
        return Err(QueryFault::new("conflict", "page", text));
    }
    Ok(range)
}
