/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tar streams of strangers: header blocks, pax records and the whole unpacking with actions that only look.
 * The first byte says what the rest is and how it is cut in pieces, so that checksums (which no fuzzer
 * guesses) can be set right.
 */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "foundation/base/files_text.h"
#include "cay-init/archive_plan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(condition)                                                                                      \
        do {                                                                                                 \
                if (!(condition))                                                                            \
                        abort();                                                                             \
        } while (0)

enum { MODE_HEADER, MODE_PAX, MODE_NAME, MODE_STREAM, MODE_COUNT };
enum { MAX_BYTES = 100000, MAX_ENTRIES = 200 };

/* --- Actions that hold the plan to its word --- */

static struct fake {
        struct cay_archive_actions actions;
        uint64_t left; /* of the file being written */
        uint64_t bytes, entries;
        bool in_file;
} fake;

static void path_must_be_plain(const char *path)
{
        size_t n;

        MUST(path[0] != '\0' && strlen(path) <= CAY_TAR_NAME_MAX);
        for (;; path += n + 1) {
                n = strcspn(path, "/");
                MUST(n > 0 && n <= 255);
                MUST(!(n == 1 && path[0] == '.') && !(n == 2 && path[0] == '.' && path[1] == '.'));
                if (!path[n])
                        return;
        }
}

static void entry_must_be_allowed(const char *path, const struct cay_tar_member *m)
{
        MUST(!fake.in_file);
        path_must_be_plain(path);
        MUST(++fake.entries <= MAX_ENTRIES);
        MUST((m->mode & ~0777u) == 0 && m->mtime_ns < 1000000000);
}

static int on_directory(struct cay_archive_actions *a, const char *path, const struct cay_tar_member *m,
                        struct cay_error *err)
{
        entry_must_be_allowed(path, m);
        MUST(m->size == 0);
        return 0;
}

static int on_file_begin(struct cay_archive_actions *a, const char *path, const struct cay_tar_member *m,
                         struct cay_error *err)
{
        entry_must_be_allowed(path, m);
        MUST(m->size <= MAX_BYTES - fake.bytes);
        fake.bytes += m->size;
        fake.left = m->size;
        fake.in_file = true;
        return 0;
}

static int on_file_data(struct cay_archive_actions *a, const void *bytes, size_t len, struct cay_error *err)
{
        MUST(fake.in_file && len > 0 && len <= fake.left);
        fake.left -= len;
        return 0;
}

static int on_file_hole(struct cay_archive_actions *a, uint64_t len, struct cay_error *err)
{
        MUST(fake.in_file && len > 0 && len <= fake.left);
        fake.left -= len;
        return 0;
}

static int on_file_end(struct cay_archive_actions *a, struct cay_error *err)
{
        MUST(fake.in_file && fake.left == 0);
        fake.in_file = false;
        return 0;
}

static int on_symlink(struct cay_archive_actions *a, const char *path, const struct cay_tar_member *m,
                      struct cay_error *err)
{
        entry_must_be_allowed(path, m);
        MUST(m->link[0] != '\0' && strlen(m->link) <= CAY_TAR_NAME_MAX);
        return 0;
}

static int on_link(struct cay_archive_actions *a, const char *path, const char *target, struct cay_error *err)
{
        MUST(!fake.in_file);
        path_must_be_plain(path);
        path_must_be_plain(target);
        MUST(++fake.entries <= MAX_ENTRIES);
        return 0;
}

static const struct cay_archive_action_ops ops = { on_directory, on_file_begin, on_file_data, on_file_hole,
                                                   on_file_end,  on_symlink,    on_link };

/* --- The four ways in --- */

static void checksum_fix(uint8_t *block)
{
        unsigned sum = 0;

        memset(block + 148, ' ', 8);
        for (unsigned i = 0; i < CAY_TAR_BLOCK; i++)
                sum += block[i];
        snprintf((char *)block + 148, 8, "%06o", sum);
}

/* What was read is written again, and read back the same. */
static void header_try(const uint8_t *data, size_t size, bool fix)
{
        static uint8_t out[CAY_TAR_HEADERS_MAX];
        uint8_t block[CAY_TAR_BLOCK] = { 0 };
        struct cay_tar_header h, again;
        struct cay_tar_member m;
        int n;

        memcpy(block, data, size < sizeof(block) ? size : sizeof(block));
        if (fix)
                checksum_fix(block);
        if (cay_tar_header_parse(block, &h) != 1)
                return;
        MUST(strlen(h.name) < sizeof(h.name) && strlen(h.link) < sizeof(h.link));
        MUST(h.size <= UINT64_C(1) << 62 && h.type < CAY_TAR_TYPE_COUNT);
        m = (struct cay_tar_member){ h.type, h.mode & 0777, h.size, h.mtime_s, 0, h.name, h.link };
        n = cay_tar_member_format(&m, out, sizeof(out));
        if (n == CAY_TAR_BLOCK) {
                MUST(cay_tar_header_parse(out, &again) == 1);
                MUST(again.type == h.type && again.size == h.size && again.mtime_s == h.mtime_s);
                MUST(strcmp(again.name, h.name) == 0 && strcmp(again.link, h.link) == 0);
        }
}

static void pax_try(const uint8_t *data, size_t size)
{
        /* An exact block of memory: one byte too far is seen. */
        char *mem = malloc(size > 0 ? size : 1);
        struct cay_tar_pax p;

        MUST(mem);
        memcpy(mem, data, size);
        if (cay_tar_pax_parse(mem, size, &p) == 0) {
                MUST(!p.has_path ||
                     (p.path.len > 0 && p.path.ptr >= mem && p.path.ptr + p.path.len <= mem + size));
                MUST(!p.has_link ||
                     (p.link.len > 0 && p.link.ptr >= mem && p.link.ptr + p.link.len <= mem + size));
                MUST(!p.has_path || !memchr(p.path.ptr, 0, p.path.len));
                MUST(p.mtime_ns < 1000000000);
        }
        free(mem);
}

static void name_try(const uint8_t *data, size_t size)
{
        static char clean[CAY_TAR_NAME_MAX + 1], again[CAY_TAR_NAME_MAX + 1];
        char *name = malloc(size + 1);
        struct cay_files_text t;
        const char *why = NULL;
        int n;

        MUST(name);
        memcpy(name, data, size);
        name[size] = '\0';
        n = cay_archive_path_clean(name, clean, &why);
        MUST(n >= 0 || why);
        if (n > 0) {
                path_must_be_plain(clean);
                MUST(cay_archive_path_clean(clean, again, &why) == n && strcmp(clean, again) == 0);
        }
        for (const char *c = cay_files_quote(&t, name); *c; c++)
                MUST(*c >= ' ' && *c <= '~');
        free(name);
}

static void stream_try(const uint8_t *data, size_t size, bool fix, size_t piece)
{
        static struct cay_archive_plan plan;
        struct cay_error err = { .code = CAY_OK };
        uint8_t *bytes = malloc(size > 0 ? size : 1);
        int r = 0;

        MUST(bytes);
        memcpy(bytes, data, size);
        fake = (struct fake){ .actions = { &ops } };
        cay_archive_plan_init(&plan, &fake.actions, MAX_BYTES, MAX_ENTRIES);
        for (size_t at = 0; r == 0 && at < size;) {
                size_t n = size - at < piece ? size - at : piece;
                uint8_t *part;

                /* Set right the checksum of what will be taken for a header, unless it is all zeros. */
                if (fix && plan.reader.state == CAY_TAR_AT_HEADER && plan.reader.have == 0 &&
                    size - at >= CAY_TAR_BLOCK) {
                        if (bytes[at])
                                checksum_fix(bytes + at);
                        n = CAY_TAR_BLOCK;
                } else if (fix) {
                        uint64_t rest = plan.reader.left + plan.reader.padding; /* up to the next header */

                        if (rest > 0 && rest < n)
                                n = (size_t)rest;
                }
                part = malloc(n);
                MUST(part);
                memcpy(part, bytes + at, n);
                r = cay_archive_plan_feed(&plan, part, n, &err);
                free(part);
                at += n;
        }
        if (r == 0)
                r = cay_archive_plan_finish(&plan, &err);
        if (r < 0) {
                MUST(err.code != CAY_OK && err.msg[0]);
                for (const char *c = err.msg; *c; c++)
                        MUST(*c >= ' ' && *c <= '~');
        } else {
                MUST(err.code == CAY_OK && !fake.in_file);
        }
        free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        bool fix;
        size_t piece;

        if (size == 0)
                return 0;
        fix = data[0] & 4;
        piece = (size_t)1 << (data[0] >> 3 & 15);
        switch (data[0] % MODE_COUNT) {
        case MODE_HEADER:
                header_try(data + 1, size - 1, fix);
                break;
        case MODE_PAX:
                pax_try(data + 1, size - 1);
                break;
        case MODE_NAME:
                name_try(data + 1, size - 1);
                break;
        default:
                stream_try(data + 1, size - 1, fix, piece);
                break;
        }
        return 0;
}
