// A request as a line for a shell.

import { address, type Method, type Query } from "./api";

export interface CurlRequest {
  method?: Method;
  /** Below the base path. */
  path: string;
  query?: Query;
  body?: unknown;
}

export function curlLine({ method = "GET", path, query = {}, body }: CurlRequest): string {
  const parts = ["curl", ...(method === "GET" ? [] : ["-X", method]), quote(address(path, query))];
  parts.push("-H", quote("authorization: Bearer KEY"));
  if (body !== undefined) parts.push("-H", quote("content-type: application/json"), "-d", quote(JSON.stringify(body)));
  return parts.join(" ");
}

function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
