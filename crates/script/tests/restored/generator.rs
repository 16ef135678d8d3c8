//! Scripts made of templates. A number names a script: it is the same whenever it is made.

use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use std::collections::HashMap;

/// How deep templates may be within templates.
const DEPTH: usize = 3;

/// The templates by their section's letter.
pub struct Templates(HashMap<char, Vec<&'static str>>);

impl Templates {
    pub fn read() -> Self {
        let sections = include_str!("templates.txt").split("\n== ").skip(1);
        let section = |text: &'static str| {
            let letter = text.chars().next().unwrap();
            (
                letter,
                text.lines()
                    .skip(1)
                    .filter(|line| !line.is_empty())
                    .collect(),
            )
        };
        Self(sections.map(section).collect())
    }

    /// The script of a number. Half of them wait for what they begin.
    pub fn script(&self, number: u64) -> String {
        let mut maker = Maker {
            templates: &self.0,
            random: StdRng::seed_from_u64(number),
        };
        let (start, changes, looks) = match maker.random.random_bool(0.5) {
            true => ("async function Create()", "CCW", "LLA"),
            false => ("function Create()", "CCP", "LLLLM"),
        };
        let top = maker.lines(
            "C",
            2,
            "try { @ } catch (error) { look('top', () => error); }\n",
        );
        let before = maker.lines(looks, 3, "  @\n");
        let attempt = "  try { @ } catch (error) { look('change', () => error); }\n";
        let body = maker.lines(changes, 4, attempt);
        let after = maker.lines(looks, 5, "  @\n");
        let end = match maker.random.random_range(0..1_000) {
            0..850 => "return seen;".to_owned(),
            850..990 => maker.fill("$E", 0),
            _ => maker.fill("$X", 0),
        };
        format!(
            "import {{ inspect, look, seen, wait }} from './look';\n\
             const state: any = {{ calls: 0, list: [] }};\n\
             {top}export {start} {{\n{before}{body}{after}  {end}\n}}\n"
        )
    }
}

struct Maker<'t> {
    templates: &'t HashMap<char, Vec<&'static str>>,
    random: StdRng,
}

impl Maker<'_> {
    /// Up to so many templates of the sections, each in a line.
    fn lines(&mut self, sections: &str, most: usize, line: &str) -> String {
        let mut text = String::new();
        for _ in 0..self.random.random_range(1..=most) {
            let section = self.random.random_range(0..sections.len());
            let filled = self.fill(&format!("${}", &sections[section..=section]), 0);
            text += &line.replace('@', &filled);
        }
        text
    }

    /// Replaces what a template leaves open.
    fn fill(&mut self, template: &str, depth: usize) -> String {
        let mut parts = template.split('$');
        let mut text = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let letter = part.chars().next().unwrap_or_default();
            let filled = match letter {
                'N' => self.random.random_range(0..20).to_string(),
                'B' => self.random.random_range(0..2_000).to_string(),
                'V' if depth > DEPTH => "1".to_owned(),
                'C' if depth > DEPTH => "state.calls++;".to_owned(),
                letter => match self.templates.get(&letter) {
                    Some(section) => {
                        let template = section.choose(&mut self.random).unwrap();
                        self.fill(template, depth + 1)
                    }
                    // It is a template string's.
                    None => format!("${letter}"),
                },
            };
            text += &filled;
            text += &part[letter.len_utf8()..];
        }
        text
    }
}
