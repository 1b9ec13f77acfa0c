# SPDX-License-Identifier: Apache-2.0
# Written by tools/generate from sdk/openapi.json: do not edit.
VERSION = "0.1.0"  # of the daemon that this was generated from
CODES = (
    "invalid",
    "not_found",
    "exists",
    "denied",
    "conflict",
    "limit",
    "unsupported",
    "unavailable",
    "timeout",
    "no_space",
    "internal",
    "damaged",
    "unauthenticated",
    "method_not_allowed",
    "too_large",
    "wrong_host",
    "confirm",
)
