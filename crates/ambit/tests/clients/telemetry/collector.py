"""A collector of the official messages of OTLP: prints its port, then each request that it gets as one line of JSON.

A request with a field that the official messages do not have ends it.
"""

import gzip
import os
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.json_format import MessageToJson
from google.protobuf.unknown_fields import UnknownFieldSet
from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2 as metrics
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2 as traces

REQUESTS = {
    "/v1/traces": (traces.ExportTraceServiceRequest, traces.ExportTraceServiceResponse),
    "/v1/metrics": (metrics.ExportMetricsServiceRequest, metrics.ExportMetricsServiceResponse),
}


def check(message):
    """Refuses unknown fields, here and in all that is below."""
    assert len(UnknownFieldSet(message)) == 0, f"unknown fields in {message.DESCRIPTOR.name}"
    for field, value in message.ListFields():
        if field.type == FieldDescriptor.TYPE_MESSAGE:
            for below in value if field.is_repeated else [value]:
                check(below)


class Collector(BaseHTTPRequestHandler):
    def do_POST(self):
        try:
            body = self.rfile.read(int(self.headers["content-length"]))
            assert self.headers["content-type"] == "application/x-protobuf"
            if self.headers["content-encoding"] == "gzip":
                body = gzip.decompress(body)
            assert self.headers["x-key"] == "a b"
            asked, answered = REQUESTS[self.path]
            message = asked.FromString(body)
            check(message)
            line = MessageToJson(message, indent=None)
        except BaseException as error:
            print(f"broken: {error!r}", flush=True)
            os._exit(1)
        answer = answered().SerializeToString()
        self.send_response(200)
        self.send_header("content-type", "application/x-protobuf")
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)
        print(f"{self.path} {line}", flush=True)

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Collector)
print(server.server_port, flush=True)
sys.exit(server.serve_forever())
