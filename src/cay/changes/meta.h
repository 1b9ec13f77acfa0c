/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facts about a kept run besides its changes: a small text file, one "key value" per line, with fixed keys in
 * a fixed order. Pure: text to and from a struct.
 */
#pragma once

#include <limits.h>
#include <stdint.h>

#include "foundation/base/buf.h"
#include "foundation/base/id.h"
#include "cay/changes/change_set.h"

#define CAY_META_MAX (3u * PATH_MAX + 4096) /* bytes of the file */
#define CAY_META_COMMAND 160

enum cay_meta_state {
        CAY_META_RUNNING, /* or it died: its lock tells */
        CAY_META_KEPT,
};

struct cay_meta {
        char id[CAY_NAME_MAX + 1];
        enum cay_meta_state state;
        char folder[PATH_MAX]; /* absolute, as named when the run began */
        uint64_t folder_dev, folder_ino;
        char command[CAY_META_COMMAND];  /* for people: printable, cut */
        uint64_t started_ms, expires_ms; /* wall clock */
        int64_t began_ns;                /* changes in the folder after this time came from others */
        struct cay_change_counts counts;
        uint64_t left_out;
};

int cay_meta_format(const struct cay_meta *m, struct cay_buf *ret); /* 0 or -ENOSPC, -ENOMEM */
int cay_meta_parse(const char *text, size_t len,
                   struct cay_meta *ret); /* 0 or -EINVAL: only accepts what _format writes */
/* "make -j2 'a b'": the command line for people. */
void cay_meta_set_command(struct cay_meta *m, const char *const *argv);
