/* SPDX-License-Identifier: Apache-2.0 */
#include "domain/recordings/sealed_log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "domain/auth/digest.h"

#define MAGIC "CAYREC1\n"
#define MAGIC_LEN 8u
#define SALT 32u
#define HEAD (MAGIC_LEN + SALT)
#define LENGTH 4u
#define SEALED_MAX (CAY_SEALED_LOG_ENTRY_MAX + CAY_SEAL_EXTRA)
#define READ_AHEAD (64u * 1024)

static int derive(const uint8_t seed[CAY_SEALED_LOG_SEED], const char *name, const uint8_t *salt,
                  uint8_t ret[CAY_SEAL_KEY])
{
        struct cay_secret key = { .len = CAY_SEALED_LOG_SEED };
        cay_auto_buf struct cay_buf text = { 0 };
        int r;

        cay_buf_init(&text, 1024);
        memcpy(key.bytes, seed, CAY_SEALED_LOG_SEED);
        r = cay_buf_put(&text, name, strlen(name) + 1);
        if (r == 0)
                r = cay_buf_put(&text, salt, SALT);
        if (r == 0)
                r = cay_digest_hmac(&key, cay_buf_data(&text), text.len, ret);
        cay_secret_done(&key);
        return r;
}

static void put_length(uint8_t *at, size_t len)
{
        for (unsigned i = 0; i < LENGTH; i++)
                at[i] = (uint8_t)(len >> (8 * i));
}

static size_t get_length(const uint8_t *at)
{
        return (size_t)at[0] | (size_t)at[1] << 8 | (size_t)at[2] << 16 | (size_t)at[3] << 24;
}

/* All of it, or what was written is taken back. */
static int write_whole(struct cay_sealed_log *l, const void *bytes, size_t len)
{
        ssize_t n = pwrite(l->fd, bytes, len, (off_t)l->size);
        int r = n < 0 ? -errno : (size_t)n < len ? -ENOSPC : 0;

        if (r < 0 && n > 0 && ftruncate(l->fd, (off_t)l->size) < 0)
                return -errno;
        if (r == 0)
                l->size += len;
        return r;
}

int cay_sealed_log_create(struct cay_sealed_log *l, int dir, const char *name,
                          const uint8_t seed[CAY_SEALED_LOG_SEED])
{
        uint8_t head[HEAD];
        int r;

        *l = CAY_SEALED_LOG_CLOSED;
        memcpy(head, MAGIC, MAGIC_LEN);
        r = cay_digest_random(head + MAGIC_LEN, SALT);
        if (r == 0)
                r = derive(seed, name, head + MAGIC_LEN, l->key);
        if (r < 0)
                return r;
        l->fd = openat(dir, name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (l->fd < 0)
                return -errno;
        r = write_whole(l, head, sizeof(head));
        if (r < 0) {
                cay_sealed_log_close(l);
                unlinkat(dir, name, 0);
        }
        return r;
}

int cay_sealed_log_open(struct cay_sealed_log *l, int dir, const char *name,
                        const uint8_t seed[CAY_SEALED_LOG_SEED],
                        void (*each)(void *ctx, const uint8_t *bytes, size_t len), void *ctx)
{
        struct cay_sealed_reader r = { .fd = -1 };
        const uint8_t *bytes;
        size_t len;
        int found;

        *l = CAY_SEALED_LOG_CLOSED;
        found = cay_sealed_reader_open(&r, dir, name, seed);
        while (found >= 0 && (found = cay_sealed_reader_next(&r, &bytes, &len)) > 0)
                each(ctx, bytes, len);
        if (found == 0) {
                memcpy(l->key, r.key, sizeof(l->key));
                l->entries = r.entry;
                l->size = r.at;
                l->fd = openat(dir, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
                if (l->fd < 0 || ftruncate(l->fd, (off_t)l->size) < 0)
                        found = -errno;
        }
        cay_sealed_reader_close(&r);
        if (found < 0)
                cay_sealed_log_close(l);
        return found;
}

int cay_sealed_log_add(struct cay_sealed_log *l, const void *bytes, size_t len)
{
        uint8_t *whole;
        int r;

        if (len > CAY_SEALED_LOG_ENTRY_MAX)
                return -EFBIG;
        whole = malloc(LENGTH + len + CAY_SEAL_EXTRA);
        if (!whole)
                return -ENOMEM;
        put_length(whole, len + CAY_SEAL_EXTRA);
        r = cay_seal(l->key, l->entries, bytes, len, whole + LENGTH);
        if (r == 0)
                r = write_whole(l, whole, LENGTH + len + CAY_SEAL_EXTRA);
        if (r == 0)
                l->entries++;
        free(whole);
        return r;
}

void cay_sealed_log_close(struct cay_sealed_log *l)
{
        if (l->fd >= 0)
                close(l->fd);
        l->fd = -1;
        cay_digest_wipe(l->key, sizeof(l->key));
}

/* Reading */

/* At least `len` bytes ahead: 1; fewer are left: 0. */
static int fill(struct cay_sealed_reader *r, size_t len)
{
        while (r->ahead.len < len) {
                size_t want = len - r->ahead.len > READ_AHEAD ? len - r->ahead.len : READ_AHEAD;
                char *room;
                ssize_t n;

                if (want > cay_buf_left(&r->ahead))
                        want = cay_buf_left(&r->ahead);
                room = cay_buf_room(&r->ahead, want);
                if (!room)
                        return -ENOMEM;
                n = pread(r->fd, room, want, (off_t)(r->at + r->ahead.len));
                if (n <= 0)
                        return n < 0 ? -errno : 0;
                cay_buf_added(&r->ahead, (size_t)n);
        }
        return 1;
}

int cay_sealed_reader_open(struct cay_sealed_reader *r, int dir, const char *name,
                           const uint8_t seed[CAY_SEALED_LOG_SEED])
{
        uint8_t head[HEAD];
        ssize_t n;
        int result;

        *r = (struct cay_sealed_reader){ .fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW) };
        if (r->fd < 0)
                return -errno;
        cay_buf_init(&r->ahead, SEALED_MAX + LENGTH + READ_AHEAD);
        n = pread(r->fd, head, sizeof(head), 0);
        result = n < 0                                                              ? -errno
                 : n < (ssize_t)sizeof(head) || memcmp(head, MAGIC, MAGIC_LEN) != 0 ? -EBADMSG
                                                                                    : 0;
        if (result == 0)
                result = derive(seed, name, head + MAGIC_LEN, r->key);
        r->at = HEAD;
        if (result < 0)
                cay_sealed_reader_close(r);
        return result;
}

int cay_sealed_reader_next(struct cay_sealed_reader *r, const uint8_t **ret, size_t *ret_len)
{
        size_t len;
        int n = fill(r, LENGTH);

        if (n <= 0)
                return n;
        len = get_length((const uint8_t *)cay_buf_data(&r->ahead));
        if (len < CAY_SEAL_EXTRA || len > SEALED_MAX)
                return -EBADMSG;
        n = fill(r, LENGTH + len);
        if (n <= 0)
                return n;
        free(r->open);
        r->open = malloc(len - CAY_SEAL_EXTRA + 1);
        if (!r->open)
                return -ENOMEM;
        n = cay_unseal(r->key, r->entry, cay_buf_data(&r->ahead) + LENGTH, len, r->open);
        if (n < 0)
                return n;
        cay_buf_drop(&r->ahead, LENGTH + len);
        r->at += LENGTH + len;
        r->entry++;
        *ret = r->open;
        *ret_len = len - CAY_SEAL_EXTRA;
        return 1;
}

void cay_sealed_reader_close(struct cay_sealed_reader *r)
{
        if (r->fd > 0)
                close(r->fd);
        r->fd = -1;
        cay_buf_done(&r->ahead);
        free(r->open);
        r->open = NULL;
        cay_digest_wipe(r->key, sizeof(r->key));
}
