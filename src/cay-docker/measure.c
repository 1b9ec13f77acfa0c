/* SPDX-License-Identifier: Apache-2.0 */
/* Figures of boxes; the theory is in measure.h. */
#include "cay-docker/measure.h"

#include <stdio.h>
#include <stdlib.h>

#include "foundation/base/str.h"
#include "cay-docker/no_init.h"
#include "foundation/json/json_in.h"

struct docker_measure {
        struct docker_broker *broker;
        struct docker_box *box; /* borrowed; owns this one */
        struct docker_call call;
        struct cay_deferred release;
        struct {
                uint32_t seq;
                unsigned front_serial;
        } askers[DOCKER_MEASURE_ASKERS_MAX];
        unsigned count;
};

/* Answers */

static void answer(struct docker_broker *b, uint32_t seq, const char *id, const struct docker_stats *stats,
                   const struct cay_error *err)
{
        struct docker_answer a = { .type = DOCKER_box_stat, .seq = seq, .code = err->code, .sys = err->sys };

        cay_str_copy(a.box.id, sizeof(a.box.id), id);
        cay_str_copy(a.text, sizeof(a.text), err->msg);
        if (stats)
                a.box.stats = *stats;
        docker_broker_answer(b, &a);
}

static void release_measure(struct cay_deferred *d)
{
        free(cay_container_of(d, struct docker_measure, release));
}

/* It ends here: everybody who waits is told. */
static void finish(struct docker_measure *m, const struct docker_stats *stats, const struct cay_error *err)
{
        struct docker_broker *b = m->broker;

        for (unsigned i = 0; i < m->count; i++)
                if (m->askers[i].front_serial == b->server.serial)
                        answer(b, m->askers[i].seq, m->box->id, stats, err);
        m->box->measure = NULL;
        docker_call_abort(&m->call);
        m->release.run = release_measure;
        cay_loop_defer(b->loop, &m->release);
}

void docker_measure_let_go(struct docker_broker *b, struct docker_box *box, const char *why)
{
        struct cay_error err = { 0 };

        if (!box->measure)
                return;
        cay_fail(&err, CAY_CONFLICT, "box '%s' %s before its figures were read; try again", box->id, why);
        finish(box->measure, NULL, &err);
}

static uint64_t number(const struct cay_json_value *object, const char *name)
{
        int64_t value = 0;

        return cay_json_value_i64(cay_json_value_find(object, name), &value) && value > 0 ? (uint64_t)value
                                                                                          : 0;
}

/* One row per network; its loopback is not among them. */
static bool add_network(void *ctx, const char *name, const struct cay_json_value *network)
{
        struct docker_stats *s = ctx;

        s->rx_bytes += number(network, "rx_bytes");
        s->tx_bytes += number(network, "tx_bytes");
        return true;
}

static int read_stats(const struct docker_measure *m, struct docker_stats *ret, struct cay_error *err)
{
        cay_auto(cay_json_in_freep) struct cay_json_in *doc = NULL;
        const struct cay_json_value *root, *memory, *cpu;
        struct cay_error bad = { 0 };

        if (cay_json_in_parse(cay_buf_data(&m->call.body), m->call.body.len, NULL, &doc, &bad) < 0)
                return cay_fail(err, CAY_INTERNAL, "measure the container: Docker's answer is not JSON");
        root = cay_json_in_root(doc);
        memory = cay_json_value_find(root, "memory_stats");
        cpu = cay_json_value_find(cay_json_value_find(root, "cpu_stats"), "cpu_usage");
        *ret = (struct docker_stats){
                .memory_bytes = number(memory, "usage"),
                .memory_peak_bytes = number(memory, "max_usage"),
                .oom_kills = m->box->oom_kills,
                .pids = number(cay_json_value_find(root, "pids_stats"), "current"),
                .cpu_us = number(cpu, "total_usage") / 1000,
        };
        cay_json_value_each(cay_json_value_find(root, "networks"), add_network, ret);
        return 0;
}

static void on_answer(struct docker_call *c)
{
        struct docker_measure *m = cay_container_of(c, struct docker_measure, call);
        struct docker_stats stats = { 0 };
        struct cay_error err = { 0 };

        if (c->status != 200)
                docker_call_fail(c, "measure the container", &err);
        else
                read_stats(m, &stats, &err);
        finish(m, err.code == CAY_OK ? &stats : NULL, &err);
}

/* Questions */

static struct docker_measure *begin(struct docker_broker *b, struct docker_box *box)
{
        struct docker_call_request req = { .method = CAY_HTTP_GET, .repeatable = true };
        struct docker_measure *m = calloc(1, sizeof(*m));
        char path[DOCKER_CONTAINER + 64];

        if (!m)
                return NULL;
        m->broker = b;
        m->box = box;
        box->measure = m;
        m->call.on_done = on_answer;
        snprintf(path, sizeof(path), "/containers/%s/stats?stream=false&one-shot=true", box->container);
        req.path = path;
        docker_call_begin(&m->call, &b->api, &req);
        return m;
}

/* Whether Docker is to be asked; else it is answered with err, which may be fine. */
static bool check(struct docker_broker *b, const char *id, struct docker_box **ret, struct cay_error *err)
{
        struct docker_box *box = docker_box_find(b, id);

        if (!b->has_facts)
                cay_fail(err, CAY_UNAVAILABLE, "Docker has not answered yet: %s", b->sync.why.msg);
        else if (!box)
                cay_fail(err, CAY_NOT_FOUND, "no box '%s'", id);
        else if (box->making && !box->no_init)
                cay_fail(err, CAY_CONFLICT, "box '%s' is still being made", id);
        else if (box->ending)
                cay_fail(err, CAY_CONFLICT, "box '%s' is being stopped", id);
        else if (box->measure && box->measure->count == DOCKER_MEASURE_ASKERS_MAX)
                cay_fail(err, CAY_LIMIT, "%u requests wait for the figures of box '%s' already",
                         DOCKER_MEASURE_ASKERS_MAX, id);
        *ret = box;
        /* One without init has no container before its command comes: nothing to be measured. */
        return err->code == CAY_OK && box->container[0] != '\0';
}

void docker_measure_ask(struct docker_broker *b, const struct docker_request *req)
{
        const struct docker_stats none = { 0 };
        struct cay_error err = { 0 };
        struct docker_measure *m;
        struct docker_box *box;
        char id[CAY_NAME_MAX + 1];

        snprintf(id, sizeof(id), "%.*s", CAY_NAME_MAX, req->box.id);
        if (!check(b, id, &box, &err)) {
                answer(b, req->seq, id, err.code == CAY_OK ? &none : NULL, &err);
                return;
        }
        m = box->measure ? box->measure : begin(b, box);
        if (!m) {
                cay_fail(&err, CAY_INTERNAL, "no memory for a request");
                answer(b, req->seq, id, NULL, &err);
                return;
        }
        m->askers[m->count].seq = req->seq;
        m->askers[m->count++].front_serial = b->server.serial;
}
