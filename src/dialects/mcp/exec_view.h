/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a command printed, as a model gets it: the beginning and the end of each stream, and where the middle
 * can be read. Pure.
 *
 * Bytes are kept as they came and become text in the result: what is no UTF-8 is replaced there, never cut in
 * the middle of a character.
 */
#pragma once

#include "dialects/mcp/call.h"

/* Of both streams together no more than about 10,000 tokens, of four characters each. */
#define CAY_MCP_HEAD_MAX (6u * 1024)
#define CAY_MCP_TAIL_MAX (12u * 1024)
#define CAY_MCP_ON_MAX (32u * 1024) /* of both, when it is read on from an offset */

struct cay_mcp_text {
        struct cay_buf head, tail;
        uint64_t bytes;    /* all that came */
        uint64_t left_out; /* between head and tail */
};

struct cay_mcp_output {
        struct cay_mcp_text streams[2]; /* stdout, stderr */
        uint64_t next;                  /* cursor behind the last byte that came */
        uint64_t gap;                   /* cursor of the first byte that is left out; with has_gap */
        bool has_gap;
        /* set after init: all from the first byte on until the answer is full; then the gap begins */
        bool reads_on;
};

void cay_mcp_output_init(struct cay_mcp_output *o);
void cay_mcp_output_done(struct cay_mcp_output *o);
/*
 * An event of exec_run or exec_attach: stdout or stderr. What was added, for progress. 0: not such an event.
 */
size_t cay_mcp_output_take(struct cay_mcp_output *o, const char *kind, const struct cay_json_value *event);
/* Its bytes, appended; negative: it has none. */
int cay_mcp_event_bytes(const struct cay_json_value *event, struct cay_buf *out);
/* Appends the text of a stream, with a mark where something is left out. */
int cay_mcp_text_put(const struct cay_mcp_text *t, struct cay_buf *out);
