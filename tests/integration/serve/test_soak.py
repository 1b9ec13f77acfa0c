#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A short piece of `make soak`: every kind of action, nothing unexpected, no descriptor and no sandbox left."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import soak  # noqa: E402

if __name__ == "__main__":
    sys.argv[1:] = ["--seconds", "12"]
    soak.main()
