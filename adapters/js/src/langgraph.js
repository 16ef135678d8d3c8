/** A checkpointer and a store for LangGraph.js. They need the package `@langchain/langgraph-checkpoint`, which LangGraph brings. */

export { AmbitSaver } from "./saver.js";
export { AmbitStore } from "./store.js";
export { StoreClient } from "./client.js";
export { CheckpointConflict, StoreConflict, StoreError } from "./errors.js";
