/* SPDX-License-Identifier: Apache-2.0 */
/* Which client of a browser a session belongs to: a part of cdp_mux.c. */
#pragma once

#include "domain/browser/cdp_mux.h"

struct cay_cdp_client *cay_cdp_session_owner(const struct cay_cdp_mux *m,
                                             const char *session); /* NULL: nobody's */
/*
 * `above`: the session that it was attached from. 0, -ENOSPC, -ENOMEM. One that has an owner stays as it is.
 */
int cay_cdp_session_add(struct cay_cdp_mux *m, const char *session, const char *above,
                        struct cay_cdp_client *c);
/* It is attached to this page (targetId): what cay_cdp_session_page tells from then on. */
void cay_cdp_session_set_page(struct cay_cdp_mux *m, const char *session, const char *page);
/* Removes it and those below it, if they are this client's. */
void cay_cdp_session_remove(struct cay_cdp_mux *m, const char *session, const struct cay_cdp_client *c);
void cay_cdp_sessions_drop(struct cay_cdp_mux *m, struct cay_cdp_client *c); /* all of a client's */
void cay_cdp_sessions_clear(struct cay_cdp_mux *m);
