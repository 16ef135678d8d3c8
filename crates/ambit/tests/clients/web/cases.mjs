// The page of `examples/web` in Chromium against a running server: one function is one case.
//
// Run with the server's base URL, the program of Chromium, the page's folder, those in which its packages and the packages of
// these cases are installed, one to make, and the cases if not all; prints `ok NAME` for each case that holds.

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { copy, develop, serveBuilt } from "./site.mjs";

const [ambit, executablePath, page, packages, own, folder, ...wanted] = process.argv.slice(2);
const { chromium } = createRequire(`${own}/`)("playwright-core");

const LAMPS = /^A lamp stands .* the hand that writes\.$/;

/** A browser with the page open. */
class Visit {
  /** What the browser complains of, and whom else it asks. */
  faults = [];

  static async begin(browser, site) {
    const visit = new Visit();
    visit.context = await browser.newContext();
    visit.page = await visit.context.newPage();
    visit.page.setDefaultTimeout(120_000);
    visit.page.on("console", (line) => {
      if (["error", "warning"].includes(line.type())) visit.faults.push(line.text());
    });
    visit.page.on("pageerror", (error) => visit.faults.push(error.stack));
    visit.context.on("request", (request) => {
      const { protocol, host } = new URL(request.url());
      if (protocol !== "data:" && host !== new URL(site).host) visit.faults.push(`asks ${request.url()}`);
    });
    await visit.page.goto(site);
    return visit;
  }

  /** The chat that the address names. */
  get chat() {
    return new URL(this.page.url()).hash.slice(1);
  }

  button = (name) => this.page.getByRole("button", { name, exact: true });
  said = () => this.page.getByRole("article", { name: "You" });
  answers = () => this.page.getByRole("article", { name: "Shop" });
  texts = (articles) => articles.locator("p").allInnerTexts();

  async write(text) {
    await this.page.getByLabel("Message").fill(text);
    await this.page.getByLabel("Message").press("Enter");
  }

  /** Says something; the answer has ended. */
  async say(text) {
    const answer = this.page.getByRole("article").nth((await this.page.getByRole("article").count()) + 1);
    await this.write(text);
    await answer.waitFor();
    await this.ended();
  }

  /** No answer is under way. */
  ended = () => this.button("Send").waitFor();

  /** Asks for the long answer; a part of it is shown. */
  async sayAboutLamps() {
    await this.write("Tell me about lamps.");
    await this.answers().getByText(/^A lamp stands/).waitFor();
    return this.longAnswer();
  }

  longAnswer = async () => (await this.texts(this.answers())).join("");

  /** What the server has of the chat. */
  async stored() {
    const response = await fetch(`${ambit}/ai-sdk/chat/${this.chat}/messages`);
    assert.equal(response.status, 200);
    return response.json();
  }

  /** The stream of the turn that runs in the chat; 204 where none does. */
  turn = () => fetch(`${ambit}/ai-sdk/chat/${this.chat}/stream`);

  /** Says what a case that does not hold has seen. */
  async tell(name, error) {
    console.error(`${name} does not hold. The page shows:`);
    console.error(await this.page.locator("body").innerText());
    console.error(...this.faults);
    throw error;
  }

  /** A reload shows the messages that are shown now, and they are so many. */
  async staysAsItIs(count) {
    const shown = () => this.page.getByRole("article").allInnerTexts();
    const before = await shown();
    assert.equal(before.length, count, before.join("\n"));
    assert.equal((await this.stored()).length, count);
    await this.page.reload();
    await this.ended();
    assert.deepEqual(await shown(), before);
  }
}

/** On the page as `npm run build` makes it. */
const BUILT = {
  async a_question_is_answered_in_a_stream(visit) {
    const begun = await visit.sayAboutLamps();
    assert.doesNotMatch(begun, LAMPS);
    await visit.ended();
    const whole = await visit.longAnswer();
    assert.match(whole, LAMPS);
    assert(whole.startsWith(begun));
    await visit.staysAsItIs(2);
  },

  async a_tool_of_the_server_is_shown_with_its_result(visit) {
    await visit.say("How many lamps are there?");
    const call = await visit.answers().locator("pre").innerText();
    assert.equal(call, 'shop__stock {"item":"lamp"} → {"item":"lamp","count":12,"price":34.5}');
    const said = ["Let me see.", 'The stock says: {"item":"lamp","count":12,"price":34.5}'];
    assert.deepEqual(await visit.texts(visit.answers()), said);
    await visit.staysAsItIs(2);
  },

  async a_name_is_known_in_another_chat(visit) {
    await visit.say("My name is Ann.");
    await visit.page.getByText("New chat").click();
    await visit.answers().waitFor({ state: "detached" });
    await visit.say("Who am I?");
    assert.equal(await visit.answers().locator("pre").innerText(), 'shop__customer {} → {"name":"Ann"}');
    await visit.staysAsItIs(2);
  },

  async the_pages_own_tool_is_answered_and_the_answer_goes_on(visit) {
    await visit.say("Order two lamps.");
    await visit.button("yes").click();
    await visit.answers().getByText("You said: yes. I have noted it.").waitFor();
    await visit.ended();
    await visit.staysAsItIs(2);
    const [, answer] = await visit.stored();
    const call = answer.parts.find((part) => part.type === "tool-confirm");
    assert.deepEqual([call.input, call.output], [{ question: "Two lamps for 69.00?" }, "yes"]);
  },

  async the_pages_own_tool_is_answered_after_a_reload(visit) {
    await visit.say("Order two lamps.");
    await visit.page.reload();
    await visit.button("no").click();
    await visit.answers().getByText("You said: no. I have noted it.").waitFor();
    await visit.ended();
    await visit.staysAsItIs(2);
  },

  async stop_ends_the_turn_and_keeps_what_was_said(visit) {
    await visit.sayAboutLamps();
    await visit.button("Stop").click();
    await visit.ended();
    assert.equal((await visit.turn()).status, 204);
    assert.doesNotMatch(await visit.longAnswer(), LAMPS);
    await visit.staysAsItIs(2);
    await visit.say("How many lamps are there?");
    await visit.staysAsItIs(4);
  },

  async an_answer_goes_on_after_a_reload(visit) {
    const begun = await visit.sayAboutLamps();
    await visit.page.reload();
    await visit.answers().getByText(LAMPS).waitFor();
    await visit.ended();
    assert((await visit.longAnswer()).startsWith(begun));
    await visit.staysAsItIs(2);
  },

  async an_answer_that_ends_during_a_reload_is_shown(visit) {
    await visit.sayAboutLamps();
    await visit.page.route("**/stream", async (route) => {
      // The list has come without the answer, which ends now.
      await (await visit.turn()).text();
      await route.continue();
    });
    await visit.page.reload();
    await visit.answers().getByText(LAMPS).waitFor();
    await visit.staysAsItIs(2);
  },

  async the_last_question_is_edited(visit) {
    await visit.say("My name is Ann.");
    await visit.say("Who am I?");
    await visit.button("Edit").click();
    assert.equal(await visit.page.getByLabel("Message").inputValue(), "Who am I?");
    await visit.page.getByLabel("Message").fill("How many lamps are there?");
    await visit.button("Replace").click();
    await visit.answers().getByText(/^The stock says/).waitFor();
    await visit.ended();
    assert.deepEqual(await visit.texts(visit.said()), ["My name is Ann.", "How many lamps are there?"]);
    await visit.staysAsItIs(4);
  },

  async an_answer_is_given_again(visit) {
    await visit.sayAboutLamps();
    await visit.button("Stop").click();
    await visit.button("Answer again").waitFor();
    const [question, first] = await visit.stored();
    await visit.button("Answer again").click();
    await visit.answers().getByText(LAMPS).waitFor();
    await visit.ended();
    await visit.staysAsItIs(2);
    const [same, second] = await visit.stored();
    assert.deepEqual(same, question);
    assert.notEqual(second.id, first.id);
  },

  async a_failure_is_shown_and_tried_again(visit) {
    await visit.write("Is there a discount?");
    const alert = visit.page.getByRole("alert");
    await alert.getByText("discounts are not for sale").waitFor();
    const failed = visit.page.waitForResponse("**/chat");
    await visit.button("Answer again").click();
    assert.equal((await failed).request().postDataJSON().trigger, "regenerate-message");
    await alert.waitFor();
    await visit.ended();
    await visit.say("How many lamps are there?");
    assert.equal(await alert.count(), 0);
    await visit.staysAsItIs(4);
  },

  async a_question_that_did_not_reach_the_server_is_sent_again(visit) {
    await visit.say("My name is Ann.");
    await visit.page.route("**/chat", (route) => route.abort(), { times: 1 });
    await visit.write("How many lamps are there?");
    await visit.page.getByRole("alert").getByText("Failed to fetch").waitFor();
    assert.deepEqual(visit.faults.splice(0), ["Failed to load resource: net::ERR_FAILED"]);
    await visit.button("Answer again").click();
    await visit.answers().getByText(/^The stock says/).waitFor();
    await visit.ended();
    await visit.staysAsItIs(4);
  },

  async what_the_server_refuses_is_told_in_its_words(visit) {
    await visit.page.evaluate(() => (location.hash = "nobody"));
    await visit.page.getByRole("alert").getByText('chat "nobody" not found').waitFor();
    const fault = "Failed to load resource: the server responded with a status of 404 (Not Found)";
    assert.deepEqual(visit.faults.splice(0), [fault]);
  },
};

/** On the page as `npm run dev` serves it. */
const DEVELOPED = {
  the_page_works_while_it_is_developed: BUILT.a_question_is_answered_in_a_stream,
};

async function run(browser, site, cases) {
  for (const [name, holds] of cases) {
    const visit = await Visit.begin(browser, site.url);
    await holds(visit).catch((error) => visit.tell(name, error));
    assert.deepEqual(visit.faults, [], name);
    await visit.context.close();
    console.log(`ok ${name}`);
  }
}

copy(page, packages, folder);
const browser = await chromium.launch({ executablePath, timeout: 120_000 });
for (const [serves, all] of [[serveBuilt, BUILT], [develop, DEVELOPED]]) {
  const cases = Object.entries(all).filter(([name]) => wanted.length === 0 || wanted.includes(name));
  if (cases.length === 0) continue;
  const site = await serves(folder, ambit);
  await run(browser, site, cases).finally(site.stop);
}
await browser.close();
