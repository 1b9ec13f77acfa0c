/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A browser's downloads as one zip archive: the complete files, under their names. One file is read after the
 * other, and each piece is sent on as it comes; a slow client slows the box down. A file that cannot be read
 * any more ends the archive early, which its client notices.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "domain/browser/browser.h"
#include "domain/ops/files.h"
#include "domain/ops/op.h"
#include "domain/ops/view.h"
#include "foundation/base/str.h"
#include "foundation/compress/zip.h"

#define BYTES_MAX (1ull << 30)
#define HEADS_MAX (4u << 20)

struct args {
        const char *id;
};

struct one {
        char guid[40], name[300];
        uint64_t wall_s;
};

struct packing {
        struct cay_op_call *call;
        struct cay_service_channel ch;
        struct cay_deferred release;
        struct cay_zip zip;
        struct cay_buf head; /* records of the archive */
        char sandbox[CAY_NAME_MAX + 1];
        struct one *files; /* owned */
        unsigned count, at;
        size_t unacked;
};

static void release(struct cay_deferred *d)
{
        struct packing *p = cay_container_of(d, struct packing, release);

        cay_zip_done(&p->zip);
        cay_buf_done(&p->head);
        free(p->files);
        free(p);
}

static struct cay_op_call *finish(struct packing *p)
{
        struct cay_op_call *c = cay_take(p->call);

        cay_service_channel_close(&p->ch);
        c->on_gone = NULL;
        c->on_drain = NULL;
        p->release.run = release;
        cay_loop_defer(c->world->loop, &p->release);
        return c;
}

static void cut(struct packing *p)
{
        cay_op_abort(finish(p));
}

/* How much is buffered; negative: it cannot go on. */
static ssize_t send_head(struct packing *p)
{
        ssize_t r = p->head.len > 0 ? cay_op_write(p->call, cay_buf_data(&p->head), p->head.len) : 0;

        cay_buf_clear(&p->head);
        return r;
}

static void next_file(struct packing *p);

static void on_data(struct cay_service_channel *ch, const void *bytes, size_t len)
{
        struct packing *p = cay_container_of(ch, struct packing, ch);
        ssize_t queued = cay_zip_bytes(&p->zip, bytes, len) < 0 ? -1 : cay_op_write(p->call, bytes, len);

        if (queued < 0) {
                cut(p);
                return;
        }
        p->unacked += len;
        if (queued < (ssize_t)CAY_OP_HIGH) {
                cay_service_channel_ack(ch, p->unacked);
                p->unacked = 0;
        }
}

static void on_end(struct cay_service_channel *ch, const struct cay_box_end *end, const struct cay_error *err)
{
        struct packing *p = cay_container_of(ch, struct packing, ch);

        p->unacked = 0;
        if (!end || (err && err->code != CAY_OK) || cay_zip_end(&p->zip, &p->head) < 0 || send_head(p) < 0) {
                cut(p);
                return;
        }
        p->at++;
        next_file(p);
}

static void next_file(struct packing *p)
{
        struct cay_viewer viewer = cay_op_viewer(p->call);
        const struct one *one = &p->files[p->at];
        char path[sizeof(CAY_BROWSER_DOWNLOADS) + 64];
        struct cay_box_open open;
        struct cay_error err = { 0 };

        if (p->at == p->count) {
                if (cay_zip_finish(&p->zip, &p->head) < 0 || send_head(p) < 0)
                        cut(p);
                else
                        cay_op_end(finish(p));
                return;
        }
        snprintf(path, sizeof(path), "%s/%s", CAY_BROWSER_DOWNLOADS, one->guid);
        open = cay_op_file_open(CAY_BOX_READ, path, false);
        p->ch = (struct cay_service_channel){ .on_data = on_data, .on_end = on_end };
        if (cay_zip_begin(&p->zip, one->name, one->wall_s, &p->head) < 0 || send_head(p) < 0 ||
            cay_service_channel_open(p->call->world->service, &viewer, p->sandbox, &open, &p->ch, &err) < 0)
                cut(p);
}

static void on_drain(struct cay_op_call *c)
{
        struct packing *p = c->state;

        if (p->unacked == 0)
                return;
        cay_service_channel_ack(&p->ch, p->unacked);
        p->unacked = 0;
}

static void on_gone(struct cay_op_call *c)
{
        cut(c->state);
}

/* Two files of one name get numbers: "a.txt", "a (2).txt". */
static void name_file(struct packing *p, struct one *one, const char *name)
{
        const char *dot = strrchr(name, '.');
        size_t stem = dot && dot > name ? (size_t)(dot - name) : strlen(name);
        unsigned nr = 1;

        snprintf(one->name, sizeof(one->name), "%s", name);
        for (unsigned i = 0; i < p->count; i++) {
                if (strcmp(p->files[i].name, one->name) != 0)
                        continue;
                snprintf(one->name, sizeof(one->name), "%.*s (%u)%s", (int)stem, name, ++nr, name + stem);
                i = UINT32_MAX; /* from the beginning */
        }
}

static int choose_files(struct packing *p, const struct cay_downloads *d, struct cay_error *err)
{
        uint64_t bytes = 0;

        p->files = calloc(d->count + 1, sizeof(*p->files));
        if (!p->files)
                return cay_fail(err, CAY_LIMIT, "no memory for this archive; try again");
        for (unsigned i = 0; i < d->count; i++) {
                const struct cay_download *item = &d->items[i];
                struct one *one = &p->files[p->count];

                if (item->state != CAY_DOWNLOAD_COMPLETED)
                        continue;
                name_file(p, one, item->name);
                cay_str_copy(one->guid, sizeof(one->guid), item->guid);
                one->wall_s = item->wall_ms / 1000;
                bytes += item->bytes;
                p->count++;
        }
        if (bytes > BYTES_MAX)
                return cay_fail_because(
                        err, CAY_LIMIT, CAY_REASON_TOO_LARGE,
                        "the downloads are too large for one archive: %llu MiB, and at most %llu "
                        "MiB are packed; read the files one by one",
                        (unsigned long long)(bytes >> 20), (unsigned long long)(BYTES_MAX >> 20));
        return 0;
}

static int fill(struct packing *p, struct cay_error *err)
{
        const struct args *a = p->call->args;
        struct cay_viewer viewer = cay_op_viewer(p->call);
        struct cay_browser_kept kept;

        if (cay_browser_kept(p->call->world->browsers, &viewer, a->id, &kept, err) < 0)
                return -1;
        cay_str_copy(p->sandbox, sizeof(p->sandbox), kept.sandbox);
        cay_buf_init(&p->head, HEADS_MAX);
        return choose_files(p, kept.downloads, err);
}

static void run_zip(struct cay_op_call *c)
{
        static const struct cay_op_bytes head = { .type = "application/zip",
                                                  .length = CAY_OP_UNKNOWN_LENGTH,
                                                  .name = "downloads.zip" };
        struct packing *p = calloc(1, sizeof(*p));
        struct cay_error err = { 0 };

        if (!p) {
                cay_op_fail_memory(c);
                return;
        }
        p->call = c;
        if (fill(p, &err) < 0) {
                cay_op_fail(finish(p), &err, err.code == CAY_NOT_FOUND ? "id" : NULL);
                return;
        }
        c->state = p;
        c->on_gone = on_gone;
        c->on_drain = on_drain;
        if (cay_op_begin(c, &head) == 0)
                next_file(p);
}

static const struct cay_field fields[] = { CAY_OP_SANDBOX_FIELD(struct args, id), {} };

const struct cay_op cay_op_browser_downloads_zip = {
        .name = "browser_downloads_zip",
        .route = "GET /api/sandboxes/{id}/browser/downloads.zip",
        .doc = "Returns all complete downloads of a browser as a zip archive (at most 1 GiB), also for five "
               "minutes after "
               "its end",
        .scope = CAY_SCOPE_READ,
        .flags = CAY_OP_STREAM | CAY_OP_BYTES | CAY_OP_INSIDE,
        .fields = fields,
        .args_size = sizeof(struct args),
        .bytes = "application/zip",
        .run = run_zip,
};
