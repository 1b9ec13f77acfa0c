/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cay-init without an engine around it: started with a control socket, a box link and, if asked for, a
 * cgroup2 node, or as pid 1 of simple namespaces. Driven through the front's own box_client.
 */
#pragma once

#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <sys/types.h>

#include "foundation/base/buf.h"
#include "links/box/box_client.h"
#include "links/helper/init_config.h"

enum box_way {
        BOX_PLAIN,    /* a plain process, keepers below it */
        BOX_CGROUP,   /* a plain process with a cgroup2 node */
        BOX_ISOLATED, /* pid 1 in namespaces of its own, with a cgroup2 node */
};

#define BOX_INIT_UID 990u
#define BOX_USER 1001u

struct box {
        enum box_way way;
        pid_t pid; /* 0: reaped */
        int control;
        int cgroup; /* -1: none */
        char cgroup_path[128];
        int files[3]; /* meminfo, stat, loadavg: memory files; -1: none */
        struct cay_init_config config;
        struct cay_loop *loop;
        struct cay_box_client *client;
        int lost; /* 1: the stream went; reason */
        int lost_reason;
        unsigned pongs;
};

struct run {
        struct cay_box_channel channel;
        struct box *box;
        struct cay_buf out, err;
        uint64_t out_bytes;
        uint64_t out_hash; /* of all bytes of OUT */
        bool keep;         /* keep the bytes in out, err (default), or only count and hash */
        bool stalled;      /* acknowledge nothing */
        bool opened, ended;
        uint32_t pid;
        struct cay_box_end end;
        char msg[600];
};

/* 77-style skip inside cmocka: skip() with a word about it. */
void box_start(struct box *b, enum box_way way);
void box_start_with(struct box *b, enum box_way way, uint32_t test_off);
void box_stop(struct box *b);   /* control socket closed: init must go, and everything with it */
void box_relink(struct box *b); /* a fresh stream in place of the old one */
int box_wait_gone(struct box *b, int max_ms); /* exit status as of waitpid, or -1 */
void box_round(struct box *b, int max_ms);
int box_raw_link(struct box *b); /* relink, but hand out the other end */

struct cay_box_open run_default(void);
void run_open(struct box *b, struct run *r, const struct cay_box_open *open, const char *const *argv,
              const char *const *env);
void run_sh(struct box *b, struct run *r, const struct cay_box_open *open, const char *script);
void run_wait(struct run *r, int max_ms); /* fails the test when it does not end in time */
void run_wait_opened(struct run *r, int max_ms);
void run_wait_out(struct run *r, const char *text, int max_ms); /* until OUT contains it */
void run_free(struct run *r);
bool is_alive(pid_t pid); /* and no zombie */
uint64_t now_ms(void);
