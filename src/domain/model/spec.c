/* SPDX-License-Identifier: Apache-2.0 */
/* What every engine may rely on in a spec, checked in one place. */
#include "domain/model/spec.h"

#include <string.h>

#include "domain/model/engine_caps.h"
#include "foundation/base/parse.h"

int cay_spec_check(const struct cay_spec *spec, struct cay_error *err)
{
        if (!cay_id_is_valid(spec->id))
                return cay_fail(err, CAY_INVALID,
                                "id '%.80s' is not a name: 1 to %d of a-z, 0-9 and '-', no '-' at either end",
                                spec->id, CAY_NAME_MAX);
        switch (spec->template_kind) {
        case CAY_TEMPLATE_HOST:
                if (spec->rootfs_fd >= 0)
                        return cay_fail(err, CAY_INVALID, "the host template takes no root folder");
                break;
        case CAY_TEMPLATE_ROOTFS:
                if (spec->rootfs_fd < 0)
                        return cay_fail(err, CAY_INVALID, "the rootfs template needs a root folder");
                break;
        default:
                return cay_fail(err, CAY_INVALID, "unknown kind of template (%d)", (int)spec->template_kind);
        }
        if (spec->workspace_root > 0 &&
            (!spec->workspace_below || !spec->workspace_below[0] ||
             strnlen(spec->workspace_below, CAY_SPEC_BELOW_MAX + 1) > CAY_SPEC_BELOW_MAX))
                return cay_fail(err, CAY_INVALID, "workspace: the path below its root has 1 to %u bytes",
                                CAY_SPEC_BELOW_MAX);
        if ((spec->workspace_rw || spec->workspace_cow) && spec->workspace_fd < 0 &&
            spec->workspace_root == 0 && !spec->workspace_there)
                return cay_fail(err, CAY_INVALID, "a writable workspace needs a folder");
        if (spec->workspace_rw && spec->workspace_cow)
                return cay_fail(err, CAY_INVALID, "a workspace is either writable or copy-on-write");
        if (spec->port_count > CAY_SPEC_PORTS_MAX || spec->volume_count > CAY_SPEC_VOLUMES_MAX)
                return cay_fail(err, CAY_INVALID, "at most %u ports and %u volumes", CAY_SPEC_PORTS_MAX,
                                CAY_SPEC_VOLUMES_MAX);
        if (spec->port_count > 0 && !spec->bridge)
                return cay_fail(err, CAY_INVALID, "ports are published with the network 'bridge' only");
        if (spec->go_on && (!spec->keep || spec->one_shot))
                return cay_fail(err, CAY_INVALID, "only a kept layer can be used again");
        if (spec->options.no_init && spec->keep)
                return cay_fail(err, CAY_INVALID, "a sandbox without init keeps nothing");
        if (spec->may_skip & ~CAY_LIMIT_MASK_ALL)
                return cay_fail(err, CAY_INVALID, "unknown limits among those that may be skipped");
#ifndef CAY_TEST_HOOKS
        if (spec->test_off != 0)
                return cay_fail(err, CAY_INVALID, "layers can be switched off in test builds only");
#endif
        return cay_limits_check(&spec->limits, err);
}

int cay_spec_check_caps(const struct cay_spec *spec, const char *engine, unsigned caps, struct cay_error *err)
{
        const unsigned wanted = (spec->options.no_init ? CAY_ENGINE_CAN_NO_INIT : 0) |
                                (spec->bridge ? CAY_ENGINE_CAN_NETWORK_BRIDGE : 0) |
                                (spec->egress != CAY_EGRESS_NONE ? cay_engine_policy_cap(caps) : 0) |
                                (spec->port_count > 0 ? CAY_ENGINE_CAN_PORTS : 0) |
                                (spec->volume_count > 0 ? CAY_ENGINE_CAN_VOLUMES : 0) |
                                (spec->workspace_there ? CAY_ENGINE_CAN_OWN_FOLDERS : 0);

        return cay_engine_caps_check(engine, caps, wanted, err);
}

int cay_spec_parse_template(const char *text, enum cay_template_kind *ret_kind, const char **ret_dir,
                            struct cay_error *err)
{
        static const char prefix[] = "rootfs:";

        if (strcmp(text, "host") == 0) {
                *ret_kind = CAY_TEMPLATE_HOST;
                *ret_dir = NULL;
                return 0;
        }
        if (strncmp(text, prefix, sizeof(prefix) - 1) == 0)
                text += sizeof(prefix) - 1;
        else if (strchr(text, '/') == NULL && strcmp(text, ".") != 0 && strcmp(text, "..") != 0)
                return cay_fail(err, CAY_INVALID,
                                "'%.80s' is no template: host, a folder (with a '/'), or rootfs:DIR", text);
        if (text[0] == '\0')
                return cay_fail(err, CAY_INVALID, "the folder's name is empty");
        *ret_kind = CAY_TEMPLATE_ROOTFS;
        *ret_dir = text;
        return 0;
}

int cay_spec_parse_workspace(const char *text, size_t *ret_dir_len, enum cay_workspace_mode *ret_mode,
                             struct cay_error *err)
{
        static const struct {
                const char *word;
                enum cay_workspace_mode mode;
        } words[] = { { ":ro", CAY_WORKSPACE_RO },
                      { ":rw", CAY_WORKSPACE_RW },
                      { ":cow", CAY_WORKSPACE_COW } };
        const char *colon = strrchr(text, ':');
        enum cay_workspace_mode mode = CAY_WORKSPACE_RO;
        size_t len = strlen(text);

        for (unsigned i = 0; colon != NULL && i < CAY_COUNT(words); i++) {
                if (strcmp(colon, words[i].word) != 0)
                        continue;
                mode = words[i].mode;
                len = (size_t)(colon - text);
        }
        if (len == 0)
                return cay_fail(err, CAY_INVALID, "the folder's name is empty");
        *ret_dir_len = len;
        *ret_mode = mode;
        return 0;
}

static bool parse_port(const char *text, size_t len, uint64_t min, uint16_t *ret)
{
        char number[8];
        uint64_t v;

        if (len == 0 || len >= sizeof(number))
                return false;
        memcpy(number, text, len);
        number[len] = '\0';
        if (cay_parse_u64(number, &v) < 0 || v < min || v > UINT16_MAX)
                return false;
        *ret = (uint16_t)v;
        return true;
}

int cay_spec_parse_port(const char *text, struct cay_spec_port *ret, struct cay_error *err)
{
        const char *colon = strchr(text, ':'), *inside = colon ? colon + 1 : text;

        *ret = (struct cay_spec_port){ 0 };
        if (!parse_port(inside, strlen(inside), 1, &ret->inside))
                return cay_fail(
                        err, CAY_INVALID,
                        "ports: '%.40s' is neither a port (1 to 65535) nor HOST:PORT, like 8080 or 3000:8080",
                        text);
        if (colon && !parse_port(text, (size_t)(colon - text), CAY_SPEC_PORT_WISH_MIN, &ret->host))
                return cay_fail(err, CAY_INVALID, "ports: '%.40s': on the host it is one from %u to 65535",
                                text, CAY_SPEC_PORT_WISH_MIN);
        return 0;
}

int cay_spec_parse_volume(const char *text, struct cay_spec_volume_text *ret, struct cay_error *err)
{
        const char *path = strchr(text, ':'), *mode = path ? strchr(path + 1, ':') : NULL;
        size_t name_len = path ? (size_t)(path - text) : 0, len;

        *ret = (struct cay_spec_volume_text){ 0 };
        if (path && name_len < sizeof(ret->name))
                memcpy(ret->name, text, name_len);
        if (!cay_id_is_valid(ret->name))
                return cay_fail(err, CAY_INVALID,
                                "volumes: '%.80s' is not NAME:/PATH[:ro], NAME being 1 to %u of a-z, 0-9 and "
                                "'-', not at the ends",
                                text, CAY_NAME_MAX);
        path++;
        len = mode ? (size_t)(mode - path) : strlen(path);
        if (path[0] != '/' || len > CAY_SPEC_TARGET_MAX)
                return cay_fail(err, CAY_INVALID,
                                "volumes: '%.80s': its place is an absolute path of at most %u bytes", text,
                                CAY_SPEC_TARGET_MAX);
        memcpy(ret->target, path, len);
        ret->read_only = mode && strcmp(mode, ":ro") == 0;
        if (mode && !ret->read_only && strcmp(mode, ":rw") != 0)
                return cay_fail(err, CAY_INVALID, "volumes: '%.80s' ends neither in :ro nor in :rw", text);
        return 0;
}
