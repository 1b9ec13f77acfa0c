/* SPDX-License-Identifier: Apache-2.0 */
/* Where a daemon is: http://HOST[:PORT][/BASE], https://…, unix:/PATH. */
#pragma once

#include <stdbool.h>

#include "foundation/base/error.h"

enum cay_url_kind { CAY_URL_UNIX, CAY_URL_HTTP, CAY_URL_HTTPS };

#define CAY_URL_HOST_MAX 253u
#define CAY_URL_BASE_MAX 255u

struct cay_url {
        enum cay_url_kind kind;
        char path[108];                  /* of the unix socket */
        char host[CAY_URL_HOST_MAX + 1]; /* IPv6 addresses without brackets */
        char port[6];
        char authority[CAY_URL_HOST_MAX + 16]; /* for the Host field */
        char base[CAY_URL_BASE_MAX + 1]; /* "" or "/below": the prefix of paths, without a trailing slash */
};

int cay_url_parse(const char *text, struct cay_url *ret, struct cay_error *err);
int cay_url_unix(const char *path, struct cay_url *ret, struct cay_error *err);
/* Appends text with everything but letters, digits and -._~ as %XX; keep_slash keeps '/'. */
struct cay_buf;
int cay_url_escape(struct cay_buf *out, const char *text, bool keep_slash);
