/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All sandboxes: found by id through buckets, listed in order of creation. That order is (wall time of
 * creation, id), which is stored too, so a cursor stays valid after a restart. A sandbox that comes or goes
 * moves no other.
 */
#include <errno.h>
#include <inttypes.h>

#include "foundation/base/clock.h"
#include "foundation/base/parse.h"
#include "domain/sandboxes/service_priv.h"

static unsigned bucket_of(const char *id)
{
        uint32_t hash = 2166136261u;

        for (; *id != '\0'; id++)
                hash = (hash ^ (unsigned char)*id) * 16777619u;
        return hash % CAY_SERVICE_BUCKETS;
}

static int compare(const struct cay_sandbox *sb, uint64_t created_wall_ms, const char *id)
{
        if (sb->created_wall_ms != created_wall_ms)
                return sb->created_wall_ms < created_wall_ms ? -1 : 1;
        return strcmp(sb->id, id);
}

/* How many come before the key, including it if `with` is set. */
static unsigned place_of(const struct cay_service *s, uint64_t created_wall_ms, const char *id, bool with)
{
        unsigned low = 0, high = s->count;

        while (low < high) {
                unsigned mid = low + (high - low) / 2;
                int c = compare(s->sorted[mid], created_wall_ms, id);

                if (c < 0 || (with && c == 0))
                        low = mid + 1;
                else
                        high = mid;
        }
        return low;
}

int cay_table_add(struct cay_service *s, struct cay_sandbox *sb)
{
        unsigned bucket = bucket_of(sb->id), place;

        if (s->count >= CAY_SERVICE_KNOWN_MAX)
                return -ENOSPC;
        if (s->count == s->cap) {
                unsigned cap = s->cap > 0 ? s->cap * 2 : 64;
                struct cay_sandbox **sorted = reallocarray(s->sorted, cap, sizeof(struct cay_sandbox *));

                if (sorted == NULL)
                        return -ENOMEM;
                s->sorted = sorted;
                s->cap = cap;
        }
        place = place_of(s, sb->created_wall_ms, sb->id, false);
        memmove(s->sorted + place + 1, s->sorted + place, (s->count - place) * sizeof(struct cay_sandbox *));
        s->sorted[place] = sb;
        s->count++;
        sb->bucket_next = s->buckets[bucket];
        s->buckets[bucket] = sb;
        sb->listed = true;
        return 0;
}

void cay_table_remove(struct cay_service *s, struct cay_sandbox *sb)
{
        struct cay_sandbox **at = &s->buckets[bucket_of(sb->id)];
        unsigned place;

        if (!sb->listed)
                return;
        place = place_of(s, sb->created_wall_ms, sb->id, false);
        while (*at != sb)
                at = &(*at)->bucket_next;
        *at = sb->bucket_next;
        s->count--;
        memmove(s->sorted + place, s->sorted + place + 1, (s->count - place) * sizeof(struct cay_sandbox *));
        sb->listed = false;
}

struct cay_sandbox *cay_table_find(struct cay_service *s, const char *id)
{
        for (struct cay_sandbox *sb = s->buckets[bucket_of(id)]; sb != NULL; sb = sb->bucket_next)
                if (strcmp(sb->id, id) == 0)
                        return sb;
        return NULL;
}

struct cay_sandbox *cay_table_find_name(struct cay_service *s, const char *owner, const char *name)
{
        for (unsigned i = 0; i < s->count; i++)
                if (!s->sorted[i]->hidden && strcmp(s->sorted[i]->name, name) == 0 &&
                    strcmp(s->sorted[i]->owner, owner) == 0)
                        return s->sorted[i];
        return NULL;
}

bool cay_table_may_see(const struct cay_viewer *v, const struct cay_sandbox *sb)
{
        return !sb->hidden && (v->sees_all || strcmp(v->owner, sb->owner) == 0);
}

struct cay_sandbox *cay_table_get(struct cay_service *s, const struct cay_viewer *v, const char *id,
                                  struct cay_error *err)
{
        struct cay_sandbox *sb;

        if (cay_service_check_ready(s, err) < 0)
                return NULL;
        sb = cay_table_find(s, id);
        if ((sb == NULL || !cay_table_may_see(v, sb)) && id[0] != '\0')
                sb = cay_table_find_name(s, v->owner, id);
        if (sb != NULL && cay_table_may_see(v, sb))
                return sb;
        cay_fail_because(err, CAY_NOT_FOUND, CAY_REASON_NO_SANDBOX, "sandbox '%.63s' does not exist", id);
        return NULL;
}

static bool has_pair(const struct cay_field_map *map, const struct cay_field_pair *wanted)
{
        for (unsigned i = 0; i < map->count; i++) {
                const struct cay_field_pair *pair = &map->pairs[i];

                if (strcmp(pair->name, wanted->name) == 0)
                        return wanted->value == NULL || strcmp(pair->value, wanted->value) == 0;
        }
        return false;
}

static bool is_idle_for(struct cay_sandbox *sb, uint64_t ms)
{
        uint64_t now = cay_service_now(sb->service);

        return cay_sandbox_is_idle(sb) && now >= sb->used_ms && now - sb->used_ms >= ms;
}

bool cay_table_filter_takes(struct cay_sandbox *sb, const struct cay_viewer *v,
                            const struct cay_sandbox_filter *f)
{
        if (!cay_table_may_see(v, sb))
                return false;
        if (f == NULL)
                return true;
        if (f->name != NULL && strcmp(f->name, sb->name) != 0)
                return false;
        if (f->template_name != NULL && strcmp(f->template_name, sb->template_name) != 0)
                return false;
        if (f->states != 0 && !(f->states >> cay_sandbox_state(sb) & 1))
                return false;
        for (unsigned i = 0; i < f->labels.count; i++)
                if (!has_pair(&sb->labels, &f->labels.pairs[i]))
                        return false;
        for (unsigned i = 0; i < f->metadata.count; i++)
                if (!has_pair(&sb->metadata, &f->metadata.pairs[i]))
                        return false;
        if (sb->created_wall_ms < f->after_wall_ms)
                return false;
        if (f->older_ms > 0 && cay_service_wall(sb->service) < sb->created_wall_ms + f->older_ms)
                return false;
        return f->idle_ms == 0 || is_idle_for(sb, f->idle_ms);
}

static int parse_cursor(const char *text, uint64_t *ret_created, const char **ret_id, struct cay_error *err)
{
        const char *dash = strchr(text, '-');
        char number[24];

        if (dash == NULL || dash == text || (size_t)(dash - text) >= sizeof(number) || dash[1] == '\0' ||
            strlen(dash + 1) > CAY_NAME_MAX)
                return cay_fail(err, CAY_INVALID, "cursor: not a cursor from a list");
        memcpy(number, text, (size_t)(dash - text));
        number[dash - text] = '\0';
        if (cay_parse_u64(number, ret_created) < 0)
                return cay_fail(err, CAY_INVALID, "cursor: not a cursor from a list");
        *ret_id = dash + 1;
        return 0;
}

/*
 * Its end is stored and was announced: later readers of the list must not find it, though the engine is still
 * removing it.
 */
static bool is_leaving(const struct cay_sandbox *sb)
{
        return cay_sandbox_pending(sb) == CAY_PENDING_DESTROY && !cay_sandbox_is_stored(sb);
}

int cay_service_list(struct cay_service *s, const struct cay_viewer *v,
                     const struct cay_sandbox_filter *filter, const char *cursor, unsigned max,
                     void (*each)(void *ctx, const struct cay_sandbox_view *view), void *ctx,
                     char ret_cursor[CAY_SERVICE_CURSOR_MAX], struct cay_error *err)
{
        bool back = filter != NULL && filter->newest_first;
        unsigned done = 0, place = back ? s->count : 0; /* backwards: the next is place - 1 */
        const struct cay_sandbox *last = NULL;
        const char *id = "";
        uint64_t created = 0;

        if (cay_service_check_ready(s, err) < 0)
                return -1;
        if (cursor != NULL && cursor[0] != '\0') {
                if (parse_cursor(cursor, &created, &id, err) < 0)
                        return -1;
                place = place_of(s, created, id, !back);
        }
        if (max == 0 || max > CAY_SERVICE_PAGE_MAX)
                max = CAY_SERVICE_PAGE_MAX;
        ret_cursor[0] = '\0';
        while (back ? place > 0 : place < s->count) {
                struct cay_sandbox *sb = s->sorted[back ? --place : place++];
                struct cay_sandbox_view view;

                if (is_leaving(sb) || !cay_table_filter_takes(sb, v, filter))
                        continue;
                if (done == max) {
                        snprintf(ret_cursor, CAY_SERVICE_CURSOR_MAX, "%" PRIu64 "-%s", last->created_wall_ms,
                                 last->id);
                        break;
                }
                cay_sandbox_fill_view(sb, &view);
                each(ctx, &view);
                last = sb;
                done++;
        }
        return 0;
}
