/* SPDX-License-Identifier: Apache-2.0 */
/* What an engine needs to know to make a sandbox. Plain values; strings and descriptors are borrowed for the call. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/id.h"
#include "core/limits.h"

enum cay_template_kind {
        CAY_TEMPLATE_HOST,   /* the machine's own /usr */
        CAY_TEMPLATE_ROOTFS, /* a directory */
};

enum cay_workspace_mode {
        CAY_WORKSPACE_RO,
        CAY_WORKSPACE_RW,
        CAY_WORKSPACE_COW, /* writable, but the folder stays as it is: what was changed is a change set afterwards */
};

#define CAY_SPEC_BELOW_MAX 1023

struct cay_spec {
        char id[CAY_NAME_MAX + 1];
        enum cay_template_kind template_kind;
        int rootfs_fd;    /* O_PATH directory for CAY_TEMPLATE_ROOTFS, else -1 */
        int workspace_fd; /* directory mapped to /workspace, or -1: empty */
        /* By whose right, where the caller is a daemon's front that an engine does not take at its word: */
        int workspace_peer;          /* connection of the client that passed workspace_fd; 0 or -1: none */
        unsigned workspace_root;     /* in place of workspace_fd: one of workspace_roots, from 1; 0: none */
        const char *workspace_below; /* and the path below it, at most CAY_SPEC_BELOW_MAX bytes */
        bool workspace_rw,
                workspace_cow; /* neither: read-only. cow: writable, but the folder stays as it is */
        bool read_only;        /* root read-only; /workspace, /tmp and /dev/shm stay writable */
        bool one_shot;         /* ends with its first command */
        bool keep;       /* the writable layer is to outlive the box, where the engine can (port_engine.h) */
        bool go_on;      /* with keep: the layer that an earlier box of this id left, and no other */
        bool host_plain; /* no command will run as root: the host's trees need no writable layer (cheaper) */
        struct cay_limits limits;
        unsigned may_skip; /* limits (mask) that need not hold on this host */
        unsigned test_off; /* layers switched off; test builds only */
        /* For engines that take images, and label what they make; each may be NULL. */
        const char *image; /* NULL: the engine's own */
        const char *owner, *template_name;
};

int cay_spec_check(const struct cay_spec *spec, struct cay_error *err);

/* "host", "rootfs:DIR", or DIR (with a '/' in it, so that a mistyped word is no folder); ret_dir points into text. */
int cay_spec_parse_template(const char *text, enum cay_template_kind *ret_kind, const char **ret_dir,
                            struct cay_error *err);
/* "DIR[:ro|:rw|:cow]": how long DIR is and what may be done to it. Read-only unless asked for: the safe default. */
int cay_spec_parse_workspace(const char *text, size_t *ret_dir_len, enum cay_workspace_mode *ret_mode,
                             struct cay_error *err);
