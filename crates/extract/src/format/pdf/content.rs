//! The instructions of a page that show text. What is drawn and what is only a picture is passed over.

use std::sync::Arc;

use hayro_cmap::{BfString, load_embedded};
use hayro_font::kurbo::{Affine, Point};
use hayro_font::{
    CMapResolverFn, Font, FontCache, FontGlyph, FontQuery, FontResolverFn, StandardFont,
};
use hayro_syntax::content::TypedIter;
use hayro_syntax::content::ops::TypedInstruction;
use hayro_syntax::object::dict::keys::{MATRIX, RESOURCES, SUBTYPE};
use hayro_syntax::object::{Array, Name, Number, Object, Stream};
use hayro_syntax::page::{Page, Resources};

use super::layout::{PageLayout, PlacedGlyph};

/// Fonts tell their lengths in thousandths of their size.
const UNITS: f64 = 1000.0;

/// Forms are pieces of pages that stand in others. More of them in one another, or on one page, are a loop.
const FORM_DEPTH: usize = 8;
const FORMS: usize = 2_000;

/// The most states that a page puts aside.
const STATES: usize = 10_000;

/// The fonts of a document.
pub(super) struct DocumentFonts<'a> {
    cache: FontCache<'a>,
    programs: FontResolverFn,
    cmaps: CMapResolverFn,
}

impl DocumentFonts<'_> {
    /// Fonts that the document does not hold are replaced by those that every reader of PDF has.
    pub(super) fn new() -> Self {
        let programs: FontResolverFn = Arc::new(|query| match query {
            FontQuery::Standard(font) => Some(font.get_font_data()),
            FontQuery::Fallback(query) => Some(query.pick_standard_font().get_font_data()),
        });
        Self {
            cache: FontCache::new(),
            programs,
            cmaps: Arc::new(load_embedded),
        }
    }
}

impl<'a> DocumentFonts<'a> {
    /// The font of a name. A name that means nothing means Helvetica, as elsewhere.
    fn named(&self, name: &Name<'_>, resources: &Resources<'a>) -> Option<Font<'a>> {
        match resources.get_font(name) {
            Some(font) => self.cache.font(&font, &self.programs, &self.cmaps),
            None => self
                .cache
                .standard_font(StandardFont::Helvetica, &self.programs),
        }
    }
}

/// What the next text depends on.
#[derive(Clone)]
struct TextState<'a> {
    page: Affine,
    matrix: Affine,
    line: Affine,
    font: Option<Font<'a>>,
    size: f64,
    character_space: f64,
    word_space: f64,
    scaling: f64,
    leading: f64,
    rise: f64,
}

/// Follows the instructions of one page.
pub(super) struct ContentReader<'a, 'l> {
    fonts: &'l DocumentFonts<'a>,
    layout: PageLayout<'l>,
    state: TextState<'a>,
    saved: Vec<TextState<'a>>,
    depth: usize,
    forms: usize,
}

impl<'a, 'l> ContentReader<'a, 'l> {
    pub(super) fn new(fonts: &'l DocumentFonts<'a>, layout: PageLayout<'l>) -> Self {
        let state = TextState {
            page: Affine::IDENTITY,
            matrix: Affine::IDENTITY,
            line: Affine::IDENTITY,
            font: None,
            size: 1.0,
            character_space: 0.0,
            word_space: 0.0,
            scaling: 1.0,
            leading: 0.0,
            rise: 0.0,
        };
        Self {
            fonts,
            layout,
            state,
            saved: Vec::new(),
            depth: 0,
            forms: 0,
        }
    }

    /// Reads the page, and returns what has been laid out.
    pub(super) fn read(mut self, page: &Page<'a>) -> PageLayout<'l> {
        self.follow(page.typed_operations(), page.resources());
        self.layout
    }

    fn follow(&mut self, mut instructions: TypedIter<'_>, resources: &Resources<'a>) {
        while let Some(instruction) = instructions.next() {
            if self.layout.failure.is_some() {
                return;
            }
            match instruction {
                TypedInstruction::ShowText(shown) => self.show(shown.0.as_bytes()),
                TypedInstruction::ShowTexts(shown) => self.show_pieces(shown.0),
                TypedInstruction::NextLineAndShowText(shown) => {
                    self.next_line(0.0, -self.state.leading);
                    self.show(shown.0.as_bytes());
                }
                TypedInstruction::ShowTextWithParameters(shown) => {
                    self.state.word_space = shown.0.as_f64();
                    self.state.character_space = shown.1.as_f64();
                    self.next_line(0.0, -self.state.leading);
                    self.show(shown.2.as_bytes());
                }
                TypedInstruction::TextFont(font) => {
                    self.state.font = self.fonts.named(font.0, resources);
                    self.state.size = font.1.as_f64();
                }
                TypedInstruction::XObject(object) => {
                    if let Some(form) = resources.get_x_object(object.0) {
                        self.follow_form(&form, resources);
                    }
                }
                other => self.place(&other),
            }
        }
    }

    /// Follows the instructions that say where and how the next text is shown.
    fn place(&mut self, instruction: &TypedInstruction<'_, '_>) {
        let state = &mut self.state;
        match instruction {
            TypedInstruction::SaveState(_) if self.saved.len() < STATES => {
                self.saved.push(state.clone());
            }
            TypedInstruction::RestoreState(_) => {
                if let Some(saved) = self.saved.pop() {
                    *state = saved;
                }
            }
            TypedInstruction::Transform(t) => {
                state.page *= affine([&t.0, &t.1, &t.2, &t.3, &t.4, &t.5]);
            }
            TypedInstruction::BeginText(_) => {
                state.matrix = Affine::IDENTITY;
                state.line = Affine::IDENTITY;
            }
            TypedInstruction::SetTextMatrix(t) => {
                state.line = affine([&t.0, &t.1, &t.2, &t.3, &t.4, &t.5]);
                state.matrix = state.line;
            }
            TypedInstruction::NextLine(to) => self.next_line(to.0.as_f64(), to.1.as_f64()),
            TypedInstruction::NextLineAndSetLeading(to) => {
                state.leading = -to.1.as_f64();
                self.next_line(to.0.as_f64(), to.1.as_f64());
            }
            TypedInstruction::NextLineUsingLeading(_) => self.next_line(0.0, -self.state.leading),
            TypedInstruction::CharacterSpacing(space) => state.character_space = space.0.as_f64(),
            TypedInstruction::WordSpacing(space) => state.word_space = space.0.as_f64(),
            TypedInstruction::HorizontalScaling(scaling) => {
                state.scaling = scaling.0.as_f64() / 100.0;
            }
            TypedInstruction::TextLeading(leading) => state.leading = leading.0.as_f64(),
            TypedInstruction::TextRise(rise) => state.rise = rise.0.as_f64(),
            _ => {}
        }
    }

    fn follow_form(&mut self, form: &Stream<'a>, resources: &Resources<'a>) {
        let is_form = form
            .dict()
            .get::<Name<'_>>(SUBTYPE)
            .is_some_and(|kind| kind.as_str() == "Form");
        if !is_form || self.depth == FORM_DEPTH || self.forms == FORMS {
            return;
        }
        let Ok(content) = form.decoded_data() else {
            return;
        };
        self.depth += 1;
        self.forms += 1;
        let before = self.state.clone();
        let saved = std::mem::take(&mut self.saved);
        self.state.page *= Affine::new(
            form.dict()
                .get::<[f64; 6]>(MATRIX)
                .unwrap_or([1.0, 0.0, 0.0, 1.0, 0.0, 0.0]),
        );
        let own = form.dict().get(RESOURCES).map(Resources::new);
        self.follow(TypedIter::new(&content), own.as_ref().unwrap_or(resources));
        self.saved = saved;
        self.state = before;
        self.depth -= 1;
    }

    fn next_line(&mut self, x: f64, y: f64) {
        self.state.line *= Affine::translate((x, y));
        self.state.matrix = self.state.line;
    }

    /// Moves back by a part of the font's size, as between the letters of a word.
    fn adjust(&mut self, units: f64) {
        let way = -units / UNITS * self.state.size;
        let is_horizontal = self.state.font.as_ref().is_none_or(Font::is_horizontal);
        let way = if is_horizontal {
            (way * self.state.scaling, 0.0)
        } else {
            (0.0, way)
        };
        self.state.matrix *= Affine::translate(way);
    }

    fn show_pieces(&mut self, pieces: &Array<'_>) {
        for piece in pieces.iter::<Object<'_>>() {
            match piece {
                Object::String(text) => self.show(text.as_bytes()),
                Object::Number(number) => self.adjust(number.as_f64()),
                _ => {}
            }
        }
    }

    fn show(&mut self, codes: &[u8]) {
        let Some(font) = self.state.font.clone() else {
            return;
        };
        let mut at = 0;
        while at < codes.len() {
            let (code, length) = font.read_code(codes, at);
            // A code of no bytes would never end.
            at += length.max(1);
            let state = &self.state;
            let advance = font.code_advance(code) * (state.size / UNITS);
            let word_space = if code == 32 && length == 1 {
                state.word_space
            } else {
                0.0
            };
            let space = state.character_space + word_space;
            let (own, way) = if font.is_horizontal() {
                (
                    (advance.x * state.scaling, 0.0),
                    ((advance.x + space) * state.scaling, 0.0),
                )
            } else {
                ((0.0, advance.y), (0.0, advance.y + space))
            };
            self.place_glyph(&font, code, own.into());
            self.state.matrix *= Affine::translate(way);
        }
    }

    /// Lays out the glyph of a code, which is as wide as `own`. What has no meaning in the file is left out.
    fn place_glyph(&mut self, font: &Font<'a>, code: u32, own: Point) {
        let meaning = match font.glyph(font.map_code(code), code) {
            FontGlyph::Outline(glyph) => glyph.as_unicode(),
            FontGlyph::Type3(glyph) => glyph.as_unicode(),
        };
        let mut character = [0; 4];
        let text = match &meaning {
            Some(BfString::Char(meant)) => meant.encode_utf8(&mut character),
            Some(BfString::String(text)) => text.as_str(),
            None => return,
        };
        let transform =
            self.state.page * self.state.matrix * Affine::translate((0.0, self.state.rise));
        let start = transform * Point::ORIGIN;
        let advance = transform * own - start;
        let size = (transform * Point::new(0.0, self.state.size) - start).hypot();
        self.layout.glyph(&PlacedGlyph {
            text,
            x: start.x,
            y: start.y,
            advance_x: advance.x,
            advance_y: advance.y,
            size,
        });
    }
}

fn affine(numbers: [&Number; 6]) -> Affine {
    Affine::new(numbers.map(Number::as_f64))
}
