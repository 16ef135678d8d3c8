import { expect, test } from "vitest";
import { renderMarkdown, splitBlocks } from "../src/markdown";

test("raw HTML is text", () => {
  expect(renderMarkdown('a <img src=x onerror="alert(1)"> b')).toBe("<p>a &lt;img src=x onerror=&quot;alert(1)&quot;&gt; b</p>\n");
});

test("links lead to pages and to mail; other schemes are text", () => {
  expect(renderMarkdown("[a](https://example.org)")).toBe('<p><a href="https://example.org">a</a></p>\n');
  expect(renderMarkdown("[a](javascript:alert(1)) [b](//example.org) [c](data:text/html,x)")).toBe("<p>a b c</p>\n");
});

test("pictures are data at once, and links otherwise", () => {
  expect(renderMarkdown("![a](data:image/png;base64,AA)")).toBe('<p><img src="data:image/png;base64,AA" alt="a"></p>\n');
  expect(renderMarkdown("![a](https://example.org/a.png)")).not.toContain("<img");
  expect(renderMarkdown("![a](data:image/svg+xml,x)")).toBe("<p>a</p>\n");
});

test("blocks together are the text", () => {
  const text = "# A\n\none\ntwo\n\n- x\n- y\n\n```js\nlet a\n";
  expect(splitBlocks(text).join("")).toBe(text);
});

test("a citation is a mark of its own, which no text can make", () => {
  const cited = '<a class="ref" data-ref-id="1" data-ref-type="kb" href="#ref:1">[1]</a>';
  expect(renderMarkdown(`So it is ${cited}.`)).toBe('<p>So it is <em class="citation">1</em>.</p>\n');
  expect(renderMarkdown('<em class="citation">1</em>')).not.toContain("<em");
  expect(renderMarkdown('<a data-ref-id="1" onclick="x">[<b>1</b>]</a>')).not.toContain("<em");
});
