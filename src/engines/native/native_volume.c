/* SPDX-License-Identifier: Apache-2.0 */
/* Lists page by page, and removals. */
#include "engines/native/native_volume.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "foundation/base/str.h"
#include "foundation/loop/loop.h"

#define PAGES_MAX (1u << 16)

int native_volumes_put(const struct cay_spec *spec, struct wire_plan *p, struct cay_error *err)
{
        if (spec->volume_count == 0)
                return 0;
        p->volume_count = spec->volume_count; /* cay_spec_check: at most WIRE_VOLUMES */
        p->volumes_max = spec->volumes_max > 0 ? spec->volumes_max : UINT32_MAX;
        p->volume_bytes = spec->volume_bytes;
        if (!cay_str_copy(p->volume_owner, sizeof(p->volume_owner), spec->owner ? spec->owner : ""))
                return cay_fail(err, CAY_INVALID, "volumes: their owner has at most %u bytes", CAY_NAME_MAX);
        for (unsigned i = 0; i < spec->volume_count; i++) {
                struct wire_volume *v = &p->volumes[i];

                v->read_only = spec->volumes[i].read_only;
                v->is_layer = spec->volumes[i].is_layer;
                if (!cay_str_copy(v->name, sizeof(v->name), spec->volumes[i].name) ||
                    !cay_str_copy(v->target, sizeof(v->target), spec->volumes[i].target))
                        return cay_fail(err, CAY_INVALID, "volumes: a name or a place is too long");
        }
        return 0;
}

struct ask { /* freed with its last answer */
        struct engine_call call;
        struct engine_link *link;
        struct cay_loop *loop;
        struct cay_job *job;
        struct cay_volumes *volumes; /* NULL: it is a removal */
        char owner[CAY_NAME_MAX + 1];
        unsigned pages;
        struct wire_request req;
};

static int compare(const void *a, const void *b)
{
        const struct cay_volume *one = a, *other = b;
        int r = strcmp(one->owner, other->owner);

        return r != 0 ? r : strcmp(one->name, other->name);
}

static void finish(struct ask *k, const struct cay_error *err)
{
        if (k->volumes)
                qsort(k->volumes->rows, k->volumes->count, sizeof(k->volumes->rows[0]), compare);
        cay_job_finish(cay_loop_jobs(k->loop), k->job, err->code != CAY_OK ? err : NULL);
        free(k);
}

static void take_row(struct ask *k, const struct wire_volume_row *row)
{
        struct cay_volumes *v = k->volumes;
        struct cay_volume *to;

        if (k->owner[0] && strcmp(k->owner, row->owner) != 0)
                return;
        v->total++;
        if (v->count == v->max)
                return;
        to = &v->rows[v->count++];
        *to = (struct cay_volume){ .created_s = row->created_s,
                                   .is_measured = true,
                                   .size_bytes = row->bytes,
                                   .used_bytes = row->used_bytes };
        snprintf(to->owner, sizeof(to->owner), "%.*s", CAY_NAME_MAX, row->owner);
        snprintf(to->name, sizeof(to->name), "%.*s", CAY_NAME_MAX, row->name);
}

/* True: there is more to ask for. */
static bool take_page(struct ask *k, const struct wire_answer *a)
{
        for (unsigned i = 0; i < a->volumes.count && i < WIRE_VOLUME_ROWS; i++)
                take_row(k, &a->volumes.rows[i]);
        k->req.layers.from = a->volumes.next;
        return a->volumes.more && ++k->pages < PAGES_MAX;
}

static void on_answer(struct engine_call *call, const struct helper_answer_head *a)
{
        struct ask *k = cay_container_of(call, struct ask, call);
        struct cay_error err = { 0 };

        engine_link_read_error(k->link, a, &err);
        if (err.code == CAY_OK && k->volumes && take_page(k, (const void *)a)) {
                engine_link_ask(k->link, &k->call, &k->req, NULL, 0);
                return;
        }
        finish(k, &err);
}

static struct ask *new_ask(struct engine_link *l, struct cay_loop *loop, uint32_t type, struct cay_job *job)
{
        struct ask *k = calloc(1, sizeof(*k));
        struct cay_error err = { 0 };

        if (!k) {
                cay_fail(&err, CAY_INTERNAL, "no memory for a request");
                cay_job_finish(cay_loop_jobs(loop), job, &err);
                return NULL;
        }
        k->call.on_answer = on_answer;
        k->link = l;
        k->loop = loop;
        k->job = job;
        k->req.type = type;
        return k;
}

void native_volume_list(struct engine_link *l, struct cay_loop *loop, const char *owner,
                        struct cay_volumes *ret, struct cay_job *job)
{
        struct ask *k = new_ask(l, loop, WIRE_volume_list, job);

        ret->count = ret->total = 0;
        if (!k)
                return;
        k->volumes = ret;
        cay_str_copy(k->owner, sizeof(k->owner), owner);
        engine_link_ask(l, &k->call, &k->req, NULL, 0);
}

void native_volume_remove(struct engine_link *l, struct cay_loop *loop, const char *owner, const char *name,
                          struct cay_job *job)
{
        struct ask *k = new_ask(l, loop, WIRE_volume_drop, job);
        struct cay_error err = { 0 };

        if (!k)
                return;
        if (!cay_str_copy(k->req.volume.owner, sizeof(k->req.volume.owner), owner) ||
            !cay_str_copy(k->req.volume.name, sizeof(k->req.volume.name), name)) {
                cay_fail(&err, CAY_INVALID, "name: it is too long");
                finish(k, &err);
                return;
        }
        engine_link_ask(l, &k->call, &k->req, NULL, 0);
}
