// Text of strangers as elements of the page: the only place where HTML is made of text (console.md §3.1).

import DOMPurify from "dompurify";
import { renderMarkdown } from "./markdown";

const ALLOWED = {
  ALLOWED_TAGS: [
    "a", "blockquote", "br", "code", "del", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "img", "li", "ol", "p", "pre", "strong",
    "table", "tbody", "td", "th", "thead", "tr", "ul",
  ],
  ALLOWED_ATTR: ["align", "alt", "class", "href", "src", "start"],
  ADD_URI_SAFE_ATTR: ["align", "start"],
  ALLOWED_URI_REGEXP: /^(?:https?:|mailto:|data:image\/)/i,
  RETURN_DOM_FRAGMENT: true as const,
};

/** Elements of a Markdown text. Links open a new tab, and pass nothing on to it. */
export function markdownFragment(text: string): DocumentFragment {
  const fragment = DOMPurify.sanitize(renderMarkdown(text), ALLOWED);
  for (const link of fragment.querySelectorAll("a")) {
    link.target = "_blank";
    link.rel = "noopener noreferrer nofollow";
  }
  return fragment;
}

/** Elements of code that `highlight.js` has marked up. */
export function codeFragment(html: string): DocumentFragment {
  return DOMPurify.sanitize(html, { ALLOWED_TAGS: ["span"], ALLOWED_ATTR: ["class"], RETURN_DOM_FRAGMENT: true });
}
