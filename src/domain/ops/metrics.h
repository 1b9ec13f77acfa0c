/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The figures of a daemon at one moment, and their two forms. Who sees the whole service (admin, and the setting metrics_owner's) gets
 * those of all; others get the same members with what is their own, and without the daemon's own figures: queue, answers, database.
 * What live sandboxes use (`used`) is of up to CAY_METRICS_MEASURED of them.
 */
#pragma once

#include "domain/ops/op.h"

#define CAY_METRICS_MEASURED 256u

struct cay_metrics {
        bool is_whole; /* of the whole service; else of one owner */
        struct cay_service_health health;
        const struct cay_service_meter *meter;
        struct cay_metrics_used {
                uint64_t sandboxes; /* that were measured */
                uint64_t memory_bytes, memory_limit_bytes, cpu_us, pids;
        } used;
        unsigned waiting; /* creates that wait for a template's limit */
        uint64_t started_wall_ms;
        uint64_t now_ms;              /* monotonic: which hour is the last one */
        const uint64_t *http_answers; /* as in struct cay_op_world */
};

void cay_metrics_put_json(const struct cay_metrics *m, struct cay_json *j); /* members of an open object */
/* Prometheus' text format, appended; 0 or -errno. */
#define CAY_METRICS_TYPE "text/plain; version=0.0.4; charset=utf-8"
#define CAY_METRICS_TEXT_MAX (256u * 1024)
int cay_metrics_put_text(const struct cay_metrics *m, struct cay_buf *out);
