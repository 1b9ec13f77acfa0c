# SPDX-License-Identifier: Apache-2.0
# Written by tools/generate from sdk/openapi.json: do not edit.
