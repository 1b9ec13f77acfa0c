/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a caller may do: read (look), exec (create and use one's own), admin (all owners, keys, settings).
 * Each implies the one before.
 */
#pragma once

#include <stdbool.h>

#include "foundation/base/error.h"

enum {
        CAY_SCOPE_READ = 1,
        CAY_SCOPE_EXEC = 2,
        CAY_SCOPE_ADMIN = 4,
        CAY_SCOPE_ALL = 7,
};

#define CAY_SCOPE_TEXT_MAX 24
#define CAY_OWNER_MAX 63

/*
 * "exec", or several separated by spaces or commas; implied ones are added. CAY_INVALID: an unknown word, or
 * none.
 */
int cay_scope_parse(const char *text, unsigned *ret, struct cay_error *err);
const char *cay_scope_text(
        unsigned scopes); /* the widest, or the one that an op needs: "admin", "exec", "read", "none" */
bool cay_scope_has(unsigned scopes, unsigned wanted); /* has all that are wanted */
/* 1 to 63 letters, digits or . _ @ : + - ; names that begin with "uid:" are reserved for unix peers. */
bool cay_owner_is_valid(const char *owner);

enum cay_credential { /* how a caller was authenticated */
                      CAY_CREDENTIAL_NONE,
                      CAY_CREDENTIAL_PEER,    /* the unix socket: by the kernel */
                      CAY_CREDENTIAL_TOKEN,   /* a bearer token */
                      CAY_CREDENTIAL_KEY,     /* an API key */
                      CAY_CREDENTIAL_SESSION, /* the page's cookie */
                      CAY_CREDENTIAL_COUNT
};

/* Who is calling. Filled by the authentication that admitted the caller. */
struct cay_caller {
        char owner[CAY_OWNER_MAX + 1];
        unsigned scopes;
        enum cay_credential credential;
        char id[CAY_OWNER_MAX + 1]; /* of the token, key or session: for the log and the rate limit */
};

const char *cay_credential_word(enum cay_credential credential); /* "peer", "token"… */
/* A peer of the unix socket: "uid:N"; root and the daemon's own uid are admin. */
void cay_caller_from_uid(struct cay_caller *ret, unsigned uid, unsigned own_uid);
