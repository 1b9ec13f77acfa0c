/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The figures of a daemon at one moment, and their two forms. Viewers of the whole service (admin, and the
 * owner in the setting metrics_owner) get the figures of all. Others get the same members for their own
 * sandboxes, without the daemon's own figures: queue, answers, database. `used` (what live sandboxes use)
 * covers up to CAY_METRICS_MEASURED of them.
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
        uint64_t now_ms;              /* monotonic: the end of the last hour */
        const uint64_t *http_answers; /* as in struct cay_op_world */
};

extern const struct cay_result_table cay_result_metrics; /* struct cay_metrics */
/* Parts of it. */
extern const struct cay_result_table cay_result_metric_sandboxes;
extern const struct cay_result_table cay_result_metric_used;
extern const struct cay_result_table cay_result_histogram; /* struct cay_histogram */
/* Appends Prometheus' text format; 0 or -errno. */
#define CAY_METRICS_TYPE "text/plain; version=0.0.4; charset=utf-8"
#define CAY_METRICS_TEXT_MAX (256u * 1024)
int cay_metrics_put_text(const struct cay_metrics *m, struct cay_buf *out);
