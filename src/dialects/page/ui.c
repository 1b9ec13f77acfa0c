/* SPDX-License-Identifier: Apache-2.0 */
/* The page's rows: files for anybody, the terminal for authenticated callers. */
#include "dialects/page/ui.h"

#include <stdio.h>
#include <string.h>

#include "foundation/base/cleanup.h"
#include "foundation/base/id.h"
#include "dialects/page/tty.h"
#include "dialects/page/ui_encoding.h"
#include "dialects/page/ui_files.h"

/* Browsers revalidate each time, by ETag; so a replaced daemon serves its own page at once. */
static void send_file(const void *owner, const struct cay_rest_place *place, struct cay_http_request *req,
                      const struct cay_visitor *v)
{
        const struct cay_ui_file *file = owner;
        const char *has = cay_http_request_header(req, "If-None-Match");
        bool is_packed =
                file->packed_len > 0 && cay_ui_accepts_gzip(cay_http_request_header(req, "Accept-Encoding"));
        const char *tag = is_packed ? file->packed_tag : file->tag;

        (void)place;
        (void)v;
        cay_http_response_add(req, "Cache-Control", "no-cache");
        cay_http_response_add(req, "Vary", "Accept-Encoding");
        cay_http_response_add(req, "ETag", tag);
        if (has && strcmp(has, tag) == 0) {
                cay_http_response_send(req, 304, NULL, NULL, 0);
                return;
        }
        if (is_packed)
                cay_http_response_add(req, "Content-Encoding", "gzip");
        cay_http_response_send(req, 200, file->type, is_packed ? file->packed : file->bytes,
                               is_packed ? file->packed_len : file->len);
}

/* Port 17681 in a browser: the page has a terminal. */
static void go_to_page(const void *owner, const struct cay_rest_place *place, struct cay_http_request *req,
                       const struct cay_visitor *v)
{
        char where[512];

        (void)owner;
        (void)v;
        snprintf(where, sizeof(where), "%s/#/sandbox/%s", place->world->url ? place->world->url : "",
                 cay_id_is_valid(place->sandbox) ? place->sandbox : "");
        cay_http_response_add(req, "Location", where);
        cay_http_response_send(req, 302, NULL, NULL, 0);
}

#define CAY_UI_FILE(number, route, type, tag, len, packed_len)                                               \
        { .row = route, .is_open = true, .handle = send_file, .owner = &cay_ui_files[number] },
const struct cay_rest_more cay_ui_rows[] = {
#include "web_files.inc"
        /* Open: ttyd's clients may authenticate in their first message. */
        { .row = "GET /tty/{id}/ws", .is_open = true, .handle = cay_ui_tty },
        { .row = "GET /tty/{id}/token", .handle = cay_ui_tty_token },
        { .port = CAY_UI_TTY_PORT, .row = "ws", .is_open = true, .handle = cay_ui_tty },
        { .port = CAY_UI_TTY_PORT, .row = "token", .handle = cay_ui_tty_token },
        { .port = CAY_UI_TTY_PORT,
          .row = "",
          .is_open = true,
          .handle = go_to_page }, /* it authenticates the client */
};
const unsigned cay_ui_count = CAY_COUNT(cay_ui_rows);
