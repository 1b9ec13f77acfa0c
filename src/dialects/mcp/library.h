/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What models and people can look up: files, output and facts of sandboxes and the templates' instructions as
 * resources, those instructions as prompts, names to complete.
 */
#pragma once

#include "dialects/mcp/call.h"

/* resources.c, resource_read.c, prompts.c, complete.c */
void cay_mcp_resources_list(struct cay_mcp_call *c);
void cay_mcp_resources_templates(struct cay_mcp_call *c);
void cay_mcp_resources_read(struct cay_mcp_call *c);
void cay_mcp_prompts_list(struct cay_mcp_call *c);
void cay_mcp_prompts_get(struct cay_mcp_call *c);
void cay_mcp_complete(struct cay_mcp_call *c);

/* What these share (library.c). */
#define CAY_MCP_SYSTEM "/SYSTEM.md"
/* Asks an op with one argument; key NULL: with none. */
void cay_mcp_look(struct cay_mcp_call *c, const char *op, const char *key, const char *value,
                  void (*done)(struct cay_mcp_call *c, struct cay_mcp_op_call *q));
void cay_mcp_look_fail(struct cay_mcp_call *c, const struct cay_mcp_op_call *q);
const char *cay_mcp_member(const struct cay_json_value *v, const char *name); /* "": none, or no text */
/* Lists of one page: a cursor is none of ours. True: the call was ended with an error. */
bool cay_mcp_refuse_cursor(struct cay_mcp_call *c);
