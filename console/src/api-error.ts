// What an answer that is no success says (wire.md §8.3).

export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly request_id: string | null = null,
    readonly details: Record<string, unknown> = {},
    /** The operation that was refused, `GET /contexts`. */
    readonly operation: string = "",
  ) {
    super(message);
    this.name = "ApiError";
  }
}

/** Reads the body of an answer that is no success; a proxy's answer may have none of ours. */
export async function readError(answer: Response, operation: string): Promise<ApiError> {
  const fallback = `${answer.status} ${answer.statusText}`.trim();
  const body: unknown = await answer.json().catch(() => null);
  const error = isRecord(body) && isRecord(body.error) ? body.error : {};
  const text = (name: string) => (typeof error[name] === "string" ? error[name] : null);
  const details = isRecord(error.details) ? error.details : {};
  return new ApiError(
    answer.status,
    text("code") ?? `http_${answer.status}`,
    text("message") ?? fallback,
    text("request_id") ?? answer.headers.get("x-ambit-request"),
    details,
    operation,
  );
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
