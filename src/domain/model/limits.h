/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The limits of a sandbox and of its commands: one row each in limits.def, parsed once, range-checked, never
 * wrapped.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "foundation/base/error.h"

enum cay_limit_kind { CAY_LIMIT_SIZE, CAY_LIMIT_MILLI, CAY_LIMIT_COUNT_KIND, CAY_LIMIT_DURATION };

enum cay_limit { /* bit numbers of masks ("can be enforced", "may be skipped") */
#define CAY_LIMIT(field, word, kind, min, max, doc) CAY_LIMIT_NR_##field,
#include "domain/model/limits.def"
#undef CAY_LIMIT
                 CAY_LIMIT_NR_COUNT
};

struct cay_limits {
#define CAY_LIMIT(field, word, kind, min, max, doc) uint64_t field;
#include "domain/model/limits.def"
#undef CAY_LIMIT
        bool output_cut; /* at output_bytes: drop the rest instead of ending the command */
};

#define CAY_LIMIT_BIT(field) (1u << CAY_LIMIT_NR_##field)
#define CAY_LIMIT_MASK_ALL ((1u << CAY_LIMIT_NR_COUNT) - 1)
/* of a network by policy (docs/network.md): cay-net enforces them, whatever the host */
#define CAY_LIMIT_MASK_NETWORK                                                                               \
        (CAY_LIMIT_BIT(network_up) | CAY_LIMIT_BIT(network_down) | CAY_LIMIT_BIT(network_total) |            \
         CAY_LIMIT_BIT(network_connections) | CAY_LIMIT_BIT(network_connects) |                              \
         CAY_LIMIT_BIT(network_queries))
#define CAY_LIMIT_LIST_MAX 256u /* bytes of all their words as a list, with the NUL */

/*
 * `cay run` and /containers: 256 MB, no swap, 0.5 cores, 50 pids, 64 MB and 16,384 inodes, 4,096 files, 8 MiB
 * output, 60 s.
 */
struct cay_limits cay_limits_default_run(void);

/* Parses and checks one value; `option` is how the caller named it ("--memory") and is in the error text. */
int cay_limit_parse(struct cay_limits *l, enum cay_limit nr, const char *option, const char *text,
                    struct cay_error *err);
int cay_limits_check(const struct cay_limits *l,
                     struct cay_error *err); /* ranges of every field that is set */
const char *cay_limit_word(enum cay_limit nr);
int cay_limit_find(const char *word); /* number or -1 */
/* "memory, pids" for a mask, into buf; returns buf. */
const char *cay_limit_mask_text(unsigned mask, char *buf, size_t size);
/* A list of words ("memory,pids" or "all") as a mask; `option` is in the error text. */
int cay_limit_mask_parse(const char *option, const char *text, unsigned *ret_mask, struct cay_error *err);
/* A value as people read it: "256 MiB", "0.5", "60 s", "50"; into buf; returns buf. */
const char *cay_limit_value_text(enum cay_limit nr, uint64_t value, char *buf, size_t size);
/* Which limits are set (non-zero; swap counts as set whenever memory is: "none" must be enforced too). */
unsigned cay_limits_set_mask(const struct cay_limits *l);
