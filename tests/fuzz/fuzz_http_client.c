/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a server inside a box may answer to the proxy's client. The outcome (status, fields, body, failure)
 * must not depend on how the bytes are cut, nor on how much of the body is taken at once. Input: a byte of
 * choices, then the stream.
 */
#include <stdint.h>
#include <stdlib.h>

#include "fuzz/must.h"
#include "foundation/http/chars.h"
#include "foundation/http/client.h"
#include "unit/foundation/http/fake_duplex.h"

struct outcome {
        unsigned status, lines, fault;
        bool ended, upgraded, responded;
        uint64_t body;
        size_t len;
};

struct run {
        struct cay_http_client client;
        struct fake_duplex duplex;
        struct outcome o;
        unsigned turn;
        bool takes_little;
};

static struct run *run_of(struct cay_http_client *c)
{
        return cay_container_of(c, struct run, client);
}

static void on_response(struct cay_http_client *c)
{
        struct run *r = run_of(c);

        must(!r->o.responded && c->head.status >= 200);
        r->o.responded = true;
        r->o.status = c->head.status;
        r->o.lines = c->head.line_count;
        for (unsigned i = 0; i < c->head.line_count; i++) {
                const char *name, *value;

                cay_http_client_header_at(c, i, &name, &value);
                must(cay_http_is_token(name, strlen(name)) && cay_http_is_value(value, strlen(value)));
        }
}

static size_t on_body(struct cay_http_client *c, const void *bytes, size_t len)
{
        struct run *r = run_of(c);
        const uint8_t *at = bytes;
        size_t n = len;

        must(r->o.responded && len > 0);
        if (r->takes_little) {
                n = r->turn++ % 3 == 0 ? 0 : (len + 1) / 2;
                if (n < len)
                        cay_http_client_resume(c);
        }
        for (size_t i = 0; i < n; i++)
                r->o.body = (r->o.body ^ at[i]) * 0x100000001b3u;
        r->o.len += n;
        return n;
}

static void on_end(struct cay_http_client *c)
{
        struct run *r = run_of(c);

        must(r->o.responded && !r->o.ended && !r->o.fault);
        r->o.ended = true;
}

static void on_upgraded(struct cay_http_client *c)
{
        struct run *r = run_of(c);
        struct cay_buf rest;

        r->o.upgraded = true;
        cay_duplex_close(cay_http_client_take_duplex(c, &rest));
        cay_buf_done(&rest);
}

static void on_fail(struct cay_http_client *c, const struct cay_http_fault *fault)
{
        struct run *r = run_of(c);

        must(fault->text && !r->o.ended && !r->o.fault);
        r->o.fault = fault->status;
}

static const struct cay_http_client_ops ops = { .on_response = on_response,
                                                .on_body = on_body,
                                                .on_end = on_end,
                                                .on_upgraded = on_upgraded,
                                                .on_fail = on_fail };

static struct outcome run(const uint8_t *data, size_t size, uint8_t choices, size_t piece, bool takes_little)
{
        const struct cay_http_client_request ask = { .method = choices & 1 ? CAY_HTTP_HEAD : CAY_HTTP_GET,
                                                     .target = "/",
                                                     .fields = "Host: x\r\n",
                                                     .upgrade = choices & 2 ? "x" : NULL };
        struct cay_loop *loop = cay_loop_new();
        struct run r = { .takes_little = takes_little };

        must(loop);
        fake_duplex_init(&r.duplex);
        must(cay_http_client_begin(&r.client, &r.duplex.duplex, loop, &ask, &ops) == 0);
        while (size > 0 && r.client.duplex) {
                size_t n = size < piece ? size : piece;

                fake_duplex_say(&r.duplex, data, n);
                cay_loop_round(loop, 0);
                data += n;
                size -= n;
        }
        if (r.client.duplex)
                r.duplex.duplex.user->ops->on_eof(r.duplex.duplex.user);
        for (unsigned i = 0; i < 400000 && r.client.duplex; i++)
                cay_loop_round(loop, 0);
        must(!r.client.duplex && r.o.ended + r.o.upgraded + (r.o.fault != 0) == 1);
        cay_http_client_abort(&r.client);
        cay_buf_done(&r.duplex.wrote);
        cay_loop_free(loop);
        return r.o;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        struct outcome whole, bytes, little;

        if (size < 1 || size > 20000)
                return 0;
        whole = run(data + 1, size - 1, data[0], size, false);
        bytes = run(data + 1, size - 1, data[0], 1, false);
        little = run(data + 1, size - 1, data[0], 1 + (data[0] >> 2), true);
        must(whole.status == bytes.status && whole.lines == bytes.lines && whole.fault == bytes.fault);
        must(whole.ended == bytes.ended && whole.upgraded == bytes.upgraded);
        must(whole.len == bytes.len && whole.body == bytes.body);
        must(whole.status == little.status && whole.fault == little.fault && whole.ended == little.ended);
        must(whole.fault || (whole.len == little.len && whole.body == little.body));
        return 0;
}
