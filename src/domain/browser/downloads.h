/* SPDX-License-Identifier: Apache-2.0 */
/* What a browser has downloaded, as its events tell: the newest CAY_DOWNLOADS_MAX files. */
#pragma once

#include "domain/browser/cdp_message.h"

#define CAY_DOWNLOADS_MAX 256u

enum cay_download_state { CAY_DOWNLOAD_RUNNING, CAY_DOWNLOAD_COMPLETED, CAY_DOWNLOAD_CANCELED };

struct cay_download {
        char guid[40];    /* its file is called so, in CAY_BROWSER_DOWNLOADS */
        char name[256];   /* as the page names it, without folders */
        char url[512];    /* cut */
        uint64_t bytes;   /* received so far */
        uint64_t wall_ms; /* when it began */
        enum cay_download_state state;
        bool is_too_large; /* it was or is about to be cancelled for that */
        uint64_t total;    /* bytes, as its server says; 0: not known */
};

struct cay_downloads {
        struct cay_download *items; /* owned; oldest first */
        unsigned count;
        uint64_t most; /* bytes of one; 0: no limit */
};

/*
 * An event of any client; others than those of downloads are ignored. Returns the download if it is too large
 * and goes on: it has to be cancelled.
 */
const struct cay_download *cay_downloads_hear(struct cay_downloads *d, const struct cay_cdp_message *event,
                                              uint64_t wall_ms);
void cay_downloads_done(struct cay_downloads *d);
/* Why it is not complete, for people; "": it is, or it goes on. */
const char *cay_download_error(const struct cay_downloads *d, const struct cay_download *item, char *room,
                               size_t size);
const char *cay_download_state_word(enum cay_download_state state);
