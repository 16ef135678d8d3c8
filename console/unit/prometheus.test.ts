import { expect, test } from "vitest";
import { between, parseMetrics, quantile, read } from "../src/views/system/prometheus";

const text = (requests: number, failed: number, fast: number, slow: number) => `# HELP ambit_http_requests_total Requests.
# TYPE ambit_http_requests_total counter
ambit_http_requests_total{method="GET",route="/v1/models/{id}",status="200"} ${requests}
ambit_http_requests_total{method="GET",route="/v1/usage",status="503"} ${failed}
ambit_http_request_seconds_bucket{route="/v1/usage",le="0.1"} ${fast}
ambit_http_request_seconds_bucket{route="/v1/usage",le="1"} ${fast + slow}
ambit_http_request_seconds_bucket{route="/v1/usage",le="+Inf"} ${fast + slow}
ambit_streams_open 3
`;

test("lines have labels with braces, quotes and escapes, or none", () => {
  expect(parseMetrics('a{route="/x/{id}",note="say \\"hi\\"\\n"} 1e3\nb 2\n# c 3')).toEqual([
    { name: "a", labels: { route: "/x/{id}", note: 'say "hi"\n' }, value: 1000 },
    { name: "b", labels: {}, value: 2 },
  ]);
});

test("two readings give rates, and open streams as they stand", () => {
  const sample = between(read(text(10, 1, 5, 0), 1000), read(text(30, 3, 24, 1), 6000));
  expect(sample).toMatchObject({ at: 6000, requests: 4.4, errors: 0.4, streams: 3 });
  expect(sample.p95).toBeCloseTo(0.1, 5);
});

test("a server that was started again counts from nothing", () => {
  expect(between(read(text(100, 0, 90, 0), 0), read(text(10, 0, 9, 0), 5000)).requests).toBe(2);
});

test("without answers there is no p95, and beyond the last bound it is that bound", () => {
  expect(quantile(0.95, new Map([[1, 5], [Infinity, 5]]), new Map([[1, 5], [Infinity, 5]]))).toBeNull();
  expect(quantile(0.95, new Map(), new Map([[1, 1], [Infinity, 10]]))).toBe(1);
});
