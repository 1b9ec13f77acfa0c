/* SPDX-License-Identifier: Apache-2.0 */
/* Volumes of owners; the theory is in volumes.h. */
#include "cay-docker/volumes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cay-docker/broker.h"
#include "foundation/base/str.h"

enum step { LISTING, LOOKING, REMOVING };

struct docker_volume_task {
        struct docker_volume_task *next;
        struct docker_broker *broker;
        unsigned front_serial;
        struct docker_request req;
        enum step step;
        struct docker_call call;
        char path[512];
        struct cay_deferred release;
};

/* Reading */

static const char *text(const struct cay_json_value *object, const char *name)
{
        const char *value = cay_json_value_text(cay_json_value_find(object, name));

        return value ? value : "";
}

/* "2026-11-18T14:03:23Z", or with an offset; 0: none that is understood. */
static int64_t read_time(const char *said)
{
        struct tm tm = { 0 };
        const char *zone;
        int hours = 0, minutes = 0;

        zone = strptime(said, "%Y-%m-%dT%H:%M:%S", &tm);
        if (!zone)
                return 0;
        if (*zone == '.')
                zone += 1 + strspn(zone + 1, "0123456789");
        if ((*zone == '+' || *zone == '-') && sscanf(zone + 1, "%2d:%2d", &hours, &minutes) != 2)
                return 0;
        return (int64_t)timegm(&tm) - (*zone == '-' ? -1 : 1) * (hours * 3600 + minutes * 60);
}

static int compare(const struct docker_volume_row *a, const struct docker_volume_row *b)
{
        int r = strcmp(a->owner, b->owner);

        return r != 0 ? r : strcmp(a->name, b->name);
}

static bool read_one(const struct cay_json_value *one, const struct docker_options *o,
                     struct docker_volume_row *ret)
{
        const struct cay_json_value *labels = cay_json_value_find(one, "Labels");

        *ret = (struct docker_volume_row){ .created_s = read_time(text(one, "CreatedAt")) };
        return cay_str_copy(ret->name, sizeof(ret->name), text(labels, "cay.volume")) &&
               cay_str_copy(ret->owner, sizeof(ret->owner), text(labels, "cay.owner")) &&
               docker_volume_is_ours(o, ret->owner, ret->name, one);
}

/* Keeps the first ones behind `after`, in order. */
static void add(struct docker_volume_page *page, const struct docker_volume_row *row)
{
        unsigned at = page->count;

        page->total++;
        while (at > 0 && compare(&page->rows[at - 1], row) > 0)
                at--;
        if (at == DOCKER_VOLUME_ROWS)
                return;
        if (page->count < DOCKER_VOLUME_ROWS)
                page->count++;
        memmove(&page->rows[at + 1], &page->rows[at], (page->count - at - 1) * sizeof(page->rows[0]));
        page->rows[at] = *row;
}

void docker_volumes_read(const struct cay_json_value *answer, const struct docker_options *o,
                         const char *owner, const struct docker_volume_row *after,
                         struct docker_volume_page *ret)
{
        const struct cay_json_value *list = cay_json_value_find(answer, "Volumes");
        struct docker_volume_row row;

        *ret = (struct docker_volume_page){ 0 };
        for (size_t i = 0; i < cay_json_value_count(list); i++)
                if (read_one(cay_json_value_at(list, i), o, &row) &&
                    (!owner[0] || strcmp(row.owner, owner) == 0) && compare(&row, after) > 0)
                        add(ret, &row);
}

/* Ends */

static void release(struct cay_deferred *d)
{
        free(cay_container_of(d, struct docker_volume_task, release));
}

static void let_go(struct docker_volume_task *t)
{
        struct docker_broker *b = t->broker;

        for (struct docker_volume_task **at = &b->volume_tasks; *at; at = &(*at)->next) {
                if (*at == t) {
                        *at = t->next;
                        break;
                }
        }
        docker_call_abort(&t->call);
        docker_call_done(&t->call);
        t->release.run = release;
        cay_loop_defer(b->loop, &t->release);
}

static void finish(struct docker_volume_task *t, struct docker_answer *a, const struct cay_error *err)
{
        a->type = t->req.type;
        a->seq = t->req.seq;
        a->code = err->code;
        a->sys = err->sys;
        cay_str_copy(a->text, sizeof(a->text), err->msg);
        if (t->front_serial == t->broker->server.serial)
                docker_broker_answer(t->broker, a);
        let_go(t);
}

static void fail(struct docker_volume_task *t, const struct cay_error *err)
{
        struct docker_answer a = { 0 };

        finish(t, &a, err);
}

/* Steps */

static void on_answer(struct docker_call *c);

static void ask(struct docker_volume_task *t, enum step step, enum cay_http_method method)
{
        /* A removal that is repeated finds nothing: that is what was asked for, and is told as such. */
        struct docker_call_request req = { .method = method,
                                           .path = t->path,
                                           .repeatable = method == CAY_HTTP_GET };

        t->step = step;
        t->call.on_done = on_answer;
        docker_call_begin(&t->call, &t->broker->api, &req);
}

static void no_such(struct docker_volume_task *t)
{
        struct cay_error err = { 0 };

        cay_fail(&err, CAY_NOT_FOUND, "there is no volume '%s'", t->req.volume.name);
        fail(t, &err);
}

static void on_listed(struct docker_volume_task *t, const struct cay_json_value *answer)
{
        struct docker_answer a = { 0 };
        struct docker_volume_row after = { 0 };
        const struct cay_error fine = { 0 };

        cay_str_copy(after.owner, sizeof(after.owner), t->req.volume.after_owner);
        cay_str_copy(after.name, sizeof(after.name), t->req.volume.name);
        docker_volumes_read(answer, &t->broker->options, t->req.volume.owner, &after, &a.volumes);
        finish(t, &a, &fine);
}

static void on_looked(struct docker_volume_task *t, const struct cay_json_value *volume)
{
        if (docker_volume_is_ours(&t->broker->options, t->req.volume.owner, t->req.volume.name, volume))
                ask(t, REMOVING, CAY_HTTP_DELETE);
        else
                no_such(t);
}

static void on_removed(struct docker_volume_task *t)
{
        struct cay_error err = { 0 };

        if (t->call.status == 409)
                cay_fail(&err, CAY_CONFLICT,
                         "volume '%s' belongs to a sandbox that exists, running or stopped: destroy that "
                         "first",
                         t->req.volume.name);
        fail(t, &err);
}

static void on_answer(struct docker_call *c)
{
        struct docker_volume_task *t = cay_container_of(c, struct docker_volume_task, call);
        cay_auto(cay_json_in_freep) struct cay_json_in *doc = NULL;
        struct cay_error err = { 0 };

        if (c->status == 404 && t->step != LISTING) {
                no_such(t);
        } else if (t->step == REMOVING && (c->status == 204 || c->status == 409)) {
                on_removed(t);
        } else if (c->status != 200) {
                docker_call_fail(c, t->step == REMOVING ? "remove the volume" : "ask for volumes", &err);
                fail(t, &err);
        } else if (cay_json_in_parse(cay_buf_data(&c->body), c->body.len, NULL, &doc, &err) < 0) {
                cay_wrap(&err, "Docker's answer about volumes");
                err.code = CAY_INTERNAL;
                fail(t, &err);
        } else if (t->step == LISTING) {
                on_listed(t, cay_json_in_root(doc));
        } else {
                on_looked(t, cay_json_in_root(doc));
        }
}

/* Requests: nothing in one is trusted to end */

static int check(const struct docker_broker *b, const struct docker_request *req, struct cay_error *err)
{
        unsigned count = 0;

        for (const struct docker_volume_task *t = b->volume_tasks; t; t = t->next)
                count++;
        if (count > DOCKER_VOLUME_TASKS_MAX)
                return cay_fail(err, CAY_LIMIT, "too many requests about volumes are pending; try again");
        if (strnlen(req->volume.owner, DOCKER_WORD) == DOCKER_WORD ||
            strnlen(req->volume.after_owner, DOCKER_WORD) == DOCKER_WORD ||
            strnlen(req->volume.name, sizeof(req->volume.name)) == sizeof(req->volume.name))
                return cay_fail(err, CAY_INVALID, "a name does not end");
        if (req->type == DOCKER_volume_drop && (!req->volume.owner[0] || !cay_id_is_valid(req->volume.name)))
                return cay_fail(err, CAY_INVALID, "a volume's name has only a-z, 0-9 and '-'");
        return 0;
}

static void begin(struct docker_volume_task *t)
{
        char name[DOCKER_VOLUME_NAME];

        if (t->req.type == DOCKER_volume_list) {
                /* {"label":["cay.volume","cay.instance=…"]}: an instance is an id, and needs no code */
                snprintf(t->path, sizeof(t->path),
                         "/volumes?filters=%%7B%%22label%%22%%3A%%5B%%22cay.volume%%22%%2C%%22cay.instance%%"
                         "3D%s%%22%%5D%%7D",
                         t->broker->options.instance);
                ask(t, LISTING, CAY_HTTP_GET);
                return;
        }
        docker_volume_name(&t->broker->options, t->req.volume.owner, t->req.volume.name, name);
        snprintf(t->path, sizeof(t->path), "/volumes/%s", name);
        ask(t, LOOKING, CAY_HTTP_GET);
}

void docker_volumes_serve(struct docker_broker *b, const struct docker_request *req)
{
        struct docker_volume_task *t = calloc(1, sizeof(*t));
        struct docker_answer a = { .type = req->type, .seq = req->seq, .code = CAY_LIMIT };
        struct cay_error err = { 0 };

        if (!t) {
                cay_str_copy(a.text, sizeof(a.text), "no memory for a request");
                docker_broker_answer(b, &a);
                return;
        }
        t->broker = b;
        t->front_serial = b->server.serial;
        t->req = *req;
        t->next = b->volume_tasks;
        b->volume_tasks = t;
        if (check(b, req, &err) < 0)
                fail(t, &err);
        else
                begin(t);
}

void docker_volumes_done(struct docker_broker *b)
{
        while (b->volume_tasks)
                let_go(b->volume_tasks);
}
