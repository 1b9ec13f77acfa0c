/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts memory that is held for clients before it is allocated: a tree of counters, connection → owner →
 * all.
 *
 * Theory of operation. A holder takes bytes before it allocates them and gives them back with the memory;
 * both count in every counter above it. Only the root has a fixed maximum. Everybody below may hold at most
 * as much as would still be free for others then, an owner half as much: so one owner alone gets a third of
 * all, one connection of it half of that; ten greedy owners at once get a twelfth each. There is always a
 * share left for who comes next (after ten that came one by one and took all they could, still a
 * hundred-and-seventieth), nobody has to guess shares beforehand, and who stops gives room to all others.
 * What is kept for an owner beyond its connections, to be asked for again, is at most half of what it may
 * have.
 *
 * `small` bytes of a holder are counted nowhere above it: a short request and a short answer always find
 * room, errors that say so among them. What that can come to is bounded by the number of holders, which has
 * limits of its own.
 *
 * Owners are known by name, for as long as anything holds them. Nothing here locks: one thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "foundation/base/banned.h"

struct cay_budget {
        struct cay_budget *parent; /* borrowed, outlives it; NULL: the root */
        size_t used;
        size_t max;    /* of the root */
        size_t small;  /* of its own bytes: not asked of the parent */
        unsigned part; /* it may hold one of so many parts of what is free; 0 is 1 */
};

struct cay_budget_owner {
        struct cay_budget budget;
        struct cay_budget kept; /* below it: what outlives connections */
        struct cay_budget_owner *next, **back;
        unsigned refs;
        char name[];
};

struct cay_budgets { /* embedded in who has it, zeroed, then initialized */
        struct cay_budget all;
        struct cay_budget_owner *owners;
};

/* How many bytes may be taken now. b NULL: any number. */
size_t cay_budget_room(const struct cay_budget *b);
/* 0 or -ENOBUFS, and nothing was taken. b NULL: always 0. */
int cay_budget_take(struct cay_budget *b, size_t bytes);
void cay_budget_give(struct cay_budget *b, size_t bytes);
/* With all that it holds to another parent, which may have more than its share for a while. */
void cay_budget_move(struct cay_budget *b, struct cay_budget *parent);
void cay_budget_add(struct cay_budget *b, size_t bytes); /* takes what is held already: never refused */

void cay_budgets_init(struct cay_budgets *all, size_t max);
/*
 * The owner of that name; "": strangers, all together. Put it when nothing is held for it any more. NULL: no
 * memory.
 */
struct cay_budget_owner *cay_budget_owner_get(struct cay_budgets *all, const char *name);
void cay_budget_owner_put(struct cay_budget_owner *o); /* accepts NULL */
