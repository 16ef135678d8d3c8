//! The messages of OTLP as far as they are sent here, and a reader of Protocol Buffers that takes nothing else.

use serde_json::{Map, Value, json};

/// What a field holds.
#[derive(Clone, Copy)]
pub enum Kind {
    Text,
    Bytes,
    Number,
    Flag,
    Fixed64,
    Fixed32,
    Double,
    Message(&'static [Field]),
    Messages(&'static [Field]),
    PackedFixed64,
    PackedDouble,
}

/// Number, name and kind of a field.
pub type Field = (u64, &'static str, Kind);

const ANY_VALUE: &[Field] = &[
    (1, "string_value", Kind::Text),
    (2, "bool_value", Kind::Flag),
    (3, "int_value", Kind::Number),
    (4, "double_value", Kind::Double),
    (5, "array_value", Kind::Message(ARRAY_VALUE)),
];
/// Lists hold texts.
const TEXT_VALUE: &[Field] = &[(1, "string_value", Kind::Text)];
const ARRAY_VALUE: &[Field] = &[(1, "values", Kind::Messages(TEXT_VALUE))];
const KEY_VALUE: &[Field] = &[
    (1, "key", Kind::Text),
    (2, "value", Kind::Message(ANY_VALUE)),
];
const RESOURCE: &[Field] = &[(1, "attributes", Kind::Messages(KEY_VALUE))];
const SCOPE: &[Field] = &[(1, "name", Kind::Text), (2, "version", Kind::Text)];
const STATUS: &[Field] = &[(2, "message", Kind::Text), (3, "code", Kind::Number)];
const LINK: &[Field] = &[(1, "trace_id", Kind::Bytes), (2, "span_id", Kind::Bytes)];
const SPAN: &[Field] = &[
    (1, "trace_id", Kind::Bytes),
    (2, "span_id", Kind::Bytes),
    (3, "trace_state", Kind::Text),
    (4, "parent_span_id", Kind::Bytes),
    (5, "name", Kind::Text),
    (6, "kind", Kind::Number),
    (7, "start_time_unix_nano", Kind::Fixed64),
    (8, "end_time_unix_nano", Kind::Fixed64),
    (9, "attributes", Kind::Messages(KEY_VALUE)),
    (13, "links", Kind::Messages(LINK)),
    (15, "status", Kind::Message(STATUS)),
    (16, "flags", Kind::Fixed32),
];
const SCOPE_SPANS: &[Field] = &[
    (1, "scope", Kind::Message(SCOPE)),
    (2, "spans", Kind::Messages(SPAN)),
];
const RESOURCE_SPANS: &[Field] = &[
    (1, "resource", Kind::Message(RESOURCE)),
    (2, "scope_spans", Kind::Messages(SCOPE_SPANS)),
];
pub const TRACES_REQUEST: &[Field] = &[(1, "resource_spans", Kind::Messages(RESOURCE_SPANS))];
const NUMBER_POINT: &[Field] = &[
    (2, "start_time_unix_nano", Kind::Fixed64),
    (3, "time_unix_nano", Kind::Fixed64),
    (4, "as_double", Kind::Double),
    (7, "attributes", Kind::Messages(KEY_VALUE)),
];
const HISTOGRAM_POINT: &[Field] = &[
    (2, "start_time_unix_nano", Kind::Fixed64),
    (3, "time_unix_nano", Kind::Fixed64),
    (4, "count", Kind::Fixed64),
    (5, "sum", Kind::Double),
    (6, "bucket_counts", Kind::PackedFixed64),
    (7, "explicit_bounds", Kind::PackedDouble),
    (9, "attributes", Kind::Messages(KEY_VALUE)),
];
const GAUGE: &[Field] = &[(1, "data_points", Kind::Messages(NUMBER_POINT))];
const SUM: &[Field] = &[
    (1, "data_points", Kind::Messages(NUMBER_POINT)),
    (2, "aggregation_temporality", Kind::Number),
    (3, "is_monotonic", Kind::Flag),
];
const HISTOGRAM: &[Field] = &[
    (1, "data_points", Kind::Messages(HISTOGRAM_POINT)),
    (2, "aggregation_temporality", Kind::Number),
];
const METRIC: &[Field] = &[
    (1, "name", Kind::Text),
    (2, "description", Kind::Text),
    (3, "unit", Kind::Text),
    (5, "gauge", Kind::Message(GAUGE)),
    (7, "sum", Kind::Message(SUM)),
    (9, "histogram", Kind::Message(HISTOGRAM)),
];
const SCOPE_METRICS: &[Field] = &[
    (1, "scope", Kind::Message(SCOPE)),
    (2, "metrics", Kind::Messages(METRIC)),
];
const RESOURCE_METRICS: &[Field] = &[
    (1, "resource", Kind::Message(RESOURCE)),
    (2, "scope_metrics", Kind::Messages(SCOPE_METRICS)),
];
pub const METRICS_REQUEST: &[Field] = &[(1, "resource_metrics", Kind::Messages(RESOURCE_METRICS))];

/// A message with these fields and no others, each in the form that its kind has.
pub fn decode(mut bytes: &[u8], fields: &'static [Field]) -> Value {
    let mut message = Map::new();
    while !bytes.is_empty() {
        let tag = varint(&mut bytes);
        let field = fields.iter().find(|(number, _, _)| *number == tag >> 3);
        let (_, name, kind) = field.unwrap_or_else(|| panic!("there is no field {}", tag >> 3));
        let wire = match kind {
            Kind::Number | Kind::Flag => 0,
            Kind::Fixed64 | Kind::Double => 1,
            Kind::Fixed32 => 5,
            _ => 2,
        };
        assert_eq!(tag & 7, wire, "{name}");
        let value = match kind {
            Kind::Number => json!(varint(&mut bytes)),
            Kind::Flag => json!(varint(&mut bytes) == 1),
            Kind::Fixed64 => json!(u64::from_le_bytes(take(&mut bytes))),
            Kind::Double => json!(f64::from_le_bytes(take(&mut bytes))),
            Kind::Fixed32 => json!(u32::from_le_bytes(take(&mut bytes))),
            _ => {
                let length = usize::try_from(varint(&mut bytes)).unwrap();
                let (inner, rest) = bytes.split_at(length);
                bytes = rest;
                part(inner, *kind)
            }
        };
        if matches!(kind, Kind::Messages(_)) {
            let all = message.entry(*name).or_insert_with(|| json!([]));
            all.as_array_mut().unwrap().push(value);
        } else {
            assert!(
                message.insert((*name).to_owned(), value).is_none(),
                "{name} is there twice"
            );
        }
    }
    Value::Object(message)
}

/// What has a length of its own.
fn part(bytes: &[u8], kind: Kind) -> Value {
    let eights = || {
        bytes
            .chunks(8)
            .map(|eight| <[u8; 8]>::try_from(eight).unwrap())
    };
    match kind {
        Kind::Text => json!(std::str::from_utf8(bytes).unwrap()),
        Kind::Bytes => {
            let digits = bytes.iter().map(|byte| format!("{byte:02x}"));
            json!(digits.collect::<String>())
        }
        Kind::Message(fields) | Kind::Messages(fields) => decode(bytes, fields),
        Kind::PackedFixed64 => eights().map(u64::from_le_bytes).collect(),
        Kind::PackedDouble => eights().map(f64::from_le_bytes).collect(),
        _ => unreachable!("it has a length by its kind"),
    }
}

fn varint(bytes: &mut &[u8]) -> u64 {
    let mut number = 0;
    for shift in (0..).step_by(7) {
        let [byte] = take(bytes);
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            break;
        }
    }
    number
}

fn take<const N: usize>(bytes: &mut &[u8]) -> [u8; N] {
    let (first, rest) = bytes.split_first_chunk().unwrap();
    *bytes = rest;
    *first
}
