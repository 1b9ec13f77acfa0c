/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Removes files of one folder beside the loop. To unlink a file frees its blocks, and a disk that is told
 * about free blocks (mount option discard) makes the caller wait for it: 4 ms on a busy one, for each command
 * whose output is let go.
 *
 * Files that nobody has open can be kept for reuse. A new file needs an inode, and ext4 does not give out one
 * that was freed in the last seconds: it looks at each of them, which takes 0.1 ms after some hundred. To
 * rename a spare file takes a tenth of that. A spare file is one page of zeros; nothing of its last use is
 * left in it.
 */
#pragma once

#include <stdbool.h>

#define CAY_REMOVER_SPARES 32u /* at most */
#define CAY_REMOVER_PAGE 4096u /* bytes of a spare file */
/* Names of spare files begin with it. Who owns the folder removes at start what a killed process left. */
#define CAY_REMOVER_SPARE "spare."

struct cay_remover;

/* Starts its thread; the folder is borrowed. NULL: no memory or no thread. */
struct cay_remover *cay_remover_new(int folder);
/* Removes the file of that name, soon; in place when too many wait. A name that is not there is ignored. */
void cay_remover_take(struct cay_remover *r, const char *name);
/* The same, or keeps it as a spare file. Nobody may have it open. */
void cay_remover_recycle(struct cay_remover *r, const char *name);
/* Gives a spare file this name. False: there is none, or the name is taken. */
bool cay_remover_reuse(struct cay_remover *r, const char *name);
/* Waits until all of them are removed, spare files too. NULL is allowed. */
void cay_remover_free(struct cay_remover *r);
