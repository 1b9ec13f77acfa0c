/* SPDX-License-Identifier: Apache-2.0 */
#include "cay-agent/dial.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "foundation/base/cleanup.h"
#include "links/agent/agent_message.h"

#define ANSWER_MS 15000u /* TCP, TLS and the upgrade together */
#define FIELDS_MAX 1024
#define UNANSWERED_MS 30000 /* sent bytes that nobody acknowledges: the connection is dead */

static void end(struct agent_dial *d, const char *why)
{
        if (!d->is_busy)
                return;
        d->is_busy = false;
        d->on_end(d, why);
}

/* WebSocket */

static size_t on_message(struct cay_ws *ws, enum cay_ws_opcode kind, const void *bytes, size_t len)
{
        struct agent_dial *d = cay_container_of(ws, struct agent_dial, ws);

        if (kind == CAY_WS_BINARY)
                d->on_message(d, bytes, len);
        return len;
}

static void on_drain(struct cay_ws *ws)
{
        struct agent_dial *d = cay_container_of(ws, struct agent_dial, ws);

        d->on_drain(d);
}

static void on_closed(struct cay_ws *ws, unsigned code, const char *reason)
{
        end(cay_container_of(ws, struct agent_dial, ws), reason[0] ? reason
                                                         : code == CAY_WS_LOST
                                                                 ? "the connection was lost"
                                                                 : "the daemon closed the connection");
}

static const struct cay_ws_ops ws_ops = { .on_message = on_message,
                                          .on_drain = on_drain,
                                          .on_closed = on_closed };

/* The upgrade */

static void on_response(struct cay_http_client *c)
{
        struct agent_dial *d = cay_container_of(c, struct agent_dial, http);
        char why[128];

        snprintf(why, sizeof(why),
                 "the server answered %u instead of a WebSocket: is this the address of a Cay daemon?",
                 c->head.status);
        cay_http_client_abort(c);
        end(d, why);
}

static size_t on_body(struct cay_http_client *c, const void *bytes, size_t len)
{
        (void)c;
        (void)bytes;
        return len;
}

static void on_end(struct cay_http_client *c)
{
        end(cay_container_of(c, struct agent_dial, http), "the server did not open a WebSocket");
}

static void on_upgraded(struct cay_http_client *c)
{
        static const struct cay_ws_options options = { .message_max = AGENT_MAX };
        struct agent_dial *d = cay_container_of(c, struct agent_dial, http);
        bool is_ours = cay_ws_is_answer(d->key, cay_http_client_header(c, "sec-websocket-accept"));
        struct cay_buf rest;
        struct cay_duplex *duplex = cay_http_client_take_duplex(c, &rest);
        bool is_early = rest.len > 0; /* the daemon speaks second */

        cay_buf_done(&rest);
        if (!is_ours || is_early) {
                cay_duplex_close(duplex);
                end(d, "the server's answer to the upgrade is wrong");
                return;
        }
        cay_ws_open(&d->ws, duplex, d->loop, CAY_WS_CLIENT, &options, &ws_ops);
        d->on_open(d);
}

static const char *tls_text(enum cay_tls_fault fault)
{
        static const char *const texts[CAY_TLS_FAULT_COUNT] = {
                [CAY_TLS_PEER_UNTRUSTED] = "the daemon's certificate is not signed by a trusted authority: "
                                           "name it with --ca FILE",
                [CAY_TLS_PEER_EXPIRED] = "the daemon's certificate has expired",
                [CAY_TLS_PEER_TOO_EARLY] =
                        "the daemon's certificate is not valid yet: is this machine's clock right?",
                [CAY_TLS_PEER_OTHER_NAME] = "the daemon's certificate is for another name",
                [CAY_TLS_NOT_SPOKEN] = "the server does not speak TLS: use ws:// if that is intended",
        };

        return texts[fault] ? texts[fault] : "TLS failed";
}

static void on_fail(struct cay_http_client *c, const struct cay_http_fault *fault)
{
        struct agent_dial *d = cay_container_of(c, struct agent_dial, http);
        char why[160];

        if (d->end.tls != CAY_TLS_NO_FAULT)
                snprintf(why, sizeof(why), "%s", tls_text(d->end.tls));
        else if (d->end.sys < 0)
                snprintf(why, sizeof(why), "connect: %s", strerror(-d->end.sys));
        else
                snprintf(why, sizeof(why), "%s", fault->text);
        end(d, why);
}

static const struct cay_http_client_ops http_ops = { .on_response = on_response,
                                                     .on_body = on_body,
                                                     .on_end = on_end,
                                                     .on_upgraded = on_upgraded,
                                                     .on_fail = on_fail };

/* Dialling */

static int connect_to(const struct addrinfo *at, struct cay_error *err)
{
        cay_auto_close int fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        int on = 1, ms = UNANSWERED_MS;

        if (fd < 0 || (connect(fd, at->ai_addr, at->ai_addrlen) < 0 && errno != EINPROGRESS))
                return cay_fail_sys(err, CAY_UNAVAILABLE, -errno, "connect");
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
        setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &ms, sizeof(ms));
        return cay_take_fd(fd);
}

static int open_socket(struct agent_dial *d, const struct cay_url *url, struct cay_error *err)
{
        const struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_ADDRCONFIG };
        struct addrinfo *found = NULL, *at;
        unsigned count = 0, chosen;
        int fd, r = getaddrinfo(url->host, url->port, &hints, &found);

        if (r != 0 || !found)
                return cay_fail(err, CAY_UNAVAILABLE, "look up %.100s: %s", url->host, gai_strerror(r));
        for (at = found; at; at = at->ai_next)
                count++;
        chosen = d->attempts++ % count;
        for (at = found; chosen > 0; chosen--)
                at = at->ai_next;
        fd = connect_to(at, err);
        freeaddrinfo(found);
        return fd;
}

static int begin_upgrade(struct agent_dial *d, struct cay_duplex *duplex, const struct cay_url *url,
                         struct cay_error *err)
{
        char fields[FIELDS_MAX];
        const struct cay_http_client_request request = { .method = CAY_HTTP_GET,
                                                         .target = url->base,
                                                         .fields = fields,
                                                         .upgrade = "websocket",
                                                         .framing = CAY_HTTP_NO_BODY,
                                                         .answer_ms = ANSWER_MS };

        snprintf(fields, sizeof(fields), "Host: %s\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: %s\r\n",
                 url->authority, d->key);
        return cay_http_client_begin(&d->http, duplex, d->loop, &request, &http_ops) == 0
                       ? 0
                       : cay_fail(err, CAY_INTERNAL, "no memory for the connection");
}

int agent_dial_begin(struct agent_dial *d, const struct cay_url *url, struct cay_error *err)
{
        struct cay_duplex *duplex;
        struct cay_tls *tls = NULL;
        int fd;

        d->end = (struct cay_socket_end){ 0 };
        if (cay_ws_make_key(d->key) < 0)
                return cay_fail(err, CAY_INTERNAL, "make a key for the WebSocket");
        fd = open_socket(d, url, err);
        if (fd < 0)
                return -1;
        if (d->tls && !(tls = cay_tls_connect(d->tls, fd, url->host))) {
                close(fd);
                return cay_fail(err, CAY_INTERNAL, "no memory for TLS");
        }
        duplex = cay_socket_open_take(d->loop, fd, tls);
        if (!duplex)
                return cay_fail(err, CAY_INTERNAL, "no memory for the connection");
        cay_socket_note_end(duplex, &d->end);
        if (begin_upgrade(d, duplex, url, err) < 0)
                return -1;
        d->is_busy = true;
        return 0;
}

void agent_dial_close(struct agent_dial *d, const char *why)
{
        cay_ws_close(&d->ws, CAY_WS_GOING_AWAY, why);
}

void agent_dial_abort(struct agent_dial *d)
{
        if (!d->is_busy)
                return;
        d->is_busy = false;
        cay_http_client_abort(&d->http);
        cay_ws_abort(&d->ws);
}

/*
 * Where this machine's distribution keeps its certificates, if not where our OpenSSL looks: one that was
 * built for another distribution does not know. A folder, from which the needed one is read, before a file,
 * all of which is.
 */
static void find_certificates(void)
{
        static const char *const folders[] = { "/etc/ssl/certs", "/var/lib/ca-certificates/openssl" };
        static const char *const files[] = { "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem",
                                             "/etc/ssl/ca-bundle.pem" };

        if (getenv("SSL_CERT_DIR") || getenv("SSL_CERT_FILE") || cay_tls_has_usual_certificates())
                return;
        for (unsigned i = 0; i < CAY_COUNT(files); i++)
                if (access(files[i], R_OK) == 0) {
                        setenv("SSL_CERT_FILE", files[i], 1);
                        break;
                }
        for (unsigned i = 0; i < CAY_COUNT(folders); i++)
                if (access(folders[i], R_OK | X_OK) == 0) {
                        setenv("SSL_CERT_DIR", folders[i], 1);
                        break;
                }
}

int agent_dial_init(struct agent_dial *d, struct cay_loop *loop, const struct cay_url *url, const char *ca,
                    struct cay_error *err)
{
        d->loop = loop;
        if (url->kind != CAY_URL_HTTPS)
                return 0;
        if (!ca)
                find_certificates();
        d->tls = cay_tls_context_new_client(ca ? ca : "", "", "", err);
        return d->tls ? 0 : -1;
}

void agent_dial_done(struct agent_dial *d)
{
        agent_dial_abort(d);
        cay_tls_context_free(cay_take(d->tls));
}
