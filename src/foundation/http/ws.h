/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A WebSocket on a duplex: messages both ways, with back-pressure, pings and a closing handshake. The owner
 * embeds the struct, zeroed.
 *
 * Receiving: on_message gets whole messages and returns how many bytes it accepts. If that is less than all,
 * nothing more is handled until cay_ws_resume(), and then it gets the rest of the same message; what comes
 * meanwhile is slowed down by the duplex. Most owners simply accept everything. Pings are answered here; a
 * peer that pings without reading is slowed down like any other. Each round of the loop handles only a slice
 * of the input, so that a busy peer does not delay others.
 *
 * Sending: whole messages, queued up to a maximum; cay_ws_send() returns how much is queued, and on_drain
 * reports when it is low again.
 *
 * Memory: what is kept either way is charged to the duplex's budget. A message that does not fit ends the
 * WebSocket with CAY_WS_TRY_LATER.
 *
 * Ends: on_closed is called once, with the other side's code, or our own, or CAY_WS_LOST. No callback
 * follows, and the owner frees itself with cay_loop_defer. cay_ws_close() sends a close frame and waits
 * briefly for the other's. cay_ws_abort() ends immediately without callbacks.
 */
#pragma once

#include "foundation/http/duplex.h"
#include "foundation/http/request.h"
#include "foundation/http/ws_codec.h"
#include "foundation/loop/loop.h"

#define CAY_WS_HIGH (256u * 1024) /* bytes queued from which a sender should wait for on_drain */
#define CAY_WS_LOW (64u * 1024)
#define CAY_WS_OUT_MAX (16u * 1024 * 1024)
#define CAY_WS_REASON_MAX 123u
#define CAY_WS_FIRST_MAX 4096u

struct cay_ws;

struct cay_ws_ops {
        size_t (*on_message)(struct cay_ws *ws, enum cay_ws_opcode kind, const void *bytes, size_t len);
        void (*on_drain)(struct cay_ws *ws); /* may be NULL */
        /*
         * A message is longer than message_max. The WebSocket ends with CAY_WS_TOO_BIG after this; anything
         * sent here is sent before that. The bytes are the beginning of the message, at most CAY_WS_FIRST_MAX
         * received bytes; there may be none. May be NULL.
         */
        void (*on_too_long)(struct cay_ws *ws, const char *bytes, size_t len);
        void (*on_closed)(struct cay_ws *ws, unsigned code, const char *reason);
};

struct cay_ws {
        const struct cay_ws_ops *ops;

        /* below: private to ws.c */
        struct cay_duplex_user user;
        struct cay_duplex *duplex; /* NULL: closed */
        struct cay_loop *loop;
        struct cay_ws_codec codec;
        struct cay_buf out;     /* frames that the duplex has not accepted */
        struct cay_buf pending; /* input that came while held */
        struct cay_timer timer;
        struct cay_deferred kick;
        uint32_t ping_ms;
        bool held, busy, was_high, eof, kicked, heard, ping_sent;
        bool close_sent;
        unsigned close_code; /* that we sent */
};

/* Checks a WebSocket request. NULL: valid; else the reason (400, or 426 for another version). */
const struct cay_http_fault *cay_ws_check(const struct cay_http_request *req);
bool cay_ws_offers(const struct cay_http_request *req, const char *protocol); /* among its subprotocols */

struct cay_ws_options {
        size_t message_max;
        size_t out_max;   /* queued bytes; 0: CAY_WS_OUT_MAX */
        uint32_t ping_ms; /* 0: none; else a peer that stays silent for two of these is lost */
};

/*
 * Answers 101 and opens. protocol: one of those offered, or NULL. The request is ended; cay_ws_check() must
 * have passed. 0 or -EPIPE: the client is gone, and nothing was opened.
 */
int cay_ws_accept(struct cay_ws *ws, struct cay_http_request *req, struct cay_loop *loop,
                  const char *protocol, const struct cay_ws_options *options, const struct cay_ws_ops *ops);
/* On a duplex whose handshake is already done. Takes the duplex. */
void cay_ws_open(struct cay_ws *ws, struct cay_duplex *duplex, struct cay_loop *loop, enum cay_ws_role role,
                 const struct cay_ws_options *options, const struct cay_ws_ops *ops);

bool cay_ws_is_open(const struct cay_ws *ws); /* false once close was called, too */
/* Returns the number of queued bytes, or -EPIPE (closed), -ENOSPC, -ENOBUFS, -ENOMEM: nothing was queued. */
ssize_t cay_ws_send(struct cay_ws *ws, enum cay_ws_opcode kind, const void *bytes, size_t len);
void cay_ws_resume(struct cay_ws *ws);
void cay_ws_ask_drain(
        struct cay_ws *ws); /* on_drain when little is queued, even if it never was CAY_WS_HIGH */
void cay_ws_close(struct cay_ws *ws, unsigned code,
                  const char *reason); /* the reason is cut to CAY_WS_REASON_MAX */
void cay_ws_abort(struct cay_ws *ws);  /* fine when closed */

/* Of the handshake. */
#define CAY_WS_KEY_LEN 24u
#define CAY_WS_ACCEPT_LEN 28u
/*
 * A client's: a fresh key for its request (with a NUL), and whether a server's Sec-WebSocket-Accept is the
 * answer to it.
 */
int cay_ws_make_key(char ret[CAY_WS_KEY_LEN + 1]); /* 0 or -errno */
bool cay_ws_is_answer(const char *key, const char *accept);
