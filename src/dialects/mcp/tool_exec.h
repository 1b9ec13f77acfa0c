/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the tools that run something share. */
#pragma once

#include "dialects/mcp/exec_view.h"
#include "dialects/mcp/tools.h"

#define CAY_MCP_IMAGES_MAX 4u
#define CAY_MCP_IMAGE_PATH 1024u

struct cay_mcp_image {
        char path[CAY_MCP_IMAGE_PATH];
        char type[16];
        struct cay_buf coded;
};

/* Of one stream. A character whose bytes come in two pieces is put together again. */
struct cay_mcp_fresh {
        struct cay_buf text;
        uint64_t left_out; /* bytes that did not fit before they were told */
};

struct cay_mcp_exec {
        struct cay_mcp_call *call;
        struct cay_mcp_op_call *asked; /* the stream; NULL: over */
        struct cay_mcp_output out;
        struct cay_timer patience, beat;
        struct cay_mcp_fresh fresh[2]; /* newest output, for progress and log messages */
        uint64_t progress_ms;          /* when the last progress was told */
        size_t logged;                 /* bytes of log messages so far */
        struct cay_buf view;           /* the command as last told, JSON */
        struct cay_json_in *doc;
        char sandbox[CAY_NAME_MAX + 1], exec[CAY_NAME_MAX + 1];
        char trouble[256];
        bool own, keep, has_images, waits, ended, on_host;
        bool is_full;    /* read on from an offset: there is more than one answer holds */
        bool is_long;    /* it will become a task */
        bool is_cut_off; /* its sandbox has no network */
        uint64_t told;   /* bytes, by progress */
        struct cay_mcp_image images[CAY_MCP_IMAGES_MAX];
        unsigned image_count, image_at;
};

/* exec_result.c: what the command came to; ends the call. */
void cay_mcp_exec_send(struct cay_mcp_exec *e);
/* exec_images.c: looks for images that were made, then calls cay_mcp_exec_conclude. */
void cay_mcp_exec_look(struct cay_mcp_exec *e);
/* tool_exec.c: the sandbox goes if it was made for this, then the result is sent. */
void cay_mcp_exec_conclude(struct cay_mcp_exec *e);
