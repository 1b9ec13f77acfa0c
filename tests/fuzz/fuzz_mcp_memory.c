/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines that `cay mcp` relays, by turns the client's and the daemon's: what it then tells is lines of JSON,
 * and each request is told once.
 */
#include <stdint.h>
#include <string.h>

#include "foundation/base/json_view.h"
#include "cay/cli/mcp_memory.h"
#include "must.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_lines(struct cay_buf *out)
{
        char *at = cay_buf_data(out);
        size_t left = out->len;

        while (left > 0) {
                char *newline = memchr(at, '\n', left);
                struct cay_json_view v;

                must(newline);
                must(cay_json_view_open(at, (size_t)(newline - at), &v) == 0);
                left -= (size_t)(newline - at) + 1;
                at = newline + 1;
        }
        cay_buf_clear(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        const char *at = (const char *)data, *end = at + size;
        struct cay_mcp_memory m = { 0 };
        cay_auto_buf struct cay_buf out = { 0 };

        cay_buf_init(&out, 64u << 20);
        for (unsigned i = 0; at < end; i++) {
                const char *newline = memchr(at, '\n', (size_t)(end - at));
                size_t len = newline ? (size_t)(newline - at) : (size_t)(end - at);

                if (i % 3 == 2)
                        cay_mcp_memory_heard(&m, at, len);
                else
                        cay_mcp_memory_said(&m, at, len);
                at += len + 1;
        }
        must(cay_mcp_memory_again(&m, &out) == 0);
        check_lines(&out);
        must(cay_mcp_memory_lost(&m, "lost", &out) == 0);
        check_lines(&out);
        must(cay_mcp_memory_lost(&m, "lost", &out) == 0 && out.len == 0);
        cay_mcp_memory_done(&m);
        return 0;
}
