/* SPDX-License-Identifier: Apache-2.0 */
/* Between conn.c and conn_out.c. */
#pragma once

#include "foundation/http/conn.h"

void cay_conn_update_watch(struct cay_conn *c);
void cay_conn_arm(struct cay_conn *c, uint64_t now_ms); /* the timer for the nearer of the two deadlines */
void cay_conn_note_stall(struct cay_conn *c);           /* the queue stands still from now on, or has moved */
void cay_conn_note_linger(struct cay_conn *c);          /* lingering began, or the other side still sends */
void cay_conn_flush(struct cay_conn *c); /* as far as the kernel takes it; then the ends that wait for that */
