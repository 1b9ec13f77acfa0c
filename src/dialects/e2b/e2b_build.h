/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds of templates. A template that a client builds is a snapshot with the template's name; its build is a
 * sandbox of the base in which the steps are run one after the other (e2b_build_run.c). Builds are in memory:
 * a front that is restarted knows none, and the sandbox of one that was under way ends with its time.
 *
 * What a template says beside its files is in variables of the snapshot, E2B_TEMPLATE_…: they come with every
 * sandbox that is made of it (e2b_start.c).
 */
#pragma once

#include "dialects/e2b/e2b_priv.h"
#include "foundation/loop/loop.h"

#define E2B_BUILD_ID 32u /* characters; 128 random bits: who knows it may upload */
#define E2B_BUILD_TAGS_MAX 16u
#define E2B_BUILD_STEPS_MAX 256u
#define E2B_BUILD_FILES_MAX 64u
#define E2B_BUILD_FILE_BYTES (64u << 20)
#define E2B_BUILDS_BYTES                                                                                     \
        (256u << 20)       /* uploaded and kept, of all builds; an owner gets half of what the others leave */
#define E2B_BUILDS_MAX 64u /* likewise */
#define E2B_BUILD_HASH 64u

#define E2B_VARIABLE_USER "E2B_TEMPLATE_USER"
#define E2B_VARIABLE_WORKDIR "E2B_TEMPLATE_WORKDIR"
#define E2B_VARIABLE_START "E2B_TEMPLATE_START"
#define E2B_VARIABLE_READY "E2B_TEMPLATE_READY"

enum e2b_build_state { E2B_BUILD_WAITING, E2B_BUILD_BUILDING, E2B_BUILD_READY, E2B_BUILD_FAILED };

struct e2b_build_file { /* what a COPY copies: a tar archive, maybe packed */
        struct e2b_build_file *next;
        char hash[E2B_BUILD_HASH + 1];
        struct cay_buf bytes; /* charged to the dialect's build_bytes */
};

struct e2b_build {
        struct e2b_build *next;
        struct cay_e2b *e2b;
        struct cay_timer expiry;
        enum e2b_build_state state;
        char id[E2B_BUILD_ID + 1];
        char name[CAY_NAME_MAX + 1];                          /* of the template, without a tag */
        char snapshots[E2B_BUILD_TAGS_MAX][CAY_NAME_MAX + 1]; /* to be made: one for each tag */
        unsigned snapshot_count;
        struct cay_caller caller;
        struct cay_pass pass;             /* of the request that made it: looked at before each step */
        struct cay_budget_owner *owner;   /* who is charged for files and log; NULL: nobody counts */
        int64_t cpus, memory_mb, disk_mb; /* 0: as the base has */
        struct e2b_build_file *files;
        unsigned file_count, uploads; /* uploads: under way */
        size_t bytes;                 /* of both */
        /* the log: entries as JSON, one behind the other */
        struct cay_buf log;
        uint32_t *log_ends; /* where each ends */
        unsigned log_count, log_room;
        char reason[512], reason_step[16]; /* "": it did not fail; not at a step */
        /* while it runs: e2b_build_run.c */
        struct cay_json_in *spec; /* owned: the client's request */
        unsigned step, step_count, snapshot_at;
        char sandbox[CAY_NAME_MAX + 1], base[CAY_NAME_MAX + 1], user[8], workdir[256];
        struct cay_call *ask;
        void (*on_done)(struct e2b_build *b, const struct cay_json_value *answer); /* of that call */
        bool fails; /* the sandbox is removed, and then it has failed */
        int64_t exit_code;
        bool has_exit;
        const struct e2b_build_file *sending;
        size_t sent;
        struct cay_buf line[2];              /* of output, not whole yet: stdout, stderr */
        void (*on_end)(struct e2b_build *b); /* somebody waits for it; NULL: nobody */
        void *waiter;
};

/* NULL: refused. name: as the client wrote it, maybe with a tag; tags may be NULL. */
struct e2b_build *e2b_build_new(struct e2b_request *q, const char *name, const struct cay_json_value *tags);
struct e2b_build *e2b_build_find(struct cay_e2b *e, const char *id); /* NULL: none */
/* The newest of this template that waits for its files, of that owner. */
struct e2b_build *e2b_build_waiting(struct cay_e2b *e, const char *owner, const char *name);
/* A member: a list of its tags, or of "name:tag". */
void e2b_build_put_tags(struct cay_json *j, const char *key, const struct e2b_build *b, bool whole);
struct e2b_build_file *e2b_build_file_find(const struct e2b_build *b, const char *hash);
/*
 * Before that many bytes more are kept for a build, and when they are not. False: there is no room, and
 * nothing was noted.
 */
bool e2b_build_take_bytes(struct e2b_build *b, size_t len);
void e2b_build_give_bytes(struct e2b_build *b, size_t len);
/* Takes the bytes, in place of those that were there. -1: there are too many files; bytes is the caller's. */
int e2b_build_file_take(struct e2b_build *b, const char *hash, struct cay_buf *bytes);
void e2b_build_drop_files(struct e2b_build *b);
void e2b_build_drop(struct e2b_build *b); /* one that does not run */
void e2b_build_log(struct e2b_build *b, const char *level, const char *text, size_t len);
void e2b_build_end(struct e2b_build *b, enum e2b_build_state state); /* it is kept for an hour */
void e2b_builds_stop(struct cay_e2b *e);
void e2b_builds_free(struct cay_e2b *e);

/*
 * e2b_build_run.c. Takes spec; NULL: no steps, only other names for the base, a snapshot. -1: refused, and
 * nothing has begun.
 */
int e2b_build_run(struct e2b_build *b, struct e2b_request *q, const char *base, struct cay_json_in *spec,
                  struct cay_error *err);
