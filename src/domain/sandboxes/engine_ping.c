/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks whether engines answer. Each gets a small request again and again, one at a time. An engine that
 * misses several intervals, or reports an error, is down until it answers. So a hanging engine is known
 * before somebody waits for it.
 */
#include "foundation/base/str.h"
#include "domain/sandboxes/service_priv.h"

#define NOBODY "nobody"     /* no box has this id: real ids are random */
#define GIVE_UP_MS 3600000u /* after this the request is repeated */

static void judge(struct cay_engine_row *row, const struct cay_error *err)
{
        bool answers = err->code != CAY_UNAVAILABLE && err->code != CAY_TIMEOUT;

        row->misses = answers ? 0 : row->misses + 1;
        if (answers || row->misses >= row->service->env.ping_misses)
                cay_engine_set(row, answers, err->msg);
}

static void on_answer(struct cay_async *e, const struct cay_error *err)
{
        e->engine->ping_out = false;
        judge(e->engine, err);
}

static void ask(struct cay_engine_row *row)
{
        struct cay_async *e = cay_async_new(row->service, NULL, NULL, on_answer);
        struct cay_job *job;

        e->engine = row;
        e->local = true; /* its result is evaluated here */
        cay_str_copy(e->box.id, sizeof(e->box.id), NOBODY);
        job = cay_async_engine(e, GIVE_UP_MS);
        row->ping_out = true;
        row->engine->ops->stats(row->engine, &e->box, job);
}

static void miss(struct cay_engine_row *row)
{
        struct cay_error err = { 0 };

        cay_fail(&err, CAY_TIMEOUT, "the engine does not answer");
        judge(row, &err);
}

void cay_engine_ping(struct cay_service *s, uint64_t now_ms)
{
        for (unsigned i = 0; s->ready && i < s->engine_count; i++) {
                struct cay_engine_row *row = &s->engines[i];

                if (row->engine == NULL || now_ms < row->ping_at_ms)
                        continue;
                row->ping_at_ms = now_ms + s->env.ping_ms;
                if (row->ping_out)
                        miss(row);
                else
                        ask(row);
        }
        cay_tick_by(s, s->env.ping_ms);
}
