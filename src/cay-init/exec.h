/* SPDX-License-Identifier: Apache-2.0 */
/* What is specific to a channel that runs a program: limits, kills, signals, and the facts in its END. */
#pragma once

#include "cay-init/channel.h"

void cay_exec_begin(struct cay_channel *ch, const struct cay_box_exec *exec);   /* before the spawn */
void cay_exec_started(struct cay_channel *ch, const struct cay_box_exec *exec); /* after it: the clocks run */
void cay_exec_kill(struct cay_channel *ch, enum cay_box_killed why); /* the exec and all its descendants */
void cay_exec_signal(struct cay_channel *ch, int signo);
void cay_exec_resize(struct cay_channel *ch, unsigned rows, unsigned cols);

uint64_t cay_exec_output_left(const struct cay_channel *ch); /* bytes that may still be kept */
void cay_exec_output(struct cay_channel *ch, uint64_t len, bool kept);

void cay_exec_exited(struct cay_channel *ch);  /* its process has ended: ends what must end with it */
bool cay_exec_is_over(struct cay_channel *ch); /* nothing that was killed lives any more */
void cay_exec_put_end(struct cay_channel *ch);
void cay_exec_stop(struct cay_channel *ch); /* timers and listener */
