/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The descriptors of one spawn: pipes or a terminal, and the socket to the child. Pipes and terminals are
 * made under the file-system ids of the command's user: they belong to it then, and "/dev/stderr" can be
 * opened again by it.
 */
#pragma once

struct cay_child;

struct cay_ends {
        int mine[3], child[3]; /* by number; -1: none */
        int status[2];         /* ours, the child's */
        int ask[2];            /* likewise: to the driver of a waiting interpreter (warm.h) */
};

#define CAY_ENDS_NONE ((struct cay_ends){ { -1, -1, -1 }, { -1, -1, -1 }, { -1, -1 }, { -1, -1 } })

/*
 * Makes all that the child needs (by its open, worker, tty, uid and gid); a preforked one gets output only. 0
 * or -errno.
 */
int cay_ends_make(struct cay_ends *e, const struct cay_child *c);
int cay_ends_make_input(struct cay_ends *e, const struct cay_child *c);
void cay_ends_close_child(struct cay_ends *e); /* closes the child's ends, after the child has them */
void cay_ends_close(struct cay_ends *e);       /* closes what is still open here */
