//! Lists in pages, as all routes that count pages answer them.

use super::input::Whole;
use ambit_runtime::chats::{ListPart, PageWindow};
use serde::{Deserialize, Serialize};

/// Items of a page, or of one step of a cursor, where nobody says.
const SIZE: u64 = 20;
/// At most so many.
const LARGEST: u64 = 100;

/// Which page.
#[derive(Clone, Copy, Default, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub struct PageParameters {
    /// Which page, from 1; the first where nobody says.
    page: Option<PageNumber>,
    /// How many items a page has; 20 where nobody says.
    pagesize: Option<PageSize>,
}

/// Which page of a list.
pub type PageNumber = Whole<1, { u32::MAX as u64 }>;

/// A place in a list, from 1.
pub type ItemPosition = Whole<1, { u64::MAX }>;

/// How many items come at once.
pub type PageSize = Whole<1, LARGEST>;

/// A page of a list.
#[derive(Serialize, utoipa::ToSchema)]
pub struct PageResponse<T> {
    /// The items.
    data: Vec<T>,
    /// Which page this is, from 1.
    page: u64,
    /// How many items a page has.
    pagesize: u64,
    /// How many pages there are.
    pagecnt: u64,
    /// How many items there are.
    total: u64,
    /// The next page, or -1.
    next: i64,
    /// The page before, or -1.
    prev: i64,
}

impl PageParameters {
    /// The first page, of this size.
    pub fn first(pagesize: Option<PageSize>) -> Self {
        Self {
            page: None,
            pagesize,
        }
    }

    fn page(self) -> u64 {
        self.page.map_or(1, |page| page.0)
    }

    fn size(self) -> u64 {
        self.pagesize.map_or(SIZE, |size| size.0)
    }

    /// The part of the list that the page is.
    pub fn window(self) -> PageWindow {
        let skip = (self.page() - 1) * self.size();
        PageWindow {
            skip: usize::try_from(skip).unwrap_or(usize::MAX),
            limit: usize::try_from(self.size()).unwrap_or(usize::MAX),
        }
    }

    /// The page as it is sent.
    pub fn listing<T>(self, part: ListPart<T>) -> PageResponse<T> {
        let (page, size) = (self.page(), self.size());
        let count = part.total.div_ceil(size);
        let number = |page: u64| i64::try_from(page).unwrap_or(-1);
        PageResponse {
            data: part.items,
            page,
            pagesize: size,
            pagecnt: count,
            total: part.total,
            next: match page < count {
                true => number(page + 1),
                false => -1,
            },
            prev: match (page - 1).min(count) {
                0 => -1,
                page => number(page),
            },
        }
    }
}

/// Returns how many items one step of a list has that goes on behind a place.
pub fn limit(limit: Option<PageSize>) -> usize {
    let limit = limit.map_or(SIZE, |limit| limit.0);
    usize::try_from(limit).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::{ListPart, PageParameters, Whole};

    #[test]
    fn a_page_says_what_is_around_it() {
        for (page, total, expected) in [
            (1, 0, r#""pagecnt":0,"total":0,"next":-1,"prev":-1"#),
            (1, 10, r#""pagecnt":1,"total":10,"next":-1,"prev":-1"#),
            (1, 11, r#""pagecnt":2,"total":11,"next":2,"prev":-1"#),
            (2, 11, r#""pagecnt":2,"total":11,"next":-1,"prev":1"#),
            (2, 21, r#""pagecnt":3,"total":21,"next":3,"prev":1"#),
            (9, 21, r#""pagecnt":3,"total":21,"next":-1,"prev":3"#),
        ] {
            let paging = PageParameters {
                page: Some(Whole(page)),
                pagesize: Some(Whole(10)),
            };
            let part = ListPart {
                items: vec![1],
                total,
            };
            let listing = paging.listing(part);
            let text = serde_json::to_string(&listing).unwrap();
            let expected = format!("{{\"data\":[1],\"page\":{page},\"pagesize\":10,{expected}}}");
            assert_eq!(text, expected);
        }
    }
}
