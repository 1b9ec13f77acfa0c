/* SPDX-License-Identifier: Apache-2.0 */
/* Scopes as bits; a scope implies the narrower ones. */

#include "domain/auth/scope.h"

static const struct {
        const char *word;
        unsigned bits;
} words[] = { /* the widest first */
              { "admin", CAY_SCOPE_ALL },
              { "exec", CAY_SCOPE_EXEC | CAY_SCOPE_READ },
              { "read", CAY_SCOPE_READ }
};

static unsigned bits_of(const char *word, size_t len)
{
        for (size_t i = 0; i < CAY_COUNT(words); i++) {
                if (strlen(words[i].word) == len && memcmp(words[i].word, word, len) == 0)
                        return words[i].bits;
        }
        return 0;
}

int cay_scope_parse(const char *text, unsigned *ret, struct cay_error *err)
{
        const char *at = text;
        unsigned scopes = 0;

        for (;;) {
                size_t len;
                unsigned bits;

                at += strspn(at, " ,");
                if (*at == '\0')
                        break;
                len = strcspn(at, " ,");
                bits = bits_of(at, len);
                if (bits == 0)
                        return cay_fail(err, CAY_INVALID, "'%.*s' is not a scope (read, exec or admin)",
                                        (int)(len < 40 ? len : 40), at);
                scopes |= bits;
                at += len;
        }
        if (scopes == 0)
                return cay_fail(err, CAY_INVALID, "a scope is missing (read, exec or admin)");
        *ret = scopes;
        return 0;
}

/* By the highest bit: an operation needs that bit alone, a caller also has the lower ones. */
const char *cay_scope_text(unsigned scopes)
{
        if (scopes & CAY_SCOPE_ADMIN)
                return "admin";
        if (scopes & CAY_SCOPE_EXEC)
                return "exec";
        return scopes & CAY_SCOPE_READ ? "read" : "none";
}

bool cay_scope_has(unsigned scopes, unsigned wanted)
{
        return (scopes & wanted) == wanted;
}

bool cay_owner_is_valid(const char *owner)
{
        static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._@:+-";
        size_t len = strspn(owner, letters);

        return len > 0 && len <= CAY_OWNER_MAX && owner[len] == '\0';
}

const char *cay_credential_word(enum cay_credential credential)
{
        static const char *const credentials[] = {
                [CAY_CREDENTIAL_NONE] = "none",       [CAY_CREDENTIAL_PEER] = "peer",
                [CAY_CREDENTIAL_TOKEN] = "token",     [CAY_CREDENTIAL_KEY] = "key",
                [CAY_CREDENTIAL_SESSION] = "session",
        };

        _Static_assert(CAY_COUNT(credentials) == CAY_CREDENTIAL_COUNT, "a word for every credential");
        return (unsigned)credential < CAY_COUNT(credentials) ? credentials[credential] : "none";
}

void cay_caller_from_uid(struct cay_caller *ret, unsigned uid, unsigned own_uid)
{
        *ret = (struct cay_caller){
                .credential = CAY_CREDENTIAL_PEER,
                .scopes = uid == 0 || uid == own_uid ? CAY_SCOPE_ALL : CAY_SCOPE_EXEC | CAY_SCOPE_READ,
        };
        snprintf(ret->owner, sizeof(ret->owner), "uid:%u", uid);
        snprintf(ret->id, sizeof(ret->id), "uid:%u", uid);
}
