/* SPDX-License-Identifier: Apache-2.0 */
/* The rows, and how single values are read. */
#include "domain/templates/fields.h"

#include <assert.h>
#include <ctype.h>

#include "domain/model/engine_caps.h"
#include "foundation/base/path.h"

static const char *const networks[] = { "none", "bridge", NULL };
static const char *const modes[] = { "none", "list", "bridge", "learn", NULL };
static const char *const inits[] = { "cay", "none", NULL };

/* Those that a daemon starts only for requests that name them are not for templates. */
#define IF_CAY_ENGINE_START_AUTO(...) __VA_ARGS__
#define IF_CAY_ENGINE_START_BY_NAME(...) __VA_ARGS__
#define IF_CAY_ENGINE_START_ALWAYS(...)
static const char *const engines[] = {
        "auto",
#define CAY_ENGINE(name, lacks, caps, helper, start, doc) IF_##start(#name, )
#include "engines/engines.def"
#undef CAY_ENGINE
        NULL,
};
const struct cay_registry_engine cay_registry_engines[] = {
#define CAY_ENGINE(name, lacks, caps, helper, start, doc) IF_##start({ #name, caps }, )
#include "engines/engines.def"
#undef CAY_ENGINE
        { NULL, 0 },
};

const struct cay_registry_engine *cay_registry_engine_with(unsigned caps)
{
        for (const struct cay_registry_engine *e = cay_registry_engines; e->name; e++)
                if (e->caps & caps)
                        return e;
        return NULL;
}

bool cay_registry_engine_can(const char *name, unsigned cap)
{
        for (const struct cay_registry_engine *e = cay_registry_engines; e->name; e++)
                if (strcmp(e->name, name) == 0)
                        return e->caps & cap;
        return false;
}

const char *const *const cay_registry_words[CAY_REGISTRY_LIST_COUNT] = {
        [CAY_REGISTRY_NETWORKS] = networks,
        [CAY_REGISTRY_MODES] = modes,
        [CAY_REGISTRY_ENGINES] = engines,
        [CAY_REGISTRY_INITS] = inits,
};

#define AT(member) offsetof(struct cay_registry_row, member)
#define WORD(list) .parse = cay_registry_parse_word, .nr = CAY_REGISTRY_##list
#define PATH .parse = cay_registry_parse_path
#define LIMIT(field) .parse = cay_registry_parse_limit, .nr = CAY_LIMIT_NR_##field

static const struct cay_field network_limit_fields[] = {
        { "up", CAY_FIELD_PARSED, AT(t.limits), 0, "bytes per second that it may send", LIMIT(network_up) },
        { "down", CAY_FIELD_PARSED, AT(t.limits), 0, "bytes per second that it may receive",
          LIMIT(network_down) },
        { "total", CAY_FIELD_PARSED, AT(t.limits), 0, "bytes that it may send and receive in all",
          LIMIT(network_total) },
        { "connections", CAY_FIELD_PARSED, AT(t.limits), 0, "connections at once (default: 512)",
          LIMIT(network_connections) },
        { "connects", CAY_FIELD_PARSED, AT(t.limits), 0, "new connections per second (default: 100)",
          LIMIT(network_connects) },
        { "queries", CAY_FIELD_PARSED, AT(t.limits), 0, "names that it may look up per second (default: 50)",
          LIMIT(network_queries) },
        {},
};

static const struct cay_field network_fields[] = {
        { "mode", CAY_FIELD_PARSED, AT(mode), 0,
          "none, list (what allow names; the default with allow), bridge (every public address), or learn "
          "(as bridge, to see which rules are needed)",
          WORD(MODES) },
        { "allow", CAY_FIELD_TEXTS, AT(t.allow), 0,
          "what its sandboxes may reach: pypi.org, \"*.example.org:443\", 10.1.2.0/24:5432, preset:python",
          .max = CAY_REGISTRY_RULES_MAX, .item_max = 319 },
        { "deny", CAY_FIELD_TEXTS, AT(t.deny), 0, "what they may not reach, whatever allow says",
          .max = CAY_REGISTRY_RULES_MAX, .item_max = 319 },
        { "private", CAY_FIELD_BOOL, AT(t.private_networks), 0,
          "its sandboxes may join a private network, in which those of one owner reach each other" },
        { "limits", CAY_FIELD_OBJECT, 0, 0, "how much may go over it: a request may ask for less",
          .fields = network_limit_fields },
        {},
};

static const struct cay_field security_fields[] = {
        { "network_mode", CAY_FIELD_PARSED, AT(network_mode), 0,
          "none (isolated, the default) or bridge (internet access)", WORD(NETWORKS) },
        { "network", CAY_FIELD_OBJECT, 0, 0, "what its sandboxes may reach: instead of network_mode",
          .fields = network_fields },
#define CAY_SANDBOX_FIELD(kind, name, uses, head, doc)                                                       \
        CAY_OPTION_IF_ASKED_##uses(CAY_OPTION_ROW(kind, name, AT(t.options.name), doc), )
#include "domain/model/sandbox_fields.def"
#undef CAY_SANDBOX_FIELD
        { "needs_confirm", CAY_FIELD_BOOL, AT(t.needs_confirm), 0,
          "starting one takes a second request with the confirmation that the first was answered with" },
        {},
};

static const struct cay_field resource_fields[] = {
        { "timeout", CAY_FIELD_PARSED, AT(t.limits), 0,
          "time that a command may take: seconds, or like 10m; the same as wall_time (default: 60)",
          LIMIT(wall_ms) },
#define CAY_LIMIT(field, word, kind, min, max, doc)                                                          \
        { word, CAY_FIELD_PARSED, AT(t.limits), 0, doc, LIMIT(field) },
#include "domain/model/limits.def"
#undef CAY_LIMIT
        { "life_time", CAY_FIELD_DURATION, AT(t.life_ms), 0,
          "how long a sandbox lives (default: the daemon's)", .max = 1000ull * 86400 * 366 },
        { "idle_time", CAY_FIELD_DURATION, AT(t.idle_ms), 0,
          "how long it may be without use (default: the daemon's; with auto_cleanup 5m)",
          .max = 1000ull * 86400 * 366 },
        {},
};

static const struct cay_field build_fields[] = {
        { "network_mode", CAY_FIELD_PARSED, AT(t.build_network), 0,
          "of the commands in the Dockerfile: none (the default) or bridge (they may fetch things)",
          WORD(NETWORKS) },
        { "args", CAY_FIELD_MAP, AT(t.build_args), 0, "values of the Dockerfile's ARGs", .max = 32,
          .item_max = 512 },
        { "memory", CAY_FIELD_SIZE, AT(t.build_memory), 0, "of each of its commands (default: 2g)",
          .min = 32ull << 20, .max = 1ull << 40 },
        { "timeout", CAY_FIELD_DURATION, AT(t.build_ms), 0, "of the whole build (default: 30m)", .min = 1000,
          .max = 4ull * 3600 * 1000 },
        {},
};

const struct cay_field cay_registry_template_fields[] = {
        { "description", CAY_FIELD_TEXT, AT(t.description), 0, "what it is for, in a sentence", .max = 1024 },
        { "dockerfile", CAY_FIELD_PARSED, AT(dockerfile), 0, "Dockerfile that its image is built from",
          PATH },
        { "build", CAY_FIELD_OBJECT, 0, 0, "how the Dockerfile is built", .fields = build_fields },
        { "rootfs", CAY_FIELD_PARSED, AT(rootfs), 0, "folder that is its root", PATH },
        { "image", CAY_FIELD_PARSED, AT(image), 0, "OCI image that is its root",
          .parse = cay_registry_parse_image },
        { "host", CAY_FIELD_BOOL, AT(host), 0, "its root is this machine's own /usr, read-only" },
        { "engine", CAY_FIELD_PARSED, AT(t.engine), 0,
          "auto, native, docker or process (default: docker for dockerfile and image, native for "
          "rootfs, else "
          "auto: the daemon's default)",
          WORD(ENGINES) },
        { "init", CAY_FIELD_PARSED, AT(t.init), 0,
          "cay (the default), or none: nothing is copied into the container, and it runs one command "
          "(docker)",
          WORD(INITS) },
        { "triggers", CAY_FIELD_TEXTS, AT(t.triggers), 0, "words of a task that mean this one", .max = 64,
          .item_max = 200 },
        { "security", CAY_FIELD_OBJECT, 0, 0, "what it may do", .fields = security_fields },
        { "resources", CAY_FIELD_OBJECT, 0, 0, "what it may use", .fields = resource_fields },
        { "env", CAY_FIELD_MAP, AT(t.env), 0, "environment of its commands", .max = 64, .item_max = 4096 },
        { "command", CAY_FIELD_WORDS, AT(t.command), 0,
          "what runs when nobody says: a shell line or a list of words", .max = 64 },
        { "interpreter", CAY_FIELD_TEXTS, AT(t.interpret), 0,
          "program that takes code on its standard input, with its arguments (default: python3, -)",
          .max = 16, .item_max = 256 },
        { "requires", CAY_FIELD_TEXTS, AT(t.requires), 0,
          "programs of this machine that it needs: paths below /usr; without them it is not available",
          .max = 16, .item_max = 256 },
        { "system", CAY_FIELD_PARSED, AT(t.system_path), 0,
          "instructions for the model (default: SYSTEM.md beside the Dockerfile or the rootfs, or in a "
          "folder of "
          "the template's name)",
          PATH },
        { "pool", CAY_FIELD_U64, AT(t.pool), 0,
          "boxes kept ready for each shape of its sandboxes, on engines that can", .max = 1024 },
        { "pool_learned", CAY_FIELD_BOOL, AT(t.pool_learned), 0,
          "keep as many boxes ready as were asked for in the busiest second of the last five minutes" },
        { "warm", CAY_FIELD_TEXTS, AT(t.warm), 0,
          "languages whose interpreter waits in each sandbox, so that running code need not start it: "
          "python (default: in sandboxes of a pool, if python3 is the interpreter, and of host)",
          .max = 4, .item_max = 16 },
        { "warm_modules", CAY_FIELD_TEXTS, AT(t.warm_modules), 0,
          "Python modules that waiting interpreters import ahead; those that are missing are left out",
          .max = 16, .item_max = 64 },
        { "max_concurrent", CAY_FIELD_U64, AT(t.max_concurrent), 0, "alive at once", .min = 1,
          .max = 100000 },
        { "auto_cleanup", CAY_FIELD_BOOL, AT(t.auto_cleanup), 0,
          "removed when what it was started for has ended (default: the settings')",
          .given = CAY_FIELD_GIVEN(struct cay_registry_row, has_auto_cleanup) },
        {},
};

const struct cay_field cay_registry_settings_fields[] = {
        { "auto_cleanup", CAY_FIELD_BOOL, offsetof(struct cay_registry_settings, auto_cleanup), 0,
          "sandboxes are removed when what they were started for has ended (default: true)" },
        { "max_concurrent", CAY_FIELD_U64, offsetof(struct cay_registry_settings, max_concurrent), 0,
          "sandboxes from these templates alive at once (default: only the daemon's own limit)", .min = 1,
          .max = 100000 },
        { "queue", CAY_FIELD_U64, offsetof(struct cay_registry_settings, queue), 0,
          "requests that may wait when that many are alive (default: 256)", .max = 1024 },
        { "queue_timeout", CAY_FIELD_DURATION, offsetof(struct cay_registry_settings, queue_ms), 0,
          "how long they wait (default: 10)", .max = 600000 },
        { "aliases", CAY_FIELD_MAP, offsetof(struct cay_registry_settings, aliases), 0,
          "other names of templates, for clients of E2B: code-interpreter-v1: python", .max = 64,
          .item_max = CAY_TEMPLATE_NAME_MAX },
        {},
};

const struct cay_field cay_registry_root_fields[] = {
        { "containers", CAY_FIELD_MAP, 0, CAY_FIELD_REQUIRED,
          "templates by name: a-z, 0-9 and -, at most 63 of them", .max = CAY_REGISTRY_TEMPLATES_MAX },
        { "settings", CAY_FIELD_OBJECT, 0, 0, "what holds for all of them",
          .fields = cay_registry_settings_fields },
        {},
};

int cay_registry_parse_word(const struct cay_field *f, const char *where, const char *text, void *at,
                            struct cay_error *err)
{
        const char *const *words = cay_registry_words[f->nr];
        const char *meant;
        char all[128] = "";

        for (unsigned i = 0; words[i]; i++) {
                size_t len = strlen(all);

                if (strcmp(words[i], text) == 0) {
                        *(const char **)at = words[i];
                        return 0;
                }
                snprintf(all + len, sizeof(all) - len, "%s%s", i > 0 ? ", " : "", words[i]);
        }
        meant = cay_registry_suggest_word(words, text);
        if (meant)
                return cay_fail(err, CAY_INVALID, "%s: '%.40s' is none of %s; did you mean %s?", where, text,
                                all, meant);
        return cay_fail(err, CAY_INVALID, "%s: '%.40s' is not known; write one of %s", where, text, all);
}

int cay_registry_parse_path(const struct cay_field *f, const char *where, const char *text, void *at,
                            struct cay_error *err)
{
        (void)f;
        while (text[0] == '.' && text[1] == '/')
                for (text += 2; *text == '/'; text++)
                        ;
        if (!cay_path_is_inside(text) || strlen(text) > 1024)
                return cay_fail(
                        err, CAY_INVALID,
                        "%s: '%.80s' leaves the registry's folder; name a path below it, without '..'", where,
                        text);
        *(const char **)at = text;
        return 0;
}

int cay_registry_parse_image(const struct cay_field *f, const char *where, const char *text, void *at,
                             struct cay_error *err)
{
        size_t len = strlen(text);

        (void)f;
        if (len == 0 || len > 512 || !isalnum((unsigned char)text[0]) ||
            strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/:@") != len)
                return cay_fail(err, CAY_INVALID,
                                "%s: '%.80s' is no image reference; write it like python:3.11-slim", where,
                                text);
        *(const char **)at = text;
        return 0;
}

int cay_registry_parse_limit(const struct cay_field *f, const char *where, const char *text, void *at,
                             struct cay_error *err)
{
        return cay_limit_parse(at, (enum cay_limit)f->nr, where, text, err);
}
