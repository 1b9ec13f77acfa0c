/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of NAME:PASSWORD:ID:…; the theory is in accounts.h. */
#include "cay-docker/accounts.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cay-docker/order.h"
#include "foundation/tar/tar.h"

#define MEMBERS_MAX 8u /* extended headers before the file */

const char *docker_account_path(enum docker_account which)
{
        return which == DOCKER_ACCOUNT_PASSWD ? "/etc/passwd" : "/etc/group";
}

bool docker_account_read(const void *tar, size_t len, struct cay_view *ret)
{
        const uint8_t *at = tar;

        for (unsigned i = 0; i < MEMBERS_MAX && len >= CAY_TAR_BLOCK; i++) {
                struct cay_tar_header h;
                size_t whole;

                if (cay_tar_header_parse(at, &h) != 1 || h.size > DOCKER_ACCOUNT_MAX)
                        return false;
                whole = CAY_TAR_BLOCK + (size_t)h.size + cay_tar_padding(h.size);
                if (whole > len)
                        return false;
                if (h.type == CAY_TAR_FILE) {
                        *ret = (struct cay_view){ (const char *)at + CAY_TAR_BLOCK, (uint32_t)h.size };
                        return true;
                }
                if (h.type != CAY_TAR_PAX && h.type != CAY_TAR_PAX_GLOBAL)
                        return false;
                at += whole;
                len -= whole;
        }
        return false;
}

/* The nth field of a line; of length 0 where there is none. */
static struct cay_view field(struct cay_view line, unsigned nth)
{
        const char *at = line.ptr;
        size_t left = line.len;

        for (;; nth--) {
                const char *colon = memchr(at, ':', left);
                size_t len = colon ? (size_t)(colon - at) : left;

                if (nth == 0)
                        return (struct cay_view){ at, (uint32_t)len };
                if (!colon)
                        return (struct cay_view){ at, 0 };
                at += len + 1;
                left -= len + 1;
        }
}

static bool has_line(struct cay_view text, unsigned nth, const char *value)
{
        const char *at = text.ptr;
        size_t left = text.len;

        while (left > 0) {
                const char *end = memchr(at, '\n', left);
                size_t len = end ? (size_t)(end - at) : left;
                struct cay_view f = field((struct cay_view){ at, (uint32_t)len }, nth);

                if (f.len == strlen(value) && memcmp(f.ptr, value, f.len) == 0)
                        return true;
                len += end ? 1 : 0;
                at += len;
                left -= len;
        }
        return false;
}

bool docker_account_has_user(struct cay_view text)
{
        char id[16];

        snprintf(id, sizeof(id), "%u", DOCKER_USER);
        return has_line(text, 2, id);
}

/* The name may be another user's in there. */
int docker_account_put(enum docker_account which, struct cay_view text, struct cay_buf *out)
{
        const char *name = has_line(text, 0, "sandbox") ? "cay-sandbox" : "sandbox";
        char line[128];
        int r = 0;

        if (which == DOCKER_ACCOUNT_PASSWD)
                snprintf(line, sizeof(line), "%s:x:%u:%u:sandbox:/home/sandbox:/bin/sh\n", name, DOCKER_USER,
                         DOCKER_USER);
        else
                snprintf(line, sizeof(line), "%s:x:%u:\n", name, DOCKER_USER);
        if (text.len > 0)
                r = cay_buf_put(out, text.ptr, text.len);
        if (r == 0 && text.len > 0 && text.ptr[text.len - 1] != '\n')
                r = cay_buf_puts(out, "\n");
        return r == 0 ? cay_buf_puts(out, line) : r;
}
