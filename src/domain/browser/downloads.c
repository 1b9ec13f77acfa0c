/* SPDX-License-Identifier: Apache-2.0 */
#include "domain/browser/downloads.h"

#include <stdio.h>
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

/*
 * The page chose it: the last part of a path, also of one for Windows, where archives are unpacked, too; and
 * no name that begins with a dot, or has characters that a terminal obeys.
 */
static void copy_name(struct cay_download *item, const char *name)
{
        for (size_t len; name[len = strcspn(name, "/\\")]; name += len + 1)
                ;
        while (*name == '.')
                name++;
        cay_str_copy(item->name, sizeof(item->name), *name ? name : "download");
        for (char *at = item->name; *at; at++)
                if ((unsigned char)*at < ' ' || *at == 0x7f)
                        *at = '_';
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

static const struct cay_download *progress(struct cay_downloads *d, const char *guid,
                                           const struct cay_cdp_message *event)
{
        struct cay_download *item = find(d, guid);
        char state[16];
        uint64_t bytes;

        if (!item)
                return NULL;
        if (cay_json_view_u64(cay_cdp_find(event->params, "receivedBytes"), &bytes))
                item->bytes = bytes;
        if (cay_json_view_u64(cay_cdp_find(event->params, "totalBytes"), &bytes))
                item->total = bytes;
        cay_cdp_find_text(event->params, "state", state, sizeof(state));
        if (strcmp(state, "completed") == 0)
                item->state = CAY_DOWNLOAD_COMPLETED;
        else if (strcmp(state, "canceled") == 0)
                item->state = CAY_DOWNLOAD_CANCELED;
        if (item->state != CAY_DOWNLOAD_RUNNING || d->most == 0 ||
            (item->bytes <= d->most && item->total <= d->most))
                return NULL;
        item->is_too_large = true;
        return item;
}

const struct cay_download *cay_downloads_hear(struct cay_downloads *d, const struct cay_cdp_message *event,
                                              uint64_t wall_ms)
{
        bool begins = strcmp(event->method, "Browser.downloadWillBegin") == 0;
        char guid[40];

        if (!begins && strcmp(event->method, "Browser.downloadProgress") != 0)
                return NULL;
        if (!is_guid(cay_cdp_find_text(event->params, "guid", guid, sizeof(guid))))
                return NULL;
        if (!begins)
                return progress(d, guid, event);
        begin(d, guid, event, wall_ms);
        return NULL;
}

void cay_downloads_done(struct cay_downloads *d)
{
        free(d->items);
        *d = (struct cay_downloads){ 0 };
}

const char *cay_download_error(const struct cay_downloads *d, const struct cay_download *item, char *room,
                               size_t size)
{
        uint64_t bytes = item->total > item->bytes ? item->total : item->bytes;

        if (item->is_too_large && item->state != CAY_DOWNLOAD_COMPLETED)
                snprintf(room, size,
                         "the download is too large: it has %s%llu MiB, and at most %llu MiB are kept here; "
                         "raise limits.disk of its sandbox",
                         item->total > 0 ? "" : "more than ", (unsigned long long)(bytes >> 20),
                         (unsigned long long)(d->most >> 20));
        else if (item->state == CAY_DOWNLOAD_CANCELED)
                snprintf(room, size,
                         "the download was cancelled: by a client or its page, by its server, or because the "
                         "sandbox's disk is full");
        else
                room[0] = '\0';
        return room;
}

const char *cay_download_state_word(enum cay_download_state state)
{
        return state == CAY_DOWNLOAD_RUNNING     ? "running"
               : state == CAY_DOWNLOAD_COMPLETED ? "completed"
                                                 : "canceled";
}
