/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file of encrypted entries that only grows.
 *
 * Format. 8 bytes of magic, 32 random bytes, then entries: a length (4 bytes, little-endian) and so many
 * sealed bytes (domain/auth/seal.h), bound to the number of the entry. The key is an HMAC of the daemon's
 * seed over the name and the random bytes, so an entry of one file opens in no other. An entry that was
 * changed, moved or removed in the middle is damage; a cut end is not noticed. What a death left of an entry
 * is dropped when the file is opened for writing again.
 */
#pragma once

#include <stdbool.h>

#include "domain/auth/seal.h"
#include "foundation/base/buf.h"

#define CAY_SEALED_LOG_SEED 32u
#define CAY_SEALED_LOG_ENTRY_MAX (512u * 1024) /* bytes of an entry, not sealed */

struct cay_sealed_log {
        int fd; /* owned; -1: closed */
        uint8_t key[CAY_SEAL_KEY];
        uint64_t entries, size; /* of whole ones; bytes of the file */
};

#define CAY_SEALED_LOG_CLOSED ((struct cay_sealed_log){ .fd = -1 })

/* A new file in this folder, readable by this process's user alone. 0 or -errno. */
int cay_sealed_log_create(struct cay_sealed_log *l, int dir, const char *name,
                          const uint8_t seed[CAY_SEALED_LOG_SEED]);
/*
 * One that is there, behind its last whole entry; each is told. -ENOENT; -EBADMSG: it is no such file, or was
 * changed.
 */
int cay_sealed_log_open(struct cay_sealed_log *l, int dir, const char *name,
                        const uint8_t seed[CAY_SEALED_LOG_SEED],
                        void (*each)(void *ctx, const uint8_t *bytes, size_t len), void *ctx);
/* Nothing is appended where it fails. -EFBIG: longer than CAY_SEALED_LOG_ENTRY_MAX. */
int cay_sealed_log_add(struct cay_sealed_log *l, const void *bytes, size_t len);
void cay_sealed_log_close(struct cay_sealed_log *l); /* may be called twice */

struct cay_sealed_reader {
        int fd; /* owned; -1: closed */
        uint8_t key[CAY_SEAL_KEY];
        uint64_t entry, at; /* the next one, and where it begins */
        struct cay_buf ahead;
        uint8_t *open; /* owned: the entry that was read last */
};

/* Beside a writer of the same file: reads what is there. */
int cay_sealed_reader_open(struct cay_sealed_reader *r, int dir, const char *name,
                           const uint8_t seed[CAY_SEALED_LOG_SEED]);
/* 1: an entry, valid until the next call; 0: no whole one is left; -EBADMSG: damage; -errno. */
int cay_sealed_reader_next(struct cay_sealed_reader *r, const uint8_t **ret, size_t *ret_len);
void cay_sealed_reader_close(struct cay_sealed_reader *r); /* accepts a zeroed one that was never opened */
