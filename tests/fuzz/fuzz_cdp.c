/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A browser's pipe with a hostile program behind it, and a hostile client. Input: lines. "C…" is a message of
 * the client; other lines are bytes of the browser, where '~' is a NUL. Promises: what goes to the browser
 * are whole messages of the client's own sessions.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "domain/browser/cdp_mux.h"
#include "domain/browser/downloads.h"
#include "domain/browser/logs.h"
#include "domain/browser/outline.h"
#include "domain/browser/tabs.h"
#include "must.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct cay_downloads downloads;
static struct cay_tabs tabs;
static struct cay_browser_logs logs;

static void on_message(struct cay_cdp_client *c, const struct cay_cdp_message *in)
{
        cay_auto_buf struct cay_buf text = { 0 };
        struct cay_cdp_message again;

        (void)c;
        cay_buf_init(&text, CAY_CDP_MESSAGE_MAX);
        if (in->has_id)
                must(cay_cdp_put_reply(&text, in->id, in->result, in->error, in->session) == 0);
        else
                must(cay_cdp_put_event(&text, in->method, in->params, in->session) == 0);
        must(cay_cdp_message_read(cay_buf_data(&text), text.len, &again) == 0);
        must(strcmp(again.method, in->method) == 0 || in->has_id);
}

/* Lines, each ended, and never more than was asked for. */
static void try_outline(struct cay_json_view nodes)
{
        cay_auto_buf struct cay_buf text = { 0 };
        struct cay_outline_hole holes[] = { { .owner = 1 }, { .owner = 2 } };
        const struct cay_outline_options options = { .frame = 1, .holes = holes, .hole_count = 2 };
        struct cay_outline o;

        cay_buf_init(&text, 1 << 20);
        if (cay_json_view_open(nodes.at, nodes.len, &nodes) < 0 ||
            cay_outline_write(nodes, &options, 300, &text, &o) < 0)
                return;
        must(text.len <= 300);
        must(text.len == 0 || cay_buf_data(&text)[text.len - 1] == '\n');
        for (unsigned i = 0; i < 2; i++)
                must(!holes[i].is_found || holes[i].at <= text.len);
}

static void on_event(struct cay_cdp_mux *m, const struct cay_cdp_message *in)
{
        (void)m;
        cay_downloads_hear(&downloads, in, 0);
        cay_tabs_hear(&tabs, in);
        cay_browser_logs_hear(&logs, in, "tab", 1);
        try_outline(cay_cdp_find(in->params, "nodes"));
}

static void take_output(struct cay_cdp_mux *m)
{
        while (m->out.len > 0) {
                const char *text = cay_buf_data(&m->out);
                size_t len = strlen(text);
                struct cay_cdp_message sent;

                must(len < m->out.len); /* whole messages, each with its NUL */
                must(cay_cdp_message_read(text, len, &sent) == 0 && sent.has_id && sent.method[0]);
                must(sent.session[0] != '\0' || strncmp(sent.method, "Target.", 7) == 0);
                cay_cdp_mux_sent(m, len + 1);
        }
}

static void tell(struct cay_cdp_client *c, const char *text, size_t len)
{
        struct cay_cdp_message m;
        struct cay_cdp_refusal refusal;

        if (cay_cdp_message_read(text, len, &m) == 0)
                cay_cdp_client_send(c, &m, &refusal);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        const struct cay_error why = { .code = CAY_CONFLICT };
        struct cay_cdp_client client = { .on_message = on_message };
        struct cay_error err = { 0 };
        struct cay_cdp_mux mux;
        char *bytes = malloc(size + 1);

        cay_cdp_mux_init(&mux);
        mux.on_event = on_event;
        mux.downloads = "/tmp/downloads";
        must(cay_cdp_client_open(&mux, &client, &err) == 0);
        take_output(&mux);
        for (size_t at = 0; at < size;) {
                const uint8_t *end = memchr(data + at, '\n', size - at);
                size_t len = end ? (size_t)(end - data) - at : size - at;

                memcpy(bytes, data + at, len);
                if (len > 0 && bytes[0] == 'C') {
                        tell(&client, bytes + 1, len - 1);
                } else {
                        for (size_t i = 0; i < len; i++)
                                if (bytes[i] == '~')
                                        bytes[i] = '\0';
                        cay_cdp_mux_feed(&mux, bytes, len);
                }
                take_output(&mux);
                at += len + 1;
        }
        cay_cdp_mux_end(&mux, &why);
        cay_cdp_mux_done(&mux);
        cay_downloads_done(&downloads);
        cay_tabs_done(&tabs);
        cay_browser_logs_done(&logs);
        free(bytes);
        return 0;
}
