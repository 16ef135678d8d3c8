//! Values across the border: JSON, and objects whose methods are calls to the host.

use crate::handed_memory::HandedMemory;
use crate::host::HostValue;
use crate::limits::RunBudget;
use rquickjs::atom::PredefinedAtom;
use rquickjs::function::This;
use rquickjs::object::Property;
use rquickjs::{Array, Ctx, Exception, Function, IntoJs, Object, Result, Type};
use serde_json::{Map, Number, Value};
use std::sync::Arc;

pub(crate) type JsValue<'js> = rquickjs::Value<'js>;

/// The largest integer that a JavaScript number holds exactly.
const EXACT: u64 = (1 << 53) - 1;

/// How deep a value may be nested: what it is stored within is nested too, and more than 120 levels cannot be stored. A cyclic one is found by this.
const DEPTH: usize = 100;

/// What each value is counted as, beside its text: `null,`.
const LEAST: usize = 5;

/// Memory of an object beside its members.
const OBJECT: usize = 64;

/// Memory of a member: its hash, name and value, its place among the hashes, and what an allocator adds to a name.
const MEMBER: usize = size_of::<(u64, String, Value)>() + 24;

/// What an error has beside its own members.
const ERROR: [&str; 3] = ["name", "message", "stack"];

/// Makes JavaScript values, for as long as the run may go on.
pub struct ValueWriter<'a, 'js> {
    pub ctx: &'a Ctx<'js>,
    pub budget: &'a RunBudget,
}

impl<'js> ValueWriter<'_, 'js> {
    /// Plain data as a JavaScript value. Integers that would lose digits become strings.
    pub fn json(&self, value: &Value) -> Result<JsValue<'js>> {
        Ok(match value {
            Value::Null => JsValue::new_null(self.ctx.clone()),
            Value::Bool(flag) => JsValue::new_bool(self.ctx.clone(), *flag),
            Value::Number(number) => number_to_js(self.ctx, number)?,
            Value::String(text) => rquickjs::String::from_str(self.ctx.clone(), text)?.into_value(),
            Value::Array(items) => {
                let list = Array::new(self.ctx.clone())?;
                for (index, item) in items.iter().enumerate() {
                    list.set(index, self.json(item)?)?;
                }
                list.into_value()
            }
            Value::Object(members) => {
                let object = Object::new(self.ctx.clone())?;
                for (name, member) in members {
                    self.put(&object, name, self.json(member)?)?;
                }
                object.into_value()
            }
        })
    }

    /// A host's value as a JavaScript value; `make` is the prelude's function that makes an object of a class.
    pub fn value(&self, make: &Function<'js>, value: &HostValue) -> Result<JsValue<'js>> {
        Ok(match value {
            HostValue::Json(json) => self.json(json)?,
            HostValue::Shared(json) => self.json(json)?,
            HostValue::Undefined | HostValue::Receiver => JsValue::new_undefined(self.ctx.clone()),
            HostValue::List(items) => {
                let list = Array::new(self.ctx.clone())?;
                for (index, item) in items.iter().enumerate() {
                    list.set(index, self.value(make, item)?)?;
                }
                list.into_value()
            }
            HostValue::Map(members) => self.object(make, members)?.into_value(),
            HostValue::Object(object) => {
                let members = self.object(make, &object.members)?;
                make.call((object.class.as_str(), self.json(&object.handle)?, members))?
            }
        })
    }

    fn object(&self, make: &Function<'js>, members: &[(String, HostValue)]) -> Result<Object<'js>> {
        let object = Object::new(self.ctx.clone())?;
        for (name, member) in members {
            self.put(&object, name, self.value(make, member)?)?;
        }
        Ok(object)
    }

    /// Gives an object a member. Setting `__proto__` would let data choose what the object inherits; it is a name like any
    /// other. The engine compares names of one hash one by one, and clients choose names: the run may have to end meanwhile.
    fn put(&self, object: &Object<'js>, name: &str, value: JsValue<'js>) -> Result<()> {
        if self.budget.stopped().is_some() {
            return Err(Exception::throw_message(self.ctx, "the run has ended"));
        }
        if name != "__proto__" {
            return object.set(name, value);
        }
        let member = Property::from(value);
        object.prop(name, member.writable().enumerable().configurable())
    }
}

fn number_to_js<'js>(ctx: &Ctx<'js>, number: &Number) -> Result<JsValue<'js>> {
    let magnitude = number
        .as_i64()
        .map(i64::unsigned_abs)
        .or_else(|| number.as_u64());
    if magnitude.is_some_and(|magnitude| magnitude > EXACT) {
        return number.to_string().into_js(ctx);
    }
    if let Some(small) = number
        .as_i64()
        .and_then(|integer| i32::try_from(integer).ok())
    {
        return Ok(JsValue::new_int(ctx.clone(), small));
    }
    Ok(JsValue::new_float(
        ctx.clone(),
        number.as_f64().unwrap_or(f64::NAN),
    ))
}

/// Reads JavaScript values as JSON, up to a size and to the memory that they take.
pub struct ValueReader<'js> {
    ctx: Ctx<'js>,
    rest: usize,
    /// True once a value was larger than it may be.
    pub too_large: bool,
    limit: usize,
    /// The memory of what was read.
    pub handed: HandedMemory,
    /// The functions met on the way and where they stood; only looked for in arguments.
    pub functions: Vec<(String, Function<'js>)>,
    /// Whether `left_out` is looked for.
    pub tells_left_out: bool,
    /// The first member of a value itself, not of one within it, whose value JSON does not have.
    pub left_out: Option<String>,
}

impl<'js> ValueReader<'js> {
    /// A reader of values of at most `limit` bytes in all, whose memory counts to a run.
    pub fn new(ctx: &Ctx<'js>, budget: &Arc<RunBudget>, limit: usize) -> Self {
        Self {
            ctx: ctx.clone(),
            rest: limit,
            too_large: false,
            limit,
            handed: HandedMemory::new(budget),
            functions: Vec::new(),
            tells_left_out: false,
            left_out: None,
        }
    }

    /// One argument of a host call, and the functions that are it or its members.
    pub fn argument(&mut self, index: usize, value: &JsValue<'js>) -> Result<Value> {
        if let Some(function) = value.as_function() {
            self.functions.push((index.to_string(), function.clone()));
            return Ok(Value::Null);
        }
        let plain = value.as_object().filter(|object| !object.is_array());
        if let Some(object) = plain {
            for key in object.keys::<rquickjs::String<'js>>() {
                let key = key?;
                let Some(function) = object.get::<_, JsValue<'js>>(key.clone())?.into_function()
                else {
                    continue;
                };
                self.functions
                    .push((format!("{index}.{}", text(&self.ctx, &key)?), function));
            }
        }
        Ok(self.read(value)?.unwrap_or(Value::Null))
    }

    /// A value; `None` for what JSON leaves out.
    pub fn read(&mut self, value: &JsValue<'js>) -> Result<Option<Value>> {
        self.at(value, 0)
    }

    fn at(&mut self, value: &JsValue<'js>, depth: usize) -> Result<Option<Value>> {
        self.count(LEAST)?;
        Ok(Some(match value.type_of() {
            Type::Null => Value::Null,
            Type::Bool => Value::Bool(value.as_bool().unwrap_or(false)),
            Type::Int => Value::from(value.as_int().unwrap_or(0)),
            Type::Float => number(value.as_float().unwrap_or(f64::NAN)),
            Type::String => match value.as_string() {
                Some(string) => Value::String(self.string(string)?),
                None => Value::Null,
            },
            Type::BigInt => return Err(self.refuse("it holds a BigInt")),
            Type::Array | Type::Object | Type::Exception | Type::Proxy | Type::Promise => {
                if depth >= DEPTH {
                    let why = format!("it is cyclic or nested more than {DEPTH} deep");
                    return Err(self.refuse(&why));
                }
                match value.as_object() {
                    Some(object) => return self.object(object, depth + 1),
                    None => Value::Null,
                }
            }
            _ => return Ok(None),
        }))
    }

    fn object(&mut self, object: &Object<'js>, depth: usize) -> Result<Option<Value>> {
        if let Some(array) = object.as_array() {
            return self.list(array, depth).map(Some);
        }
        let own: JsValue<'js> = object.get(PredefinedAtom::ToJSON)?;
        if let Some(function) = own.as_function() {
            let plain: JsValue<'js> = function.call((This(object.clone()), ""))?;
            return self.at(&plain, depth);
        }
        if let Some(tag) = object
            .get::<_, JsValue<'js>>(PredefinedAtom::SymbolToStringTag)?
            .as_string()
            && is_binary(&text(&self.ctx, tag)?)
        {
            return Err(self.refuse("it holds a binary array"));
        }
        let keys = object.keys::<rquickjs::String<'js>>();
        let further: &[&str] = if object.is_error() { &ERROR } else { &[] };
        let most = keys.len() + further.len();
        self.hold(OBJECT + most * MEMBER)?;
        let mut members = Map::with_capacity(most);
        for &name in further {
            if let Some(value) = self.at(&object.get(name)?, depth)? {
                members.insert(name.to_owned(), value);
            }
        }
        for key in keys {
            let key = key?;
            let value: JsValue<'js> = object.get(key.clone())?;
            let read = self.at(&value, depth)?;
            if self.tells_left_out && depth == 1 && self.left_out.is_none() {
                let is_finite = value.as_float().is_none_or(f64::is_finite);
                let is_left_out = read.is_none() || !is_finite;
                self.left_out = is_left_out.then(|| text(&self.ctx, &key)).transpose()?;
            }
            if let Some(value) = read {
                members.insert(self.string(&key)?, value);
            }
        }
        Ok(Some(Value::Object(members)))
    }

    fn list(&mut self, array: &Array<'js>, depth: usize) -> Result<Value> {
        // A list may be longer than the engine's own numbers, which its `len` does not expect.
        let length: f64 = array.as_object().get(PredefinedAtom::Length)?;
        let most = u32::try_from(self.rest / LEAST).unwrap_or(u32::MAX);
        if length > f64::from(most) {
            return Err(self.too_large());
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "it is at most `most`; what is no length becomes 0"
        )]
        let length = length as u32;
        let room = usize::try_from(length).unwrap_or(usize::MAX);
        self.hold(room.saturating_mul(size_of::<Value>()))?;
        let mut items = Vec::with_capacity(room);
        for index in 0..length {
            let item: JsValue<'js> = array.as_object().get(index)?;
            items.push(self.at(&item, depth)?.unwrap_or(Value::Null));
        }
        Ok(Value::Array(items))
    }

    fn string(&mut self, string: &rquickjs::String<'js>) -> Result<String> {
        let text = text(&self.ctx, string)?;
        // It is no shorter as JSON, and a long one need not be walked for that.
        if text.len() > self.rest {
            return Err(self.too_large());
        }
        self.count(json_size(&text))?;
        self.hold(text.len())?;
        Ok(text)
    }

    fn count(&mut self, size: usize) -> Result<()> {
        match self.rest.checked_sub(size) {
            Some(rest) => self.rest = rest,
            None => return Err(self.too_large()),
        }
        Ok(())
    }

    fn too_large(&mut self) -> rquickjs::Error {
        self.too_large = true;
        let text = format!("value exceeds {} bytes", self.limit);
        Exception::throw_range(&self.ctx, &text)
    }

    /// Counts memory.
    fn hold(&mut self, size: usize) -> Result<()> {
        match self.handed.grow(size) {
            true => Ok(()),
            false => Err(Exception::throw_range(&self.ctx, &self.handed.refusal())),
        }
    }

    fn refuse(&self, reason: &str) -> rquickjs::Error {
        Exception::throw_type(&self.ctx, &format!("value is not JSON: {reason}"));
        let thrown = self.ctx.catch();
        if let Some(error) = thrown.as_object()
            && let Err(failed) = error.set("code", "invalid_argument")
        {
            return failed;
        }
        self.ctx.throw(thrown)
    }
}

fn number(float: f64) -> Value {
    let whole = float.fract() == 0.0 && float.abs() <= 9_007_199_254_740_991.0;
    if whole {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "it is whole and below 2^53"
        )]
        return Value::from(float as i64);
    }
    Number::from_f64(float).map_or(Value::Null, Value::Number)
}

/// The bytes of a text as JSON, without its quotes.
fn json_size(text: &str) -> usize {
    let size = |byte: u8| -> usize {
        match byte {
            b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 8 | 12 => 2,
            0..0x20 => 6,
            _ => 1,
        }
    };
    text.bytes().map(size).sum()
}

fn is_binary(tag: &str) -> bool {
    matches!(tag, "ArrayBuffer" | "SharedArrayBuffer" | "DataView")
        || (tag.ends_with("Array") && tag != "Array")
}

/// The text of a JavaScript string; halves of characters become U+FFFD.
pub fn text<'js>(ctx: &Ctx<'js>, string: &rquickjs::String<'js>) -> Result<String> {
    match string.to_string() {
        Err(rquickjs::Error::Utf8(_)) => {}
        other => return other,
    }
    let constructor: Object<'js> = ctx.globals().get("String")?;
    let prototype: Object<'js> = constructor.get("prototype")?;
    let repair: Function<'js> = prototype.get("toWellFormed")?;
    let whole: rquickjs::String<'js> = repair.call((This(string.clone()),))?;
    whole.to_string()
}
