//! How figures and names stand on the page.

/// Three digits, the thousands apart, nothing behind the point that says nothing.
pub fn number(value: f64) -> String {
    if !value.is_finite() {
        return "–".to_owned();
    }
    if value >= 99.95 {
        return count(value.round() as u64);
    }
    let decimals = match value {
        value if value >= 9.995 => 1,
        value if value >= 0.9995 => 2,
        value if value > 0.0 => (2 - value.log10().floor() as i32).max(3) as usize,
        _ => 0,
    };
    let text = format!("{value:.decimals$}");
    if text.contains('.') {
        let text = text.trim_end_matches('0').trim_end_matches('.');
        return text.to_owned();
    }
    text
}

/// A whole number, its thousands apart.
pub fn count(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A peer's name without its version.
pub fn name(peer: &str) -> String {
    let is_version =
        |word: &&str| word.contains('.') && word.starts_with(|c: char| c.is_ascii_digit());
    let words: Vec<&str> = peer.split(' ').filter(|word| !is_version(word)).collect();
    words.join(" ")
}

/// A text that does not end a cell or a line of a table.
pub fn cell(text: &str) -> String {
    let text = text.replace('|', "\\|").replace(['\r', '\n'], " ");
    text.replace('<', "&lt;")
}

/// A row of a table.
pub fn row(cells: &[String]) -> String {
    format!("| {} |\n", cells.join(" | "))
}

/// The two lines that a table begins with; columns of figures end with `:`.
pub fn head(columns: &[&str]) -> String {
    let names: Vec<String> = columns
        .iter()
        .map(|name| name.trim_end_matches(':').to_owned())
        .collect();
    let rule = |name: &&str| if name.ends_with(':') { "---:" } else { "---" }.to_owned();
    let rules: Vec<String> = columns.iter().map(rule).collect();
    row(&names) + &row(&rules)
}

#[cfg(test)]
mod tests {
    use super::{name, number};

    #[test]
    fn a_figure_has_three_digits() {
        let figures = [
            0.0,
            0.0156,
            0.25,
            0.99961,
            1.204,
            8.0,
            12.34,
            99.96,
            1_500.4,
            2_535_651.2,
        ];
        let expected = [
            "0",
            "0.0156",
            "0.25",
            "1",
            "1.2",
            "8",
            "12.3",
            "100",
            "1,500",
            "2,535,651",
        ];
        assert_eq!(figures.map(number), expected);
    }

    #[test]
    fn a_name_has_no_version() {
        let names = [
            "LangGraph 1.2.22",
            "Mastra server 1.71.0",
            "Node 20 vm",
            "LarAgent algorithm (emulated)",
        ];
        let expected = [
            "LangGraph",
            "Mastra server",
            "Node 20 vm",
            "LarAgent algorithm (emulated)",
        ];
        assert_eq!(names.map(name), expected);
    }
}
