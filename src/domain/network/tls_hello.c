/* SPDX-License-Identifier: Apache-2.0 */
/* RFC 8446, 4.1.2 and RFC 6066, 3. Every length is checked against what encloses it. */
#include "domain/network/tls_hello.h"

#include <stdbool.h>
#include <string.h>

#include "foundation/base/banned.h"

enum {
        RECORD_HEAD = 5,
        HANDSHAKE = 22,
        CLIENT_HELLO = 1,
        EXTENSION_SERVER_NAME = 0,
        HOST_NAME = 0,
        RECORD_MAX = 16384
};

struct part { /* what is left of a piece */
        const uint8_t *at;
        size_t left;
        bool is_short; /* something was read beyond its end */
};

static uint32_t get(struct part *p, unsigned bytes)
{
        uint32_t value = 0;

        if (p->left < bytes) {
                p->is_short = true;
                p->left = 0;
                return 0;
        }
        for (unsigned i = 0; i < bytes; i++)
                value = value << 8 | p->at[i];
        p->at += bytes;
        p->left -= bytes;
        return value;
}

/* A piece with its length in front. */
static struct part get_part(struct part *p, unsigned length_bytes)
{
        size_t len = get(p, length_bytes);
        struct part inner = { p->at, len, false };

        if (len > p->left) {
                p->is_short = true;
                return (struct part){ p->at, 0, true };
        }
        p->at += len;
        p->left -= len;
        return inner;
}

/* The handshake's bytes out of their records. 1: the hello is whole, 0: more must come, -1: malformed. */
static int collect(const uint8_t *bytes, size_t len, uint8_t *hello, size_t *ret_len)
{
        size_t have = 0, used = 0;

        while (len - used >= RECORD_HEAD) {
                const uint8_t *head = bytes + used;
                size_t record = (size_t)head[3] << 8 | head[4], part;

                if (head[0] != HANDSHAKE || head[1] != 3 || record == 0 || record > RECORD_MAX)
                        return -1;
                part = len - used - RECORD_HEAD < record ? len - used - RECORD_HEAD : record;
                if (have + part > CAY_TLS_HELLO_MAX)
                        return -1;
                memcpy(hello + have, head + RECORD_HEAD, part);
                have += part;
                *ret_len = have;
                if (have >= 1 && hello[0] != CLIENT_HELLO)
                        return -1;
                if (have >= 4) {
                        size_t whole = 4 + ((size_t)hello[1] << 16 | (size_t)hello[2] << 8 | hello[3]);

                        if (whole > CAY_TLS_HELLO_MAX - RECORD_HEAD)
                                return -1;
                        if (have >= whole) {
                                *ret_len = whole;
                                return 1;
                        }
                }
                if (part < record)
                        return 0;
                used += RECORD_HEAD + record;
        }
        return 0;
}

static enum cay_tls_hello read_server_name(struct part extension, char name[CAY_POLICY_NAME_MAX + 1])
{
        struct part list = get_part(&extension, 2), host;
        uint32_t kind = get(&list, 1);

        host = get_part(&list, 2);
        if (extension.is_short || list.is_short || extension.left > 0 || list.left > 0 || kind != HOST_NAME ||
            !cay_policy_name_fold((const char *)host.at, host.left, name))
                return CAY_TLS_HELLO_BAD;
        return CAY_TLS_HELLO_NAMED;
}

static enum cay_tls_hello read_hello(const uint8_t *bytes, size_t len, char name[CAY_POLICY_NAME_MAX + 1])
{
        struct part hello = { bytes + 4, len - 4, false }, extensions;
        enum cay_tls_hello found = CAY_TLS_HELLO_UNNAMED;

        get(&hello, 2); /* version */
        for (unsigned i = 0; i < 8; i++)
                get(&hello, 4); /* random */
        get_part(&hello, 1);    /* session */
        get_part(&hello, 2);    /* ciphers */
        get_part(&hello, 1);    /* compression */
        if (hello.is_short)
                return CAY_TLS_HELLO_BAD;
        if (hello.left == 0)
                return CAY_TLS_HELLO_UNNAMED;
        extensions = get_part(&hello, 2);
        if (hello.is_short || hello.left > 0)
                return CAY_TLS_HELLO_BAD;
        while (extensions.left > 0) {
                uint32_t kind = get(&extensions, 2);
                struct part extension = get_part(&extensions, 2);

                if (extensions.is_short)
                        return CAY_TLS_HELLO_BAD;
                if (kind != EXTENSION_SERVER_NAME)
                        continue;
                if (found != CAY_TLS_HELLO_UNNAMED) /* a second one: servers differ on which counts */
                        return CAY_TLS_HELLO_BAD;
                found = read_server_name(extension, name);
                if (found == CAY_TLS_HELLO_BAD)
                        return found;
        }
        return found;
}

enum cay_tls_hello cay_tls_hello_read(const void *bytes, size_t len, char name[CAY_POLICY_NAME_MAX + 1])
{
        uint8_t hello[CAY_TLS_HELLO_MAX];
        const uint8_t *at = bytes;
        size_t hello_len = 0;

        if (len == 0)
                return CAY_TLS_HELLO_MORE;
        if (at[0] != HANDSHAKE || (len > 1 && at[1] != 3))
                return CAY_TLS_HELLO_NOT_TLS;
        switch (collect(at, len, hello, &hello_len)) {
        case 0:
                return len >= CAY_TLS_HELLO_MAX ? CAY_TLS_HELLO_BAD : CAY_TLS_HELLO_MORE;
        case 1:
                return read_hello(hello, hello_len, name);
        default:
                return CAY_TLS_HELLO_BAD;
        }
}
