/* SPDX-License-Identifier: Apache-2.0 */
#include "domain/network/secret_text.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "foundation/base/cleanup.h"

#define TOKEN "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

/* What a secret may be */

bool cay_secret_header_is_valid(const char *name)
{
        static const char *const never[] = { "connection", "content-length",    "expect",
                                             "host",       "keep-alive",        "te",
                                             "trailer",    "transfer-encoding", "upgrade" };
        size_t len = strnlen(name, CAY_SECRET_HEADER_MAX + 1);

        if (len < 1 || len > CAY_SECRET_HEADER_MAX || strspn(name, TOKEN) != len)
                return false;
        for (unsigned i = 0; i < CAY_COUNT(never); i++)
                if (strcasecmp(never[i], name) == 0)
                        return false;
        return true;
}

bool cay_secret_value_is_valid(const char *value)
{
        size_t len = strnlen(value, CAY_SECRET_VALUE_MAX + 1);

        if (len < 1 || len > CAY_SECRET_VALUE_MAX || value[0] == ' ' || value[len - 1] == ' ')
                return false;
        for (size_t i = 0; i < len; i++)
                if (value[i] < 0x20 || value[i] > 0x7e)
                        return false;
        return true;
}

/* Writing */

int cay_secret_text_begin(struct cay_buf *out, const uint8_t ca[CAY_SECRET_SEED])
{
        int r = cay_buf_puts(out, "ca ");

        for (unsigned i = 0; i < CAY_SECRET_SEED && r == 0; i++)
                r = cay_buf_printf(out, "%02x", ca[i]);
        return r == 0 ? cay_buf_putc(out, '\n') : r;
}

int cay_secret_text_add(struct cay_buf *out, const struct cay_net_secret *s)
{
        return cay_buf_printf(out, "secret %s %s %s %s\n", s->host, s->header, s->placeholder, s->value);
}

/* Reading */

static int digit(char c)
{
        return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool read_seed(const char *at, size_t len, uint8_t ret[CAY_SECRET_SEED])
{
        if (len != 2u * CAY_SECRET_SEED)
                return false;
        for (unsigned i = 0; i < CAY_SECRET_SEED; i++) {
                int high = digit(at[2 * i]), low = digit(at[2 * i + 1]);

                if (high < 0 || low < 0)
                        return false;
                ret[i] = (uint8_t)(high << 4 | low);
        }
        return true;
}

/* The next word of a line into ret; false: there is none that fits. */
static bool take_word(const char **at, const char *end, char *ret, size_t size)
{
        const char *space = memchr(*at, ' ', (size_t)(end - *at));
        size_t len = (size_t)((space ? space : end) - *at);

        if (!space || len < 1 || len >= size)
                return false;
        memcpy(ret, *at, len);
        ret[len] = '\0';
        *at = space + 1;
        return true;
}

static bool read_secret(const char *at, const char *end, struct cay_net_secret *ret)
{
        char host[sizeof(ret->host)];
        size_t len;

        if (!take_word(&at, end, host, sizeof(host)) ||
            !cay_policy_name_fold(host, strlen(host), ret->host) ||
            !take_word(&at, end, ret->header, sizeof(ret->header)) ||
            !take_word(&at, end, ret->placeholder, sizeof(ret->placeholder)))
                return false;
        len = (size_t)(end - at);
        if (len >= sizeof(ret->value))
                return false;
        memcpy(ret->value, at, len);
        ret->value[len] = '\0';
        return cay_secret_header_is_valid(ret->header) &&
               strspn(ret->placeholder, TOKEN) == strlen(ret->placeholder) && strlen(ret->value) == len &&
               cay_secret_value_is_valid(ret->value);
}

static bool begins(const char *at, const char *end, const char *word)
{
        return (size_t)(end - at) >= strlen(word) && memcmp(at, word, strlen(word)) == 0;
}

static int read_lines(const char *text, const char *end, struct cay_net_secrets *s, struct cay_error *err)
{
        const char *line = memchr(text, '\n', (size_t)(end - text));

        if (!line || !begins(text, line, "ca ") || !read_seed(text + 3, (size_t)(line - text) - 3, s->ca))
                return cay_fail(err, CAY_INVALID, "secrets: the first line must be ca and 64 digits");
        for (text = line + 1; text < end; text = line + 1) {
                line = memchr(text, '\n', (size_t)(end - text));
                if (!line || s->count >= CAY_SECRETS_MAX || !begins(text, line, "secret ") ||
                    !read_secret(text + 7, line, &s->items[s->count]))
                        return cay_fail(err, CAY_INVALID,
                                        "secrets: line %u is none, or there are more than %u", s->count + 2,
                                        CAY_SECRETS_MAX);
                s->count++;
        }
        return 0;
}

int cay_secret_text_read(const char *text, size_t len, struct cay_net_secrets **ret, struct cay_error *err)
{
        struct cay_net_secrets *s;

        *ret = NULL;
        if (len == 0)
                return 0;
        if (memchr(text, '\0', len))
                return cay_fail(err, CAY_INVALID, "secrets: the text has a NUL in it");
        s = calloc(1, sizeof(*s) + CAY_SECRETS_MAX * sizeof(s->items[0]));
        if (!s)
                return cay_fail(err, CAY_INTERNAL, "secrets: no memory");
        if (read_lines(text, text + len, s, err) < 0) {
                cay_net_secrets_free(s);
                return -1;
        }
        *ret = s;
        return 0;
}

void cay_net_secrets_free(struct cay_net_secrets *s)
{
        if (!s)
                return;
        explicit_bzero(s, sizeof(*s) + CAY_SECRETS_MAX * sizeof(s->items[0]));
        free(s);
}
