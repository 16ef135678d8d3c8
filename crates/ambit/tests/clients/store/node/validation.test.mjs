// The public suite of LangGraph.js' checkpointers. AMBIT_URLS and AMBIT_KEY say where. Its own command line cannot read an initializer
// in version 1.1.1, so that its tests are named here.

import { deltaChannelHistoryTests, validate } from "@langchain/langgraph-checkpoint-validation";
import { AmbitSaver, StoreClient } from "@ambit/store/langgraph";

const urls = process.env.AMBIT_URLS.split(" ");
let number = 0;

const initializer = {
  checkpointerName: "@ambit/store",
  createCheckpointer() {
    number += 1;
    const space = `t${crypto.randomUUID().replaceAll("-", "").slice(0, 30)}`;
    const url = urls[number % urls.length];
    return new AmbitSaver(new StoreClient({ url, token: process.env.AMBIT_KEY, space }));
  },
};

validate(initializer);
// What the package has beside those that `validate` runs.
deltaChannelHistoryTests(initializer);
