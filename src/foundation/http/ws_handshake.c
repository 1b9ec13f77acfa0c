/* SPDX-License-Identifier: Apache-2.0 */
/* How a request becomes a WebSocket (RFC 6455, part 4), and a client's half of it. */
#include <errno.h>
#include <sys/random.h>

#include "foundation/base/base64.h"
#include "foundation/http/chars.h"
#include "foundation/http/digest.h"
#include "foundation/http/ws.h"

/* 16 bytes in base 64: the last of the 22 digits has four unused bits, which are zero. */
static bool is_key(const char *key)
{
        static const char last[] = "AQgw";

        if (strlen(key) != CAY_WS_KEY_LEN || memcmp(key + 22, "==", 2) != 0 || !strchr(last, key[21]))
                return false;
        for (unsigned i = 0; i < 22; i++) {
                char c = key[i];

                if (!((c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
                      c == '+' || c == '/'))
                        return false;
        }
        return true;
}

const struct cay_http_fault *cay_ws_check(const struct cay_http_request *req)
{
        static const struct cay_http_fault no_upgrade = {
                426, "this path speaks WebSocket: ask for an upgrade to it"
        };
        static const struct cay_http_fault version = {
                426, "only version 13 of the WebSocket protocol is spoken"
        };
        static const struct cay_http_fault bad_key = {
                400, "Sec-WebSocket-Key is missing or is not 16 bytes in base 64"
        };
        const char *upgrade = cay_http_request_header(req, "upgrade");
        const char *v = cay_http_request_header(req, "sec-websocket-version");
        const char *key = cay_http_request_header(req, "sec-websocket-key");

        if (!req->upgrade || req->method != CAY_HTTP_GET || !upgrade ||
            !cay_http_list_has(upgrade, strlen(upgrade), "websocket"))
                return &no_upgrade;
        if (!v || strcmp(v, "13") != 0 || cay_http_request_header_count(req, "sec-websocket-version") != 1)
                return &version;
        if (!key || !is_key(key) || cay_http_request_header_count(req, "sec-websocket-key") != 1)
                return &bad_key;
        return NULL;
}

bool cay_ws_offers(const struct cay_http_request *req, const char *protocol)
{
        for (unsigned i = 0; i < req->line_count; i++) {
                const char *name, *value;

                cay_http_request_header_at(req, i, &name, &value);
                if (cay_http_same_name(name, strlen(name), "sec-websocket-protocol") &&
                    cay_http_list_has(value, strlen(value), protocol))
                        return true;
        }
        return false;
}

/* What a server says to a key. 0 or -errno. */
static int make_accept(const char key[CAY_WS_KEY_LEN], char ret[CAY_WS_ACCEPT_LEN + 1])
{
        static const char magic[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"; /* the RFC's */
        cay_auto_buf struct cay_buf text = { 0 };
        char both[CAY_WS_KEY_LEN + sizeof(magic) - 1];
        uint8_t digest[CAY_SHA1_LEN];
        int r;

        memcpy(both, key, CAY_WS_KEY_LEN);
        memcpy(both + CAY_WS_KEY_LEN, magic, sizeof(magic) - 1);
        cay_buf_init(&text, CAY_WS_ACCEPT_LEN);
        r = cay_sha1(both, sizeof(both), digest);
        if (r == 0)
                r = cay_base64_encode(digest, sizeof(digest), &text);
        if (r < 0)
                return r;
        memcpy(ret, cay_buf_data(&text), CAY_WS_ACCEPT_LEN + 1);
        return 0;
}

int cay_ws_make_key(char ret[CAY_WS_KEY_LEN + 1])
{
        cay_auto_buf struct cay_buf text = { 0 };
        uint8_t random[16];
        int r;

        if (getrandom(random, sizeof(random), 0) != sizeof(random))
                return -EIO;
        cay_buf_init(&text, CAY_WS_KEY_LEN);
        r = cay_base64_encode(random, sizeof(random), &text);
        if (r == 0)
                memcpy(ret, cay_buf_data(&text), CAY_WS_KEY_LEN + 1);
        return r;
}

bool cay_ws_is_answer(const char *key, const char *accept)
{
        char expected[CAY_WS_ACCEPT_LEN + 1];

        return accept && strlen(key) == CAY_WS_KEY_LEN && make_accept(key, expected) == 0 &&
               strcmp(accept, expected) == 0;
}

int cay_ws_accept(struct cay_ws *ws, struct cay_http_request *req, struct cay_loop *loop,
                  const char *protocol, const struct cay_ws_options *options, const struct cay_ws_ops *ops)
{
        const char *key = cay_http_request_header(req, "sec-websocket-key");
        char accept[CAY_WS_ACCEPT_LEN + 1];
        struct cay_duplex *duplex;

        if (!key || make_accept(key, accept) < 0 ||
            cay_http_response_add(req, "Sec-WebSocket-Accept", accept) < 0 ||
            (protocol && cay_http_response_add(req, "Sec-WebSocket-Protocol", protocol) < 0)) {
                cay_http_response_abort(req);
                return -EPIPE;
        }
        duplex = cay_http_response_upgrade(req, "websocket");
        if (!duplex)
                return -EPIPE;
        cay_ws_open(ws, duplex, loop, CAY_WS_SERVER, options, ops);
        return 0;
}
