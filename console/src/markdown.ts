// Markdown to HTML text. Raw HTML becomes text here, before `safe.ts` sanitises the result; citations become `em.citation` and
// pictures of other hosts `a.picture`, which no other Markdown makes.

import { Lexer, Marked, type Tokens } from "marked";
import { safeLink, safeMedia } from "./safe-addresses";

/** Above this many bytes a text is shown plain. */
export const MOST_MARKDOWN = 256 * 1024;

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
      safeMedia("image", href) ? `<img src="${escape(href)}" alt="${escape(text)}">` : link(href, escape(text || href), ' class="picture"'),
    checkbox: ({ checked }: Tokens.Checkbox) => (checked ? "☑ " : "☐ "),
  },
});

/** Lists and quotes within each other, on one line or by their indentation: the parser needs seconds for hundreds, and a stack for thousands. */
const MARKER = String.raw`(?:>|[-+*][ \t]|\d{1,9}[.)][ \t])`;
const DEEP = new RegExp(String.raw`^(?:[ \t]*${MARKER}){33}|^[ \t]{100,}${MARKER}`, "m");

/** So many marks of one paragraph may be emphasis: the parser compares each with each. */
const MOST_MARKS = 2000;
const PARAGRAPHS = new RegExp(String.raw`\n(?=[ \t]*(?:\n|[|#]|${MARKER}))`);
const CODE = /^ {0,3}(?:```|~~~)/;

export function renderMarkdown(text: string): string {
  return isSlow(text) ? `<pre>${escape(text)}</pre>` : marked.parse(text, { async: false });
}

/** Parts a text into its top-level blocks, so that a growing text parses only its last one again. */
export function splitBlocks(text: string): string[] {
  if (DEEP.test(text)) return [text];
  const blocks = new Lexer(marked.defaults).blockTokens(text.replaceAll(/\r\n?/g, "\n"), []);
  return blocks.map((token) => token.raw);
}

/** Whether parsing this block would keep the page from answering. */
function isSlow(block: string): boolean {
  if (DEEP.test(block)) return true;
  if (CODE.test(block)) return false;
  return block.split(PARAGRAPHS).some((part) => (part.match(/[*_~]/g)?.length ?? 0) > MOST_MARKS);
}

function link(href: string, label: string, mark = ""): string {
  if (!safeLink(href)) return label;
  return `<a${mark} href="${escape(href)}">${label}</a>`;
}

function escape(text: string): string {
  const names: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };
  return text.replace(/[&<>"']/g, (mark) => names[mark] ?? mark);
}
