// Columns of the tables of collections and documents.

import type { Column } from "../../components/columns";
import { bytes, number } from "../../format";
import { say } from "../../texts";
import { knowledgeTexts as t } from "../../texts/knowledge";
import type { Collection, KnowledgeDocument } from "./knowledge-types";

const STATES = { queued: t.queued, extracting: t.extracting, chunking: t.chunking, embedding: t.embeddingState, ready: t.ready, failed: t.failed };

/** The name of a document's state. */
export const stateTitle = (status: KnowledgeDocument["status"]) => STATES[status];

export function visibilityText(collection: Collection): string {
  if (collection.public) return say(t.visiblePublic);
  return say(collection.share === "team" ? t.visibleTeam : t.visiblePrivate);
}

export function embeddingText({ embedding }: Collection): string {
  return embedding ? [embedding.connector, embedding.model].filter(Boolean).join(" · ") : say(t.wordsAlone);
}

export function collectionState(collection: Collection): string {
  const state = say(collection.status === "ready" && !collection.reindex ? t.ready : t.indexing);
  return collection.failed === 0 ? state : `${state}, ${say(t.failedCount, { count: number(collection.failed) })}`;
}

/** The state with how far it is, or why it failed. */
export function documentState({ status, done, total, error }: KnowledgeDocument): string {
  const state = say(STATES[status]);
  if (status === "failed") return error === null ? state : `${state}: ${error}`;
  return status === "embedding" && total > 0 ? `${state} ${number(done)}/${number(total)}` : state;
}

export const COLLECTION_COLUMNS: readonly Column<Collection>[] = [
  { name: "name", title: t.name, width: "minmax(160px, 3fr)", text: (row) => row.name },
  { name: "documents", title: t.documents, width: "112px", text: (row) => number(row.documents), isNumber: true },
  { name: "chunks", title: t.chunks, width: "90px", text: (row) => number(row.chunks), isNumber: true },
  { name: "embedding", title: t.embedding, width: "minmax(110px, 1fr)", text: embeddingText },
  { name: "visibility", title: t.visibility, width: "110px", text: visibilityText },
  { name: "status", title: t.state, width: "minmax(110px, 1fr)", text: collectionState },
];

/** Beside a collection that is open. */
export const NARROW_COLLECTION_COLUMNS = COLLECTION_COLUMNS.filter(({ name }) => ["name", "documents", "status"].includes(name));

export const DOCUMENT_COLUMNS: readonly Column<KnowledgeDocument>[] = [
  { name: "title", title: t.title, width: "minmax(180px, 3fr)", text: (row) => row.title || row.name || row.document_id },
  { name: "type", title: t.type, width: "70px", text: (row) => row.type ?? "–" },
  { name: "bytes", title: t.bytes, width: "90px", text: (row) => bytes(row.bytes), isNumber: true },
  { name: "chunks", title: t.chunks, width: "80px", text: (row) => number(row.chunks), isNumber: true },
  { name: "status", title: t.state, width: "minmax(140px, 2fr)", text: documentState },
];
