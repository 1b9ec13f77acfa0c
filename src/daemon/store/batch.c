/* SPDX-License-Identifier: Apache-2.0 */
/* Batches: a list of copies. */

#include "daemon/store/batch.h"

#include "daemon/store/record.h"

struct cay_store_batch *cay_batch_new(void)
{
        struct cay_store_batch *b = calloc(1, sizeof(*b));

        if (!b)
                return NULL;
        cay_arena_init(&b->mem, CAY_STORE_BATCH_MAX);
        b->last = &b->first;
        return b;
}

void cay_batch_free(struct cay_store_batch *b)
{
        if (!b)
                return;
        cay_arena_done(&b->mem);
        free(b);
}

static struct cay_change *add(struct cay_store_batch *b, enum cay_store_kind kind)
{
        struct cay_change *c = b->err.code == CAY_OK ? cay_arena_alloc(&b->mem, sizeof(*c)) : NULL;

        if (!c)
                return NULL;
        c->kind = kind;
        *b->last = c;
        b->last = &c->next;
        return c;
}

static void too_much(struct cay_store_batch *b)
{
        if (b->err.code == CAY_OK)
                cay_fail(&b->err, CAY_LIMIT, "too much to store at once: at most %u bytes",
                         CAY_STORE_BATCH_MAX);
}

void cay_batch_put(struct cay_store_batch *b, enum cay_store_kind kind, const void *record)
{
        struct cay_change *c = b ? add(b, kind) : NULL;
        bool too_long = false;

        if (!b)
                return;
        if (c)
                c->record = cay_record_copy(cay_record_table(kind), record, &b->mem, &too_long);
        if (too_long)
                cay_fail(&b->err, CAY_LIMIT, "a text is too long to store: at most %u bytes",
                         CAY_STORE_TEXT_MAX);
        else if (!c || !c->record)
                too_much(b);
}

void cay_batch_drop(struct cay_store_batch *b, enum cay_store_kind kind, const char *id)
{
        struct cay_change *c = b ? add(b, kind) : NULL;

        if (!b)
                return;
        if (c)
                c->drop = cay_arena_copy(&b->mem, id, strnlen(id, CAY_STORE_TEXT_MAX));
        if (!c || !c->drop)
                too_much(b);
        else if (!cay_record_table(kind)->is_dropped)
                cay_fail(&b->err, CAY_INTERNAL, "%s are not dropped singly", cay_record_table(kind)->name);
        b->drops = true;
}
