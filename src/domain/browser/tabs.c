/* SPDX-License-Identifier: Apache-2.0 */
#include "domain/browser/tabs.h"

#include <stdlib.h>
#include <string.h>

#include "foundation/base/str.h"

static struct cay_tab *find(struct cay_tabs *t, const char *id)
{
        for (unsigned i = 0; i < t->count; i++)
                if (strcmp(t->items[i].id, id) == 0)
                        return &t->items[i];
        return NULL;
}

static void drop(struct cay_tabs *t, struct cay_tab *tab)
{
        size_t after = (size_t)(t->items + t->count - (tab + 1));

        memmove(tab, tab + 1, after * sizeof(*tab));
        t->count--;
}

static struct cay_tab *add(struct cay_tabs *t, const char *id)
{
        struct cay_tab *tab;

        if (!t->items)
                t->items = calloc(CAY_TABS_MAX, sizeof(*t->items));
        if (!t->items || t->count == CAY_TABS_MAX)
                return NULL;
        tab = &t->items[t->count++];
        *tab = (struct cay_tab){ .number = ++t->last_number };
        cay_str_copy(tab->id, sizeof(tab->id), id);
        return tab;
}

static void set(struct cay_tabs *t, struct cay_json_view info, bool begins)
{
        struct cay_tab *tab;
        char id[40], type[16];

        if (strcmp(cay_cdp_find_text(info, "type", type, sizeof(type)), "page") != 0)
                return;
        cay_cdp_find_text(info, "targetId", id, sizeof(id));
        tab = find(t, id);
        if (!tab && begins)
                tab = add(t, id);
        if (!tab)
                return;
        cay_cdp_find_text(info, "url", tab->url, sizeof(tab->url));
        cay_cdp_find_text(info, "title", tab->title, sizeof(tab->title));
        cay_cdp_find_text(info, "browserContextId", tab->context, sizeof(tab->context));
}

void cay_tabs_hear_all(struct cay_tabs *t, struct cay_json_view result)
{
        struct cay_json_view list = cay_cdp_find(result, "targetInfos"), key, info;
        struct cay_json_walk walk;

        if (cay_json_view_open(list.at, list.len, &list) < 0)
                return;
        walk = cay_json_view_walk(list);
        while (cay_json_view_next(&walk, &key, &info))
                set(t, info, true);
}

void cay_tabs_hear(struct cay_tabs *t, const struct cay_cdp_message *event)
{
        bool begins = strcmp(event->method, "Target.targetCreated") == 0;
        struct cay_tab *tab;
        char id[40];

        if (strcmp(event->method, "Target.targetDestroyed") == 0) {
                tab = find(t, cay_cdp_find_text(event->params, "targetId", id, sizeof(id)));
                if (tab)
                        drop(t, tab);
                return;
        }
        if (begins || strcmp(event->method, "Target.targetInfoChanged") == 0)
                set(t, cay_cdp_find(event->params, "targetInfo"), begins);
}

void cay_tabs_done(struct cay_tabs *t)
{
        free(t->items);
        *t = (struct cay_tabs){ 0 };
}
