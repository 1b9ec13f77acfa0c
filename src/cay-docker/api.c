/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of the Docker Engine API. The theory is in api.h. */
#include "cay-docker/api.h"

#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "foundation/base/clock.h"
#include "foundation/http/socket.h"
#include "foundation/json/json_in.h"

enum {
        WAIT_MS = 30000,
        PAUSE_FIRST_MS = 50,
        PAUSE_MAX_MS = 1000,
        TRIES_MAX = 12, /* about seven seconds, a restart of Docker: longer is for whoever asked to decide */
};

static void on_found(struct docker_resolver *r, const struct sockaddr_storage *address, unsigned len)
{
        struct docker_api *api = cay_container_of(r, struct docker_api, resolver);

        api->address = *address;
        api->address_len = len;
}

void docker_api_look_up(struct docker_api *api)
{
        docker_resolver_ask(&api->resolver);
}

static int load_certificates(struct docker_api *api, struct cay_error *err)
{
        static const char *const names[] = { "ca.pem", "cert.pem", "key.pem" };
        char paths[CAY_COUNT(names)][4096];

        for (unsigned i = 0; i < CAY_COUNT(names); i++)
                if (snprintf(paths[i], sizeof(paths[i]), "%s/%s", api->options->cert_dir, names[i]) >=
                    (int)sizeof(paths[i]))
                        return cay_fail(err, CAY_INVALID, "the folder of Docker's certificates is too long");
        api->tls = cay_tls_context_new_client(paths[0], paths[1], paths[2], err);
        return api->tls ? 0 : -1;
}

int docker_api_init(struct docker_api *api, struct cay_loop *loop, const struct docker_options *o,
                    struct cay_error *err)
{
        int r;

        *api = (struct docker_api){ .loop = loop, .options = o };
        if (o->host.kind == DOCKER_HOST_UNIX)
                return 0;
        if (o->host.kind == DOCKER_HOST_TLS && load_certificates(api, err) < 0)
                return -1;
        if (docker_resolve(&o->host, o->host_text, &api->address, &api->address_len, err) < 0)
                return -1;
        api->resolver.on_found = on_found;
        r = docker_resolver_open(&api->resolver, loop, &o->host);
        return r < 0 ? cay_fail_sys(err, CAY_INTERNAL, r, "look up Docker's name") : 0;
}

void docker_api_done(struct docker_api *api)
{
        docker_resolver_close(&api->resolver);
        cay_tls_context_free(api->tls);
        api->tls = NULL;
}

/* Connections */

static int connect_unix(const struct docker_host *h)
{
        struct sockaddr_un name = { .sun_family = AF_UNIX };
        cay_auto_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

        memcpy(name.sun_path, h->path, sizeof(h->path));
        if (fd < 0 || connect(fd, (struct sockaddr *)&name, sizeof(name)) < 0)
                return -errno;
        return cay_take_fd(fd);
}

/* It may still be on its way: what is written waits, and a refusal is a loss like any other. */
static int connect_tcp(const struct docker_api *api)
{
        cay_auto_close int fd = socket(api->address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

        if (fd < 0 || (connect(fd, (const struct sockaddr *)&api->address, api->address_len) < 0 &&
                       errno != EINPROGRESS))
                return -errno;
        return cay_take_fd(fd);
}

static struct cay_duplex *open_duplex(struct docker_api *api, struct cay_socket_end *lost, int *ret_error)
{
        const struct docker_host *h = &api->options->host;
        struct cay_tls *tls = NULL;
        struct cay_duplex *d;
        int fd = h->kind == DOCKER_HOST_UNIX ? connect_unix(h) : connect_tcp(api);

        *ret_error = fd < 0 ? fd : -ENOMEM;
        if (fd < 0)
                return NULL;
        if (api->tls) {
                tls = cay_tls_connect(api->tls, fd, h->host);
                if (!tls) {
                        close(fd);
                        return NULL;
                }
        }
        d = cay_socket_open_take(api->loop, fd, tls);
        if (d)
                cay_socket_note_end(d, lost);
        if (d)
                cay_socket_drain(d); /* an answer may come, and the end, before all of a body was taken */
        return d;
}

/* Ends */

static void end(struct docker_call *c)
{
        cay_timer_clear(&c->timer);
        cay_http_client_abort(&c->http);
        c->active = false;
}

void docker_call_abort(struct docker_call *c)
{
        if (c->active)
                end(c);
        docker_call_done(c);
}

void docker_call_done(struct docker_call *c)
{
        cay_buf_done(&c->body);
}

static void give_up(struct docker_call *c)
{
        end(c);
        c->status = 0;
        c->on_done(c);
}

static void start(struct docker_call *c);

static void on_try_again(struct cay_timer *t)
{
        start(cay_container_of(t, struct docker_call, timer));
}

/* err is set: what it will be if this was the last try. */
static void try_again(struct docker_call *c)
{
        uint64_t pause = PAUSE_FIRST_MS, now = cay_clock_ms();

        for (unsigned i = 1; i < c->tries && pause < PAUSE_MAX_MS; i++)
                pause *= 2;
        if (c->tries >= (c->req.tries ? c->req.tries : TRIES_MAX) || now + pause >= c->until_ms ||
            cay_timer_set(c->api->loop, &c->timer, pause, on_try_again) < 0)
                give_up(c);
}

static void on_deadline(struct cay_timer *t)
{
        struct docker_call *c = cay_container_of(t, struct docker_call, timer);

        cay_fail(&c->err, CAY_TIMEOUT, "Docker (%s) did not answer in time", c->api->options->host_text);
        give_up(c);
}

static const char *const tls_words[CAY_TLS_FAULT_COUNT] = {
        [CAY_TLS_PEER_UNTRUSTED] = "its certificate is not signed by ca.pem",
        [CAY_TLS_PEER_EXPIRED] = "its certificate has expired",
        [CAY_TLS_PEER_TOO_EARLY] = "its certificate is not valid yet",
        [CAY_TLS_PEER_OTHER_NAME] = "its certificate is for another name or address than this one",
        [CAY_TLS_OWN_REFUSED] = "it does not accept our certificate (cert.pem): an authority signed it that "
                                "Docker does not trust",
        [CAY_TLS_OWN_EXPIRED] = "our certificate (cert.pem) has expired",
        [CAY_TLS_OWN_MISSING] = "it requires a client certificate (cert.pem), and none was sent",
        [CAY_TLS_NOT_SPOKEN] = "it does not speak TLS on this port",
        [CAY_TLS_OTHER_FAULT] = "TLS failed",
};

static void say_lost(struct docker_call *c, const struct cay_http_fault *fault)
{
        const char *host = c->api->options->host_text;
        int why = -c->lost.sys;

        if (c->lost.tls != CAY_TLS_NO_FAULT)
                cay_fail(&c->err, CAY_UNAVAILABLE, "Docker (%s): %s", host, tls_words[c->lost.tls]);
        else if (why == ECONNREFUSED || why == EHOSTUNREACH || why == ENETUNREACH || why == ETIMEDOUT)
                cay_fail_sys(&c->err, CAY_UNAVAILABLE, -why, "Docker (%s) cannot be reached", host);
        else
                cay_fail(&c->err, fault->status == 504 ? CAY_TIMEOUT : CAY_UNAVAILABLE, "Docker (%s): %s",
                         host, fault->text);
}

static void on_fail(struct cay_http_client *http, const struct cay_http_fault *fault)
{
        struct docker_call *c = cay_container_of(http, struct docker_call, http);
        bool unheard = c->body_sent == 0 && c->req.body_len > 0;

        cay_timer_clear(&c->timer);
        say_lost(c, fault);
        if (c->lost.tls != CAY_TLS_NO_FAULT && c->lost.tls != CAY_TLS_OTHER_FAULT)
                give_up(c); /* a certificate does not become another by waiting */
        else if (c->req.repeatable || unheard)
                try_again(c);
        else
                give_up(c);
}

/* Answers */

static void on_response(struct cay_http_client *http)
{
}

static size_t on_body(struct cay_http_client *http, const void *bytes, size_t len)
{
        struct docker_call *c = cay_container_of(http, struct docker_call, http);

        if (c->on_piece && c->http.head.status == 200) {
                c->on_piece(c, bytes, len);
        } else if (cay_buf_put(&c->body, bytes, len) < 0) {
                cay_buf_clear(&c->body); /* cut: nobody asks for so much, and what is parsed next says so */
        }
        return len;
}

static void on_end(struct cay_http_client *http)
{
        struct docker_call *c = cay_container_of(http, struct docker_call, http);

        c->status = c->http.head.status;
        end(c);
        c->on_done(c);
}

static void on_upgraded(struct cay_http_client *http)
{
        struct docker_call *c = cay_container_of(http, struct docker_call, http);
        struct cay_buf rest = { 0 };
        struct cay_duplex *d = cay_http_client_take_duplex(http, &rest);

        cay_socket_note_end(d, NULL);
        c->status = 101;
        end(c);
        c->on_stream(c, d, &rest);
        cay_buf_done(&rest);
}

static void send_body(struct docker_call *c)
{
        const char *bytes = c->req.body;

        while (c->body_sent < c->req.body_len) {
                size_t n =
                        cay_http_client_write(&c->http, bytes + c->body_sent, c->req.body_len - c->body_sent);

                if (n == 0)
                        return;
                c->body_sent += n;
        }
        if (c->req.body_len > 0)
                cay_http_client_write_end(&c->http);
}

static void on_room(struct cay_http_client *http)
{
        send_body(cay_container_of(http, struct docker_call, http));
}

static const struct cay_http_client_ops ops = {
        .on_response = on_response,
        .on_body = on_body,
        .on_end = on_end,
        .on_upgraded = on_upgraded,
        .on_room = on_room,
        .on_fail = on_fail,
};

static void start(struct docker_call *c)
{
        struct cay_http_client_request request = {
                .method = c->req.method,
                .target = c->path,
                .upgrade = c->req.upgrade ? "tcp" : NULL,
                .framing = c->req.body_len > 0 || c->req.method == CAY_HTTP_POST ? CAY_HTTP_LENGTH
                                                                                 : CAY_HTTP_NO_BODY,
                .length = c->req.body_len,
        };
        struct cay_duplex *d;
        char fields[160];
        int r;

        c->tries++;
        c->body_sent = 0;
        cay_buf_clear(&c->body);
        c->lost = (struct cay_socket_end){ 0 };
        d = open_duplex(c->api, &c->lost, &r);
        if (!d) {
                cay_fail_sys(&c->err, CAY_UNAVAILABLE, r, "Docker (%s) cannot be reached",
                             c->api->options->host_text);
                try_again(c);
                return;
        }
        snprintf(fields, sizeof(fields), "Host: docker\r\nContent-Type: %s\r\n",
                 c->req.type ? c->req.type : "application/json");
        request.fields = fields;
        memset(&c->http, 0, sizeof(c->http));
        r = cay_http_client_begin(&c->http, d, c->api->loop, &request, &ops);
        if (r == 0)
                r = cay_timer_set(c->api->loop, &c->timer, c->until_ms - cay_clock_ms(), on_deadline);
        if (r < 0) {
                cay_fail_sys(&c->err, CAY_INTERNAL, r, "ask Docker");
                give_up(c);
                return;
        }
        send_body(c);
        if (c->req.body_len == 0 && request.framing == CAY_HTTP_LENGTH)
                cay_http_client_write_end(&c->http);
}

static void on_start(struct cay_timer *t)
{
        start(cay_container_of(t, struct docker_call, timer));
}

/* From the loop, so that on_done never comes inside the call that begins it. */
void docker_call_begin(struct docker_call *c, struct docker_api *api, const struct docker_call_request *req)
{
        int n;

        c->api = api;
        c->req = *req;
        c->status = c->tries = 0;
        c->err = (struct cay_error){ 0 };
        c->active = true;
        c->until_ms = cay_clock_ms() + (req->wait_ms ? req->wait_ms : WAIT_MS);
        cay_buf_done(&c->body);
        cay_buf_init(&c->body, DOCKER_BODY_MAX);
        if (req->unversioned)
                n = snprintf(c->path, sizeof(c->path), "%s", req->path);
        else
                n = snprintf(c->path, sizeof(c->path), "/v1.%u%s",
                             api->minor ? api->minor : DOCKER_API_NEWEST, req->path);
        if (n < 0 || (size_t)n >= sizeof(c->path))
                c->tries = TRIES_MAX; /* no path of ours is so long */
        cay_timer_set(api->loop, &c->timer, 0, on_start);
}

static enum cay_code code_of(unsigned status)
{
        switch (status) {
        case 400:
                return CAY_INVALID;
        case 404:
                return CAY_NOT_FOUND;
        case 409:
                return CAY_CONFLICT;
        case 503:
                return CAY_UNAVAILABLE;
        default:
                return CAY_INTERNAL;
        }
}

int docker_call_fail(const struct docker_call *c, const char *what, struct cay_error *err)
{
        cay_auto(cay_json_in_freep) struct cay_json_in *doc = NULL;
        struct cay_error bad = { 0 };
        const char *text = NULL;
        char clean[160];
        size_t n = 0;

        if (c->status == 0) {
                *err = c->err;
                return cay_wrap(err, "%s", what);
        }
        if (cay_json_in_parse(cay_buf_data(&c->body), c->body.len, NULL, &doc, &bad) == 0)
                text = cay_json_value_text(cay_json_value_find(cay_json_in_root(doc), "message"));
        else if (c->body.len > 0) /* a proxy's, or that of a port where TLS is spoken */
                text = cay_buf_data(&c->body);
        for (; text && *text && n + 1 < sizeof(clean); text++)
                clean[n++] = (unsigned char)*text < 0x20 || *text == 0x7f ? ' ' : *text;
        clean[n] = '\0';
        return cay_fail(err, code_of(c->status), "%s: Docker says %u%s%s", what, c->status, n ? ": " : "",
                        clean);
}
