/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Change sets as a hostile box could send them, and the two small texts around them. The first byte says what
 * the rest is, and whether checksums (which no fuzzer guesses) are set right. Whatever is taken must hold all
 * that change_set.h promises.
 */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cay/changes/change_set.h"
#include "cay/changes/meta.h"
#include "foundation/tar/tar_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(condition)                                                                                      \
        do {                                                                                                 \
                if (!(condition))                                                                            \
                        abort();                                                                             \
        } while (0)

enum { MODE_SET, MODE_BASE, MODE_META, MODE_COUNT };

/* --- Checksums --- */

static int take_member(struct cay_tar_sink *sink, const struct cay_tar_member *m, struct cay_error *err)
{
        return 0;
}

static int take_data(struct cay_tar_sink *sink, const void *bytes, size_t len, struct cay_error *err)
{
        return 0;
}

static int take_end(struct cay_tar_sink *sink, struct cay_error *err)
{
        return 0;
}

static void checksum_fix(uint8_t *block)
{
        unsigned sum = 0;

        memset(block + 148, ' ', 8);
        for (unsigned i = 0; i < CAY_TAR_BLOCK; i++)
                sum += block[i];
        snprintf((char *)block + 148, 8, "%06o", sum);
}

/* Every block that the reader will take for a header. */
static void checksums_fix(uint8_t *bytes, size_t size)
{
        static const struct cay_tar_sink_ops ops = { take_member, take_data, take_end };
        static struct cay_tar_reader reader;
        struct cay_tar_sink sink = { &ops };
        struct cay_error err = { .code = CAY_OK };

        cay_tar_reader_init(&reader, &sink);
        for (size_t at = 0, n; at < size; at += n) {
                uint64_t rest = reader.left + reader.padding;

                n = size - at;
                if (reader.state == CAY_TAR_AT_HEADER && reader.have == 0 && n >= CAY_TAR_BLOCK) {
                        if (bytes[at])
                                checksum_fix(bytes + at);
                        n = CAY_TAR_BLOCK;
                } else if (rest > 0 && rest < n) {
                        n = (size_t)rest;
                }
                if (cay_tar_reader_feed(&reader, bytes + at, n, &err) < 0)
                        return;
        }
}

/* --- Sets --- */

static void entry_must_be_right(struct cay_change_set *set, size_t i, size_t file_size)
{
        const struct cay_change *c = cay_change_set_at(set, i), *before = i > 0 ? c - 1 : NULL;
        char byte;

        MUST(cay_change_path_is_valid(c->path) && c->path[0] != '/');
        MUST(strncmp(c->path, "../", 3) != 0 && strstr(c->path, "/../") == NULL);
        MUST(before == NULL || cay_change_compare(before->path, c->path) < 0);
        MUST(cay_change_set_find(set, c->path) == c);
        MUST(c->is_selected && (c->mode & ~0777u) == 0);
        MUST(strchr("AMTD", cay_change_status(c)) != NULL);
        switch (c->type) {
        case CAY_CHANGE_NONE:
                MUST(c->base.type != CAY_CHANGE_NONE && c->size == 0);
                break;
        case CAY_CHANGE_FILE:
                MUST(c->size == 0 || (c->data_at < file_size && c->size <= file_size - c->data_at));
                MUST(cay_change_set_read(set, c, 0, &byte, 1) == (c->size > 0));
                MUST(cay_change_set_read(set, c, c->size, &byte, 1) == 0);
                break;
        case CAY_CHANGE_SYMLINK:
                MUST(c->target[0] != '\0' && strlen(c->target) <= CAY_CHANGE_PATH_MAX);
                break;
        default:
                MUST(c->type == CAY_CHANGE_DIRECTORY);
        }
        /* Nothing lies inside what is no directory now. */
        if (before != NULL && c->type != CAY_CHANGE_NONE && cay_change_is_below(c->path, before->path))
                MUST(before->type == CAY_CHANGE_DIRECTORY);
}

static void set_try(const uint8_t *data, size_t size, bool fix)
{
        uint8_t *bytes = malloc(size > 0 ? size : 1);
        struct cay_change_set *set = NULL;
        struct cay_change_counts counts;
        struct cay_error err = { .code = CAY_OK };
        int fd = memfd_create("set", MFD_CLOEXEC);

        MUST(bytes != NULL && fd >= 0);
        memcpy(bytes, data, size);
        if (fix)
                checksums_fix(bytes, size);
        MUST(write(fd, bytes, size) == (ssize_t)size);
        if (cay_change_set_open(fd, &set, &err) < 0) {
                MUST(err.code != CAY_OK && err.msg[0]);
                for (const char *c = err.msg; *c; c++)
                        MUST(*c >= ' ' && *c <= '~');
        } else {
                for (size_t i = 0; i < cay_change_set_count(set); i++)
                        entry_must_be_right(set, i, size);
                cay_change_set_counts(set, &counts);
                MUST(counts.added + counts.changed + counts.removed <= cay_change_set_count(set));
                if (cay_change_set_count(set) > 0) {
                        const char *path = cay_change_set_at(set, cay_change_set_count(set) - 1)->path;

                        MUST(cay_change_set_select(set, &path, 1, &err) == 0);
                        MUST(cay_change_set_find(set, path)->is_selected);
                }
        }
        cay_change_set_free(set);
        close(fd);
        free(bytes);
}

/* --- Texts: what is taken is what would be written --- */

static void base_try(const uint8_t *data, size_t size)
{
        char *text = malloc(size + 1), again[CAY_TAR_BASE_MAX + 1];
        struct cay_change_base base;

        MUST(text != NULL);
        memcpy(text, data, size);
        text[size] = '\0';
        if (cay_change_base_parse(text, &base) == 0) {
                cay_change_base_format(&base, again);
                MUST(strcmp(text, again) == 0);
        }
        free(text);
}

static void meta_try(const uint8_t *data, size_t size)
{
        static struct cay_meta meta, again;
        struct cay_buf text;

        if (cay_meta_parse((const char *)data, size, &meta) < 0)
                return;
        MUST(meta.folder[0] == '/' && cay_id_is_valid(meta.id));
        cay_buf_init(&text, CAY_META_MAX);
        MUST(cay_meta_format(&meta, &text) == 0);
        MUST(cay_meta_parse(cay_buf_data(&text), text.len, &again) == 0);
        MUST(strcmp(meta.folder, again.folder) == 0 && strcmp(meta.command, again.command) == 0);
        MUST(meta.expires_ms == again.expires_ms && meta.began_ns == again.began_ns);
        cay_buf_done(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        if (size == 0)
                return 0;
        switch (data[0] % 4 % MODE_COUNT) {
        case MODE_SET:
                set_try(data + 1, size - 1, data[0] & 4);
                break;
        case MODE_BASE:
                base_try(data + 1, size - 1);
                break;
        default:
                meta_try(data + 1, size - 1);
        }
        return 0;
}
