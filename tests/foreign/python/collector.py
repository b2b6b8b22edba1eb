"""A collector of spans that reads them with OpenTelemetry's own messages: `collector.py PORT [REFUSALS]`.

Answers 503 with Retry-After so many times; then takes OTLP in protobuf and prints a line of JSON for each request: its
headers, and its message as OpenTelemetry's JSON.
"""

import gzip
import json
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer

from google.protobuf.json_format import MessageToDict
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

refusals = int(sys.argv[2]) if len(sys.argv) > 2 else 0


class Collector(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        global refusals
        body = self.rfile.read(int(self.headers["Content-Length"]))
        status = 200
        if refusals > 0:
            refusals -= 1
            status = 503
        else:
            if self.headers["Content-Encoding"] == "gzip":
                body = gzip.decompress(body)
            message = MessageToDict(ExportTraceServiceRequest.FromString(body))
            headers = {name.lower(): value for name, value in self.headers.items()}
            print(json.dumps({"path": self.path, "headers": headers, "message": message}), flush=True)
        self.send_response(status)
        if status == 503:
            self.send_header("Retry-After", "0")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


HTTPServer(("127.0.0.1", int(sys.argv[1])), Collector).serve_forever()
