/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The steps of a run, its own and its engine's, in the order they were reached; and the words of test builds.
 */
#include "libcay/run_priv.h"
#include "links/helper/layers.h"

#define STEPS_MAX (2 * CAY_STEP_COUNT)

struct trace {
        struct point {
                const char *who, *step;
                uint64_t ns;
        } points[STEPS_MAX];
        unsigned count;
};

static void collect(void *ctx, const char *who, const char *step, uint64_t ns)
{
        struct trace *t = ctx;
        unsigned i = t->count;

        if (t->count == STEPS_MAX || ns == 0)
                return;
        for (; i > 0 && t->points[i - 1].ns > ns; i--)
                t->points[i] = t->points[i - 1];
        t->points[i] = (struct point){ .who = who, .step = step, .ns = ns };
        t->count++;
}

void cay_run_trace(struct cay_run *run,
                   void (*each)(void *ctx, const char *who, const char *step, uint64_t ns), void *ctx)
{
        struct trace t = { .count = 0 };

        for (unsigned i = 0; i < CAY_STEP_COUNT; i++)
                if (cay_step_who(i) == CAY_WHO_CLI)
                        collect(&t, "cli", cay_step_name(i), run->steps.at_ns[i]);
        if (run->engine != NULL && run->ops->trace != NULL)
                run->ops->trace(run->engine, collect, &t);
        for (unsigned i = 0; i < t.count; i++)
                each(ctx, t.points[i].who, t.points[i].step, t.points[i].ns - t.points[0].ns);
}

#ifdef CAY_TEST_HOOKS
int cay_run_parse_layers(const char *option, const char *text, unsigned *ret_mask, struct cay_error *err)
{
        int64_t mask = cay_layers_parse(text);

        if (mask < 0)
                return cay_fail(err, CAY_INVALID, "%s: '%.80s' names a layer that does not exist", option,
                                text);
        *ret_mask = (unsigned)mask;
        return 0;
}
#endif
