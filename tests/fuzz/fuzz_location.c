/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a sandbox's server calls its own addresses, and what clients ask for parts of: the first line is the path that was asked for, the
 * second a Location, the third a Refresh, the rest a Range. What was written anew never leads out of the prefix.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "dialect/rest/rest_location.h"
#include "dialect/rest/rest_range.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Holds in every build, unlike assert. */
#define HOLDS(condition)                                                                                     \
        do {                                                                                                 \
                if (!(condition))                                                                            \
                        __builtin_trap();                                                                    \
        } while (0)

#define PREFIX "/api/sandboxes/x/ports/3000"

static void try_location(const char *path, const char *value)
{
        const struct cay_proxy_place place = {
                .prefix = PREFIX, .prefix_len = strlen(PREFIX), .path = path, .port = 3000
        };
        cay_auto_buf struct cay_buf out = { 0 };
        bool is_path = value[0] == '/' && value[1] != '/' && value[1] != '\\';
        const char *at;

        cay_buf_init(&out, 1u << 20);
        HOLDS(cay_location_put(&out, &place, "Location", value) == 0);
        HOLDS(strlen(cay_buf_data(&out)) == out.len);
        if (!is_path && strcmp(cay_buf_data(&out), value) == 0)
                return;
        at = cay_buf_data(&out);
        HOLDS(strncmp(at, PREFIX, strlen(PREFIX)) == 0);
        at += strlen(PREFIX);
        HOLDS(*at == '\0' || *at == '/' || *at == '?' || *at == '#');
        for (const char *end = at + strcspn(at, "?#"); at < end; at++) /* no dots are left to lead anywhere */
                HOLDS(strncmp(at, "/../", 4) != 0 && !(strncmp(at, "/..", 3) == 0 && at + 3 == end));
}

static void try_refresh(const char *path, const char *value)
{
        const struct cay_proxy_place place = {
                .prefix = PREFIX, .prefix_len = strlen(PREFIX), .path = path, .port = 3000
        };
        cay_auto_buf struct cay_buf out = { 0 };

        cay_buf_init(&out, 1u << 20);
        HOLDS(cay_location_put(&out, &place, "Refresh", value) == 0);
}

static void try_range(const char *value)
{
        struct cay_rest_range r;

        if (cay_rest_range_read(value, &r))
                HOLDS(r.from <= INT64_MAX && r.length <= INT64_MAX &&
                      (r.is_tail || r.length > 0 || !r.has_length));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        char *text = size <= 16384 ? malloc(size + 1) : NULL, *line[4] = { NULL };
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
        text[strcspn(text, "?#")] = '\0'; /* of a path; it begins with a slash, and the bare port has none */
        if (line[0][0] != '/' && line[0][0] != '\0')
                line[0] = "/";
        if (line[1])
                try_location(line[0], line[1]);
        if (line[2])
                try_refresh(line[0], line[2]);
        if (line[3])
                try_range(line[3]);
        free(text);
        return 0;
}
