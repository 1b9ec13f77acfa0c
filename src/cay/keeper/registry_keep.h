/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The keeper's part in the registry: it has the rights to read the file, and outlives every front.
 *
 * Theory of operation. The file is copied into a sealed memory file without a look at what is in it; that is the front's work,
 * which has no rights. The front says whether it took the text. One that was taken is kept: the next front gets that, and not what the file
 * has become meanwhile, so a mistake in the file can neither stop a daemon that runs nor keep a front from coming back. A text that no
 * front has judged yet is handed out once.
 */
#pragma once

#include <stdbool.h>

#include "foundation/base/error.h"
#include "cay/keeper/hand_over.h"

struct cay_registry_text {
        int fd;     /* sealed; -1: none */
        int folder; /* that the file is in: O_PATH */
};

struct cay_registry_keep {
        struct cay_registry_text good; /* a front took it */
        struct cay_registry_text next; /* read, not judged */
        uint32_t serial;               /* of next */
        bool was_sent;                 /* next */
};

#define CAY_REGISTRY_KEEP_NONE ((struct cay_registry_keep){ .good = { -1, -1 }, .next = { -1, -1 } })

/* Reads the file; "" is no file and no error. The one before stays when it cannot be read. */
int cay_registry_keep_read(struct cay_registry_keep *k, const char *path, struct cay_error *err);
/* The folder of the newest text, below which the warden lets boxes have their roots; -1: none. */
int cay_registry_keep_folder(const struct cay_registry_keep *k);
/* To a front: what is to be judged (or, at its start, what is good). 0 or -errno. */
int cay_registry_keep_send(struct cay_registry_keep *k, int sock);
/* A front is to be started: what the last one never judged has perhaps cost it its life. */
void cay_registry_keep_before_front(struct cay_registry_keep *k);
void cay_registry_keep_on_verdict(struct cay_registry_keep *k, const struct cay_hand_verdict *v);
void cay_registry_keep_done(struct cay_registry_keep *k);
