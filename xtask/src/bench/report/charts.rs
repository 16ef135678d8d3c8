//! Which results are drawn: what a turn costs as its conversation grows, and how long it takes under load.

use super::plot::{Chart, Curve, Point};
use super::table::{Measured, Table};
use super::text;
use super::work::{kind, way};
use std::collections::BTreeMap;

/// The charts of what was measured.
pub fn all(table: &Table) -> Vec<Chart> {
    let charts = [
        Chart {
            file: "growth",
            title: "What a turn costs as its conversation grows (W1)",
            across: "messages of history",
            up: "ms for a turn",
            curves: growth(table),
        },
        Chart {
            file: "growth-large",
            title: "What Ambit's costs become as its SQLite store grows (W17)",
            across: "messages, chats or entries",
            up: "ms of processor time; to start: ms",
            curves: large(table),
        },
        Chart {
            file: "latency-p50",
            title: "How long a turn takes under load, median (W8)",
            across: "clients at once",
            up: "ms for a turn",
            curves: latency(table, "W8 turn, p50"),
        },
        Chart {
            file: "latency-p99",
            title: "How long a turn takes under load, 99th percentile (W8)",
            across: "clients at once",
            up: "ms for a turn",
            curves: latency(table, "W8 turn, p99"),
        },
    ];
    let drawn = charts.into_iter().filter(|chart| !chart.curves.is_empty());
    drawn.collect()
}

/// A turn on SQLite files, of each framework its cheapest way.
fn growth(table: &Table) -> Vec<Curve> {
    let is_drawn = |row: &&Measured| {
        let line = &row.line;
        let is_file = !matches!(
            line.backend.as_str(),
            "memory" | "file" | "pg" | "postgres" | "redis"
        );
        let is_level = !line.backend.ends_with("Context") && !line.backend.ends_with("NORMAL");
        kind(&line.work) == "W1 turn" && line.place == "disk" && is_file && is_level
    };
    let mut ways: BTreeMap<(String, String), Curve> = BTreeMap::new();
    for row in table.0.iter().filter(is_drawn) {
        let line = &row.line;
        let curve = ways.entry((line.backend.clone(), line.work.clone() + &line.peer));
        let name = if row.is_ours() {
            format!("Ambit, {}", way(&line.work))
        } else if line.backend == "libsql" {
            format!("{} (does not sync)", text::name(&line.peer))
        } else {
            text::name(&line.peer)
        };
        add(
            curve.or_insert_with(|| Curve {
                name,
                is_ours: row.is_ours(),
                points: Vec::new(),
            }),
            row,
        );
    }
    cheapest(ways.into_values())
}

/// Works of W17, and what their curves are called.
const LARGE: &[(&str, &str)] = &[
    ("W17 turn, CPU", "a turn, by the chat's messages"),
    (
        "W17 first turn of a chat, CPU",
        "a new chat, by the person's chats",
    ),
    ("W17 turn in a store, CPU", "a turn, by the store's entries"),
    ("W17 list 20 chats", "a list, by the person's chats"),
    ("W17 start", "the start, by the store's entries"),
];

/// What Ambit's costs become in stores that have grown.
fn large(table: &Table) -> Vec<Curve> {
    let curve = |(work, name): &(&str, &str)| {
        let mut curve = Curve {
            name: (*name).to_owned(),
            is_ours: true,
            points: Vec::new(),
        };
        let rows = table.0.iter().filter(|row| row.line.work == *work);
        rows.filter(|row| row.is_ours() && row.line.place == "disk")
            .for_each(|row| add(&mut curve, row));
        curve
    };
    ordered(LARGE.iter().map(curve).collect())
}

/// A turn of every server, and of what runs in process instead of one.
fn latency(table: &Table, work: &str) -> Vec<Curve> {
    let rows = table
        .0
        .iter()
        .filter(|row| row.line.work == work && row.line.place == "disk");
    let mut curves: BTreeMap<String, Curve> = BTreeMap::new();
    for row in rows {
        let line = &row.line;
        let is_ours = row.is_ours();
        let who = if is_ours {
            "Ambit".to_owned()
        } else {
            text::name(&line.peer)
        };
        let how = if is_ours || who.contains("server") {
            ""
        } else {
            " in process"
        };
        let name = format!("{who}{how}, {}", line.backend);
        let curve = curves.entry(name.clone());
        add(
            curve.or_insert_with(|| Curve {
                name,
                is_ours,
                points: Vec::new(),
            }),
            row,
        );
    }
    ordered(curves.into_values().collect())
}

fn add(curve: &mut Curve, row: &Measured) {
    let point = Point {
        x: row.line.p as f64,
        y: row.median(),
    };
    if point.x > 0.0 && point.y > 0.0 {
        curve.points.push(point);
    }
}

/// Of the curves of one name the one that ends lowest.
fn cheapest(curves: impl Iterator<Item = Curve>) -> Vec<Curve> {
    let mut best: Vec<Curve> = Vec::new();
    for curve in curves {
        match best.iter_mut().find(|other| other.name == curve.name) {
            Some(other) if last(&curve) < last(other) => *other = curve,
            Some(_) => {}
            None => best.push(curve),
        }
    }
    ordered(best)
}

/// As they lie at the end, from above, for the legend.
fn ordered(mut curves: Vec<Curve>) -> Vec<Curve> {
    curves.retain(|curve| !curve.points.is_empty());
    for curve in &mut curves {
        curve.points.sort_by(|a, b| a.x.total_cmp(&b.x));
    }
    curves.sort_by(|a, b| last(b).total_cmp(&last(a)));
    curves
}

fn last(curve: &Curve) -> f64 {
    let longest = curve.points.iter().max_by(|a, b| a.x.total_cmp(&b.x));
    longest.map_or(f64::INFINITY, |point| point.y)
}
