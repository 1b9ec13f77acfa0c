/* SPDX-License-Identifier: Apache-2.0 */
/* The page's rows: files for anybody, the terminal for those who are let in. */
#include "dialect/ui/ui.h"

#include <string.h>

#include "base/cleanup.h"
#include "dialect/ui/tty.h"
#include "dialect/ui/ui_files.h"

/* Browsers ask each time, by the tag; a daemon that was replaced then serves its own page at once. */
static void send_file(const void *owner, const struct cay_rest_place *place, struct cay_http_request *req,
                      const struct cay_visitor *v)
{
        const struct cay_ui_file *file = owner;
        const char *has = cay_http_request_header(req, "If-None-Match");

        (void)place;
        (void)v;
        cay_http_response_add(req, "Cache-Control", "no-cache");
        cay_http_response_add(req, "ETag", file->tag);
        if (has && strcmp(has, file->tag) == 0)
                cay_http_response_send(req, 304, NULL, NULL, 0);
        else
                cay_http_response_send(req, 200, file->type, file->bytes, file->len);
}

#define CAY_UI_FILE(number, route, type, tag, len)                                                           \
        { .row = route, .is_open = true, .handle = send_file, .owner = &cay_ui_files[number] },
const struct cay_rest_more cay_ui_rows[] = {
#include "web_files.inc"
        { .row = "GET /tty/{id}/ws", .handle = cay_ui_tty },
        { .row = "GET /tty/{id}/token", .handle = cay_ui_tty_token },
};
const unsigned cay_ui_count = CAY_COUNT(cay_ui_rows);
