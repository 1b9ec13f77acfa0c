/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A share of what every test on a machine draws from, whatever namespaces it has: the host ids of sandboxes.
 *
 * Theory of operation. The warden takes a sandbox's ids by locking a record in its run folder, and an
 * isolated test has a run folder of its own, so two tests would take the same ids. Therefore a test first
 * locks the records of its share in the machine's run folder, as a warden would: other wardens pass them
 * over. To the warden under test all other ranges are made to look taken, by lines in the /etc/subuid that it
 * sees. A test that is killed lets go of its locks; records without content mean nothing to anybody.
 */
#pragma once

#include <stdint.h>

#include "cay-warden/record.h"

#define SHARE_COUNT 8u
#define SHARE_SLOTS (CAY_RECORD_SLOTS / SHARE_COUNT)

struct test_share {
        unsigned number;          /* 0 … SHARE_COUNT - 1: no other test has it */
        int lock;                 /* its lock file */
        int records[SHARE_SLOTS]; /* locked; -1: somebody else's */
};

/* Waits for one to be free. Stops the program, with the reason, where that is not possible. */
void test_share_take(struct test_share *s);
void test_share_drop(struct test_share *s);
/* The first host id of the first range that is ours, of CAY_RECORD_IDS. */
uint32_t test_share_first_id(const struct test_share *s);
/* Lines for /etc/subuid that reserve every range but ours. Returns the length. */
size_t test_share_reserve(const struct test_share *s, char *text, size_t size);
