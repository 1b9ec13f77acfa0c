/* SPDX-License-Identifier: Apache-2.0 */
/*
 * May this sandbox be made? Its values, and what there is room for: in all, for its owner, and on the disk.
 */
#include <sys/statvfs.h>

#include "domain/sandboxes/service_priv.h"
#include "foundation/base/fair.h"
#include "foundation/base/utf8.h"

int cay_sandbox_check_pairs(const char *what, const struct cay_field_map *map, bool is_env,
                            struct cay_error *err)
{
        if (map->count > CAY_SERVICE_PAIRS_MAX)
                return cay_fail(err, CAY_INVALID, "%s: at most %u pairs", what, CAY_SERVICE_PAIRS_MAX);
        for (unsigned i = 0; i < map->count; i++) {
                const struct cay_field_pair *pair = &map->pairs[i];

                if (pair->name == NULL || pair->value == NULL || pair->name[0] == '\0')
                        return cay_fail(err, CAY_INVALID, "%s: a name is empty", what);
                if (!cay_utf8_valid(pair->name, strlen(pair->name)) ||
                    !cay_utf8_valid(pair->value, strlen(pair->value)))
                        return cay_fail(err, CAY_INVALID, "%s: '%.40s' is not UTF-8", what, pair->name);
                if (is_env && !cay_command_env_is_name(pair->name))
                        return cay_fail(err, CAY_INVALID, "%s: '%.40s' is not a valid name of a variable",
                                        what, pair->name);
                for (unsigned k = 0; k < i; k++)
                        if (strcmp(map->pairs[k].name, pair->name) == 0)
                                return cay_fail(err, CAY_INVALID, "%s: '%.40s' is given twice", what,
                                                pair->name);
        }
        return 0;
}

/* It does not count among the living any more, while few are as far. */
static bool is_leaving(const struct cay_sandbox *sb)
{
        return cay_sandbox_pending(sb) == CAY_PENDING_DESTROY && !cay_sandbox_is_stored(sb);
}

/* How many are alive: in all, and of this owner. */
static unsigned count_alive(const struct cay_service *s, const char *owner, unsigned *ret_own)
{
        unsigned all = 0, leaving = 0;

        *ret_own = 0;
        for (unsigned i = 0; i < s->count; i++) {
                const struct cay_sandbox *sb = s->sorted[i];

                if ((!cay_state_has_box(cay_sandbox_state(sb)) && !sb->has_box) || cay_sandbox_is_away(sb))
                        continue;
                if (is_leaving(sb) && leaving++ < CAY_SERVICE_LEAVING_MAX)
                        continue;
                all++;
                *ret_own += strcmp(sb->owner, owner) == 0;
        }
        return all;
}

unsigned cay_service_room(const struct cay_service *s)
{
        unsigned own, all = count_alive(s, "", &own);

        return all < s->env.max_alive ? s->env.max_alive - all : 0;
}

void cay_service_note_refused(struct cay_service *s, const char *owner)
{
        cay_meters_note(&s->meters, owner, CAY_METER_CREATE_ASKED, 0);
}

int cay_service_check_room(const struct cay_service *s, const char *owner, struct cay_error *err)
{
        unsigned own, all = count_alive(s, owner, &own);

        if (all >= s->env.max_alive)
                return cay_fail_because(
                        err, CAY_LIMIT, CAY_REASON_SANDBOXES,
                        "%u sandboxes are alive, which is the maximum (max_sandboxes); destroy one first",
                        all);
        if (s->env.max_alive_owner > 0 && own >= s->env.max_alive_owner)
                return cay_fail_because(
                        err, CAY_LIMIT, CAY_REASON_SANDBOXES,
                        "%u of your sandboxes are alive, the maximum of an owner; destroy one first", own);
        return 0;
}

uint64_t cay_service_disk_of(const struct cay_service *s, const char *owner)
{
        uint64_t disk = cay_snapshots_disk(s, owner);

        if (s->env.more_disk != NULL)
                disk += s->env.more_disk(s->env.ctx, owner);
        for (unsigned i = 0; i < s->count; i++)
                if (strcmp(s->sorted[i]->owner, owner) == 0)
                        disk += s->sorted[i]->limits.disk_bytes; /* at most 2^46 each, 100,000 of them */
        return disk;
}

/* Those that are stopped hold no place among the living, but a row of the table and their files. */
static int check_share(const struct cay_service *s, const char *owner, uint64_t disk_bytes,
                       struct cay_error *err)
{
        uint64_t disk = cay_service_disk_of(s, owner), most = s->env.max_disk_owner;
        unsigned own = 0;

        for (unsigned i = 0; i < s->count; i++)
                own += strcmp(s->sorted[i]->owner, owner) == 0;
        if (!cay_fair_has_room(s->env.max_known, s->env.max_known, s->count, own))
                return cay_fail_because(
                        err, CAY_LIMIT, CAY_REASON_SANDBOXES,
                        "you have %u sandboxes, also stopped ones, the most that there is room for; "
                        "destroy one first",
                        own);
        if (most > 0 && (disk > most || disk_bytes > most - disk))
                return cay_fail_because(
                        err, CAY_LIMIT, CAY_REASON_SANDBOXES,
                        "your sandboxes, also stopped ones, and snapshots may use %llu MiB of disk, "
                        "and with this "
                        "one %llu MiB: an owner may have %llu MiB (max_disk_owner); destroy one, or "
                        "ask for less disk",
                        (unsigned long long)(disk >> 20), (unsigned long long)((disk + disk_bytes) >> 20),
                        (unsigned long long)(most >> 20));
        return 0;
}

int cay_service_check_disk(struct cay_service *s, struct cay_error *err)
{
        struct statvfs fs;

        if (s->env.disk_reserve == 0 || fstatvfs(s->env.spool_dir, &fs) < 0)
                return 0;
        if ((uint64_t)fs.f_bavail * fs.f_frsize < s->env.disk_reserve)
                return cay_fail(
                        err, CAY_NO_SPACE,
                        "the daemon's disk is nearly full (its reserve is %llu MiB); remove something first",
                        (unsigned long long)(s->env.disk_reserve >> 20));
        return 0;
}

int cay_service_check_more_disk(struct cay_service *s, const char *owner, uint64_t bytes,
                                struct cay_error *err)
{
        uint64_t disk = cay_service_disk_of(s, owner), most = s->env.max_disk_owner;

        if (most > 0 && (disk > most || bytes > most - disk))
                return cay_fail(err, CAY_LIMIT,
                                "your sandboxes, snapshots and recordings may use %llu MiB of disk, and with "
                                "this one %llu MiB: an owner may have %llu MiB (max_disk_owner); remove "
                                "something first",
                                (unsigned long long)(disk >> 20), (unsigned long long)((disk + bytes) >> 20),
                                (unsigned long long)(most >> 20));
        return cay_service_check_disk(s, err);
}

int cay_sandbox_check_names(struct cay_service *s, const struct cay_sandbox_new *w, struct cay_error *err)
{
        const struct cay_sandbox *other;

        if (w->owner == NULL || w->owner[0] == '\0' || strlen(w->owner) > CAY_NAME_MAX)
                return cay_fail(err, CAY_INVALID, "owner: 1 to %u bytes", CAY_NAME_MAX);
        if (w->name != NULL && w->name[0] != '\0') {
                if (!cay_id_is_valid(w->name))
                        return cay_fail(
                                err, CAY_INVALID,
                                "name: 1 to %u characters a-z, 0-9 or '-'; must not begin or end with '-'",
                                CAY_NAME_MAX);
                other = cay_table_find_name(s, w->owner, w->name);
                if (other != NULL)
                        return cay_fail(err, CAY_EXISTS, "name: '%s' is in use by sandbox %s; choose another",
                                        w->name, other->id);
        }
        return 0;
}

int cay_sandbox_check_new(struct cay_service *s, const struct cay_sandbox_new *w, struct cay_error *err)
{
        if (cay_service_check_ready(s, err) < 0 || cay_sandbox_check_names(s, w, err) < 0)
                return -1;
        if (w->template_name != NULL && strlen(w->template_name) > 4096)
                return cay_fail(err, CAY_INVALID, "template: at most 4,096 bytes");
        if (w->workspace_path != NULL && strlen(w->workspace_path) > 4096)
                return cay_fail(err, CAY_INVALID, "workspace: at most 4,096 bytes");
        if ((unsigned)w->network >= CAY_NETWORK_COUNT)
                return cay_fail(err, CAY_UNSUPPORTED,
                                "network: there are 'none', 'list', 'bridge', 'learn' and 'private'");
        if (cay_sandbox_check_pairs("labels", &w->labels, false, err) < 0 ||
            cay_sandbox_check_pairs("metadata", &w->metadata, false, err) < 0 ||
            cay_sandbox_check_pairs("env", &w->env, true, err) < 0 || cay_limits_check(&w->limits, err) < 0 ||
            cay_claim_check(w->claim, err) < 0)
                return -1;
        return cay_service_check_room(s, w->owner, err) < 0 ||
                               check_share(s, w->owner, w->limits.disk_bytes, err) < 0 ||
                               cay_service_check_disk(s, err) < 0
                       ? -1
                       : 0;
}
