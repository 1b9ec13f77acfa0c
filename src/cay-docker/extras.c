/* SPDX-License-Identifier: Apache-2.0 */
/* Networks, ports, volumes and labels; the theory is in extras.h. */
#include "cay-docker/extras.h"

#include <stdlib.h>
#include <string.h>

#include "foundation/base/path.h"
#include "foundation/base/str.h"
#include "foundation/base/utf8.h"

/* Checks */

static bool has_ending(const char *text, size_t size)
{
        return strnlen(text, size) < size;
}

static int check_ports(const struct docker_plan *p, struct cay_error *err)
{
        if (p->network >= DOCKER_NETWORK_COUNT)
                return cay_fail(err, CAY_INVALID, "there is no such network");
        if (p->port_count > DOCKER_PORTS_MAX)
                return cay_fail(err, CAY_INVALID, "ports: at most %u", DOCKER_PORTS_MAX);
        if (p->port_count > 0 && p->network == DOCKER_NETWORK_NONE)
                return cay_fail(err, CAY_INVALID, "ports are published with the network 'bridge' only");
        for (unsigned i = 0; i < p->port_count; i++) {
                if (p->ports[i].inside == 0)
                        return cay_fail(err, CAY_INVALID, "ports: 1 to 65535");
                if (p->ports[i].host > 0 && p->ports[i].host < DOCKER_PORT_WISH_MIN)
                        return cay_fail(err, CAY_INVALID, "ports: a host port is from %u to 65535",
                                        DOCKER_PORT_WISH_MIN);
                for (unsigned k = 0; k < i; k++)
                        if (p->ports[k].inside == p->ports[i].inside)
                                return cay_fail(err, CAY_INVALID, "ports: %u is given twice",
                                                p->ports[i].inside);
        }
        return 0;
}

/*
 * Below one of these nothing may be put: they are ours, or the kernel's. Of plain paths: Docker takes
 * "/./etc" for "/etc".
 */
static bool is_taken(const char *target)
{
        static const char *const taken[] = { "/.cay", "/proc", "/sys", "/dev", "/etc" };

        for (unsigned i = 0; i < CAY_COUNT(taken); i++) {
                size_t len = strlen(taken[i]);

                if (strncmp(target, taken[i], len) == 0 && (target[len] == '\0' || target[len] == '/'))
                        return true;
        }
        return false;
}

static int check_volume(const struct docker_plan *p, const struct docker_volume *v, struct cay_error *err)
{
        if (!has_ending(v->name, sizeof(v->name)) || !cay_id_is_valid(v->name))
                return cay_fail(err, CAY_INVALID, "a volume's name has only a-z, 0-9 and '-'");
        if (!has_ending(v->target, sizeof(v->target)) || v->target[0] != '/' ||
            !cay_path_is_plain(v->target + 1) || is_taken(v->target) ||
            !cay_utf8_valid(v->target, strlen(v->target)))
                return cay_fail(err, CAY_INVALID,
                                "volume '%s': its path must be absolute, and outside of /proc, /sys, /dev, "
                                "/etc and /.cay",
                                v->name);
        if (strcmp(v->target, "/workspace") == 0 && p->flags & DOCKER_PLAN_WORKSPACE)
                return cay_fail(err, CAY_INVALID, "volume '%s': /workspace is a mapped folder already",
                                v->name);
        if (p->flags & DOCKER_PLAN_READ_ONLY && !v->read_only)
                return cay_fail(err, CAY_UNSUPPORTED,
                                "volume '%s': with a read-only root it must be read-only (:ro)", v->name);
        if (p->owner[0] == '\0')
                return cay_fail(err, CAY_INVALID, "volume '%s': a volume needs an owner", v->name);
        return 0;
}

static int check_volumes(const struct docker_plan *p, struct cay_error *err)
{
        if (p->volume_count > DOCKER_VOLUMES_MAX)
                return cay_fail(err, CAY_INVALID, "volumes: at most %u", DOCKER_VOLUMES_MAX);
        for (unsigned i = 0; i < p->volume_count; i++) {
                if (check_volume(p, &p->volumes[i], err) < 0)
                        return -1;
                for (unsigned k = 0; k < i; k++)
                        if (strcmp(p->volumes[k].target, p->volumes[i].target) == 0)
                                return cay_fail(err, CAY_INVALID, "volumes: two at '%s'",
                                                p->volumes[i].target);
        }
        return 0;
}

/* The next label; false at the end. Only for labels that were checked. */
static bool next_label(const char **at, const char **ret_name, const char **ret_value)
{
        if (**at == '\0')
                return false;
        *ret_name = *at;
        *ret_value = *ret_name + strlen(*ret_name) + 1;
        *at = *ret_value + strlen(*ret_value) + 1;
        return true;
}

static int check_labels(const struct docker_plan *p, struct cay_error *err)
{
        const char *at = p->labels, *end = p->labels + sizeof(p->labels);
        unsigned count = 0;

        while (at < end && *at) {
                for (unsigned i = 0; i < 2; i++) {
                        size_t len = strnlen(at, (size_t)(end - at));

                        if (at + len >= end)
                                return cay_fail(err, CAY_INVALID, "the labels do not end");
                        if (!cay_utf8_valid(at, len))
                                return cay_fail(err, CAY_INVALID, "labels are UTF-8");
                        at += len + 1;
                        if (at >= end)
                                return cay_fail(err, CAY_INVALID, "the labels do not end");
                }
                if (++count > DOCKER_LABELS_MAX)
                        return cay_fail(err, CAY_INVALID, "labels: at most %u", DOCKER_LABELS_MAX);
        }
        return 0;
}

int docker_extras_check(const struct docker_plan *p, struct cay_error *err)
{
        return check_ports(p, err) < 0 || check_volumes(p, err) < 0 || check_labels(p, err) < 0 ? -1 : 0;
}

/* JSON */

static void put_text(struct cay_json *j, const char *key, const char *text)
{
        cay_json_key(j, key);
        cay_json_text(j, text);
}

static void put_empty(struct cay_json *j, const char *key)
{
        cay_json_key(j, key);
        cay_json_begin_object(j);
        cay_json_end_object(j);
}

void docker_labels_put(struct cay_json *j, const struct docker_plan *p)
{
        const char *at = p->labels, *name, *value;
        char key[sizeof(DOCKER_LABEL_PREFIX) + DOCKER_LABELS];

        while (next_label(&at, &name, &value)) {
                snprintf(key, sizeof(key), DOCKER_LABEL_PREFIX "%s", name);
                put_text(j, key, value);
        }
}

static void port_key(unsigned inside, char *ret, size_t size)
{
        snprintf(ret, size, "%u/tcp", inside);
}

void docker_ports_put_exposed(struct cay_json *j, const struct docker_plan *p)
{
        char key[16];

        cay_json_key(j, "ExposedPorts");
        cay_json_begin_object(j);
        for (unsigned i = 0; i < p->port_count; i++) {
                port_key(p->ports[i].inside, key, sizeof(key));
                put_empty(j, key);
        }
        cay_json_end_object(j);
}

static void put_binding(struct cay_json *j, const struct docker_port *port, enum docker_port_wish wish)
{
        unsigned last = port->host + DOCKER_PORT_SPAN - 1;
        char key[16], range[32] = "";

        port_key(port->inside, key, sizeof(key));
        if (port->host > 0 && wish == DOCKER_PORT_EXACT)
                snprintf(range, sizeof(range), "%u", port->host);
        else if (port->host > 0 && wish == DOCKER_PORT_NEAR)
                snprintf(range, sizeof(range), "%u-%u", port->host, last < 65535 ? last : 65535);
        cay_json_key(j, key);
        cay_json_begin_array(j);
        cay_json_begin_object(j);
        put_text(j, "HostIp", "127.0.0.1");
        put_text(j, "HostPort", range);
        cay_json_end_object(j);
        cay_json_end_array(j);
}

void docker_network_put_host(struct cay_json *j, const struct docker_order *order)
{
        const struct docker_plan *p = &order->plan;
        char name[sizeof(DOCKER_NAME_PREFIX) + CAY_NAME_MAX];

        snprintf(name, sizeof(name), DOCKER_NAME_PREFIX "%s", p->id);
        put_text(j, "NetworkMode", p->network == DOCKER_NETWORK_BRIDGE ? name : "none");
        if (p->network ==
            DOCKER_NETWORK_NONE) { /* else Docker copies the names of the host's servers into it */
                cay_json_key(j, "Dns");
                cay_json_begin_array(j);
                cay_json_text(j, "127.0.0.1");
                cay_json_end_array(j);
                cay_json_key(j, "DnsSearch");
                cay_json_begin_array(j);
                cay_json_text(j, ".");
                cay_json_end_array(j);
        }
        if (p->port_count == 0)
                return;
        cay_json_key(j, "PortBindings");
        cay_json_begin_object(j);
        for (unsigned i = 0; i < p->port_count; i++)
                put_binding(j, &p->ports[i], order->ports);
        cay_json_end_object(j);
}

int docker_network_put_create(const struct docker_plan *p, const struct docker_options *o,
                              struct cay_buf *out)
{
        struct cay_json json, *j = &json;
        char name[sizeof(DOCKER_NAME_PREFIX) + CAY_NAME_MAX];

        snprintf(name, sizeof(name), DOCKER_NAME_PREFIX "%s", p->id);
        cay_json_init(j, out);
        cay_json_begin_object(j);
        put_text(j, "Name", name);
        put_text(j, "Driver", "bridge");
        cay_json_key(j, "CheckDuplicate");
        cay_json_bool(j, true);
        cay_json_key(j, "EnableIPv6");
        cay_json_bool(j, false);
        cay_json_key(j, "Labels");
        cay_json_begin_object(j);
        put_text(j, "cay.id", p->id);
        put_text(j, "cay.instance", o->instance);
        cay_json_end_object(j);
        cay_json_end_object(j);
        return cay_json_end(j);
}

/* Volumes */

/* Names are made apart by a hash (FNV-1a) of whose they are; should two hashes meet, the labels tell. */
void docker_volume_name(const struct docker_options *o, const char *owner, const char *name,
                        char ret[DOCKER_VOLUME_NAME])
{
        const char *const parts[] = { o->instance, owner };
        uint64_t hash = 0xcbf29ce484222325ull;

        for (unsigned k = 0; k < CAY_COUNT(parts); k++)
                for (const char *c = parts[k];; c++) {
                        hash = (hash ^ (unsigned char)*c) * 0x100000001b3ull;
                        if (*c == '\0')
                                break;
                }
        snprintf(ret, DOCKER_VOLUME_NAME, DOCKER_NAME_PREFIX "%016llx-%s", (unsigned long long)hash, name);
}

void docker_volumes_put(struct cay_json *j, const struct docker_plan *p, const struct docker_options *o)
{
        char name[DOCKER_VOLUME_NAME];

        for (unsigned i = 0; i < p->volume_count; i++) {
                docker_volume_name(o, p->owner, p->volumes[i].name, name);
                cay_json_begin_object(j);
                put_text(j, "Type", "volume");
                put_text(j, "Source", name);
                put_text(j, "Target", p->volumes[i].target);
                cay_json_key(j, "ReadOnly");
                cay_json_bool(j, p->volumes[i].read_only);
                cay_json_key(j, "VolumeOptions"); /* what the image has there is not copied into it */
                cay_json_begin_object(j);
                cay_json_key(j, "NoCopy");
                cay_json_bool(j, true);
                cay_json_end_object(j);
                cay_json_end_object(j);
        }
}

int docker_volume_put_create(const struct docker_plan *p, unsigned i, const struct docker_options *o,
                             struct cay_buf *out)
{
        struct cay_json json, *j = &json;
        char name[DOCKER_VOLUME_NAME];

        docker_volume_name(o, p->owner, p->volumes[i].name, name);
        cay_json_init(j, out);
        cay_json_begin_object(j);
        put_text(j, "Name", name);
        put_text(j, "Driver", "local");
        cay_json_key(j, "Labels");
        cay_json_begin_object(j);
        put_text(j, "cay.volume", p->volumes[i].name);
        put_text(j, "cay.instance", o->instance);
        put_text(j, "cay.owner", p->owner);
        cay_json_end_object(j);
        cay_json_end_object(j);
        return cay_json_end(j);
}

static bool says(const struct cay_json_value *object, const char *name, const char *want)
{
        const char *text = cay_json_value_text(cay_json_value_find(object, name));

        return text && strcmp(text, want) == 0;
}

bool docker_volume_is_ours(const struct docker_options *o, const char *owner, const char *name,
                           const struct cay_json_value *volume)
{
        const struct cay_json_value *labels = cay_json_value_find(volume, "Labels");
        const struct cay_json_value *options = cay_json_value_find(volume, "Options");
        char own[DOCKER_VOLUME_NAME];

        if (!owner[0] || !cay_id_is_valid(name))
                return false;
        docker_volume_name(o, owner, name, own);
        /* Options would be somebody else's idea of where it lies. */
        return says(volume, "Name", own) && says(volume, "Driver", "local") &&
               cay_json_value_count(options) == 0 && says(labels, "cay.volume", name) &&
               says(labels, "cay.instance", o->instance) && says(labels, "cay.owner", owner);
}

bool docker_volume_is_owners(const struct docker_plan *p, unsigned i, const struct docker_options *o,
                             const struct cay_json_value *volume)
{
        return docker_volume_is_ours(o, p->owner, p->volumes[i].name, volume);
}

unsigned docker_ports_read(const struct cay_json_value *container, const struct docker_plan *p,
                           struct docker_port ret[DOCKER_PORTS_MAX])
{
        const struct cay_json_value *ports =
                cay_json_value_find(cay_json_value_find(container, "NetworkSettings"), "Ports");
        unsigned count = 0;
        char key[16];

        for (unsigned i = 0; i < p->port_count; i++) {
                const char *text;
                unsigned long host;

                port_key(p->ports[i].inside, key, sizeof(key));
                text = cay_json_value_text(cay_json_value_find(
                        cay_json_value_at(cay_json_value_find(ports, key), 0), "HostPort"));
                host = text ? strtoul(text, NULL, 10) : 0;
                if (host > 0 && host <= 65535)
                        ret[count++] =
                                (struct docker_port){ .inside = p->ports[i].inside, .host = (uint16_t)host };
        }
        return count;
}
