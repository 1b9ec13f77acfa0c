/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of MCP: whatever comes is one message of a known kind, or a fault that can be answered. */
#include <stdint.h>
#include <string.h>

#include "dialects/mcp/rpc.h"
#include "dialects/mcp/stream.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Holds in every build, unlike assert. */
#define HOLDS(condition)                                                                                     \
        do {                                                                                                 \
                if (!(condition))                                                                            \
                        __builtin_trap();                                                                    \
        } while (0)

#define MAX 65536u

static void check_id(const char *id)
{
        HOLDS(strlen(id) <= CAY_RPC_ID_MAX);
        HOLDS(id[0] == '"' || id[0] == '-' || (id[0] >= '0' && id[0] <= '9') || strcmp(id, "null") == 0);
}

/* What goes back is JSON that is read again, with the id that came. */
static void check_answer(const char *id, const char *text)
{
        cay_auto_buf struct cay_buf out = { 0 };
        struct cay_rpc_fault fault;
        struct cay_rpc again;

        cay_buf_init(&out, 65536);
        HOLDS(cay_rpc_put_error(&out, id, CAY_RPC_INTERNAL, text, NULL) == 0);
        if (strcmp(id, "null") == 0)
                return;
        HOLDS(cay_rpc_read(&again, cay_buf_data(&out), out.len, MAX, &fault) == 0);
        HOLDS(again.kind == CAY_RPC_RESPONSE && strcmp(again.id, id) == 0);
        cay_rpc_done(&again);
}

/* The id of a message that passes is the same however it is cut. */
static void check_passing(const char *text, size_t size)
{
        char whole[CAY_RPC_ID_MAX + 1], cut[CAY_RPC_ID_MAX + 1];
        struct cay_rpc_scan s = { 0 };

        cay_rpc_guess_id(text, size, whole);
        check_id(whole);
        for (size_t at = 0, n; at < size; at += n) {
                n = 1 + at % 7 < size - at ? 1 + at % 7 : size - at;
                cay_rpc_scan(&s, text + at, n);
        }
        cay_rpc_scan_id(&s, cut);
        HOLDS(strcmp(whole, cut) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        struct cay_rpc_fault fault;
        struct cay_rpc m;
        unsigned stream, seq;
        char id[64] = "";

        memcpy(id, data, size < sizeof(id) - 1 ? size : sizeof(id) - 1);
        cay_mcp_event_id_read(id, &stream, &seq);
        check_passing((const char *)data, size);
        if (cay_rpc_read(&m, (const char *)data, size, MAX, &fault) < 0) {
                HOLDS(fault.code <= -32600 && fault.code >= -32700 && fault.text[0]);
                check_id(fault.id);
                check_answer(fault.id, fault.text);
                return 0;
        }
        HOLDS((m.kind == CAY_RPC_RESPONSE) == !m.method);
        HOLDS((m.kind == CAY_RPC_NOTIFICATION) == !m.id[0]);
        if (m.id[0]) {
                check_id(m.id);
                check_answer(m.id, "x");
        }
        if (m.progress[0])
                check_id(m.progress);
        cay_rpc_done(&m);
        return 0;
}
