/* SPDX-License-Identifier: Apache-2.0 */
/* The table of workers: one row of workers.def per kind. */
#include "cay-init/worker.h"

static const struct cay_worker workers[CAY_BOX_KIND_COUNT] = {
#define CAY_WORKER(kind, used, function) [CAY_BOX_##kind] = { .streams = used, .run = function },
#include "cay-init/workers.def"
#undef CAY_WORKER
};

const struct cay_worker *cay_worker_find(unsigned kind)
{
        return kind < CAY_COUNT(workers) && workers[kind].run ? &workers[kind] : NULL;
}
