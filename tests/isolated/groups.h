/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Control groups of one isolated test: a node of its own in every hierarchy that is mounted, which the test
 * sees as the root. Everything that the test makes is below it, so that it can be ended and removed as one.
 */
#pragma once

#include <stdint.h>

#define GROUPS_MAX 24
#define GROUP_PATH 256

struct test_group {
        char mount[GROUP_PATH]; /* where the hierarchy is mounted */
        char options[64];       /* v1: its controllers; "": cgroup2 */
        char node[GROUP_PATH];  /* path of ours */
};

struct test_groups {
        struct test_group all[GROUPS_MAX];
        unsigned count;
};

/*
 * Makes the nodes. What a killed test left under this name is ended and removed first. memory: bytes for
 * everything in it.
 */
void test_groups_make(struct test_groups *g, const char *name, uint64_t memory);
/*
 * The calling process goes into the nodes, into a namespace where they are the roots, and mounts them as
 * that.
 */
void test_groups_enter(const struct test_groups *g);
/*
 * From outside: what v1's freezer holds does not die, and its namespace's first process would wait for it for
 * ever.
 */
void test_groups_thaw(const struct test_groups *g);
/* Ends what is in them, and removes them. */
void test_groups_remove(const struct test_groups *g);
