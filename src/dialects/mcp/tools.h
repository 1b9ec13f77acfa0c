/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tools: what models see of Cay. Most are ops whose row says so (domain/ops/op_tool.h) and need nothing here.
 * Those that do more than one call have a row in tool_table.c and a function. Either names its op and the
 * parameters that a model may give; most of them are fields of the op, whose row says type, range and default
 * text, so that schema and check come from one table. Synonyms that models use (file_path, timeout_s…) are
 * accepted silently.
 *
 * The list has to stay short, since every model pays for it with each session. So a tool may belong to a
 * group (network, browser…), and is listed only for clients that asked for the group: by address, or by
 * calling more_tools.
 */
#pragma once

#include "dialects/mcp/call.h"

struct cay_mcp_tool {
        const char *name, *title, *doc;
        const char *op;
        unsigned flags;
        const struct cay_tool_param *params;
        void (*run)(struct cay_mcp_call *c);
        const char *picks; /* members of the op's answer that are told, separated by blanks; NULL: all */
        const char *group; /* NULL: always listed */
};

/* Those of tool_table.c, and all with those of ops. */
extern const struct cay_mcp_tool cay_mcp_own_tools[];
extern const unsigned cay_mcp_own_tool_count;
const struct cay_mcp_tool *cay_mcp_tools(unsigned *ret_count);

/*
 * Tools and prompts besides these, of a program that links more than we have (tests do). Borrowed; added
 * before the first call.
 */
struct cay_mcp_extras {
        const struct cay_mcp_tool *tools;
        unsigned tool_count;
        const char *(*schema)(const struct cay_mcp_tool *t); /* of its arguments; NULL: as of any tool */
        bool (*get_prompt)(struct cay_mcp_call *c);          /* false: none of these */
};
void cay_mcp_add_extras(const struct cay_mcp_extras *extras);
bool cay_mcp_extra_prompt(struct cay_mcp_call *c);

/* tools.c */
void cay_mcp_tools_list(struct cay_mcp_call *c);
void cay_mcp_tools_call(struct cay_mcp_call *c);
/* The i-th of all tools, extras too; NULL: there are no more. */
const struct cay_mcp_tool *cay_mcp_tool_at(unsigned i);
bool cay_mcp_tool_is_there(const struct cay_mcp_tool *t, const struct cay_mcp_client *p);
/* NULL: there is no such tool for this client. Tools that are not listed are found too. */
const struct cay_mcp_tool *cay_mcp_tool_find(const struct cay_mcp_client *p, const char *name);
void cay_mcp_put_tool(struct cay_json *j, const struct cay_mcp_tool *t, const struct cay_mcp_client *p,
                      bool is_modern);
/* Checks c->args and runs c->tool. */
void cay_mcp_tool_run(struct cay_mcp_call *c);

/* tool_groups.c */
bool cay_mcp_group_has(const char *groups, const char *group); /* groups: as in struct cay_mcp_place */
void cay_mcp_group_names(char *ret, size_t size);              /* of all groups: "browser, network" */
/* What an address asks for. -EINVAL: a name that no group has, or too long. */
int cay_mcp_groups_read(const char *text, char ret[CAY_MCP_GROUPS_MAX + 1]);
/* Lists these for the client too; true: some are new to it. */
bool cay_mcp_groups_add(struct cay_mcp_client *p, const char *groups);
void cay_mcp_run_more(struct cay_mcp_call *c);

/* Arguments. NULL, false: not given (or not of that type, which the check has refused). */
const struct cay_json_value *cay_mcp_arg(const struct cay_mcp_call *c, const char *param);
const char *cay_mcp_arg_text(const struct cay_mcp_call *c, const char *param);
bool cay_mcp_arg_bool(const struct cay_mcp_call *c, const char *param, bool otherwise);
uint64_t cay_mcp_arg_u64(const struct cay_mcp_call *c, const char *param, uint64_t otherwise);
const char *cay_mcp_arg_sandbox(const struct cay_mcp_call *c); /* NULL: not given */
/* The arguments that are fields of the op, begun; with `id` when there is a sandbox. */
void cay_mcp_args_begin(const struct cay_mcp_call *c, const struct cay_op *op, struct cay_call_args *args);

/*
 * Results. What a model gets to read is held to about 10,000 tokens, of four characters each, unless more was
 * asked for.
 */
#define CAY_MCP_TEXT_MAX (36u * 1024)
void cay_mcp_put_text(struct cay_json *j, const char *text, size_t len); /* a block of content */
/* An object, as both text and structure. */
void cay_mcp_tool_send(struct cay_mcp_call *c, const char *json, size_t len);
/* What the op said, in the same way; only the picked members. */
void cay_mcp_tool_answer(struct cay_mcp_call *c, const struct cay_json_value *json, const char *picks,
                         const char *advice);
/* An error that the model can act on: a result that says so. advice: what to do next; NULL: none. */
void cay_mcp_tool_fail(struct cay_mcp_call *c, const char *advice, const char *fmt, ...) CAY_PRINTF(3, 4);
void cay_mcp_tool_fail_asked(struct cay_mcp_call *c, const struct cay_mcp_op_call *q);
/*
 * For an error that a confirmation resolves: requests it in the way that the client supports (then the tool
 * is run again, with c->confirm).
 */
bool cay_mcp_tool_confirm(struct cay_mcp_call *c, const struct cay_mcp_op_call *q);

void cay_mcp_tool_decline(struct cay_mcp_call *c);
bool cay_mcp_is_approved(const struct cay_json_value *answer); /* to a question of cay_mcp_tool_confirm's */

/* tool_simple.c: one op, one answer. */
void cay_mcp_tool_done(struct cay_mcp_call *c,
                       struct cay_mcp_op_call *q); /* the op's answer, or its failure */
void cay_mcp_run_simple(struct cay_mcp_call *c);
void cay_mcp_run_create(struct cay_mcp_call *c);
void cay_mcp_run_destroy(struct cay_mcp_call *c);
/* tool_exec.c */
void cay_mcp_run_command(struct cay_mcp_call *c);
void cay_mcp_run_code(struct cay_mcp_call *c);
void cay_mcp_run_start(struct cay_mcp_call *c);
void cay_mcp_run_poll(struct cay_mcp_call *c);
void cay_mcp_run_input(struct cay_mcp_call *c);
/* tool_file.c */
void cay_mcp_run_read(struct cay_mcp_call *c);
void cay_mcp_run_write(struct cay_mcp_call *c);
void cay_mcp_run_edit(struct cay_mcp_call *c);

/* tool_picture.c: the op's answer is a picture. */
bool cay_mcp_is_picture(const struct cay_op *op);
void cay_mcp_run_picture(struct cay_mcp_call *c);

/* tool_find.c */
void cay_mcp_run_list(struct cay_mcp_call *c);
void cay_mcp_run_search(struct cay_mcp_call *c);

/* schema.c: the JSON Schema of a tool's arguments, an object. */
void cay_mcp_put_schema(struct cay_json *j, const struct cay_mcp_tool *t, bool has_sandbox);
const char *cay_mcp_sandbox_param(const struct cay_mcp_tool *t); /* how it names its sandbox */
bool cay_mcp_is_word_of(const char *words, const char *name);    /* words: separated by blanks; NULL: none */
/* The type of the image in these bytes ("image/png"); NULL: none that clients show. */
const char *cay_mcp_image_type(const void *bytes, size_t len);
