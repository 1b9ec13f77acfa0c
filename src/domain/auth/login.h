/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One-time logins: a secret that is shown in a URL's fragment (which no server and no log sees) and works
 * once, within ten minutes. Whoever posts it gets a session. Logins are kept as hashes in memory, so a
 * restart ends them. The session's cookie is a separate kind of token (domain/auth/token.h). The caller sets
 * its attributes: HttpOnly, SameSite=Strict, Path=/, and Secure with TLS.
 *
 * A session that is ended early is remembered by its id, also in memory, in a table of fixed size. When the
 * table is full, the oldest entry is evicted, and every session made before that one was ended is invalid:
 * evicting an entry never revives a session.
 */
#pragma once

#include "domain/auth/digest.h"
#include "domain/auth/token.h"

#define CAY_LOGIN_MS (10 * 60 * 1000)
#define CAY_LOGIN_LEN 43 /* 32 random bytes, base64url */
#define CAY_LOGIN_SLOTS 64u
#define CAY_LOGIN_OWNER 16u /* of one owner */
#define CAY_SESSION_S (12 * 3600)
#define CAY_SESSION_ENDED 256

struct cay_logins {
        struct cay_login_slot {
                uint8_t hash[CAY_DIGEST_SIZE];
                uint64_t until_ms; /* monotonic; 0: free */
                char owner[CAY_OWNER_MAX + 1];
                unsigned scopes;
        } slots[CAY_LOGIN_SLOTS];
        struct cay_session_ended {
                char id[CAY_OWNER_MAX + 1]; /* "": free */
                uint64_t until_s;           /* no session that existed when it was ended lives longer */
        } ended[CAY_SESSION_ENDED];
        unsigned ended_next;
        uint64_t ended_count; /* since the start */
        uint64_t over_s;      /* sessions that expire at or before this second are invalid */
};

/*
 * Makes a login. An owner whose slots are full loses its own oldest login, never another owner's. CAY_LIMIT:
 * no slot. Times are monotonic.
 */
int cay_login_make(struct cay_logins *l, const char *owner, unsigned scopes, uint64_t mono_ms,
                   char ret[CAY_LOGIN_LEN + 1], struct cay_error *err);
/*
 * Uses the login up: fills owner and scopes. False: unknown, used or expired; the caller cannot tell which.
 */
bool cay_login_take(struct cay_logins *l, const char *text, size_t len, uint64_t mono_ms,
                    struct cay_caller *ret);

/* Ends the session with this id. */
void cay_session_end(struct cay_logins *l, const char *id, uint64_t now_s);
bool cay_session_is_over(const struct cay_logins *l, const struct cay_token *session);
