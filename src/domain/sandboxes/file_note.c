/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is changed in the files of a sandbox from outside, for its journal and its recording: one note for
 * each channel that changes files, with the digest of all bytes that are written through it. The event is
 * stored right after the end, which does not wait for it.
 */
#include "domain/auth/digest.h"
#include "domain/sandboxes/channel.h"
#include "domain/sandboxes/service_priv.h"
#include "foundation/base/str.h"
#include "foundation/base/utf8.h"

#define PATH_MAX_TOLD 1000u /* bytes of a path in the journal */

struct cay_file_note {
        unsigned kind;
        uint64_t number; /* in the recording; 0: it is in none */
        uint64_t bytes;
        struct cay_digest *sum; /* owned; NULL: nothing is written through it */
        char by[CAY_SERVICE_BY_MAX + 1];
        char path[PATH_MAX_TOLD + 1], path2[PATH_MAX_TOLD + 1];
};

static const char *const words[] = {
        [CAY_BOX_MKDIR] = "folder made",       [CAY_BOX_MOVE] = "moved",        [CAY_BOX_REMOVE] = "removed",
        [CAY_BOX_CHMOD] = "mode changed",      [CAY_BOX_SYMLINK] = "link made", [CAY_BOX_WRITE] = "",
        [CAY_BOX_TAR_IN] = "archive unpacked",
};

bool cay_file_note_is_for(unsigned kind)
{
        return kind < CAY_COUNT(words) && words[kind] != NULL;
}

static bool has_bytes(unsigned kind)
{
        return kind == CAY_BOX_WRITE || kind == CAY_BOX_TAR_IN;
}

static void copy_path(char ret[PATH_MAX_TOLD + 1], const struct cay_view *path)
{
        size_t len = path->len < PATH_MAX_TOLD ? path->len : PATH_MAX_TOLD;

        if (len > 0)
                memcpy(ret, path->ptr, len);
        ret[len] = '\0';
        if (len < path->len)
                ret[cay_utf8_cut(ret, len)] = '\0';
}

void cay_file_note_begin(struct cay_service_channel *ch, const struct cay_viewer *v,
                         const struct cay_box_open *open)
{
        struct cay_file_note *n = cay_service_alloc(sizeof(*n));

        n->kind = open->kind;
        n->sum = has_bytes(open->kind) ? cay_digest_new() : NULL;
        n->number = cay_recording_file(ch->sandbox, open);
        copy_path(n->path, &open->file.path);
        copy_path(n->path2, &open->file.path2);
        cay_str_copy(n->by, sizeof(n->by), v->by != NULL ? v->by : "");
        ch->note = n;
}

void cay_file_note_data(struct cay_service_channel *ch, const void *bytes, size_t len)
{
        struct cay_file_note *n = ch->note;

        if (n == NULL || len == 0)
                return;
        n->bytes += len;
        if (n->sum != NULL)
                (void)cay_digest_add(n->sum, bytes, len);
        if (n->number > 0)
                cay_recording_file_data(ch->sandbox, n->number, bytes, len);
}

static void on_told(struct cay_async *e, const struct cay_error *err)
{
        if (err->code != CAY_OK)
                cay_service_log_unstored(e->service, "change of files", e->box.id, err);
}

static void tell(struct cay_sandbox *sb, const struct cay_file_note *n, const char *digest)
{
        struct cay_service *s = sb->service;
        struct cay_async *e;
        struct cay_store_batch *b;
        char bytes[24] = "";

        if (!cay_sandbox_is_stored(sb))
                return;
        if (has_bytes(n->kind))
                snprintf(bytes, sizeof(bytes), "%llu", (unsigned long long)n->bytes);
        e = cay_async_new(s, sb, NULL, on_told);
        b = s->store->ops->begin(s->store);
        cay_event_put(e, b, sb, n->kind == CAY_BOX_WRITE ? CAY_EVENT_FILE_WRITTEN : CAY_EVENT_FILES_CHANGED,
                      "what", words[n->kind], "path", n->path, "to", n->path2, "bytes", bytes, "sha256",
                      digest, "by", n->by, NULL);
        cay_async_commit(e, b);
}

void cay_file_note_end(struct cay_service_channel *ch, unsigned code)
{
        struct cay_file_note *n = cay_take(ch->note);
        struct cay_sandbox *sb = ch->sandbox;
        uint8_t digest[CAY_DIGEST_SIZE];
        char text[2 * CAY_DIGEST_SIZE + 1] = "";

        if (n == NULL)
                return;
        if (n->sum != NULL && cay_digest_end(n->sum, digest) == 0)
                cay_digest_text(digest, text);
        if (n->number > 0)
                cay_recording_file_end(sb, n->number, code, n->bytes, text);
        if (code == CAY_OK)
                tell(sb, n, text);
        cay_digest_free(n->sum);
        free(n);
}
