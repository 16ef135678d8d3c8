//! A line chart with logarithmic axes as SVG, which is readable on light and dark pages.

use super::text;
use std::fmt::Write;

/// One chart.
#[derive(Debug)]
pub struct Chart {
    /// The name of its file, without the ending.
    pub file: &'static str,
    pub title: &'static str,
    pub across: &'static str,
    pub up: &'static str,
    pub curves: Vec<Curve>,
}

/// One line of a chart.
#[derive(Debug)]
pub struct Curve {
    pub name: String,
    pub is_ours: bool,
    pub points: Vec<Point>,
}

/// One point of a line; both values are above zero.
#[derive(Clone, Copy, Debug)]
pub struct Point {
    pub x: f64,
    pub y: f64,
}

const WIDTH: f64 = 860.0;
const HEIGHT: f64 = 440.0;
/// The field that the lines are drawn in.
const LEFT: f64 = 70.0;
const RIGHT: f64 = 600.0;
const TOP: f64 = 50.0;
const BOTTOM: f64 = 385.0;
/// Ambit's colours, then those of the others.
const OURS: &[&str] = &["#c2185b", "#ff7043", "#7b1fa2", "#f9a825", "#5d4037"];
const OTHERS: &[&str] = &[
    "#1565c0", "#2e7d32", "#6d4c41", "#00838f", "#9e9d24", "#546e7a", "#283593", "#8d6e63",
    "#00695c",
];

/// The powers of ten that hold all values, and the place of a value between them.
struct Axis {
    from: i32,
    to: i32,
    start: f64,
    end: f64,
}

impl Axis {
    fn of(values: impl Iterator<Item = f64> + Clone, start: f64, end: f64) -> Self {
        let least = values.clone().fold(f64::INFINITY, f64::min);
        let most = values.fold(f64::MIN_POSITIVE, f64::max);
        let from = least.log10().floor() as i32;
        let to = (most.log10().ceil() as i32).max(from + 1);
        Self {
            from,
            to,
            start,
            end,
        }
    }

    fn place(&self, value: f64) -> f64 {
        let part = (value.log10() - f64::from(self.from)) / f64::from(self.to - self.from);
        self.start + part * (self.end - self.start)
    }

    fn ticks(&self) -> impl Iterator<Item = f64> {
        (self.from..=self.to).map(|power| 10f64.powi(power))
    }
}

/// The chart as a file.
pub fn svg(chart: &Chart) -> String {
    let points = chart.curves.iter().flat_map(|curve| &curve.points);
    let across = Axis::of(points.clone().map(|point| point.x), LEFT, RIGHT);
    let up = Axis::of(points.map(|point| point.y), BOTTOM, TOP);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" \
         role=\"img\" aria-label=\"{title}\" font-family=\"sans-serif\" font-size=\"12\" fill=\"#222222\">\n\
         <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" rx=\"6\" fill=\"#ffffff\"/>\n\
         <text x=\"{LEFT}\" y=\"28\" font-size=\"15\" font-weight=\"bold\">{title}</text>\n",
        title = escaped(chart.title),
    );
    out += &grid(&across, &up);
    let middle = f64::midpoint(TOP, BOTTOM);
    let _ = writeln!(
        out,
        "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n\
         <text x=\"18\" y=\"{middle}\" text-anchor=\"middle\" transform=\"rotate(-90 18 {middle})\">{}</text>",
        f64::midpoint(LEFT, RIGHT),
        BOTTOM + 40.0,
        escaped(chart.across),
        escaped(chart.up),
    );
    let (mut ours, mut others) = (OURS.iter().cycle(), OTHERS.iter().cycle());
    for (index, curve) in chart.curves.iter().enumerate() {
        let colors = if curve.is_ours {
            &mut ours
        } else {
            &mut others
        };
        let color = colors.next().copied().unwrap_or("#222222");
        out += &line(curve, color, |point| {
            (across.place(point.x), up.place(point.y))
        });
        out += &legend(curve, color, index);
    }
    out + "</svg>\n"
}

fn grid(across: &Axis, up: &Axis) -> String {
    let mut out = String::from("<g stroke=\"#dddddd\">\n");
    let mut labels = String::new();
    for tick in across.ticks() {
        let x = across.place(tick);
        let _ = writeln!(out, "<path d=\"M{x:.1} {TOP}V{BOTTOM}\"/>");
        let name = text::number(tick);
        let y = BOTTOM + 18.0;
        let _ = writeln!(
            labels,
            "<text x=\"{x:.1}\" y=\"{y}\" text-anchor=\"middle\">{name}</text>"
        );
    }
    for tick in up.ticks() {
        let y = up.place(tick);
        let _ = writeln!(out, "<path d=\"M{LEFT} {y:.1}H{RIGHT}\"/>");
        let name = text::number(tick);
        let (x, y) = (LEFT - 8.0, y + 4.0);
        let _ = writeln!(
            labels,
            "<text x=\"{x}\" y=\"{y:.1}\" text-anchor=\"end\">{name}</text>"
        );
    }
    out + "</g>\n" + &labels
}

fn line(curve: &Curve, color: &str, place: impl Fn(&Point) -> (f64, f64)) -> String {
    let width = if curve.is_ours { 3.5 } else { 1.8 };
    let mut path = String::new();
    let mut dots = String::new();
    for (index, point) in curve.points.iter().enumerate() {
        let (x, y) = place(point);
        let command = if index == 0 { 'M' } else { 'L' };
        let _ = write!(path, "{command}{x:.1} {y:.1}");
        let _ = write!(dots, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{width}\"/>");
    }
    format!(
        "<path d=\"{path}\" fill=\"none\" stroke=\"{color}\" stroke-width=\"{width}\"/>\n<g fill=\"{color}\">{dots}</g>\n"
    )
}

fn legend(curve: &Curve, color: &str, index: usize) -> String {
    let y = TOP + 12.0 + 22.0 * index as f64;
    let weight = if curve.is_ours { "bold" } else { "normal" };
    format!(
        "<path d=\"M{} {}h18\" stroke=\"{color}\" stroke-width=\"4\"/><text x=\"{}\" y=\"{y}\" font-weight=\"{weight}\">{}</text>\n",
        RIGHT + 20.0,
        y - 4.0,
        RIGHT + 46.0,
        escaped(&curve.name),
    )
}

fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('"', "&quot;")
}
