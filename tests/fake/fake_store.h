/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A store in memory, by the book of port_store.h: what is committed is there for the next service. Fails and
 * waits on demand.
 */
#pragma once

#include "domain/model/port_store.h"

struct cay_loop;

struct fake_store {
        struct cay_store store;
        struct cay_loop *loop;
        uint64_t now_ms;         /* the test's to set */
        enum cay_code fail_with; /* the next fail_count commits fail with this, storing nothing */
        unsigned fail_count;
        bool hold;        /* commits are stored but not finished, until fake_store_let_go */
        unsigned commits; /* that were stored */
        uint64_t seq;
        struct fake_record *records[CAY_STORE_KIND_COUNT];
        struct fake_waiting *waiting;
};

struct fake_store *fake_store_new(struct cay_loop *loop);
void fake_store_free(struct fake_store *fs);
void fake_store_let_go(struct fake_store *fs); /* finishes what waits, and holds no more */
unsigned fake_store_count(const struct fake_store *fs, enum cay_store_kind kind);
/* By id (a claim's key, an event's kind: the last one); NULL: none. Borrowed until the next commit. */
const void *fake_store_find(const struct fake_store *fs, enum cay_store_kind kind, const char *id);
