//! What queries over groups of rows may show: every database would take something else for the rest.

use super::super::fault::QueryFault;
use super::query::QueryDsl;

impl QueryDsl {
    /// Fields that are not the same in all rows of a group.
    pub fn check_groups(&self) -> Vec<QueryFault> {
        let mut faults = Vec::new();
        if !self.is_grouped() {
            if !self.havings.is_empty() {
                let text = "havings stands without groups: write wheres";
                faults.push(QueryFault::new("misplaced_condition", "havings", text));
            }
            return faults;
        }
        let mut check = |key: &str, index: usize, is_fixed: bool| {
            if !is_fixed {
                let path = format!("{key}[{index}]");
                let text = "the field must be in groups, or a function of the group";
                faults.push(QueryFault::new("not_grouped", &path, text));
            }
        };
        for (index, output) in self.outputs.iter().enumerate() {
            check("select", index, output.field.is_fixed(&self.groups));
        }
        for (index, (field, _)) in self.orders.iter().enumerate() {
            check("orders", index, field.is_fixed(&self.groups));
        }
        for (index, link) in self.havings.0.iter().enumerate() {
            let mut tests = super::super::chain::tests_of(&link.node);
            check(
                "havings",
                index,
                tests.all(|test| test.field.is_fixed(&self.groups)),
            );
        }
        faults
    }
}
