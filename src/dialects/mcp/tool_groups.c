/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Groups of tools that are listed on request, and more_tools, by which a model finds them. A client that
 * reads its list again gets the tools of a group as tools; one that does not (or whose every request is a
 * session of its own) calls them through more_tools.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "dialects/mcp/subscriber.h"
#include "dialects/mcp/tools.h"

#define EVERY "all"
#define DESCRIPTION_MAX (256u * 1024)

/* The next of `names`, which are separated by commas; false: there are no more. */
static bool next_name(const char **names, const char **ret, size_t *ret_len)
{
        *names += strspn(*names, ", ");
        *ret = *names;
        *ret_len = strcspn(*names, ", ");
        *names += *ret_len;
        return *ret_len > 0;
}

static bool has_name(const char *names, const char *name, size_t len)
{
        const char *found;
        size_t found_len;

        while (next_name(&names, &found, &found_len))
                if (found_len == len && memcmp(found, name, len) == 0)
                        return true;
        return false;
}

static bool is_group(const char *name, size_t len)
{
        const struct cay_mcp_tool *t;

        for (unsigned i = 0; (t = cay_mcp_tool_at(i)) != NULL; i++)
                if (t->group && strlen(t->group) == len && memcmp(t->group, name, len) == 0)
                        return true;
        return false;
}

bool cay_mcp_group_has(const char *groups, const char *group)
{
        return !group || has_name(groups, group, strlen(group)) || has_name(groups, EVERY, strlen(EVERY));
}

/* False: they do not fit. */
static bool append(char *names, size_t size, const char *name, size_t len)
{
        size_t have = strlen(names);

        if (have + (have > 0 ? 1 : 0) + len >= size)
                return false;
        snprintf(names + have, size - have, "%s%.*s", have > 0 ? "," : "", (int)len, name);
        return true;
}

void cay_mcp_group_names(char *ret, size_t size)
{
        const struct cay_mcp_tool *t;

        ret[0] = '\0';
        for (unsigned i = 0; (t = cay_mcp_tool_at(i)) != NULL; i++)
                if (t->group && !has_name(ret, t->group, strlen(t->group)))
                        append(ret, size, t->group, strlen(t->group));
}

int cay_mcp_groups_read(const char *text, char ret[CAY_MCP_GROUPS_MAX + 1])
{
        const char *name;
        size_t len;

        ret[0] = '\0';
        while (next_name(&text, &name, &len)) {
                if (!has_name(EVERY, name, len) && !is_group(name, len))
                        return -EINVAL;
                if (!has_name(ret, name, len) && !append(ret, CAY_MCP_GROUPS_MAX + 1, name, len))
                        return -EINVAL;
        }
        return 0;
}

bool cay_mcp_groups_add(struct cay_mcp_client *p, const char *groups)
{
        bool is_new = false;
        const char *name;
        size_t len;

        while (next_name(&groups, &name, &len))
                if (!has_name(p->groups, name, len) && append(p->groups, sizeof(p->groups), name, len))
                        is_new = true;
        return is_new;
}

/* more_tools */

static void put_group(struct cay_json *j, const char *group)
{
        const struct cay_mcp_tool *t;

        cay_json_begin_object(j);
        cay_op_key_text(j, "group", group);
        cay_json_key(j, "tools");
        cay_json_begin_array(j);
        for (unsigned i = 0; (t = cay_mcp_tool_at(i)) != NULL; i++)
                if (t->group && strcmp(t->group, group) == 0)
                        cay_json_text(j, t->name);
        cay_json_end_array(j);
        cay_json_end_object(j);
}

static void put_groups(struct cay_json *j)
{
        const struct cay_mcp_tool *t;
        char told[CAY_MCP_GROUPS_MAX + 1] = "";

        cay_json_key(j, "groups");
        cay_json_begin_array(j);
        for (unsigned i = 0; (t = cay_mcp_tool_at(i)) != NULL; i++) {
                if (!t->group || has_name(told, t->group, strlen(t->group)))
                        continue;
                append(told, sizeof(told), t->group, strlen(t->group));
                put_group(j, t->group);
        }
        cay_json_end_array(j);
        cay_op_key_text(j, "next", "Call more_tools with a group, to have its tools.");
}

static void put_tools(struct cay_json *j, const struct cay_mcp_call *c, const char *group)
{
        const struct cay_mcp_tool *t;

        cay_op_key_text(j, "group", group);
        cay_json_key(j, "tools");
        cay_json_begin_array(j);
        for (unsigned i = 0; (t = cay_mcp_tool_at(i)) != NULL; i++)
                if (t->group && strcmp(t->group, group) == 0 && cay_mcp_tool_is_there(t, c->client))
                        cay_mcp_put_tool(j, t, c->client, c->is_modern);
        cay_json_end_array(j);
        cay_op_key_text(j, "next",
                        "Call these by their names; or, if your list of tools lacks them, "
                        "more_tools with tool and arguments.");
}

static void describe(struct cay_mcp_call *c, const char *group)
{
        cay_auto_buf struct cay_buf text = { 0 };
        struct cay_json j;

        cay_buf_init(&text, DESCRIPTION_MAX);
        cay_json_init(&j, &text);
        cay_json_begin_object(&j);
        if (group)
                put_tools(&j, c, group);
        else
                put_groups(&j);
        cay_json_end_object(&j);
        if (cay_json_end(&j) < 0) {
                cay_mcp_tool_fail(c, NULL, "no memory for the description of these tools");
                return;
        }
        cay_mcp_tool_send(c, cay_buf_data(&text), text.len);
}

static void call_other(struct cay_mcp_call *c, const char *name)
{
        const struct cay_mcp_tool *t = cay_mcp_tool_find(c->client, name);
        const struct cay_json_value *args = cay_mcp_arg(c, "arguments");

        if (!t || t->run == cay_mcp_run_more) {
                cay_mcp_tool_fail(c, "Call more_tools without arguments for the names of groups and tools.",
                                  "tool: there is no tool %.80s", name);
                return;
        }
        c->tool = t;
        c->args = args;
        cay_mcp_tool_run(c);
}

void cay_mcp_run_more(struct cay_mcp_call *c)
{
        const char *group = cay_mcp_arg_text(c, "group"), *tool = cay_mcp_arg_text(c, "tool");
        struct cay_mcp_client *p = c->client;

        if (tool) {
                call_other(c, tool);
                return;
        }
        if (cay_mcp_arg(c, "arguments")) {
                cay_mcp_tool_fail(c, NULL, "arguments: needs tool, whose arguments these are");
                return;
        }
        if (group && !is_group(group, strlen(group))) {
                char names[CAY_MCP_GROUPS_MAX + 1];

                cay_mcp_group_names(names, sizeof(names));
                cay_mcp_tool_fail(c, NULL, "group: there is no group '%.60s'; there are: %s", group, names);
                return;
        }
        if (group && cay_mcp_groups_add(p, group)) {
                if (p->on_changed)
                        p->on_changed(p);
                if (p->subscriber)
                        cay_mcp_subscriber_say(p->subscriber, "notifications/tools/list_changed", NULL, NULL);
        }
        describe(c, group);
}
