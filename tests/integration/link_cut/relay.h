/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stretch of wire that breaks after so many bytes: what a link goes through when it is to be cut inside a
 * frame.
 */
#pragma once

#include "foundation/loop/loop.h"

enum relay_way { RELAY_TO_INIT, RELAY_TO_FRONT };

#define RELAY_ENDLESS UINT64_MAX

struct relay {                       /* starts out zeroed */
        struct cay_watch watches[2]; /* by the way that begins there */
        int fds[2];
        bool is_open;
        struct {
                uint8_t bytes[16384];
                size_t at, len;
                uint64_t left;      /* bytes that still go through; with the last one the wire breaks */
                bool is_read_first; /* and not before they have been read at the other end */
        } ways[2];
};

/* Takes init's stream, returns the front's end of the wire; -errno. Limits: see relay_limit. */
int relay_open_take(struct relay *r, struct cay_loop *loop, int fd, uint64_t to_init, uint64_t to_front);
/* 0: breaks when the next byte comes. What went through has been read there before it breaks. */
void relay_limit(struct relay *r, enum relay_way way, uint64_t left);
bool relay_await_read(int fd); /* waits until the other end of a stream has read all; false: it does not */
void relay_break(struct relay *r); /* fine when it is broken */
