//! What scopes leave of the data: limits of one scope, and the widest of several.

use super::scope;
use ambit_runtime::Authorized;
use ambit_runtime::DataConstraints;
use serde_json::{Map, Value};

/// What a scope says of the data.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScopeLimits {
    /// What its flags or its level say; none where its caller's usual limits hold.
    flags: Option<DataConstraints>,
    /// Columns that must have these values.
    extra: Option<Map<String, Value>>,
}

impl ScopeLimits {
    /// Of a scope: its flags, else what its level means.
    pub fn of(name: &str, flags: &DataConstraints) -> Self {
        let extra = flags.extra.clone().filter(|extra| !extra.is_empty());
        let flags = DataConstraints {
            extra: None,
            ..flags.clone()
        };
        let flags = match (flags.is_none(), scope::level(name)) {
            (false, _) => Some(flags),
            (true, "all") => Some(DataConstraints::default()),
            (true, "own") => Some(DataConstraints {
                owner_only: true,
                ..DataConstraints::default()
            }),
            (true, "team") => Some(DataConstraints {
                team_only: true,
                ..DataConstraints::default()
            }),
            (true, _) => None,
        };
        Self { flags, extra }
    }

    /// What they are for a caller.
    pub fn for_caller(&self, who: &Authorized) -> DataConstraints {
        let flags = self.flags.clone();
        DataConstraints {
            extra: self.extra.clone(),
            ..flags.unwrap_or_else(|| DataConstraints::usual(who))
        }
    }
}

/// The widest of what several scopes leave; none of none.
pub fn widest(all: impl IntoIterator<Item = DataConstraints>) -> Option<DataConstraints> {
    all.into_iter().reduce(
        |one, other| match narrowness(&one).cmp(&narrowness(&other)) {
            std::cmp::Ordering::Less => one,
            std::cmp::Ordering::Greater => other,
            std::cmp::Ordering::Equal => combined(one, other),
        },
    )
}

/// No limit is wider than a team, a team than an editor, an editor than an owner or creator, who are the same to data; and
/// each of them is wider than together with another.
fn narrowness(limits: &DataConstraints) -> u8 {
    let is_own = limits.owner_only || limits.creator_only;
    u8::from(is_own) * 4 + u8::from(limits.editor_only) * 2 + u8::from(limits.team_only)
}

/// Both, of the same width: every column that one of them names has to be right, with a value of either.
fn combined(one: DataConstraints, other: DataConstraints) -> DataConstraints {
    let extra = match (one.extra, other.extra) {
        (Some(one), Some(other)) => Some(joined(one, other)),
        (one, other) => one.or(other),
    };
    DataConstraints {
        owner_only: one.owner_only || other.owner_only,
        creator_only: one.creator_only || other.creator_only,
        extra,
        ..one
    }
}

fn joined(mut one: Map<String, Value>, other: Map<String, Value>) -> Map<String, Value> {
    for (name, value) in other {
        let joined = match one.remove(&name) {
            None => value,
            Some(known) if known == value => value,
            Some(known) => {
                let mut values = items(known);
                let new: Vec<Value> = items(value)
                    .into_iter()
                    .filter(|value| !values.contains(value))
                    .collect();
                values.extend(new);
                Value::Array(values)
            }
        };
        one.insert(name, joined);
    }
    one
}

fn items(value: Value) -> Vec<Value> {
    match value {
        Value::Array(items) => items,
        one => vec![one],
    }
}

#[cfg(test)]
mod tests {
    use super::{ScopeLimits, widest};
    use ambit_runtime::Authorized;
    use ambit_runtime::DataConstraints;
    use serde_json::{Value, json};

    fn limits(value: Value) -> DataConstraints {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn flags_count_before_the_level() {
        let none = json!({});
        for (name, flags, expected) in [
            ("a:b:own", none.clone(), json!({"owner_only": true})),
            ("a:b:team", none.clone(), json!({"team_only": true})),
            ("a:b:all", none.clone(), none.clone()),
            ("a:b:default", none, json!({"team_only": true})),
            (
                "a:b:all",
                json!({"editor_only": true}),
                json!({"editor_only": true}),
            ),
            (
                "a:b:own",
                json!({"team_only": true, "creator_only": true}),
                json!({"team_only": true, "creator_only": true}),
            ),
            (
                "a:b:all",
                json!({"extra": {"k": 1}}),
                json!({"extra": {"k": 1}}),
            ),
            (
                "a:b:eu",
                json!({"extra": {"k": 1}}),
                json!({"team_only": true, "extra": {"k": 1}}),
            ),
        ] {
            let who = Authorized {
                user_id: Some("ann".to_owned()),
                team_id: Some("red".to_owned()),
                ..Authorized::default()
            };
            let found = ScopeLimits::of(name, &limits(flags)).for_caller(&who);
            assert_eq!(found, limits(expected), "{name}");
        }
        let alone = ScopeLimits::of("a:b:x", &DataConstraints::default());
        let usual = alone.for_caller(&Authorized::default());
        assert_eq!(usual, limits(json!({"owner_only": true})));
    }

    #[test]
    fn the_widest_counts() {
        let order = [
            json!({}),
            json!({"team_only": true}),
            json!({"editor_only": true}),
            json!({"team_only": true, "editor_only": true}),
            json!({"owner_only": true}),
            json!({"team_only": true, "creator_only": true}),
        ];
        for (at, wide) in order.iter().enumerate() {
            for narrow in &order[at + 1..] {
                let both = [limits(narrow.clone()), limits(wide.clone())];
                assert_eq!(widest(both.clone()), Some(limits(wide.clone())));
                assert_eq!(widest(both.into_iter().rev()), Some(limits(wide.clone())));
            }
        }
        assert_eq!(widest([]), None);
    }

    #[test]
    fn columns_of_the_same_width_are_combined() {
        let of = |extra: Value| limits(json!({"owner_only": true, "extra": extra}));
        let found = widest([
            of(json!({"region": "eu", "kind": ["a", "b"]})),
            of(json!({"region": "us", "kind": "b", "open": true})),
            limits(json!({"creator_only": true})),
            limits(json!({"team_only": true, "owner_only": true, "extra": {"never": 1}})),
        ]);
        let expected = json!({
            "owner_only": true, "creator_only": true,
            "extra": {"region": ["eu", "us"], "kind": ["a", "b"], "open": true},
        });
        assert_eq!(found, Some(limits(expected)));
    }
}
