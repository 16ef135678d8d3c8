//! QueryParam: what is asked of one model, with everything in it checked.

use super::chain::{ConditionChain, ConditionLink, ConditionNode};
use super::fault::{QueryFault, QueryResult};
use super::object::QueryObject;
use super::operator::check_size;
use super::relation::RelationPath;
use super::wheres::{ColumnCondition, ConditionContext, ModelFilter};
use crate::error::Result;
use crate::model::SqlValue;
use crate::model::definition::TableColumn;
use crate::model::{TableModel, TableModels};
use serde_json::Value;
use std::sync::Arc;

/// The keys of a QueryParam.
const QUERY_KEYS: &[&str] = &[
    "select", "wheres", "orders", "limit", "page", "pagesize", "withs", "all",
];

/// Orders of a query at most: each can join a table.
pub(super) const ORDERS: usize = 32;

/// What is asked of one model.
#[derive(Clone, Debug)]
pub struct QueryParam {
    /// The model.
    pub model: Arc<TableModel>,
    /// The columns that rows have; all that can be read where none is named.
    pub columns: Vec<String>,
    /// What the caller asks of rows. Everything else that rows must meet stands outside.
    pub wheres: ConditionChain<ColumnCondition>,
    /// The order.
    pub orders: Vec<QueryOrder>,
    /// How many rows at most.
    pub limit: Option<u64>,
    /// Which page, from 1.
    pub page: Option<u64>,
    /// Rows of a page.
    pub pagesize: Option<u64>,
    /// What is loaded with the rows.
    pub withs: Vec<EagerLoad>,
    /// Whether it says that it means all rows.
    pub all: bool,
    /// So many characters of a text are read at most.
    pub text_limit: Option<u32>,
    /// The one row that is meant.
    pub(super) key: Option<(String, SqlValue)>,
}

/// One order.
#[derive(Clone, Debug)]
pub struct QueryOrder {
    /// The way to the related row whose column it is.
    pub route: Option<RelationPath>,
    /// The column.
    pub column: String,
    /// Whether the largest is first.
    pub is_descending: bool,
    /// Whether rows may have nothing there.
    pub is_nullable: bool,
}

impl QueryOrder {
    /// By a column of the model itself, the largest first.
    pub fn descending(column: &TableColumn) -> Self {
        Self {
            route: None,
            column: column.name.clone(),
            is_descending: true,
            is_nullable: !column.is_primary,
        }
    }
}

/// Related rows that are loaded.
#[derive(Clone, Debug)]
pub struct EagerLoad {
    /// The relation's name, under which rows have them.
    pub name: String,
    /// The way to them.
    pub route: RelationPath,
    /// What is asked of them beside what the relation asks.
    pub query: Option<Arc<QueryParam>>,
}

impl QueryParam {
    /// What a QueryParam asks of a model; `null` asks for everything.
    pub fn parse(models: &TableModels, model: &Arc<TableModel>, param: &Value) -> Result<Self> {
        let about = ConditionContext {
            models,
            model,
            depth: 0,
            may_reach: None,
        };
        Self::parse_in(about, model, param)
    }

    /// The same of a page, which has no `limit`, where not all models are there: relations that lead to others are unknown.
    pub fn parse_page(
        models: &TableModels,
        model: &Arc<TableModel>,
        param: &Value,
        may_reach: ModelFilter<'_>,
    ) -> Result<Self> {
        let about = ConditionContext {
            models,
            model,
            depth: 0,
            may_reach: Some(may_reach),
        };
        let known = QUERY_KEYS.iter().copied().filter(|key| *key != "limit");
        let known: Vec<&str> = known.collect();
        let checked = QueryObject::of(param, "the query").and_then(|it| it.has_only(&known));
        checked.map_err(|fault| fault.error(&format!("models.{}", model.id)))?;
        Self::parse_in(about, model, param)
    }

    fn parse_in(
        about: ConditionContext<'_>,
        model: &Arc<TableModel>,
        param: &Value,
    ) -> Result<Self> {
        let select = Self::read(about, model, param);
        select.map_err(|fault| fault.error(&format!("models.{}", model.id)))
    }

    /// The same where only conditions make sense, for changes of rows.
    pub fn parse_wheres(
        models: &TableModels,
        model: &Arc<TableModel>,
        param: &Value,
    ) -> Result<Self> {
        let checked = match param {
            Value::Null => Ok(()),
            param => {
                QueryObject::of(param, "the query").and_then(|it| it.has_only(&["wheres", "all"]))
            }
        };
        checked.map_err(|fault| fault.error(&format!("models.{}", model.id)))?;
        Self::parse(models, model, param)
    }

    /// The same for the row of this key alone. What the QueryParam asks holds too.
    pub fn with_key(mut self, models: &TableModels, key: &Value) -> Result<Self> {
        let of = format!("models.{}", self.model.id);
        let wrong = |rule: &str| QueryFault::form("", "id", rule).error(&of);
        let Some(column) = self.model.key() else {
            return Err(wrong("is not known: the model has no primary column"));
        };
        if key.is_null() {
            return Err(wrong("is missing"));
        }
        let bound = models.bind(&self.model, column, key);
        let bound = bound.map_err(|rule| wrong(&rule))?;
        self.key = Some((column.name.clone(), bound));
        Ok(self)
    }

    /// The same for rows that meet these conditions too.
    pub fn narrowed(mut self, conditions: ConditionChain<ColumnCondition>) -> Result<Self> {
        let asked = std::mem::replace(&mut self.wheres, conditions);
        if !asked.is_empty() {
            self.wheres.0.push(ConditionLink {
                is_or: false,
                node: ConditionNode::Group(asked),
            });
        }
        check_size(self.wheres.tests().map(ColumnCondition::weight))
            .map_err(|fault| fault.error(&format!("models.{}", self.model.id)))?;
        Ok(self)
    }

    /// A column with `crypt` that the caller has a condition on, here or on what is loaded with the rows.
    pub fn secret_condition(&self) -> Option<&TableColumn> {
        let tests = self.wheres.tests();
        let mut columns = tests.filter_map(|test| test.subject(&self.model));
        let own = columns.find(|column| column.crypt.is_some());
        own.or_else(|| {
            let mut loaded = self.withs.iter();
            loaded.find_map(|with| with.query.as_deref()?.secret_condition())
        })
    }

    /// Whether the caller has a condition or an order through a relation that a column with `crypt` leads to.
    pub fn hangs_on_secret(&self) -> bool {
        let tested = self.wheres.tests().filter_map(ColumnCondition::route);
        let ordered = self.orders.iter().filter_map(|by| by.route.as_ref());
        let mut routes = tested.chain(ordered);
        let mut loaded = self.withs.iter().filter_map(|with| with.query.as_deref());
        routes.any(|route| route.hangs_on_secret(&self.model)) || loaded.any(Self::hangs_on_secret)
    }

    /// The models whose rows it reads beside its own: those that are loaded, tested or ordered by, however far away.
    pub(super) fn related(&self) -> Vec<&TableModel> {
        let loaded = self.withs.iter().map(|with| &with.route);
        let ordered = self.orders.iter().filter_map(|by| by.route.as_ref());
        let tested = self.wheres.tests().filter_map(ColumnCondition::route);
        let routes = loaded.chain(ordered).chain(tested);
        let asked = self.withs.iter().filter_map(|with| with.query.as_deref());
        let models = routes.flat_map(RelationPath::models);
        models.chain(asked.flat_map(Self::related)).collect()
    }

    /// Everything of a model.
    pub fn of(model: &Arc<TableModel>) -> Self {
        Self {
            model: Arc::clone(model),
            columns: Vec::new(),
            wheres: ConditionChain::default(),
            orders: Vec::new(),
            limit: None,
            page: None,
            pagesize: None,
            withs: Vec::new(),
            all: false,
            text_limit: None,
            key: None,
        }
    }

    pub(super) fn read(
        about: ConditionContext<'_>,
        model: &Arc<TableModel>,
        param: &Value,
    ) -> QueryResult<Self> {
        let nothing = Value::Object(serde_json::Map::new());
        let param = if param.is_null() { &nothing } else { param };
        let param = QueryObject::of(param, "the query")?;
        param.has_only(QUERY_KEYS)?;
        let (limit, pagesize) = (param.rows("limit", 0)?, param.rows("pagesize", 1)?);
        let page = param.count("page", 1)?;
        if limit.is_some() && (page.is_some() || pagesize.is_some()) {
            let text = "limit stands beside page and pagesize: only one can be meant";
            return Err(QueryFault::new("conflict", "limit", text));
        }
        let columns = columns(about, param.list("select")?);
        let wheres = about.chain(param.list("wheres")?).and_then(|wheres| {
            check_size(wheres.tests().map(ColumnCondition::weight))?;
            Ok(wheres)
        });
        let orders = orders(about, param.list("orders")?);
        Ok(Self {
            columns: columns.map_err(|fault| fault.within("select"))?,
            wheres: wheres.map_err(|fault| fault.within("wheres"))?,
            orders: orders.map_err(|fault| fault.within("orders"))?,
            withs: withs(about, param).map_err(|fault| fault.within("withs"))?,
            all: param.flag("all")?,
            limit,
            page,
            pagesize,
            ..Self::of(model)
        })
    }
}

fn columns(about: ConditionContext<'_>, list: &[Value]) -> QueryResult<Vec<String>> {
    let mut names: Vec<String> = Vec::with_capacity(list.len());
    for (index, name) in list.iter().enumerate() {
        let name = readable(about, name).map_err(|fault| fault.within(&format!("[{index}]")))?;
        if !names.contains(&name.name) {
            names.push(name.name.clone());
        }
    }
    Ok(names)
}

fn readable<'m>(about: ConditionContext<'m>, name: &Value) -> QueryResult<&'m TableColumn> {
    let name = name.as_str();
    let name = name.ok_or_else(|| QueryFault::form("", "a column", "must be a text"))?;
    let column = about.column(name)?;
    let column = column.is_readable().then_some(column);
    column.ok_or_else(|| QueryFault::secret(name))
}

fn orders(about: ConditionContext<'_>, list: &[Value]) -> QueryResult<Vec<QueryOrder>> {
    if list.len() > ORDERS {
        let text = format!("at most {ORDERS} orders");
        return Err(QueryFault::new("too_large", "", text));
    }
    let orders = list.iter().enumerate();
    let orders = orders.map(|(index, entry)| {
        by(about, entry).map_err(|fault| fault.within(&format!("[{index}]")))
    });
    orders.collect()
}

fn by(about: ConditionContext<'_>, entry: &Value) -> QueryResult<QueryOrder> {
    let entry = QueryObject::of(entry, "an order")?;
    entry.has_only(&["column", "option", "rel"])?;
    let name = entry.text("column")?;
    let name = name.ok_or_else(|| QueryFault::new("missing_column", "", "column is missing"))?;
    let route = match entry.text("rel")? {
        Some(rel) => Some(RelationPath::parse(about.deeper()?, rel)?),
        None => None,
    };
    if route.as_ref().is_some_and(|route| route.kind.is_many()) {
        let text = "rows cannot be ordered by a relation that leads to many";
        return Err(QueryFault::new("unfit_relation", "rel", text));
    }
    let about = match &route {
        Some(route) => about.of(route.last()?),
        None => about,
    };
    let column = about.column(name)?;
    if !column.is_comparable() {
        return Err(QueryFault::unordered(name));
    }
    Ok(QueryOrder {
        is_descending: is_descending(entry.text("option")?)
            .map_err(|fault| fault.within("option"))?,
        is_nullable: route.is_some() || !column.is_primary,
        column: column.name.clone(),
        route,
    })
}

/// `asc` or `desc`; `asc` where nothing is said.
pub(super) fn is_descending(option: Option<&str>) -> QueryResult<bool> {
    match option {
        None => Ok(false),
        Some(text) if text.eq_ignore_ascii_case("asc") => Ok(false),
        Some(text) if text.eq_ignore_ascii_case("desc") => Ok(true),
        Some(text) => {
            let text = format!("\"{text}\" is no order: it is asc or desc");
            Err(QueryFault::new("unknown_order", "", text))
        }
    }
}

fn withs(about: ConditionContext<'_>, param: QueryObject<'_>) -> QueryResult<Vec<EagerLoad>> {
    let Some(withs) = param.get("withs") else {
        return Ok(Vec::new());
    };
    let withs = QueryObject::of(withs, "withs")?;
    let withs = withs
        .entries()
        .map(|(name, value)| with(about, name, value).map_err(|fault| fault.within(name)));
    withs.collect()
}

fn with(about: ConditionContext<'_>, name: &str, value: &Value) -> QueryResult<EagerLoad> {
    let about = about.deeper()?;
    let route = RelationPath::parse(about, name)?;
    let nothing = Value::Object(serde_json::Map::new());
    let value = if value.is_null() { &nothing } else { value };
    let value = QueryObject::of(value, "a relation's query")?;
    value.has_only(&["query"])?;
    let last = route.steps.last().map(|step| Arc::clone(&step.model));
    let query = match (value.get("query"), last) {
        (Some(query), Some(model)) => {
            let query = QueryParam::read(about.of(&model), &model, query);
            Some(Arc::new(query.map_err(|fault| fault.within("query"))?))
        }
        _ => None,
    };
    Ok(EagerLoad {
        name: name.to_owned(),
        route,
        query,
    })
}
