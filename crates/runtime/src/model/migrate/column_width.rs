//! How much a column can hold, as databases tell it.

/// A type as a table has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ColumnWidth {
    /// A whole number of so many bytes.
    Whole(u8),
    /// A text of so many characters; any number of them.
    Text(Option<u32>),
    /// A decimal number: digits, and those behind the point.
    Decimal(u32, u32),
    /// Anything else, by its name.
    Other(String),
}

impl ColumnWidth {
    /// Of a type as PostgreSQL and SQLite spell it.
    pub fn parse(text: &str) -> Self {
        let text = text.to_ascii_lowercase();
        let text = text.split(" collate").next().unwrap_or_default();
        let zoned = text.contains(" with time zone");
        let (name, digits) = match text.split_once('(') {
            Some((name, rest)) => (name, rest.split(')').next().unwrap_or_default()),
            None => (text, ""),
        };
        let name = name.split(" with").next().unwrap_or_default().trim();
        let name = name.strip_suffix("_text").unwrap_or(name);
        let mut digits = digits
            .split(',')
            .map(|digits| digits.trim().parse::<u32>().ok());
        let (first, second) = (digits.next().flatten(), digits.next().flatten());
        match name {
            "smallint" => Self::Whole(2),
            "integer" | "int" => Self::Whole(4),
            "bigint" => Self::Whole(8),
            "varchar" | "character varying" | "character" | "char" => Self::Text(first),
            "text" => Self::Text(None),
            "numeric" | "decimal" => match first {
                Some(digits) => Self::Decimal(digits, second.unwrap_or(0)),
                None => Self::Other("numeric".to_owned()),
            },
            "timestamp" if zoned => Self::Other("timestamptz".to_owned()),
            other => Self::Other(other.to_owned()),
        }
    }

    /// Whether everything that another can hold is held by this one too.
    pub fn holds(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Whole(own), Self::Whole(other)) => own >= other,
            (Self::Text(None), Self::Text(_)) => true,
            (Self::Text(Some(own)), Self::Text(Some(other))) => own >= other,
            (Self::Decimal(digits, scale), Self::Decimal(others, behind)) => {
                scale >= behind && digits - scale >= others.saturating_sub(*behind)
            }
            (own, other) => own == other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::ColumnWidth;

    #[test]
    fn what_holds_less_is_told_from_what_holds_more() {
        for (wide, narrow) in [
            ("bigint", "integer"),
            ("integer", "smallint"),
            ("text COLLATE \"C\"", "character varying(255)"),
            ("varchar(255) COLLATE \"C\"", "character varying(50)"),
            ("numeric(12,2)", "numeric(10,2)"),
            ("decimal_text(30,4)", "decimal_text(28,2)"),
        ] {
            let (wide, narrow) = (ColumnWidth::parse(wide), ColumnWidth::parse(narrow));
            assert!(wide.holds(&narrow), "{wide:?} {narrow:?}");
            assert!(!narrow.holds(&wide), "{narrow:?} {wide:?}");
        }
        for (own, stored) in [
            ("timestamp(0)", "timestamp(0) without time zone"),
            ("timestamptz(0)", "timestamp(0) with time zone"),
            ("time(0)", "time(0) without time zone"),
            ("double precision", "double precision"),
            ("varchar(9) COLLATE \"C\"", "character varying(9)"),
            ("bytea", "bytea"),
        ] {
            assert_eq!(ColumnWidth::parse(own), ColumnWidth::parse(stored));
        }
        assert!(!ColumnWidth::parse("bigint").holds(&ColumnWidth::parse("text")));
        assert!(!ColumnWidth::parse("numeric(10,4)").holds(&ColumnWidth::parse("numeric(10,2)")));
    }
}
