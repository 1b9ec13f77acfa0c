/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Networks, published ports and volumes of a sandbox, for engines that support them.
 *
 * Theory of operation. They come as texts (domain/model/spec.h), from requests and from records, are parsed
 * once into the sandbox, and go into each of its specs. Only the engine knows the resulting ports. Its
 * answers to create and relink are kept in memory; they are not stored, because a box that is found again
 * reports them.
 *
 * Some ports are served by the daemon itself (service.h, is_own_port); the engine never sees them. The
 * resulting port replaces the requested one and is stored, so that the next process or start asks for the
 * same.
 */
#include <errno.h>

#include "foundation/base/fair.h"
#include "domain/sandboxes/service_priv.h"

static const char *const network_words[] = {
        [CAY_NETWORK_NONE] = "none",   [CAY_NETWORK_BRIDGE] = "bridge",   [CAY_NETWORK_LIST] = "list",
        [CAY_NETWORK_LEARN] = "learn", [CAY_NETWORK_PRIVATE] = "private",
};

const char *cay_network_word(enum cay_network network)
{
        return (unsigned)network < CAY_COUNT(network_words) ? network_words[network] : "none";
}

int cay_network_find(const char *word)
{
        for (unsigned i = 0; i < CAY_COUNT(network_words); i++)
                if (strcmp(network_words[i], word) == 0)
                        return (int)i;
        return -1;
}

static bool is_own(const struct cay_sandbox *sb, uint16_t inside)
{
        const struct cay_service_env *env = &sb->service->env;

        return env->is_own_port != NULL && env->is_own_port(env->ctx, inside);
}

static int read_ports(struct cay_sandbox *sb, const struct cay_field_texts *texts, struct cay_error *err)
{
        if (texts->count > CAY_SPEC_PORTS_MAX)
                return cay_fail(err, CAY_INVALID, "ports: at most %u", CAY_SPEC_PORTS_MAX);
        for (unsigned i = 0; i < texts->count; i++) {
                if (cay_spec_parse_port(texts->items[i], &sb->ports[i], err) < 0)
                        return -1;
                for (unsigned k = 0; k < i; k++)
                        if (sb->ports[k].inside == sb->ports[i].inside)
                                return cay_fail(err, CAY_INVALID, "ports: %u is given twice",
                                                sb->ports[i].inside);
                if (!is_own(sb, sb->ports[i].inside))
                        sb->box_ports[sb->box_port_count++] = sb->ports[i];
        }
        sb->port_count = texts->count;
        return 0;
}

static int read_volumes(struct cay_sandbox *sb, const struct cay_field_texts *texts, struct cay_error *err)
{
        struct cay_spec_volume_text v;

        if (texts->count > CAY_SPEC_VOLUMES_MAX)
                return cay_fail(err, CAY_INVALID, "volumes: at most %u", CAY_SPEC_VOLUMES_MAX);
        if (texts->count == 0)
                return 0;
        sb->volumes = cay_arena_array(&sb->mem, texts->count, sizeof(*sb->volumes));
        for (unsigned i = 0; sb->volumes != NULL && i < texts->count; i++) {
                if (cay_spec_parse_volume(texts->items[i], &v, err) < 0)
                        return -1;
                sb->volumes[i] = (struct cay_spec_volume){
                        .name = cay_arena_copy(&sb->mem, v.name, strlen(v.name)),
                        .target = cay_arena_copy(&sb->mem, v.target, strlen(v.target)),
                        .read_only = v.read_only,
                };
                if (sb->volumes[i].name == NULL || sb->volumes[i].target == NULL)
                        break;
                sb->volume_count++;
        }
        return sb->volume_count == texts->count
                       ? 0
                       : cay_fail(err, CAY_INVALID,
                                  "volumes: too long together with labels, metadata and env");
}

/* Without a network, only the daemon's own ports can be published. */
static int check_ports(const struct cay_sandbox *sb, struct cay_error *err)
{
        unsigned first = sb->box_port_count > 0 ? sb->box_ports[0].inside : 0;

        if (first == 0 || sb->network != CAY_NETWORK_NONE)
                return 0;
        return cay_fail(err, CAY_INVALID,
                        "ports: %u needs the network 'bridge', and this sandbox has 'none': leave it out, "
                        "and reach it by way of the daemon (/api/sandboxes/{id}/ports/%u/)",
                        first, first);
}

int cay_sandbox_read_extras(struct cay_sandbox *sb, enum cay_network network,
                            const struct cay_field_texts *ports, const struct cay_field_texts *volumes,
                            struct cay_error *err)
{
        sb->network = network;
        if (read_ports(sb, ports, err) < 0 || read_volumes(sb, volumes, err) < 0)
                return -1;
        return check_ports(sb, err);
}

/* Ports that the daemon publishes itself, of live sandboxes: slots of one table, which owners share. */
int cay_sandbox_check_own_ports(const struct cay_sandbox *sb, struct cay_error *err)
{
        const struct cay_service *s = sb->service;
        unsigned all = 0, own = 0, wanted = sb->port_count - sb->box_port_count;

        if (wanted == 0)
                return 0;
        for (unsigned i = 0; i < s->count; i++) {
                const struct cay_sandbox *other = s->sorted[i];
                unsigned ports = other->port_count - other->box_port_count;

                if (other == sb || (!cay_state_has_box(cay_sandbox_state(other)) && !other->has_box))
                        continue;
                all += ports;
                own += strcmp(other->owner, sb->owner) == 0 ? ports : 0;
        }
        for (unsigned i = 0; i < wanted; i++, all++, own++)
                if (!cay_fair_has_room(CAY_SERVICE_OWN_PORTS_MAX, CAY_SERVICE_OWN_PORTS_MAX, all, own))
                        return cay_fail(
                                err, CAY_LIMIT,
                                "ports: you have %u published ports, and an owner may have half of what "
                                "others leave of %u; leave them out, or destroy a sandbox that has some",
                                own, CAY_SERVICE_OWN_PORTS_MAX);
        return 0;
}

int cay_sandbox_check_extras(const struct cay_sandbox *sb, struct cay_error *err)
{
        const struct cay_engine *engine = sb->engine->engine;
        const unsigned caps = engine != NULL ? engine->caps : 0;
        const unsigned wanted =
                (sb->options.no_init ? CAY_ENGINE_CAN_NO_INIT : 0) |
                (sb->policy || sb->network == CAY_NETWORK_LIST || sb->network == CAY_NETWORK_LEARN
                         ? cay_engine_policy_cap(caps)
                         : 0) |
                (sb->network == CAY_NETWORK_BRIDGE && !sb->policy ? CAY_ENGINE_CAN_NETWORK_BRIDGE : 0) |
                (sb->box_port_count > 0 ? CAY_ENGINE_CAN_PORTS : 0) |
                (sb->volume_count > 0 ? CAY_ENGINE_CAN_VOLUMES : 0);

        if (sb->options.no_init && sb->policy != NULL && !(caps & CAY_ENGINE_CAN_EGRESS))
                return cay_fail(err, CAY_UNSUPPORTED,
                                "allow: without an init there is no proxy in the sandbox, which is the way "
                                "out of the %s "
                                "engine; leave init out",
                                sb->engine->name);
        return engine != NULL ? cay_engine_caps_check(sb->engine->name, caps, wanted, err) : 0;
}

/* Pairs as a flat list, as engines take them. The spec borrows it from the sandbox. */
static int put_labels(struct cay_sandbox *sb, struct cay_spec *spec)
{
        const struct cay_field_map *map = &sb->labels;

        if (map->count > 0 && sb->label_words == NULL) {
                sb->label_words = cay_arena_array(&sb->mem, map->count, 2 * sizeof(*sb->label_words));
                if (sb->label_words == NULL)
                        return -ENOMEM;
                for (unsigned i = 0; i < map->count; i++) {
                        sb->label_words[2 * i] = map->pairs[i].name;
                        sb->label_words[2 * i + 1] = map->pairs[i].value;
                }
        }
        spec->labels = sb->label_words;
        spec->label_count = map->count;
        return 0;
}

int cay_sandbox_put_extras(struct cay_sandbox *sb, struct cay_spec *spec, struct cay_error *err)
{
        if (cay_sandbox_check_extras(sb, err) < 0)
                return -1;
        if (put_labels(sb, spec) < 0)
                return cay_fail(err, CAY_INVALID, "labels: too long together with metadata and env");
        if (cay_sandbox_put_network(sb, spec, err) < 0)
                return -1;
        spec->ports = sb->box_ports;
        spec->port_count = sb->box_port_count;
        spec->volumes = sb->volumes;
        spec->volume_count = sb->volume_count;
        spec->volumes_max = sb->service->env.max_volumes_owner;
        spec->volume_bytes = sb->service->env.volume_bytes;
        return 0;
}

void cay_sandbox_note_ports(struct cay_sandbox *sb, const struct cay_engine_box *box)
{
        for (unsigned i = 0; i < sb->port_count; i++) {
                if (is_own(sb, sb->ports[i].inside))
                        continue;
                sb->published[i] = 0;
                for (unsigned k = 0; k < box->port_count && k < CAY_SPEC_PORTS_MAX; k++)
                        if (box->ports[k].inside == sb->ports[i].inside)
                                sb->published[i] = box->ports[k].host;
        }
}

/* Without a box it has no listener. */
void cay_sandbox_view_extras(const struct cay_sandbox *sb, struct cay_sandbox_view *ret)
{
        bool has_box = cay_state_has_box(cay_sandbox_state(sb));

        ret->network = sb->network;
        ret->policy = sb->policy;
        ret->port_count = sb->port_count;
        for (unsigned i = 0; i < sb->port_count; i++)
                ret->ports[i] = (struct cay_spec_port){ .inside = sb->ports[i].inside,
                                                        .host = has_box ? sb->published[i] : 0 };
        ret->volumes = sb->volumes;
        ret->volume_count = sb->volume_count;
}

/* Ports that the daemon serves */

bool cay_sandbox_has_own_ports(const struct cay_sandbox *sb)
{
        return sb->box_port_count < sb->port_count;
}

struct cay_async *cay_sandbox_publish(struct cay_sandbox *sb,
                                      void (*on_done)(struct cay_async *e, const struct cay_error *err))
{
        const struct cay_service_env *env = &sb->service->env;
        struct cay_async *e = cay_async_new(sb->service, sb, NULL, on_done);

        e->local = true;
        for (unsigned i = 0; i < sb->port_count; i++)
                if (is_own(sb, sb->ports[i].inside))
                        e->box.ports[e->box.port_count++] = sb->ports[i];
        env->publish(env->ctx, sb->id, e->box.ports, e->box.port_count,
                     cay_async_engine(e, CAY_SERVICE_ENGINE_MS));
        return e;
}

bool cay_sandbox_note_own_ports(struct cay_sandbox *sb, const struct cay_engine_box *box)
{
        bool is_new = false;

        for (unsigned i = 0; i < sb->port_count; i++) {
                for (unsigned k = 0; k < box->port_count; k++) {
                        if (box->ports[k].inside != sb->ports[i].inside)
                                continue;
                        is_new |= sb->ports[i].host != box->ports[k].host;
                        sb->published[i] = sb->ports[i].host = box->ports[k].host;
                }
        }
        return is_new;
}

void cay_sandbox_unpublish(struct cay_sandbox *sb)
{
        const struct cay_service_env *env = &sb->service->env;

        if (cay_sandbox_has_own_ports(sb))
                env->unpublish(env->ctx, sb->id);
}
