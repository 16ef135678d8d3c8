// Markdown to HTML text. Raw HTML becomes text here, before `safe.ts` sanitises the result; citations become `em.citation`,
// which no Markdown makes.

import { Marked, type Tokens } from "marked";

/** Above this many bytes a text is shown plain. */
export const MOST_MARKDOWN = 256 * 1024;

const LINK = /^(https?:|mailto:)/i;
const PICTURE = /^data:image\/(png|jpeg|gif|webp|avif|bmp)[;,]/i;

/** How the model cites a reference: the one form of raw HTML that means something (search.md §8). */
const CITATION = /^<a\b[^<>]*\bdata-ref-id="([^"<>]{1,64})"[^<>]*>[^<>]{0,80}<\/a>/;

const marked = new Marked({
  gfm: true,
  extensions: [
    {
      name: "citation",
      level: "inline",
      start: (text: string) => (text.includes("data-ref-id=") ? text.indexOf("<a") : undefined),
      tokenizer(text: string) {
        const [raw, id] = CITATION.exec(text) ?? [];
        return raw === undefined ? undefined : { type: "citation", raw, id };
      },
      renderer: ({ id }: Tokens.Generic) => `<em class="citation">${escape(String(id))}</em>`,
    },
  ],
  renderer: {
    html: ({ text }: Tokens.HTML | Tokens.Tag) => escape(text),
    link({ href, tokens }: Tokens.Link) {
      return link(href, this.parser.parseInline(tokens));
    },
    image: ({ href, text }: Tokens.Image) =>
      PICTURE.test(href) ? `<img src="${escape(href)}" alt="${escape(text)}">` : link(href, escape(text || href)),
    checkbox: ({ checked }: Tokens.Checkbox) => (checked ? "☑ " : "☐ "),
  },
});

export function renderMarkdown(text: string): string {
  return marked.parse(text, { async: false });
}

/** Parts a text into its top-level blocks, so that a growing text parses only its last one again. */
export function splitBlocks(text: string): string[] {
  return marked.lexer(text).map((token) => token.raw);
}

function link(href: string, label: string): string {
  if (!LINK.test(href)) return label;
  return `<a href="${escape(href)}">${label}</a>`;
}

function escape(text: string): string {
  const names: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };
  return text.replace(/[&<>"']/g, (mark) => names[mark] ?? mark);
}
