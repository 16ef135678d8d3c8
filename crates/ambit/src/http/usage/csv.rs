//! Sums as a table of text (RFC 4180).

use super::UsageGroups;
use ambit_storage::UsageTotals;
use std::collections::BTreeSet;

/// A count of a sum, which is a column.
type UsageCount = fn(&UsageTotals) -> i64;

const COUNTS: [(&str, UsageCount); 6] = [
    ("records", |totals| totals.records),
    ("prompt_tokens", |totals| totals.prompt_tokens),
    ("completion_tokens", |totals| totals.completion_tokens),
    ("total_tokens", |totals| totals.total_tokens),
    ("cached_tokens", |totals| totals.cached_tokens),
    ("reasoning_tokens", |totals| totals.reasoning_tokens),
];

/// What a program for tables takes for the beginning of a formula.
const FORMULA: [char; 4] = ['=', '+', '-', '@'];

/// A line of names, then one for each sum: what it is told apart by, its counts, and its cost in each currency.
pub(super) fn table(group_by: Option<&str>, groups: &UsageGroups) -> String {
    let all_costs = groups.values().flat_map(|totals| totals.cost.keys());
    let currencies: BTreeSet<&String> = all_costs.collect();
    let names = group_by.into_iter().flat_map(|fields| fields.split(','));
    let names = names.chain(COUNTS.map(|(name, _)| name));
    let names = names.map(str::to_owned);
    let costs = currencies.iter().map(|currency| format!("cost {currency}"));
    let mut table = line(names.chain(costs));
    for (values, totals) in groups {
        let counts = COUNTS.map(|(_, count)| count(totals).to_string());
        let costs = currencies.iter().map(|currency| {
            let micros = totals.cost.get(*currency);
            micros.map_or_else(String::new, |micros| decimal(*micros))
        });
        table += &line(values.iter().cloned().chain(counts).chain(costs));
    }
    table
}

fn line(cells: impl Iterator<Item = String>) -> String {
    let cells: Vec<String> = cells.map(cell).collect();
    format!("{}\r\n", cells.join(","))
}

fn cell(text: String) -> String {
    let text = match text.starts_with(FORMULA) {
        true => format!("'{text}"),
        false => text,
    };
    match text.contains([',', '"', '\r', '\n']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text,
    }
}

/// Millionths as a decimal number.
fn decimal(micros: i64) -> String {
    let sign = if micros < 0 { "-" } else { "" };
    let micros = micros.unsigned_abs();
    format!("{sign}{}.{:06}", micros / 1_000_000, micros % 1_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn sums(values: &[&str], records: i64, cost: &[(&str, i64)]) -> (Vec<String>, UsageTotals) {
        let cost = cost
            .iter()
            .map(|(name, micros)| ((*name).to_owned(), *micros));
        let totals = UsageTotals {
            records,
            prompt_tokens: 10 * records,
            completion_tokens: records,
            total_tokens: 11 * records,
            cached_tokens: 3 * records,
            reasoning_tokens: 0,
            cost: cost.collect(),
        };
        (
            values.iter().map(|value| (*value).to_owned()).collect(),
            totals,
        )
    }

    #[test]
    fn each_currency_is_a_column_of_decimals() {
        let groups = BTreeMap::from([
            sums(
                &["2026-11-21", "m"],
                1,
                &[("EUR", 1_250_000), ("credits", 5)],
            ),
            sums(&["2026-11-22", "m"], 2, &[]),
        ]);
        let expected = "\
day,model,records,prompt_tokens,completion_tokens,total_tokens,cached_tokens,reasoning_tokens,cost EUR,cost credits\r
2026-11-21,m,1,10,1,11,3,0,1.250000,0.000005\r
2026-11-22,m,2,20,2,22,6,0,,\r
";
        assert_eq!(table(Some("day,model"), &groups), expected);
    }

    #[test]
    fn no_cell_is_a_formula_or_ends_its_cell_or_line() {
        for (value, expected) in [
            ("plain text", "plain text"),
            ("=1+1", "'=1+1"),
            ("+1", "'+1"),
            ("-1", "'-1"),
            ("@SUM(A1)", "'@SUM(A1)"),
            (
                "=HYPERLINK(\"x\",\"y\")",
                "\"'=HYPERLINK(\"\"x\"\",\"\"y\"\")\"",
            ),
            ("a,b", "\"a,b\""),
            ("say \"a\"", "\"say \"\"a\"\"\""),
            ("a\r\nb", "\"a\r\nb\""),
        ] {
            assert_eq!(cell(value.to_owned()), expected);
        }
    }
}
