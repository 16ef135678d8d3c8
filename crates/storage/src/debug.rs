//! `Debug` of types that hold what has none.

/// Writes `Debug` of a type: its name, and what tells one value of it from another.
macro_rules! opaque_debug {
    ($type:ty, |$this:ident| $($field:ident: $value:expr),+) => {
        impl std::fmt::Debug for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                let $this = self;
                f.debug_struct(stringify!($type))
                    $(.field(stringify!($field), &$value))+
                    .finish_non_exhaustive()
            }
        }
    };
}

pub(crate) use opaque_debug;
