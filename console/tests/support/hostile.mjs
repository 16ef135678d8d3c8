// Texts that run, load, turn or leave their frame where a page takes them for more than text: known ones, by the place they attack.

/** Elements that run something by themselves. */
const ELEMENTS = [
  "<script>ran()</script>", "<SCRIPT SRC=https://evil.test/x.js></SCRIPT>", "<script/x>ran()</script >", "<scr<script>ipt>ran()</scr</script>ipt>",
  "<script type=module>ran()</script>", "<script>/*</script>*/ran()</script>", "<img src=x onerror=ran()>", "<img/src=x/onerror=ran()>",
  "<img src=x onerror='ran()'//", "<img src=x:x onerror\t=ran()>", "<img src=x onerror\n=ran()>", "<IMG SRC=x ONERROR=ran()>", "<img srcset=x onerror=ran()>",
  "<image src=x onerror=ran()>", "<img src=https://evil.test/pixel.png>", "<picture><source srcset=https://evil.test/p></picture>", "<svg onload=ran()>",
  "<svg/onload=ran()//", "<svg><script>ran()</script></svg>", "<svg><script href=data:,ran() /></svg>", "<svg><animate onbegin=ran() attributeName=x dur=1s>",
  "<svg><set onbegin=ran() attributeName=x>", "<svg><a xlink:href=javascript:ran()><text y=9>x</text></a></svg>",
  "<svg><use href=\"data:image/svg+xml,<svg id='x' xmlns='http://www.w3.org/2000/svg'><script>ran()</script></svg>#x\"></svg>",
  "<svg><foreignObject><iframe srcdoc='<script>parent.ran()</script>'></iframe></foreignObject></svg>",
  "<svg><image href=https://evil.test/x onerror=ran()></svg>", "<body onload=ran()>", "<body onpageshow=ran()>", "<body background=https://evil.test/x>",
  "<iframe src=javascript:parent.ran()>", "<iframe srcdoc='<img src=x onerror=parent.ran()>'>", "<iframe onload=ran()>", "<iframe src=https://evil.test/>",
  "<frameset onload=ran()><frame src=javascript:ran()></frameset>", "<object data=javascript:ran()>", "<object data=data:text/html,<script>ran()</script>>",
  "<embed src=javascript:ran()>", "<embed src=data:image/svg+xml;base64,PHN2ZyBvbmxvYWQ9cmFuKCk+>", "<applet code=x onerror=ran()>",
  "<video src=x onerror=ran()>", "<video><source onerror=ran()></video>", "<video poster=https://evil.test/p>", "<audio src=x onerror=ran()>",
  "<audio autoplay src=https://evil.test/a.mp3>", "<input autofocus onfocus=ran()>", "<select autofocus onfocus=ran()>", "<textarea autofocus onfocus=ran()>",
  "<keygen autofocus onfocus=ran()>", "<button autofocus onfocus=ran()>x</button>", "<details open ontoggle=ran()>", "<marquee onstart=ran()>",
  "<div contenteditable autofocus onfocus=ran()>", "<a autofocus tabindex=1 onfocus=ran()>x</a>", "<style>@import 'https://evil.test/x.css';</style>",
  "<style onload=ran()></style>", "<link rel=stylesheet href=https://evil.test/x.css>", "<link rel=prefetch href=https://evil.test/>",
  "<link rel=dns-prefetch href=//evil.test>", "<meta http-equiv=refresh content='0;url=javascript:ran()'>",
  "<meta http-equiv=refresh content='0;url=https://evil.test/'>", "<base href=https://evil.test/>", "<form action=javascript:ran()><button>x</button></form>",
  "<form><button formaction=javascript:ran()>x</button></form>", "<form id=x></form><input form=x type=image src=https://evil.test/i onerror=ran()>",
  "<div style=\"background:url(https://evil.test/x)\">", "<div style=\"width:expression(ran())\">",
  "<div style=\"position:fixed;inset:0;z-index:9999\">over all</div>", "<table background=javascript:ran()>", "<xss id=x tabindex=1 onfocus=ran()>",
  "<template><script>ran()</script></template>", "<template shadowrootmode=open><script>ran()</script></template>",
  "<noscript><img title=\"</noscript><img src=x onerror=ran()>\"></noscript>", "<portal src=https://evil.test/>", "<fencedframe src=https://evil.test/>",
  "<isindex action=javascript:ran() type=image>", "<dialog open><form method=dialog><button>x</button></form></dialog>",
];

/** Texts that a sanitiser or a second parser takes for something else than the first. */
const MUTATIONS = [
  "<math><mtext><table><mglyph><style><!--</style><img title=\"--&gt;&lt;img src=x onerror=ran()&gt;\">",
  "<math><annotation-xml encoding=text/html><script>ran()</script></annotation-xml></math>", "<svg></p><style><a id=\"</style><img src=x onerror=ran()>\">",
  "<math><mi//xlink:href=\"data:x,<script>ran()</script>\">", "<form><math><mtext></form><form><mglyph><style></math><img src=x onerror=ran()>",
  "<noembed><img src=\"</noembed><img src=x onerror=ran()>\">", "<xmp><img src=\"</xmp><img src=x onerror=ran()>\"></xmp>",
  "<textarea><img src=\"</textarea><img src=x onerror=ran()>\">", "<title></title><img src=x onerror=ran()>", "<!--><img src=x onerror=ran()>-->",
  "<!-- --!><img src=x onerror=ran()> -->", "<![CDATA[><img src=x onerror=ran()>]]>", "<?xml version=\"1.0\"?><img src=x onerror=ran()>",
  "<a href=\"x\" title=\"'><img src=x onerror=ran()>\">x</a>", "\"><img src=x onerror=ran()>", "'><img src=x onerror=ran()>", "`><img src=x onerror=ran()>`",
  "--><script>ran()</script>", "]]><script>ran()</script>", "</script><script>ran()</script>", "</textarea><script>ran()</script>",
  "</title><script>ran()</script>", "</style><script>ran()</script>", "<img src=\"x` `<script>ran()</script>\"` `>",
  "<listing>&lt;img src=x onerror=ran()&gt;</listing>", "&lt;script&gt;ran()&lt;/script&gt;", "&#60;script&#62;ran()&#60;/script&#62;",
  "&lt;img src=x onerror=ran()&gt;", "%3Cscript%3Eran()%3C/script%3E", "\\u003cscript\\u003eran()\\u003c/script\\u003e", "\\x3cscript\\x3eran()",
  "+ADw-script+AD4-ran()+ADw-/script+AD4-", "<script\ufffd>ran()</script>", "＜script＞ran()＜/script＞", "<ſcript>ran()</ſcript>", "<svg\u00a0onload=ran()>",
  "<img src=x onerror=\u2028ran()>", "<a name=body><a id=getElementById><form name=querySelector>", "<img name=ambit-base content=https://evil.test/>",
  "<em class=\"citation\">1</em>", "<a class=\"ref\" data-ref-id=\"1\" onclick=ran()>[1]</a>", "<a data-ref-id=\"\"onclick=ran()\"\">[1]</a>",
  "{{constructor.constructor('ran()')()}}", "${ran()}", "#{ran()}", "<%= ran() %>", "{@html '<img src=x onerror=ran()>'}",
  "<svg><style><img src=x onerror=ran()></style></svg>", "<img src=x onerror=&#114;&#97;&#110;&#40;&#41;>", "<img src=x onerror=window['r'+'an']()>",
  "<a href=javascript:ran()//https://example.org>x</a>", "<p onclick=ran()>x</p>", "<div onpointerover=ran() style=\"position:fixed;inset:0\">x</div>",
  "<a href='https://evil.test/' target=_self>x</a>", "<img usemap=#m src=data:,><map name=m><area href=javascript:ran()></map>", "{{7*7}}[[ran()]]",
  "<slot onslotchange=ran()>", "__proto__", "constructor", "toString", "hasOwnProperty", "[object Object]",
  "{\"__proto__\":{\"html\":\"<img src=x onerror=ran()>\"}}",
];

/** Where Markdown takes an address, and addresses that no link may lead to. */
const PLACES = [(address) => `[a](${address})`, (address) => `![a](${address})`, (address) => `<${address}>`, (address) => `[a]\n\n[a]: ${address}`];
const ADDRESSES = [
  "javascript:ran()", "JaVaScRiPt:ran()", "java&#115;cript:ran()", "javascript&colon;ran()", "&#x6A;avascript:ran()", "\u0001javascript:ran()",
  "vbscript:ran()", "data:text/html,<script>ran()</script>", "data:image/svg+xml,<svg/onload=ran()>", "data:image/png\" onerror=\"ran()",
  "blob:https://evil.test/1", "file:///etc/passwd", "//evil.test/x", "https://evil.test/x\" onclick=\"ran()",
];

/** Texts that turn or hide what stands beside them. */
const DIRECTIONS = [
  "\u202etxt.exe", "\u202dadmin\u202c", "\u2066a\u2069b", "\u2067right\u2069", "\u200bzero\u200bwidth", "\ufeffmark", "a\u061cb", "\u200fRLM",
  "e\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301", "👨\u200d👩\u200d👧\u200d👦 family", "аdmin (Cyrillic)", "\u{e0041}tags",
];

/** 200 texts and some; none has two lines but those of Markdown's references. */
export const HOSTILE_TEXTS = [...ELEMENTS, ...MUTATIONS, ...PLACES.flatMap((place) => ADDRESSES.map(place)), ...DIRECTIONS];

/** Watches a page from its beginning: what runs, asks, opens or is loaded is in `happened`. */
export async function watchHostile(page) {
  const happened = [];
  const note = (what) => (happened.push(what), undefined);
  await page.exposeFunction("noteHostile", note);
  await page.addInitScript(() => {
    for (const name of ["ran", "alert", "confirm", "prompt", "print", "open"]) window[name] = () => void window.noteHostile(name);
    addEventListener("securitypolicyviolation", (event) => void window.noteHostile(`policy: ${event.violatedDirective} ${event.blockedURI}`));
  });
  page.on("pageerror", (error) => note(`uncaught: ${error.message}`));
  page.on("dialog", (dialog) => (note(`dialog ${dialog.message()}`), dialog.dismiss()));
  page.on("popup", (popup) => note(`popup ${popup.url()}`));
  page.on("framenavigated", (frame) => frame.parentFrame() && note(`frame ${frame.url()}`));
  page.on("request", (request) => {
    const { pathname, protocol } = new URL(request.url());
    if (["data:", "blob:"].includes(protocol)) return;
    const isOwn = /^\/console\/(assets\/.*)?$/.test(pathname);
    const isAsked = request.resourceType() === "fetch" && (/^\/v1\//.test(pathname) || pathname === "/metrics");
    if (!isOwn && !isAsked) note(`${request.resourceType()} ${request.url()}`);
  });
  return happened;
}

/** In the page: elements that text of strangers must not become, and names that turn what stands beside them. */
export function hostileElements() {
  const own = `${location.origin}/console/`;
  const found = [];
  const note = (what, node) => found.push(`${what}: ${node.outerHTML.slice(0, 200)}`);
  const forbidden = `iframe, frame, frameset, object, embed, applet, base, portal, math, foreignObject, animate, set, use, audio, video, template,
    marquee, [srcdoc], [formaction], form[action]`;
  for (const node of document.querySelectorAll(forbidden)) note("an element", node);
  for (const node of document.querySelectorAll("script, link")) if (!(node.src ?? node.href).startsWith(own)) note("a file", node);
  for (const node of document.querySelectorAll("body meta, body style, body title")) note("an element of the head", node);
  for (const node of document.querySelectorAll("*")) if ([...node.attributes].some(({ name }) => name.startsWith("on"))) note("a handler", node);
  for (const node of document.querySelectorAll("img")) if (!/^data:image\/(png|jpeg|gif|webp|avif|bmp)[;,]/.test(node.src)) note("a picture", node);
  for (const node of document.querySelectorAll("a[href]")) {
    const isInside = node.getAttribute("href").startsWith("#");
    const isSafe = ["http:", "https:", "mailto:"].includes(node.protocol) && node.target === "_blank" && node.rel === "noopener noreferrer nofollow";
    if (!isInside && !isSafe && !node.href.startsWith(own)) note("a link", node);
  }
  for (const node of document.querySelectorAll("h1, h2, th, td, dt, nav, label, summary, option")) {
    if (/[\u202a-\u202e\u2066-\u2069]/.test(node.innerText) && !node.querySelector("pre, .markdown")) note("a name that turns", node);
  }
  return found;
}
