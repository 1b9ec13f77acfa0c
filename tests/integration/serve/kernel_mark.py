# SPDX-License-Identifier: Apache-2.0
"""Hostile code of a Python context: finds the mark of its run's frames, which is in a closure of the kernel."""

FIND_MARK = """
import gc
def inside(cell):
    try:
        return cell.cell_contents
    except ValueError:
        return None
cells = [inside(c) for f in gc.get_objects() for c in getattr(f, "__closure__", None) or ()]
mark = next(v["mark"] for v in cells if isinstance(v, dict) and "mark" in v and "sent" in v)
"""
