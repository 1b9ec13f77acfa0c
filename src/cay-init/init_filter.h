/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The filter of seccomp_init.def on cay-init and on all that it starts later. It is installed after the first
 * child has been forked and before any of its output is read: until then only the engine has sent input. So
 * its cost (a tenth of a millisecond in the kernel's compiler) overlaps with the child's setup. A child that
 * stays cay-init (a keeper, group.h) is forked after it.
 */
#pragma once

struct cay_init;

/* The first call installs it; on failure the box ends. */
void cay_init_filter(struct cay_init *init);
