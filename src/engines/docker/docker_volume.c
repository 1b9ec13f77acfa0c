/* SPDX-License-Identifier: Apache-2.0 */
/* Lists page by page, and removals. */
#include "engines/docker/docker_volume.h"

#include <stdio.h>
#include <stdlib.h>

#include "foundation/base/str.h"
#include "foundation/loop/loop.h"
#include "links/helper/docker_message.h"

struct ask { /* freed with its last answer */
        struct engine_call call;
        struct engine_link *link;
        struct cay_loop *loop;
        struct cay_job *job;
        struct cay_volumes *volumes; /* NULL: it is a removal */
        struct docker_request req;
};

static void finish(struct ask *k, const struct cay_error *err)
{
        cay_job_finish(cay_loop_jobs(k->loop), k->job, err->code != CAY_OK ? err : NULL);
        free(k);
}

/*
 * cay-docker's answers are not trusted: texts are terminated, and counts checked. True: there is more to ask
 * for.
 */
static bool take_page(struct ask *k, const struct docker_volume_page *page)
{
        struct cay_volumes *v = k->volumes;
        unsigned count = page->count < DOCKER_VOLUME_ROWS ? page->count : DOCKER_VOLUME_ROWS;

        if (v->count == 0)
                v->total = page->total;
        for (unsigned i = 0; i < count && v->count < v->max; i++) {
                struct cay_volume *row = &v->rows[v->count++];

                snprintf(row->owner, sizeof(row->owner), "%.*s", CAY_NAME_MAX, page->rows[i].owner);
                snprintf(row->name, sizeof(row->name), "%.*s", CAY_NAME_MAX, page->rows[i].name);
                row->created_s = page->rows[i].created_s;
        }
        if (count == 0 || page->total <= count || v->count >= v->max)
                return false;
        cay_str_copy(k->req.volume.after_owner, sizeof(k->req.volume.after_owner),
                     v->rows[v->count - 1].owner);
        cay_str_copy(k->req.volume.name, sizeof(k->req.volume.name), v->rows[v->count - 1].name);
        return true;
}

static void on_answer(struct engine_call *call, const struct helper_answer_head *a)
{
        struct ask *k = cay_container_of(call, struct ask, call);
        const struct docker_answer *whole = (const struct docker_answer *)(const void *)a;
        struct cay_error err = { 0 };

        engine_link_read_error(k->link, a, &err);
        if (err.code == CAY_OK && k->volumes && take_page(k, &whole->volumes)) {
                engine_link_ask(k->link, &k->call, &k->req, NULL, 0);
                return;
        }
        finish(k, &err);
}

static void begin(struct engine_link *l, struct cay_loop *loop, uint32_t type, const char *owner,
                  const char *name, struct cay_volumes *ret, struct cay_job *job)
{
        struct ask *k = calloc(1, sizeof(*k));
        struct cay_error err = { 0 };

        if (!k) {
                cay_fail(&err, CAY_INTERNAL, "no memory for a request");
                cay_job_finish(cay_loop_jobs(loop), job, &err);
                return;
        }
        k->call.on_answer = on_answer;
        k->link = l;
        k->loop = loop;
        k->job = job;
        k->volumes = ret;
        k->req.type = type;
        if (!cay_str_copy(k->req.volume.owner, sizeof(k->req.volume.owner), owner) ||
            !cay_str_copy(k->req.volume.name, sizeof(k->req.volume.name), name)) {
                cay_fail(&err, CAY_INVALID, "name: it is too long");
                finish(k, &err);
                return;
        }
        engine_link_ask(l, &k->call, &k->req, NULL, 0);
}

void docker_volume_list(struct engine_link *l, struct cay_loop *loop, const char *owner,
                        struct cay_volumes *ret, struct cay_job *job)
{
        ret->count = ret->total = 0;
        begin(l, loop, DOCKER_volume_list, owner, "", ret, job);
}

void docker_volume_remove(struct engine_link *l, struct cay_loop *loop, const char *owner, const char *name,
                          struct cay_job *job)
{
        begin(l, loop, DOCKER_volume_drop, owner, name, NULL, job);
}
