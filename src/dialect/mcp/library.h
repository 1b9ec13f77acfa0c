/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What models and people can look up: files, output and facts of sandboxes and the templates' instructions as resources, those
 * instructions as prompts, names to complete.
 */
#pragma once

#include "dialect/mcp/call.h"

void cay_mcp_resources_list(struct cay_mcp_call *c);
void cay_mcp_resources_templates(struct cay_mcp_call *c);
void cay_mcp_resources_read(struct cay_mcp_call *c);
void cay_mcp_prompts_list(struct cay_mcp_call *c);
void cay_mcp_prompts_get(struct cay_mcp_call *c);
void cay_mcp_complete(struct cay_mcp_call *c);
/* Lists have one page: a cursor is none of ours. True: the call was ended with an error. */
bool cay_mcp_refuse_cursor(struct cay_mcp_call *c);
