/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What strangers say to a port by host name: the name itself, the cookies that come with it and those that
 * come back, the query. The first line is the host, the second a Cookie field, the third a Set-Cookie field,
 * the rest a query. Nothing of ours ever passes.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "daemon/gate/gate_port.h"
#include "dialects/rest/proxy_fields.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Holds in every build, unlike assert. */
#define HOLDS(condition)                                                                                     \
        do {                                                                                                 \
                if (!(condition))                                                                            \
                        __builtin_trap();                                                                    \
        } while (0)

static void try_host(const char *host)
{
        static char *const items[] = { "localhost", "b.example", NULL };
        static const struct cay_config_list domains = { .items = (char **)items, .count = 2 };
        struct cay_port_host h;

        if (!cay_port_host_read(&domains, host, &h)) {
                HOLDS(h.port == 0);
                return;
        }
        HOLDS(h.port > 0 && cay_id_is_valid(h.sandbox));
        HOLDS(strncmp(host, h.label, strlen(h.label)) == 0 && host[strlen(h.label)] == '.');
}

static void try_cookies(const char *field)
{
        cay_auto_buf struct cay_buf out = { 0 };
        const char *at;
        int r;

        cay_buf_init(&out, 2 * strlen(field) + 1); /* each gets a blank in front */
        r = cay_proxy_put_cookies(&out, field);
        HOLDS(r == 0 || r == 1);
        HOLDS((r == 1) == (out.len == 0));
        for (at = r == 0 ? cay_buf_data(&out) : NULL; at; at = strchr(at, ';')) {
                at += strspn(at, " \t;");
                HOLDS(!cay_port_cookie_is_ours(at));
        }
}

static void try_query(const char *query)
{
        cay_auto_buf struct cay_buf out = { 0 };
        const char *rest;

        cay_buf_init(&out, strlen(query) + 8);
        HOLDS(cay_proxy_put_unlinked(&out, "/p", query) == 0);
        rest = strchr(cay_buf_data(&out), '?');
        HOLDS(!cay_proxy_has_link(rest ? rest + 1 : NULL));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        char *text = malloc(size + 1), *line[4] = { NULL };
        unsigned count = 0;

        if (!text)
                return 0;
        memcpy(text, data, size);
        text[size] = '\0';
        for (char *at = text; at && count < 4; count++) {
                line[count] = at;
                at = count < 3 ? strchr(at, '\n') : NULL;
                if (at)
                        *at++ = '\0';
        }
        try_host(line[0]);
        if (line[1])
                try_cookies(line[1]);
        if (line[2] && cay_proxy_cookie_stays(line[2]))
                HOLDS(!strcasestr(line[2], ";domain="));
        if (line[3])
                try_query(line[3]);
        free(text);
        return 0;
}
