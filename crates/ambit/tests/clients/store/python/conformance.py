"""The public conformance suite of LangGraph's checkpointers. Run with an API key and the URLs of the nodes."""

import asyncio
import sys

from cases import TwoNodes, space
from langgraph.checkpoint.conformance import checkpointer_test, validate

from ambit_store import AmbitSaver

key, *urls = sys.argv[1:]


@checkpointer_test(name="AmbitSaver")
async def ambit_saver():
    yield AmbitSaver(TwoNodes(urls, key, space=space()))


report = asyncio.run(validate(ambit_saver))
passed = 0
for name, result in report.results.items():
    print(name, "passed", result.tests_passed, "failed", result.tests_failed, result.failures)
    assert result.detected and result.passed, name
    passed += result.tests_passed
print("passed", passed)
