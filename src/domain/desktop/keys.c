/* SPDX-License-Identifier: Apache-2.0 */
/* Names of keys, and characters as keys. */
#include "domain/desktop/keys.h"

#include <string.h>
#include <strings.h>

#include "foundation/base/utf8.h"

#define KEYSYM_UNICODE 0x01000000u
#define KEYSYM_RETURN 0xff0du
#define KEYSYM_TAB 0xff09u

static const struct {
        const char *name;
        uint32_t keysym;
} names[] = {
#define CAY_KEY(name, keysym) { name, keysym },
#include "domain/desktop/keys.def"
#undef CAY_KEY
};

uint32_t cay_key_of(uint32_t c)
{
        if (c == '\n' || c == '\r')
                return KEYSYM_RETURN;
        if (c == '\t')
                return KEYSYM_TAB;
        if (c < 0x20 || (c >= 0x7f && c < 0xa0))
                return 0;
        return c <= 0xff ? c : KEYSYM_UNICODE + c; /* of Latin-1 the keysym is the code point */
}

static uint32_t find_key(const char *text, size_t len)
{
        for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
                if (strlen(names[i].name) == len && strncasecmp(names[i].name, text, len) == 0)
                        return names[i].keysym;
        return len > 0 && cay_utf8_next(text, len) == len ? cay_key_of(cay_utf8_decode(text, len)) : 0;
}

/* "ctrl++": the last plus is a key. */
static size_t key_length(const char *at)
{
        size_t len = strcspn(at, "+ ");

        return len == 0 && *at == '+' ? 1 : len;
}

int cay_chord_next(const char **at, struct cay_chord *ret, struct cay_error *err)
{
        const char *p = *at + strspn(*at, " ");

        ret->count = 0;
        if (*p == '\0')
                return 0;
        for (;;) {
                size_t len = key_length(p);
                uint32_t key = find_key(p, len);

                if (key == 0)
                        return cay_fail(err, CAY_INVALID,
                                        "keys: '%.*s' is not a key; keys are named as in X11 (Return, "
                                        "Page_Down, ctrl+c), several separated by blanks",
                                        (int)(len < 40 ? len : 40), p);
                if (ret->count == CAY_CHORD_KEYS_MAX)
                        return cay_fail(err, CAY_INVALID, "keys: at most %u keys at once",
                                        CAY_CHORD_KEYS_MAX);
                ret->keys[ret->count++] = key;
                p += len;
                if (*p == '\0' || *p == ' ')
                        break;
                if (*p != '+')
                        return cay_fail(err, CAY_INVALID, "keys: '%.20s' needs a + or a blank before it", p);
                p++;
        }
        *at = p + strspn(p, " ");
        return 1;
}
