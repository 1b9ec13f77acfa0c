/* SPDX-License-Identifier: Apache-2.0 */
#include "domain/browser/downloads.h"

#include <stdlib.h>
#include <string.h>

#include "foundation/base/str.h"

static struct cay_download *find(struct cay_downloads *d, const char *guid)
{
        for (unsigned i = d->count; i-- > 0;)
                if (strcmp(d->items[i].guid, guid) == 0)
                        return &d->items[i];
        return NULL;
}

static struct cay_download *add(struct cay_downloads *d)
{
        if (!d->items)
                d->items = calloc(CAY_DOWNLOADS_MAX, sizeof(*d->items));
        if (!d->items)
                return NULL;
        if (d->count == CAY_DOWNLOADS_MAX) {
                memmove(d->items, d->items + 1, (CAY_DOWNLOADS_MAX - 1) * sizeof(*d->items));
                d->count--;
        }
        return &d->items[d->count++];
}

/* Chromium's ids of downloads: they become names of files. */
static bool is_guid(const char *text)
{
        size_t len = strspn(text, "0123456789abcdef-");

        return len == 36 && text[len] == '\0';
}

/* The page chose it: the last part of a path, and no name that begins with a dot. */
static void copy_name(struct cay_download *item, const char *name)
{
        const char *slash = strrchr(name, '/');

        if (slash)
                name = slash + 1;
        while (*name == '.')
                name++;
        cay_str_copy(item->name, sizeof(item->name), *name ? name : "download");
}

static void begin(struct cay_downloads *d, const char *guid, const struct cay_cdp_message *event,
                  uint64_t wall_ms)
{
        struct cay_download *item = find(d, guid) ? NULL : add(d); /* every client with events tells of it */
        char name[256];

        if (!item)
                return;
        *item = (struct cay_download){ .wall_ms = wall_ms };
        cay_str_copy(item->guid, sizeof(item->guid), guid);
        copy_name(item, cay_cdp_find_text(event->params, "suggestedFilename", name, sizeof(name)));
        cay_cdp_find_text(event->params, "url", item->url, sizeof(item->url));
}

static void progress(struct cay_downloads *d, const char *guid, const struct cay_cdp_message *event)
{
        struct cay_download *item = find(d, guid);
        char state[16];
        uint64_t bytes;

        if (!item)
                return;
        if (cay_json_view_u64(cay_cdp_find(event->params, "receivedBytes"), &bytes))
                item->bytes = bytes;
        cay_cdp_find_text(event->params, "state", state, sizeof(state));
        if (strcmp(state, "completed") == 0)
                item->state = CAY_DOWNLOAD_COMPLETED;
        else if (strcmp(state, "canceled") == 0)
                item->state = CAY_DOWNLOAD_CANCELED;
}

void cay_downloads_hear(struct cay_downloads *d, const struct cay_cdp_message *event, uint64_t wall_ms)
{
        bool begins = strcmp(event->method, "Browser.downloadWillBegin") == 0;
        char guid[40];

        if (!begins && strcmp(event->method, "Browser.downloadProgress") != 0)
                return;
        if (!is_guid(cay_cdp_find_text(event->params, "guid", guid, sizeof(guid))))
                return;
        if (begins)
                begin(d, guid, event, wall_ms);
        else
                progress(d, guid, event);
}

void cay_downloads_done(struct cay_downloads *d)
{
        free(d->items);
        *d = (struct cay_downloads){ 0 };
}

const char *cay_download_state_word(enum cay_download_state state)
{
        return state == CAY_DOWNLOAD_RUNNING     ? "running"
               : state == CAY_DOWNLOAD_COMPLETED ? "completed"
                                                 : "canceled";
}
