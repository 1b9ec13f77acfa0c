/* SPDX-License-Identifier: Apache-2.0 */
/* A command in the box whose output goes through buffers to a reader that checks every byte. */
#pragma once

#include "foundation/base/buf.h"
#include "integration/link_cut/box_side.h"
#include "integration/link_cut/growth.h"
#include "integration/link_cut/rig.h"

extern struct rig rig; /* the test's one box */

/* One command and its output. */
struct flow {
        struct cay_box_channel ch;
        struct cay_buf held[CAY_STREAM_COUNT]; /* received, not read */
        struct link_cut_check out, err;
        uint64_t received, came[CAY_STREAM_COUNT];
        uint64_t drop_at;       /* the front drops the stream inside on_data, when so much has come */
        uint64_t to_send, sent; /* of IN */
        bool opened, ended, is_reader_held;
        uint32_t pid;
        struct cay_box_end end;
        uint8_t text[64]; /* the last bytes of stderr */
        size_t text_len;
        unsigned drops_at_eof;
};

void flow_begin(struct flow *f, uint64_t out_seed, unsigned flags, const char *const *argv);
void flow_begin_emit(struct flow *f, uint64_t out_bytes, uint64_t err_bytes);
void flow_begin_processes(struct flow *f); /* the box's list of processes on stdout */
void flow_end(struct flow *f);
void flow_feed(struct flow *f);   /* as much of to_send as IN takes; goes on by itself */
void flow_read(struct flow *f);   /* the reader takes and acknowledges what there is */
void flow_finish(struct flow *f); /* to its end, mending the link whenever there is none */
/* To its end through n cuts of every kind, spread over so many bytes of output; g may be NULL. */
void flow_run(struct flow *f, unsigned n, uint64_t bytes, struct growth *g);

void assert_stream(const struct link_cut_check *c, const char *name, uint64_t offset, uint64_t bytes);
void assert_exited(const struct flow *f, int code);
