/* SPDX-License-Identifier: Apache-2.0 */
/* Between conn.c and conn_out.c. */
#pragma once

#include "foundation/http/conn.h"

void cay_conn_update_watch(struct cay_conn *c);
/* sets the timer to the nearer of the two deadlines */
void cay_conn_arm(struct cay_conn *c, uint64_t now_ms);
void cay_conn_note_stall(struct cay_conn *c);  /* the queue has stalled, or has moved again */
void cay_conn_note_linger(struct cay_conn *c); /* lingering began, or the other side still sends */
void cay_conn_flush(struct cay_conn *c);       /* as much as the kernel accepts; then pending ends */
