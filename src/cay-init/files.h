/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the file workers (read, write, list, …: functions named in workers.def) share. They run as the
 * sandbox's user inside the sandbox's own root, so a path given by the caller is resolved as a command in the
 * sandbox would resolve it, links included: it can reach nothing that a command could not. Operations on
 * whole trees (remove, chmod, archives) never follow a link.
 */
#pragma once

#include <stdbool.h>
#include <sys/stat.h>

#include "foundation/base/error.h"
#include "links/box/message.h"
#include "cay-init/worker.h"

#define CAY_FILES_BUFFER (64u * 1024)

/*
 * Relative paths start here: "/workspace". Changed before the first worker by an engine without its own root,
 * and by tests.
 */
extern const char *cay_files_base;

/* A path that a system call can take: absolute, or below the descriptor. */
struct cay_files_at {
        int fd; /* AT_FDCWD or owned */
        const char *path;
};

int cay_files_at_open(struct cay_files_at *at, const char *path, struct cay_error *err);
void cay_files_at_done(struct cay_files_at *at);
#define cay_auto_at cay_auto(cay_files_at_done)

/*
 * The directory that holds path's last component (owned by the caller, O_PATH) and that component, which is a
 * real name.
 */
int cay_files_parent_open(const char *path, int *ret_fd, char ret_name[256], struct cay_error *err);

/*
 * Makes missing directories of path, the last component too if `all`; *ret_made counts them for
 * cay_files_parents_undo.
 */
int cay_files_parents_make(const char *path, bool all, unsigned *ret_made, struct cay_error *err);
void cay_files_parents_undo(const char *path, bool all, unsigned made);

/* "WHAT 'path': why", with the code that the errno calls for. Returns -1. */
int cay_files_fail(struct cay_error *err, int neg_errno, const char *what, const char *path);
enum cay_code cay_files_code(int neg_errno);

/* Passes an error or a result to the worker's caller. */
void cay_files_answer(struct cay_worker_result *ret, const struct cay_error *err);
void cay_files_answer_stat(struct cay_worker_result *ret, const struct stat *st, const char *name);
uint32_t cay_files_type(mode_t mode);                        /* enum cay_box_file_type */
int64_t cay_files_mtime_ns(const struct stat *st);           /* clamped to what 64 bits hold */
bool cay_files_has_tag(const struct stat *st, uint64_t tag); /* cay_box_file_tag's */
const char *cay_files_last_name(const char *path);           /* for the result: "" if there is none */

struct cay_dent { /* what getdents64 gives: linux_dirent64 */
        uint64_t ino;
        int64_t off;
        uint16_t reclen;
        uint8_t type;
        char name[];
};
