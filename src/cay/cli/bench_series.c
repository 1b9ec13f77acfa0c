/* SPDX-License-Identifier: Apache-2.0 */
/* Times, sorted as they come. */
#include "cay/cli/bench_series.h"

#include <stdlib.h>
#include <string.h>

bool cay_series_open(struct cay_series *s, unsigned max)
{
        *s = (struct cay_series){ .ns = calloc(max, sizeof(*s->ns)), .max = max };
        return s->ns != NULL;
}

void cay_series_close(struct cay_series *s)
{
        free(s->ns);
        s->ns = NULL;
        s->count = 0;
}

void cay_series_add(struct cay_series *s, uint64_t ns)
{
        unsigned at = s->count;

        if (s->count == s->max)
                return;
        while (at > 0 && s->ns[at - 1] > ns)
                at--;
        memmove(&s->ns[at + 1], &s->ns[at], (s->count - at) * sizeof(*s->ns));
        s->ns[at] = ns;
        s->count++;
}

uint64_t cay_series_ns(const struct cay_series *s, unsigned percent)
{
        unsigned nr = (s->count * percent + 99) / 100;

        if (s->count == 0)
                return 0;
        return s->ns[nr > 0 ? nr - 1 : 0];
}
