"""Records what embedder.py makes of Cranfield, for the test of words and vectors on every store: record.py URL FOLDER

Writes FOLDER/minilm.i8: for each document in the order of corpus.jsonl, then for each question in that of queries.jsonl, the vector
in numbers of 8 bits, the largest of them being 127.
"""

import json
import pathlib
import sys
import urllib.request

BATCH = 16


def texts(path):
    """The texts of a file, without the spaces around their lines, as a collection reads them."""
    for line in path.read_text(encoding="utf-8").splitlines():
        text = json.loads(line)["text"]
        yield "\n".join(part.strip() for part in text.strip().splitlines())


def embedded(url, batch):
    body = json.dumps({"input": batch}).encode()
    request = urllib.request.Request(f"{url}/v1/embeddings", body, {"content-type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        return [item["embedding"] for item in json.load(answer)["data"]]


def code(vector):
    largest = max(abs(number) for number in vector)
    return bytes(round(number / largest * 127) & 0xFF for number in vector)


def main(url, folder):
    folder = pathlib.Path(folder)
    every = [*texts(folder / "corpus.jsonl"), *texts(folder / "queries.jsonl")]
    with open(folder / "minilm.i8", "wb") as out:
        for start in range(0, len(every), BATCH):
            for vector in embedded(url, every[start : start + BATCH]):
                out.write(code(vector))


if __name__ == "__main__":
    main(*sys.argv[1:])
