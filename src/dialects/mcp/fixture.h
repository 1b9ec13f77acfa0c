/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tools and prompts with canned answers, for scenarios of the conformance tool that ask for such by name. In builds with test hooks
 * alone, and there only with CAY_TEST_MCP_FIXTURES=1: never in a release.
 */
#pragma once

#include "dialects/mcp/tools.h"

#ifdef CAY_TEST_HOOKS
extern const struct cay_mcp_tool cay_mcp_fixtures[];
unsigned cay_mcp_fixture_count(void);                             /* 0: they are off */
const char *cay_mcp_fixture_schema(const struct cay_mcp_tool *t); /* of its arguments; NULL: as of any tool */
bool cay_mcp_fixture_prompt(struct cay_mcp_call *c);              /* false: none of these */
#endif
