/* SPDX-License-Identifier: Apache-2.0 */
/* The environment of commands. */
#include "domain/model/command_env.h"

#define OWN_MAX 13

struct list {
        const char **items;
        unsigned count;
        struct cay_arena *mem;
        bool failed;
};

const char *cay_command_workspace(const struct cay_command_env *in)
{
        return in->box_workspace != NULL ? in->box_workspace : "/workspace";
}

/*
 * A folder that the command may write to and that is not the caller's: dot files must not go into a mapped
 * workspace.
 */
static const char *home(const struct cay_command_env *in)
{
        if (in->box_workspace != NULL)
                return in->has_workspace ? "/tmp" : in->box_workspace;
        if (in->template_kind != CAY_TEMPLATE_HOST || in->read_only)
                return "/tmp";
        if (in->user->uid == 0)
                return "/root";
        return in->user->uid == CAY_USER_DEFAULT ? "/home/sandbox" : "/tmp";
}

static bool has(const struct cay_field_map *map, const char *name)
{
        for (unsigned i = 0; map != NULL && i < map->count; i++)
                if (strcmp(map->pairs[i].name, name) == 0)
                        return true;
        return false;
}

static bool has_text(const char *const *texts, const char *name)
{
        size_t len = strlen(name);

        for (; texts != NULL && *texts != NULL; texts++)
                if (strncmp(*texts, name, len) == 0 && (*texts)[len] == '=')
                        return true;
        return false;
}

static void add(struct list *l, const char *name, const char *value)
{
        size_t name_len = strlen(name), value_len = strlen(value);
        char *text = cay_arena_alloc(l->mem, name_len + value_len + 2);

        if (text == NULL) {
                l->failed = true;
                return;
        }
        memcpy(text, name, name_len);
        text[name_len] = '=';
        memcpy(text + name_len + 1, value, value_len + 1);
        l->items[l->count++] = text;
}

static void add_own(struct list *l, const struct cay_command_env *in, const char *name, const char *value)
{
        if (value != NULL && value[0] != '\0' && !has(in->layers[0], name) && !has(in->layers[1], name) &&
            !has_text(in->texts, name))
                add(l, name, value);
}

/* What programs look for a proxy in. Their own loopback is reached without one. */
static void add_proxy(struct list *l, const struct cay_command_env *in)
{
        static const struct {
                const char *name, *scheme;
        } rows[] = { { "http_proxy", "http" }, { "https_proxy", "http" }, { "all_proxy", "socks5h" },
                     { "HTTP_PROXY", "http" }, { "HTTPS_PROXY", "http" }, { "ALL_PROXY", "socks5h" } };
        char value[64];

        if (in->proxy == NULL)
                return;
        for (unsigned i = 0; i < CAY_COUNT(rows); i++) {
                snprintf(value, sizeof(value), "%s://%s", rows[i].scheme, in->proxy);
                add_own(l, in, rows[i].name, value);
        }
        add_own(l, in, "no_proxy", "localhost,127.0.0.1,::1");
        add_own(l, in, "NO_PROXY", "localhost,127.0.0.1,::1");
}

const char **cay_command_env_make(const struct cay_command_env *in, struct cay_arena *mem)
{
        struct list l = { .mem = mem };
        unsigned given = 0;

        for (unsigned k = 0; k < CAY_COUNT(in->layers); k++)
                given += in->layers[k] != NULL ? in->layers[k]->count : 0;
        for (const char *const *text = in->texts; text != NULL && *text != NULL; text++)
                given++;
        l.items = cay_arena_array(mem, given + OWN_MAX + 1, sizeof(*l.items));
        if (l.items == NULL)
                return NULL;
        if (!in->box_env)
                add_own(&l, in, "PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
        add_own(&l, in, "HOME", home(in));
        add_own(&l, in, "USER", in->user_name != NULL ? in->user_name : in->user->name);
        if (!in->box_env)
                add_own(&l, in, "LANG", "C.UTF-8");
        add_proxy(&l, in);
        if (in->tty)
                add_own(&l, in, "TERM", in->term != NULL ? in->term : "xterm-256color");
        for (unsigned k = 0; k < CAY_COUNT(in->layers); k++) {
                const struct cay_field_map *map = in->layers[k];

                for (unsigned i = 0; map != NULL && i < map->count; i++)
                        if ((k == 1 || !has(in->layers[1], map->pairs[i].name)) &&
                            !has_text(in->texts, map->pairs[i].name))
                                add(&l, map->pairs[i].name, map->pairs[i].value);
        }
        for (const char *const *text = in->texts; text != NULL && *text != NULL; text++)
                l.items[l.count++] = *text;
        return l.failed ? NULL : l.items;
}

bool cay_command_env_is_name(const char *name)
{
        return name[0] != '\0' && strchr(name, '=') == NULL;
}
