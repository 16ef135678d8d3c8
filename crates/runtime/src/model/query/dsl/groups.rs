//! What queries over groups of rows may show: every database would take something else for the rest.

use super::super::chain::tests_of;
use super::super::fault::QueryFault;
use super::query::{FieldCondition, QueryDsl, QueryField};

impl QueryDsl {
    /// Fields that are not the same in all rows of a group.
    pub fn check_groups(&self) -> Vec<QueryFault> {
        match self.is_grouped() {
            true => self.check_fixed(),
            false => self.check_ungrouped(),
        }
    }

    fn check_fixed(&self) -> Vec<QueryFault> {
        let mut faults = Vec::new();
        let mut check = |key: &str, index: usize, is_fixed: bool| {
            if !is_fixed {
                let text = "the field must be in groups, or a function of the group";
                faults.push(fault("not_grouped", key, index, text));
            }
        };
        for (index, output) in self.outputs.iter().enumerate() {
            check("select", index, output.field.is_fixed(&self.groups));
        }
        for (index, (field, _)) in self.orders.iter().enumerate() {
            check("orders", index, field.is_fixed(&self.groups));
        }
        for (index, link) in self.havings.0.iter().enumerate() {
            let mut tests = tests_of(&link.node);
            let is_fixed = tests.all(|test| test.field.is_fixed(&self.groups));
            check("havings", index, is_fixed);
        }
        for (index, link) in self.havings.0.iter().enumerate() {
            let is_path = |test: &FieldCondition| matches!(test.field, QueryField::Path { .. });
            if tests_of(&link.node).any(is_path) {
                // They compare the value as its type, which is not what a group has the same.
                let text = "conditions on values within JSON stand in wheres";
                faults.push(fault("misplaced_condition", "havings", index, text));
            }
        }
        faults
    }

    fn check_ungrouped(&self) -> Vec<QueryFault> {
        let mut faults = Vec::new();
        if !self.havings.is_empty() {
            let text = "havings stands without groups: write wheres";
            faults.push(QueryFault::new("misplaced_condition", "havings", text));
        }
        for (index, (field, _)) in self.orders.iter().enumerate() {
            if field.is_aggregate() {
                let text =
                    "an order by a function of groups needs groups, or a select of such functions";
                faults.push(fault("misplaced_function", "orders", index, text));
            }
        }
        faults
    }
}

fn fault(code: &'static str, key: &str, index: usize, text: &str) -> QueryFault {
    QueryFault::new(code, &format!("{key}[{index}]"), text)
}
