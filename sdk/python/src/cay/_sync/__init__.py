# SPDX-License-Identifier: Apache-2.0
# Written by tools/generate from _async/__init__.py: do not edit.
