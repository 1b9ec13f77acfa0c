/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of the policy that look at arguments (cay-init/seccomp_policy.def), as Docker's filter can say them.
 *
 * Theory of operation. A row is read from the top: the first of its cases that holds decides. Docker's rules
 * know no order and no "but": all they can say is that a call passes when some bits of its arguments are
 * these, and one rule may look at an argument only once. So what passes is cut into pieces that do not
 * overlap, each a choice of bits per argument, and every piece becomes a rule. A value that is refused among
 * all others leaves at most 32 pieces: one for each bit in which another may differ first.
 */
#pragma once

#include "foundation/base/json_out.h"

#define DOCKER_SECCOMP_ARGS 6u /* of a system call */

enum docker_seccomp_test_kind {
        DOCKER_SECCOMP_NO_TEST,
        DOCKER_SECCOMP_IS,
        DOCKER_SECCOMP_NOT,
        DOCKER_SECCOMP_IN
};

/* (argument & mask) is value, or is not, or is value + n where the mask has bit n */
struct docker_seccomp_test {
        enum docker_seccomp_test_kind kind;
        unsigned arg;
        uint32_t mask, value;
};

struct docker_seccomp_case { /* holds when all its tests do; without one it ends the list */
        bool passes;
        struct docker_seccomp_test tests[4]; /* the first that is none ends them */
};

struct docker_seccomp_row {
        const char *name;
        bool passes; /* what no case says anything of */
        const struct docker_seccomp_case *cases;
};

struct docker_seccomp_piece { /* bits that are looked at, and what they are */
        uint32_t mask[DOCKER_SECCOMP_ARGS], value[DOCKER_SECCOMP_ARGS];
};

#define DOCKER_SECCOMP_PIECES_MAX 1024u

extern const struct docker_seccomp_row docker_seccomp_rows[]; /* a name that is NULL ends them */

/* What passes of a row; how many pieces, or -E2BIG. */
int docker_seccomp_cut(const struct docker_seccomp_row *row,
                       struct docker_seccomp_piece ret[DOCKER_SECCOMP_PIECES_MAX]);
/* Rules of all rows: items of an open array. 0 or -errno. */
int docker_seccomp_put_args(struct cay_json *j);
