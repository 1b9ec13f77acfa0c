# SPDX-License-Identifier: Apache-2.0
"""
Adapters to agent frameworks, one file each. None of them imports its framework before it is used, so that this package needs none of them.
docs/sdk-python-adapters.md has a page for each.
"""
