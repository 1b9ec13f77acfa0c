#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_no_fixtures.py LIBRARY: the conformance tool's canned tools are in no release."""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
WORDS = (b"test_sampling", b"test_audio_content", b"slow_compute", b"CAY_TEST_MCP", b"cay_mcp_fixture")

with open(os.path.join(HERE, "..", "..", "..", "..", "src", "dialects", "mcp", "fixture.c"), "rb") as f:
    source = f.read()
assert all(w in source for w in WORDS), "these are the words of fixture.c"
with open(sys.argv[1], "rb") as f:
    library = f.read()
if library.startswith(b"!<thin>"):  # names of members, which are next to it
    folder = sys.argv[1] + ".p"
    library = b"".join(open(os.path.join(folder, n), "rb").read() for n in os.listdir(folder) if n.endswith(".o"))
assert b"tools/" in library or b"there is no tool" in library, "it is the library that is meant"
found = [w for w in WORDS if w in library]
assert not found, found
