/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as what a sandbox sends to cay-edge: the result does not depend on how they arrive, and is what
 * was sent but for placeholders in their header. The same bytes are also read as a sandbox's secrets.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cay-edge/request.h"
#include "domain/network/secret_text.h"
#include "fuzz/must.h"

#define MARK "MARK"
#define VALUE "{the value}"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct edge_order order = { .host = "h.example",
                                         .count = 1,
                                         .secrets = { { "Authorization", MARK, VALUE } } };

struct result {
        struct cay_buf in, out;
        struct edge_request request;
};

static void run(struct result *r, const uint8_t *data, size_t size, size_t piece)
{
        cay_buf_init(&r->in, 2 * EDGE_HEAD_MAX);
        cay_buf_init(&r->out, 2 * EDGE_OUT_MAX);
        r->request = (struct edge_request){ .order = &order };
        while (size > 0) {
                size_t n = size < piece ? size : piece;

                must(cay_buf_put(&r->in, data, n) == 0);
                data += n;
                size -= n;
                while (edge_request_step(&r->request, &r->in, &r->out))
                        ;
        }
}

static void end(struct result *r)
{
        cay_buf_done(&r->in);
        cay_buf_done(&r->out);
}

/* The value stands only in lines of its header. */
static void check_places(const char *out)
{
        for (const char *at = out; (at = strstr(at, VALUE)); at++) {
                const char *line = at;

                while (line > out && line[-1] != '\n')
                        line--;
                must(strncasecmp(line, "authorization:", 14) == 0);
        }
}

static void check_rest(const struct result *r, const uint8_t *data, size_t size)
{
        const char *out = cay_buf_data(&r->out), *end = out + r->out.len;
        size_t used = size - r->in.len, at = 0;

        while (out < end) {
                bool is_value =
                        (size_t)(end - out) >= strlen(VALUE) && memcmp(out, VALUE, strlen(VALUE)) == 0;
                const char *want = is_value ? MARK : out;
                size_t len = is_value ? strlen(MARK) : 1;

                must(at + len <= used && memcmp(data + at, want, len) == 0);
                at += len;
                out += is_value ? strlen(VALUE) : 1;
        }
        must(at == used || r->request.state == EDGE_REFUSED);
}

static void read_secrets(const uint8_t *data, size_t size)
{
        struct cay_net_secrets *s = NULL;
        struct cay_error err = { 0 };
        cay_auto_buf struct cay_buf again = { 0 };

        if (cay_secret_text_read((const char *)data, size, &s, &err) < 0 || !s)
                return;
        cay_buf_init(&again, 1u << 20);
        must(cay_secret_text_begin(&again, s->ca) == 0);
        for (unsigned i = 0; i < s->count; i++) {
                must(cay_secret_header_is_valid(s->items[i].header));
                must(cay_secret_value_is_valid(s->items[i].value));
                must(cay_secret_text_add(&again, &s->items[i]) == 0);
        }
        must(again.len == size); /* names are folded, nothing else changes */
        cay_net_secrets_free(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        struct result whole, pieces;
        size_t least;

        if (size > EDGE_HEAD_MAX || memmem(data, size, VALUE, strlen(VALUE)))
                return 0;
        read_secrets(data, size);
        run(&whole, data, size, size);
        run(&pieces, data, size, 1);
        least = whole.out.len < pieces.out.len ? whole.out.len : pieces.out.len;
        must(whole.request.state == pieces.request.state);
        must(whole.out.len == pieces.out.len ||
             whole.request.state == EDGE_REFUSED); /* then one may have stopped earlier */
        must(memcmp(cay_buf_data(&whole.out), cay_buf_data(&pieces.out), least) == 0);
        if (!memmem(data, size, "asic", 4) && !memmem(data, size, "ASIC", 4)) {
                check_rest(&whole, data, size);
                if (whole.request.state != EDGE_RAW && !memchr(data, '\0', size))
                        check_places(cay_buf_data(&whole.out));
        }
        end(&whole);
        end(&pieces);
        return 0;
}
