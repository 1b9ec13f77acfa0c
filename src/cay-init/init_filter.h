/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The filter of seccomp_init.def on cay-init and on all that it starts later. It is put on when the first child has been forked and before
 * anything is read of what that child says: until then nobody but the engine has spoken to us. So its cost (a tenth of a millisecond in the kernel's
 * compiler) falls into the time in which the child gets ready. A child that stays cay-init (a keeper, group.h) is forked after it.
 */
#pragma once

struct cay_init;

/* The first call puts it on; where that fails, the box ends. */
void cay_init_filter(struct cay_init *init);
