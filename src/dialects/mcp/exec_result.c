/* SPDX-License-Identifier: Apache-2.0 */
/* The outcome of a command: as text for models, and as a structure. */
#include <inttypes.h>
#include <string.h>

#include "foundation/base/clock.h"
#include "dialects/mcp/mcp_priv.h"
#include "dialects/mcp/tool_exec.h"
#include "domain/network/complaint.h"
#include "domain/ops/advice.h"

#define APART_MS 25u /* between a progress and the result */

static const char *text_of(const struct cay_mcp_exec *e, const char *key)
{
        const char *text = cay_json_value_text(cay_json_value_find(cay_json_in_root(e->doc), key));

        return text ? text : "";
}

static const char no_network[] =
        "This sandbox has no network: nothing outside it can be reached, so nothing can be downloaded. Work "
        "with "
        "what is installed, or bring files in with write_file; trying again does not help.";

static bool ended_badly(const char *cause)
{
        return cause[0] && strcmp(cause, "exited") != 0 && strcmp(cause, "signalled") != 0 &&
               strcmp(cause, "killed") != 0;
}

/* A program that failed for want of a network says so in words of its own. */
static bool speaks_of_network(const struct cay_mcp_text *t)
{
        return cay_network_complains(cay_buf_data(&t->tail), t->tail.len) ||
               cay_network_complains(cay_buf_data(&t->head), t->head.len);
}

static bool wanted_network(const struct cay_mcp_exec *e)
{
        return e->ended && e->is_cut_off &&
               (speaks_of_network(&e->out.streams[0]) || speaks_of_network(&e->out.streams[1]));
}

static bool is_kept(const struct cay_mcp_exec *e)
{
        return !e->own || e->keep || !e->ended;
}

static bool is_container(const struct cay_mcp_exec *e)
{
        return strncmp(e->call->tool->name, "container_", strlen("container_")) == 0;
}

static const char *id_word(const struct cay_mcp_exec *e)
{
        return is_container(e) ? "container_id" : "sandbox_id";
}

/* What was seen on the way and is not what it ended by. */
static void put_hints(const struct cay_mcp_exec *e, struct cay_buf *out, const char *cause)
{
        const struct cay_json_value *hints = cay_json_value_find(cay_json_in_root(e->doc), "hints");

        for (size_t i = 0; e->ended && i < cay_json_value_count(hints); i++) {
                const char *hint = cay_json_value_text(cay_json_value_at(hints, i));

                if (hint && strcmp(hint, cause) != 0)
                        cay_buf_printf(out, "\n[on the way it met a limit: %s. %s]", hint,
                                       cay_op_advice_by_word(hint, CAY_OP_MCP));
        }
}

/* That it has no network is told as advice, with what to do instead. */
static void put_network_hints(const struct cay_mcp_exec *e, struct cay_buf *out)
{
        const struct cay_json_value *view = cay_json_in_root(e->doc);
        const struct cay_json_value *hints = cay_json_value_find(view, "network_hints");
        size_t blocked = cay_json_value_count(cay_json_value_find(view, "network_blocked"));

        for (size_t i = 0; e->ended && i < blocked && i < cay_json_value_count(hints); i++) {
                const char *hint = cay_json_value_text(cay_json_value_at(hints, i));

                if (hint)
                        cay_buf_printf(out, "\n[%s]", hint);
        }
}

/* A program that could not be started has printed nothing: why is said in the cause's text alone. */
static bool is_silent_failure(const struct cay_mcp_exec *e, int64_t code)
{
        return (code == 126 || code == 127) && e->out.streams[0].bytes == 0 && e->out.streams[1].bytes == 0;
}

static void put_status(const struct cay_mcp_exec *e, struct cay_buf *out, const char *advice)
{
        const struct cay_json_value *view = cay_json_in_root(e->doc);
        const char *cause = text_of(e, "cause");
        int64_t code = 0;

        if (e->is_full)
                cay_buf_puts(out, "[there is more output]");
        else if (!e->ended)
                cay_buf_printf(out,
                               "[still running as exec_id %s in %s %s: call exec_poll with them and "
                               "offset %" PRIu64 "]%s",
                               e->exec, id_word(e), e->sandbox, e->out.next,
                               e->own && !e->keep
                                       ? "\n[its sandbox is destroyed five minutes after it has ended]"
                                       : "");
        else if (cay_json_value_i64(cay_json_value_find(view, "exit_code"), &code))
                cay_buf_printf(out, "[exit code %" PRId64 "]", code);
        else
                cay_buf_printf(out, "[ended by %s]", text_of(e, "signal")[0] ? text_of(e, "signal") : cause);
        if (e->ended && strcmp(cause, "exited") != 0)
                cay_buf_printf(out, "\n[%s: %s. %s]", cause, text_of(e, "cause_text"), advice);
        else if (e->ended && is_silent_failure(e, code))
                cay_buf_printf(out, "\n[%s]", text_of(e, "cause_text"));
        else if (advice[0])
                cay_buf_printf(out, "\n[%s]", advice);
        put_hints(e, out, cause);
        put_network_hints(e, out);
        if (e->out.has_gap && is_kept(e))
                cay_buf_printf(out,
                               "\n[output was cut: exec_poll with %s %s, exec_id %s and offset %" PRIu64
                               " reads on there]",
                               id_word(e), e->sandbox, e->exec, e->out.gap);
        else if (e->out.has_gap)
                cay_buf_puts(out,
                             "\n[output was cut, and the sandbox of this call is gone: print less (| tail -n "
                             "100), or run it "
                             "in a sandbox of your own (sandbox_create), where exec_poll reads the rest]");
        if (e->own && e->keep && e->ended)
                cay_buf_printf(out, "\n[%s %s is kept%s]", id_word(e), e->sandbox,
                               cay_mcp_arg_text(e->call, "name") ? ""
                                                                 : ", until it was not used for 30 minutes");
        if (e->trouble[0])
                cay_buf_printf(out, "\n[%s]", e->trouble);
}

static void put_readable(const struct cay_mcp_exec *e, struct cay_json *j, const char *advice)
{
        cay_auto_buf struct cay_buf text = { 0 };

        cay_buf_init(&text, 4 * (CAY_MCP_HEAD_MAX + CAY_MCP_TAIL_MAX) + 4096);
        cay_mcp_text_put(&e->out.streams[0], &text);
        if (text.len > 0 && cay_buf_data(&text)[text.len - 1] != '\n')
                cay_buf_putc(&text, '\n');
        if (e->out.streams[1].bytes > 0) {
                cay_buf_puts(&text, "[stderr]\n");
                cay_mcp_text_put(&e->out.streams[1], &text);
                if (cay_buf_data(&text)[text.len - 1] != '\n')
                        cay_buf_putc(&text, '\n');
        }
        put_status(e, &text, advice);
        cay_json_begin_object(j);
        cay_op_key_text(j, "type", "text");
        cay_json_key(j, "text");
        cay_json_string(j, cay_buf_data(&text), text.len);
        cay_json_end_object(j);
}

static void put_stream(struct cay_json *j, const char *key, const struct cay_mcp_text *t)
{
        cay_auto_buf struct cay_buf text = { 0 };

        cay_buf_init(&text, 2 * (CAY_MCP_HEAD_MAX + CAY_MCP_TAIL_MAX));
        cay_mcp_text_put(t, &text);
        cay_json_key(j, key);
        cay_json_string(j, cay_buf_data(&text), text.len);
}

static void put_structure(const struct cay_mcp_exec *e, struct cay_json *j, const char *advice)
{
        static const char *const copied[] = { "status",     "exit_code",   "signal",       "cause",
                                              "cause_text", "duration_ms", "stdout_bytes", "stderr_bytes" };
        bool runs = e->is_full ? strcmp(text_of(e, "status"), "running") == 0 : !e->ended;

        cay_json_begin_object(j);
        cay_op_key_text(j, "exec_id", e->exec);
        cay_op_key_text(j, id_word(e), e->sandbox);
        for (unsigned i = 0; i < CAY_COUNT(copied); i++) {
                cay_json_key(j, copied[i]);
                cay_json_value_put(j, cay_json_value_find(cay_json_in_root(e->doc), copied[i]));
        }
        cay_op_key_text(j, "advice", advice);
        cay_op_key_bool(j, "running", runs);
        put_stream(j, "stdout", &e->out.streams[0]);
        put_stream(j, "stderr", &e->out.streams[1]);
        cay_op_key_bool(j, "truncated", e->out.has_gap);
        cay_op_key_u64(j, "next_offset", e->out.has_gap ? e->out.gap : e->out.next);
        cay_op_key_bool(j, "sandbox_kept", is_kept(e));
        cay_json_end_object(j);
}

static void put_image(const struct cay_mcp_image *image, struct cay_json *j)
{
        cay_json_begin_object(j);
        cay_op_key_text(j, "type", "image");
        cay_json_key(j, "data");
        cay_json_string(j, cay_buf_data(&image->coded), image->coded.len);
        cay_op_key_text(j, "mimeType", image->type);
        cay_json_end_object(j);
}

/* Of very long output the beginning is not kept: reading on begins behind that. */
static void skip_lost(struct cay_mcp_exec *e)
{
        int64_t first = 0;

        cay_json_value_i64(cay_json_value_find(cay_json_in_root(e->doc), "output_first"), &first);
        if (e->out.has_gap && (uint64_t)first > e->out.gap)
                e->out.gap = (uint64_t)first;
}

static void on_apart(struct cay_timer *t)
{
        struct cay_mcp_exec *e = cay_container_of(t, struct cay_mcp_exec, patience);

        if (!e->call->is_over)
                cay_mcp_exec_send(e);
}

/*
 * Some clients handle a result before a progress that arrives in the same piece, and then do not know the
 * progress's token.
 */
void cay_mcp_exec_send(struct cay_mcp_exec *e)
{
        struct cay_mcp_call *c = e->call;
        const char *cause, *advice;
        struct cay_mcp_result r;
        struct cay_error err = { 0 };

        cay_timer_clear(&e->patience);
        cay_timer_clear(&e->beat);
        if (cay_clock_ms() - e->progress_ms < APART_MS) {
                cay_timer_set(c->mcp->world->loop, &e->patience, APART_MS, on_apart);
                return;
        }
        if (!e->doc && cay_json_in_parse(cay_buf_data(&e->view), e->view.len, NULL, &e->doc, &err) < 0) {
                cay_mcp_call_error(c, CAY_RPC_INTERNAL, NULL, "what the command came to is not known");
                return;
        }
        skip_lost(e);
        cause = e->ended ? text_of(e, "cause") : "";
        advice = e->ended && strcmp(cause, "exited") != 0 ? text_of(e, "advice")
                 : wanted_network(e)                      ? no_network
                                                          : "";
        cay_mcp_result_begin(&r);
        cay_json_key(&r.j, "content");
        cay_json_begin_array(&r.j);
        put_readable(e, &r.j, advice);
        for (unsigned i = 0; i < e->image_count; i++)
                if (e->images[i].type[0])
                        put_image(&e->images[i], &r.j);
        cay_json_end_array(&r.j);
        cay_json_key(&r.j, "structuredContent");
        put_structure(e, &r.j, advice);
        cay_op_key_bool(&r.j, "isError", ended_badly(cause));
        cay_mcp_result_send(&r, c, CAY_MCP_UNCACHED);
}
