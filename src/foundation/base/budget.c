/* SPDX-License-Identifier: Apache-2.0 */
/* Counters of memory; the rule is in budget.h. */
#include "foundation/base/budget.h"

#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { OWNER_PART = 2 };

/* What counts above it. */
static size_t shown(const struct cay_budget *b)
{
        return b->used > b->small ? b->used - b->small : 0;
}

/* What its parent may still be asked for on its behalf: n with (shown + n) * part ≤ room - n. */
static size_t room_above(const struct cay_budget *b)
{
        size_t room, part = b->part ? b->part : 1, own = shown(b) * part;

        if (!b->parent)
                return b->max > b->used ? b->max - b->used : 0;
        room = room_above(b->parent);
        return room > own ? (room - own) / (part + 1) : 0;
}

size_t cay_budget_room(const struct cay_budget *b)
{
        if (!b)
                return SIZE_MAX;
        return room_above(b) + (b->parent && b->used < b->small ? b->small - b->used : 0);
}

void cay_budget_add(struct cay_budget *b, size_t bytes)
{
        for (; b; b = b->parent) {
                size_t before = shown(b);

                b->used += bytes;
                bytes = shown(b) - before;
        }
}

int cay_budget_take(struct cay_budget *b, size_t bytes)
{
        if (bytes > cay_budget_room(b))
                return -ENOBUFS;
        cay_budget_add(b, bytes);
        return 0;
}

void cay_budget_give(struct cay_budget *b, size_t bytes)
{
        for (; b; b = b->parent) {
                size_t before = shown(b);

                assert(bytes <= b->used);
                b->used -= bytes;
                bytes = before - shown(b);
        }
}

void cay_budget_move(struct cay_budget *b, struct cay_budget *parent)
{
        size_t own = shown(b);

        if (b->parent == parent)
                return;
        cay_budget_give(b->parent, own);
        b->parent = parent;
        cay_budget_add(parent, own);
}

/* Owners */

void cay_budgets_init(struct cay_budgets *all, size_t max)
{
        *all = (struct cay_budgets){ .all = { .max = max } };
}

static void link_first(struct cay_budgets *all, struct cay_budget_owner *o)
{
        o->next = all->owners;
        o->back = &all->owners;
        if (o->next)
                o->next->back = &o->next;
        all->owners = o;
}

static void unlink_owner(struct cay_budget_owner *o)
{
        *o->back = o->next;
        if (o->next)
                o->next->back = o->back;
}

struct cay_budget_owner *cay_budget_owner_get(struct cay_budgets *all, const char *name)
{
        struct cay_budget_owner *o = all->owners;
        size_t len = strlen(name);

        while (o && strcmp(o->name, name) != 0)
                o = o->next;
        if (o) {
                unlink_owner(o); /* who comes often is found soon */
        } else {
                o = calloc(1, sizeof(*o) + len + 1);
                if (!o)
                        return NULL;
                memcpy(o->name, name, len);
                o->budget = (struct cay_budget){ .parent = &all->all, .part = OWNER_PART };
                o->kept.parent = &o->budget;
        }
        link_first(all, o);
        o->refs++;
        return o;
}

void cay_budget_owner_put(struct cay_budget_owner *o)
{
        if (!o || --o->refs > 0)
                return;
        assert(o->budget.used == 0);
        unlink_owner(o);
        free(o);
}
