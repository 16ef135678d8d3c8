"""Vectors of 384 numbers: LangGraph's SqliteStore, Agno on LanceDB, and sqlite-vec as it is.  usage: bench_vectors.py langgraph|agno|sqlite_vec
The embedding model costs nothing here: a chunk's vector, from a fixed seed, is there before it is asked for."""
import hashlib, json, os, sys, time
import numpy as np
# Python's own SQLite often cannot load extensions.
import pysqlite3
sys.modules["sqlite3"] = pysqlite3
from common import emit, fresh, want

CHUNKS = [int(x) for x in os.environ.get("CHUNKS", "1000,100000").split(",")]
DIMENSION, COMMIT, QUERIES, WORDS = 384, 250, 100, 150
# Who would need longer for a size says so, and does not begin with it.
PATIENCE = float(os.environ.get("PATIENCE", "60"))
# Who needs longer for the queries is asked fewer.
ASKING, FEWEST = 15, 30
_random = np.random.default_rng(1)
_words = [hashlib.md5(str(n).encode()).hexdigest()[: 3 + n % 7] for n in range(50_000)]

def vectors(count):
    return _random.uniform(-1, 1, (count, DIMENSION)).astype(np.float32)

def texts(count):
    ranks = (len(_words) ** _random.random((count, WORDS))).astype(int)
    return [" ".join(_words[r % len(_words)] for r in row) for row in ranks]

def percentile(spent, p):
    spent = sorted(spent)
    return spent[max(0, -(-len(spent) * p // 100) - 1)] * 1e3

class LangGraph:
    name = "LangGraph 1.2.22"
    note = "SqliteStore, its index of the field text"
    def __init__(self, size):
        import sqlite3
        from langgraph.store.sqlite import SqliteStore
        self.known = {}
        connection = sqlite3.connect(os.path.join(fresh(f"vectors-langgraph-{size}"), "s.db"), check_same_thread=False, isolation_level=None)
        embed = lambda texts: [self.known[text] for text in texts]
        self.store = SqliteStore(connection, index={"dims": DIMENSION, "embed": embed, "fields": ["text"]})
        self.store.setup()
    def add(self, first, texts, vectors):
        from langgraph.store.base import PutOp
        self.known = dict(zip(texts, vectors.tolist()))
        self.store.batch([PutOp(("kb",), str(first + at), {"text": text}, ["text"]) for at, text in enumerate(texts)])
    def find(self, vector):
        self.known = {"question": vector.tolist()}
        return [item.key for item in self.store.search(("kb",), query="question", limit=10)]

class Agno:
    name = "Agno 3.1.10"
    note = "LanceDb, flat"
    def __init__(self, size):
        from agno.knowledge.embedder import Embedder
        from agno.vectordb.lancedb import LanceDb
        bench = self
        class Known(Embedder):
            def get_embedding(self, text): return bench.question
            def get_embedding_and_usage(self, text): return bench.question, None
        self.store = LanceDb(uri=fresh(f"vectors-agno-{size}"), table_name="kb", embedder=Known(dimensions=DIMENSION))
        self.store.create()
    def add(self, first, texts, vectors):
        from agno.knowledge.document import Document
        documents = [Document(id=str(first + at), name=str(first + at), content=text, embedding=vector) for at, (text, vector) in enumerate(zip(texts, vectors.tolist()))]
        self.store.insert(str(first), documents)
    def find(self, vector):
        self.question = vector.tolist()
        return [document.name for document in self.store.search("question", limit=10)]

class SqliteVec:
    name = "sqlite-vec 0.1.9"
    note = "a vec0 table beside a table of the texts"
    def __init__(self, size):
        import sqlite3, sqlite_vec
        self.db = sqlite3.connect(os.path.join(fresh(f"vectors-sqlite-vec-{size}"), "v.db"))
        self.db.enable_load_extension(True); sqlite_vec.load(self.db)
        self.db.executescript(f"pragma journal_mode = wal; pragma synchronous = full; create table chunk(id integer primary key, text); create virtual table v using vec0(embedding float[{DIMENSION}] distance_metric=cosine)")
    def add(self, first, texts, vectors):
        with self.db:
            self.db.executemany("insert into chunk values (?, ?)", [(first + at, text) for at, text in enumerate(texts)])
            self.db.executemany("insert into v(rowid, embedding) values (?, ?)", [(first + at, vector.tobytes()) for at, vector in enumerate(vectors)])
    def find(self, vector):
        return [row[0] for row in self.db.execute("select rowid from v where embedding match ? and k = 10", [vector.tobytes()])]

def measure(kind, size):
    peer, spent = kind(size), 0.0
    some = None
    for first in range(0, size, COMMIT):
        count = min(COMMIT, size - first)
        new = texts(count), vectors(count)
        start = time.perf_counter(); peer.add(first, *new); spent += time.perf_counter() - start
        if first == 0: some = new[1][7]
        if first and spent / first * size > PATIENCE:
            print(json.dumps({"failed": f"{kind.name}, {size} vectors", "why": f"would need {spent / first * size:.0f} s to index them"}), flush=True)
            return
    emit(kind.name, "sqlite", "W13 index with vectors", size, size / spent, "chunks/s", kind.note)
    found = [str(key) for key in peer.find(some)]
    assert len(found) == 10 and found[0] == "7", found
    asked = vectors(QUERIES); times = []
    for vector in asked:
        start = time.perf_counter(); peer.find(vector); times.append(time.perf_counter() - start)
        if sum(times) > ASKING and len(times) >= FEWEST: break
    for p in (50, 99):
        emit(kind.name, "sqlite", f"W14 query by vector, p{p}", size, percentile(times, p), "ms", kind.note)

for size in CHUNKS if want("W13") or want("W14") else []:
    measure({"langgraph": LangGraph, "agno": Agno, "sqlite_vec": SqliteVec}[sys.argv[1]], size)
