/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From an address to an open WebSocket: name, TCP, TLS, the upgrade. One try at a time; zeroed before the
 * first.
 */
#pragma once

#include "cay/client/url.h"
#include "foundation/http/client.h"
#include "foundation/http/socket.h"
#include "foundation/http/tls.h"
#include "foundation/http/ws.h"

struct agent_dial {
        struct cay_ws ws;
        void (*on_open)(struct agent_dial *d);
        void (*on_message)(struct agent_dial *d, const void *bytes, size_t len);
        void (*on_drain)(struct agent_dial *d);
        void (*on_end)(struct agent_dial *d, const char *why); /* once per try, from the loop */

        /* below: private to dial.c */
        struct cay_loop *loop;
        struct cay_tls_context *tls; /* owned; NULL: not needed */
        struct cay_http_client http;
        struct cay_socket_end end;
        char key[CAY_WS_KEY_LEN + 1];
        unsigned attempts; /* an address with several numbers: the next one each time */
        bool is_busy;
};

int agent_dial_init(struct agent_dial *d, struct cay_loop *loop, const struct cay_url *url, const char *ca,
                    struct cay_error *err);
/* -1: it could not begin, and on_end is not called. The name is looked up here, which may take seconds. */
int agent_dial_begin(struct agent_dial *d, const struct cay_url *url, struct cay_error *err);
void agent_dial_close(struct agent_dial *d, const char *why); /* says goodbye; on_end follows */
void agent_dial_abort(struct agent_dial *d);                  /* at once; no callback */
void agent_dial_done(struct agent_dial *d);
