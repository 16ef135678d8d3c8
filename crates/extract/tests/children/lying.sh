#!/bin/sh
# A child that a document has taken over: its blocks lie outside of the text.
printf '%s' '{"document":{"document":{"title":null,"language":null,"metadata":{},"text":"","sections":[{"blocks":[{"kind":"paragraph","range":{"start":0,"end":9}}]}],"warnings":[],"pages":null},"text_bytes":2}}ab'
