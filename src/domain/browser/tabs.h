/* SPDX-License-Identifier: Apache-2.0 */
/* The tabs of a browser, as its Target events tell; in the order in which they were opened. */
#pragma once

#include "domain/browser/cdp_message.h"

#define CAY_TABS_MAX 256u

struct cay_tab {
        char id[40]; /* CDP's targetId */
        char url[1024], title[256];
        char context[40]; /* browserContextId */
        unsigned number;  /* of this browser, from 1: never used again */
};

struct cay_tabs {
        struct cay_tab *items; /* owned */
        unsigned count, last_number;
};

/* An event of a session with Target.setDiscoverTargets; others are ignored. */
void cay_tabs_hear(struct cay_tabs *t, const struct cay_cdp_message *event);
/* The list that Target.getTargets answers with. */
void cay_tabs_hear_all(struct cay_tabs *t, struct cay_json_view result);
void cay_tabs_done(struct cay_tabs *t);
