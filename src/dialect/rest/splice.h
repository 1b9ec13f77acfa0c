/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two duplexes joined: bytes of each go to the other, as fast as the slower one takes them, until both directions have ended or
 * one side is lost. Owns both and itself.
 */
#pragma once

#include "base/buf.h"
#include "http/duplex.h"
#include "loop/loop.h"

/* first: bytes of b that came before, owed to b already; taken. Without memory both are closed. */
void cay_splice_take(struct cay_loop *loop, struct cay_duplex *a, struct cay_duplex *b,
                     struct cay_buf *first);
