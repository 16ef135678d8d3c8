/** The store of an Ambit server. What keeps the state of LangGraph.js there is in `@ambit/store/langgraph`. */

export { StoreClient } from "./client.js";
export { CheckpointConflict, StoreConflict, StoreError } from "./errors.js";
