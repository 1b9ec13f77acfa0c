/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The keeper's part in the registry: it has the right to read the file, and outlives every front.
 *
 * Theory of operation. The file is copied unparsed into a sealed memory file. The front parses it, without
 * privileges, and reports whether it accepted the text. An accepted text is kept, and the next front gets it
 * even if the file has changed meanwhile. So a mistake in the file can neither stop a running daemon nor keep
 * a front from starting. A text without a verdict is handed out once.
 */
#pragma once

#include <stdbool.h>

#include "foundation/base/error.h"
#include "cay/keeper/hand_over.h"

struct cay_registry_text {
        int fd;     /* sealed; -1: none */
        int folder; /* the file's folder: O_PATH */
};

struct cay_registry_keep {
        struct cay_registry_text good; /* a front accepted it */
        struct cay_registry_text next; /* read, no verdict yet */
        uint32_t serial;               /* of next */
        bool was_sent;                 /* next */
};

#define CAY_REGISTRY_KEEP_NONE ((struct cay_registry_keep){ .good = { -1, -1 }, .next = { -1, -1 } })

/* Reads the file; "" means none and is no error. If it cannot be read, the previous text stays. */
int cay_registry_keep_read(struct cay_registry_keep *k, const char *path, struct cay_error *err);
/* The folder of the newest text, below which the warden allows root file systems; -1: none. */
int cay_registry_keep_folder(const struct cay_registry_keep *k);
/*
 * Sends the newest text to a front; at its start, the accepted one if there is no newer. Returns 0 or -errno.
 */
int cay_registry_keep_send(struct cay_registry_keep *k, int sock);
/* A front is about to start: drops a text without a verdict, which may have crashed the previous front. */
void cay_registry_keep_before_front(struct cay_registry_keep *k);
void cay_registry_keep_on_verdict(struct cay_registry_keep *k, const struct cay_hand_verdict *v);
void cay_registry_keep_done(struct cay_registry_keep *k);
