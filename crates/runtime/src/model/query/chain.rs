//! Conditions joined in order by AND and OR, as SQL reads them: AND binds tighter, and what is nested is in parentheses.

use sea_query::Condition;

/// Conditions in order.
#[derive(Clone, Debug, PartialEq)]
pub struct ConditionChain<T>(pub Vec<ConditionLink<T>>);

/// One of them.
#[derive(Clone, Debug, PartialEq)]
pub struct ConditionLink<T> {
    /// Whether OR joins it to those before; the first is joined to nothing.
    pub is_or: bool,
    /// What it is.
    pub node: ConditionNode<T>,
}

/// A condition, or several in parentheses.
#[derive(Clone, Debug, PartialEq)]
pub enum ConditionNode<T> {
    /// A condition.
    Test(T),
    /// Several; never none.
    Group(ConditionChain<T>),
}

impl<T> Default for ConditionChain<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> ConditionNode<T> {
    /// Conditions of which one must hold.
    pub fn any(tests: impl IntoIterator<Item = T>) -> Self {
        let tests = tests.into_iter().map(|test| ConditionLink {
            is_or: true,
            node: Self::Test(test),
        });
        Self::Group(ConditionChain(tests.collect()))
    }
}

impl<T> ConditionChain<T> {
    /// Conditions that must all hold.
    pub fn all(nodes: impl IntoIterator<Item = ConditionNode<T>>) -> Self {
        let links = nodes.into_iter();
        Self(
            links
                .map(|node| ConditionLink { is_or: false, node })
                .collect(),
        )
    }

    /// Whether there is no condition.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All tests, however deep.
    pub fn tests(&self) -> Box<dyn Iterator<Item = &T> + '_> {
        Box::new(self.0.iter().flat_map(|link| tests_of(&link.node)))
    }

    /// Changes each test, however deep.
    pub fn each_mut(&mut self, change: &mut dyn FnMut(&mut T)) {
        for link in &mut self.0 {
            match &mut link.node {
                ConditionNode::Test(test) => change(test),
                ConditionNode::Group(chain) => chain.each_mut(change),
            }
        }
    }

    /// All of it as one condition, each test as `write` says. Without tests it is always true.
    pub fn condition(&self, write: &mut dyn FnMut(&T) -> Condition) -> Condition {
        let mut any = Condition::any();
        let mut all = Condition::all();
        for (index, link) in self.0.iter().enumerate() {
            if link.is_or && index > 0 {
                any = any.add(std::mem::replace(&mut all, Condition::all()));
            }
            all = all.add(match &link.node {
                ConditionNode::Test(test) => write(test),
                ConditionNode::Group(chain) => chain.condition(write),
            });
        }
        match any.is_empty() {
            true => all,
            false => any.add(all),
        }
    }
}

/// All tests of a condition, however deep.
pub fn tests_of<T>(node: &ConditionNode<T>) -> Box<dyn Iterator<Item = &T> + '_> {
    match node {
        ConditionNode::Test(test) => Box::new(std::iter::once(test)),
        ConditionNode::Group(chain) => chain.tests(),
    }
}
