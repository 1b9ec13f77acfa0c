/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Removes files of one folder beside the loop. To unlink a file frees its blocks, and a disk that is told
 * about free blocks (mount option discard) makes the caller wait for it: 4 ms on a busy one, for each command
 * whose output is let go.
 */
#pragma once

struct cay_remover;

/* Starts its thread; the folder is borrowed. NULL: no memory or no thread. */
struct cay_remover *cay_remover_new(int folder);
/* Removes the file of that name, soon; in place when too many wait. A name that is not there is ignored. */
void cay_remover_take(struct cay_remover *r, const char *name);
/* Waits until all of them are removed. NULL is allowed. */
void cay_remover_free(struct cay_remover *r);
