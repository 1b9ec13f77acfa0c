/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Open streams, so that they can be ended when the daemon stops: otherwise they would last as long as their
 * clients listen.
 */
#pragma once

#include <stddef.h>

struct cay_rest_stream {                         /* embedded, zeroed: not in a list */
        void (*stop)(struct cay_rest_stream *s); /* it is out of the list already */
        struct cay_rest_stream *next, **back;
};

static inline void cay_rest_stream_add(struct cay_rest_stream **list, struct cay_rest_stream *s)
{
        s->next = *list;
        s->back = list;
        if (s->next)
                s->next->back = &s->next;
        *list = s;
}

static inline void cay_rest_stream_remove(struct cay_rest_stream *s) /* fine when in none */
{
        if (!s->back)
                return;
        *s->back = s->next;
        if (s->next)
                s->next->back = s->back;
        s->back = NULL;
}
