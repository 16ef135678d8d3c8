// Sends a file and says how far it is, which `fetch` does not.

import { address } from "../../api";
import { ApiError, readError } from "../../api-error";
import { reportUnauthenticated, requestHeaders } from "../../credentials";

export interface SendFile {
  path: string;
  file: File;
  signal: AbortSignal;
  /** So many bytes of the request are sent. */
  onProgress: (sent: number) => void;
}

export function sendFile({ path, file, signal, onProgress }: SendFile): Promise<void> {
  const form = new FormData();
  form.set("file", file, file.name);
  const request = new XMLHttpRequest();
  request.open("POST", address(path));
  for (const [name, value] of Object.entries(requestHeaders())) request.setRequestHeader(name, value);
  return new Promise((resolve, reject) => {
    const operation = `POST ${path}`;
    const abort = () => request.abort();
    signal.addEventListener("abort", abort, { once: true });
    request.upload.onprogress = (event) => onProgress(Math.min(event.loaded, file.size));
    request.onabort = () => reject(signal.reason);
    request.onerror = () => reject(new ApiError(0, "connection_lost", "the server cannot be reached", null, {}, operation));
    request.onload = () => {
      if (request.status < 300) return resolve();
      if (request.status === 401) reportUnauthenticated();
      void readError(new Response(request.responseText, { status: request.status }), operation).then(reject);
    };
    request.onloadend = () => signal.removeEventListener("abort", abort);
    request.send(form);
  });
}
