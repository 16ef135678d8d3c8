import { expect, test } from "vitest";
import { MOST_MARKDOWN, renderMarkdown, splitBlocks } from "../src/markdown";

test("raw HTML is text", () => {
  expect(renderMarkdown('a <img src=x onerror="alert(1)"> b')).toBe("<p>a &lt;img src=x onerror=&quot;alert(1)&quot;&gt; b</p>\n");
});

test("links lead to pages and to mail; other schemes are text", () => {
  expect(renderMarkdown("[a](https://example.org)")).toBe('<p><a href="https://example.org">a</a></p>\n');
  expect(renderMarkdown("[a](javascript:alert(1)) [b](//example.org) [c](data:text/html,x)")).toBe("<p>a b c</p>\n");
});

test("pictures are data at once, and links otherwise", () => {
  expect(renderMarkdown("![a](data:image/png;base64,AA)")).toBe('<p><img src="data:image/png;base64,AA" alt="a"></p>\n');
  expect(renderMarkdown("![a](https://example.org/a.png)")).toBe('<p><a class="picture" href="https://example.org/a.png">a</a></p>\n');
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

/** Texts of strangers that a parser of Markdown may take seconds for, or a stack that no page has. */
const HOSTILE: Record<string, (size: number) => string> = {
  quotes: (size) => "> ".repeat(size / 2), marks: (size) => "- ".repeat(size / 2), numbers: (size) => "1. ".repeat(size / 3),
  indented: () => Array.from({ length: 500 }, (_, at) => `${"  ".repeat(at)}- a`).join("\n"),
  quoted: () => Array.from({ length: 500 }, (_, at) => `${">".repeat(at)} a`).join("\n"),
  emphasis: (size) => "_a_b".repeat(size / 4), lines: (size) => "*a_b\n".repeat(size / 5), strong: (size) => "**a*".repeat(size / 4),
  brackets: (size) => "[".repeat(size / 2) + "]".repeat(size / 2), pictures: (size) => "![".repeat(size / 2), links: (size) => "[a](".repeat(size / 4),
  tags: (size) => "<a ".repeat(size / 3), citations: (size) => "<a data-ref-id=".repeat(size / 15), tildes: (size) => "~~a".repeat(size / 3),
  ticks: (size) => "`a``".repeat(size / 4), table: (size) => `${"|a".repeat(size / 6)}\n${"|-".repeat(size / 6)}\n${"|b".repeat(size / 6)}`,
  blanks: (size) => `a${" ".repeat(size)}b`, tabs: (size) => `${"\t".repeat(size)}a`, entities: (size) => "&#".repeat(size / 2),
  addresses: (size) => "http://a".repeat(size / 8), mails: (size) => "a@".repeat(size / 2), references: (size) => "[a]: b\n".repeat(size / 7),
};

test.each(Object.entries(HOSTILE))("hostile text is shown before long: %s", (_, make) => {
  const text = make(MOST_MARKDOWN);
  const begun = performance.now();
  for (const block of splitBlocks(text)) renderMarkdown(block);
  // A page may stop for a second. A slow machine is given ten; what is quadratic takes minutes.
  expect(performance.now() - begun).toBeLessThan(10_000);
});

test("what would take long is text as it is", () => {
  expect(renderMarkdown(`${"> ".repeat(40)}<b>`)).toBe(`<pre>${"&gt; ".repeat(40)}&lt;b&gt;</pre>`);
  expect(renderMarkdown(`> - > **a**`)).toContain("<strong>a</strong>");
  expect(renderMarkdown(`\`\`\`\n${"_a_".repeat(3000)}\n\`\`\``)).toContain("<code>");
});
