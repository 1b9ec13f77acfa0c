/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Canned tools and prompts for scenarios of the conformance tool that ask for such by name: rows of what each
 * answers, and three ways to answer. Linked into the cay-front of builds with test hooks alone, and there
 * only with CAY_TEST_MCP_FIXTURES=1.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dialects/mcp/mcp_priv.h"
#include "dialects/mcp/task.h"
#include "dialects/mcp/tools.h"

#define PNG "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
#define TEXT(words) "{\"type\":\"text\",\"text\":\"" words "\"}"
#define IMAGE "{\"type\":\"image\",\"mimeType\":\"image/png\",\"data\":\"" PNG "\"}"
#define AUDIO "{\"type\":\"audio\",\"mimeType\":\"audio/wav\",\"data\":\"UklGRiQAAABXQVZF\"}"
#define RESOURCE                                                                                             \
        "{\"type\":\"resource\",\"resource\":{\"uri\":\"test://canned\",\"mimeType\":\"text/plain\","        \
        "\"text\":\"canned\"}}"
#define MESSAGE(content) "{\"role\":\"user\",\"content\":" content "}"
#define ELICIT(properties)                                                                                   \
        "{\"mode\":\"form\",\"message\":\"A question?\",\"requestedSchema\":{\"type\":\"object\","           \
        "\"properties\":{" properties "}}}"
#define SAMPLE "{\"messages\":[" MESSAGE(TEXT("A question?")) "],\"maxTokens\":100}"
#define ROUNDS_MAX 2u
#define INPUTS_MAX 3u
#define SECONDS_MAX 60u

struct input { /* what a client is asked for */
        const char *key, *method, *params;
        const char *capability;
};

static const struct input name_input = { "user_name", "elicitation/create",
                                         ELICIT("\"name\":{\"type\":\"string\"}"), "elicitation" };
static const struct input color_input = { "step2", "elicitation/create",
                                          ELICIT("\"color\":{\"type\":\"string\"}"), "elicitation" };
static const struct input sampling_input = { "capital_question", "sampling/createMessage", SAMPLE,
                                             "sampling" };
static const struct input roots_input = { "client_roots", "roots/list", "{}", "roots" };
static const struct input defaults_input = {
        "", "elicitation/create",
        ELICIT("\"name\":{\"type\":\"string\",\"default\":\"John Doe\"},"
               "\"age\":{\"type\":\"integer\",\"default\":30},"
               "\"score\":{\"type\":\"number\",\"default\":95.5},"
               "\"status\":{\"type\":\"string\",\"enum\":[\"active\",\"inactive\",\"pending\"],"
               "\"default\":\"active\"},"
               "\"verified\":{\"type\":\"boolean\",\"default\":true}"),
        "elicitation"
};
#define THREE(a) "[\"" a "1\",\"" a "2\",\"" a "3\"]"
#define TITLED(a) "[{\"const\":\"" a "1\",\"title\":\"One\"},{\"const\":\"" a "2\",\"title\":\"Two\"}]"
static const struct input enums_input = {
        "", "elicitation/create",
        ELICIT("\"untitledSingle\":{\"type\":\"string\",\"enum\":" THREE(
                "option") "},"
                          "\"titledSingle\":{\"type\":\"string\",\"oneOf\":" TITLED(
                                  "value") "},"
                                           "\"legacyEnum\":{\"type\":\"string\","
                                           "\"enum\":" THREE("opt") ",\"enumNames\":" THREE(
                                                   "Option ") "},"
                                                              "\"untitledMulti\":{\"type\":"
                                                              "\"array\",\"items\":{\"type\":"
                                                              "\"string\",\"enum\":" THREE(
                                                                      "option") "}},"
                                                                                "\"titledMult"
                                                                                "i\":{"
                                                                                "\"type\":"
                                                                                "\"array\","
                                                                                "\"items\":{"
                                                                                "\"anyOf\""
                                                                                ":" TITLED("valu"
                                                                                           "e") "}}"),
        "elicitation"
};

static const struct row {
        const char *name;
        const char *answer; /* its content or, of a prompt, messages */
        const struct input *rounds[ROUNDS_MAX][INPUTS_MAX];
} rows[] = {
        { "test_audio_content", "[" AUDIO "]", {} },
        { "test_embedded_resource", "[" RESOURCE "]", {} },
        { "test_multiple_content_types", "[" TEXT("text") "," IMAGE "," RESOURCE "]", {} },
        { "test_sampling", "[" TEXT("asked") "]", { { &sampling_input } } },
        { "test_elicitation_sep1034_defaults", "[" TEXT("asked") "]", { { &defaults_input } } },
        { "test_elicitation_sep1330_enums", "[" TEXT("asked") "]", { { &enums_input } } },
        { "test_missing_capability", "[" TEXT("has it") "]", {} },
        { "test_input_required_result_elicitation", "[" TEXT("Hello") "]", { { &name_input } } },
        { "test_input_required_result_sampling", "[" TEXT("Paris") "]", { { &sampling_input } } },
        { "test_input_required_result_list_roots", "[" TEXT("roots") "]", { { &roots_input } } },
        { "test_input_required_result_multiple_inputs",
          "[" TEXT("all") "]",
          { { &name_input, &sampling_input, &roots_input } } },
        { "test_input_required_result_multi_round",
          "[" TEXT("both") "]",
          { { &name_input }, { &color_input } } },
        { "test_input_required_result_capabilities",
          "[" TEXT("as declared") "]",
          { { &name_input, &sampling_input } } },
        { "test_prompt_with_embedded_resource",
          "[" MESSAGE(RESOURCE) "," MESSAGE(TEXT("Look at it.")) "]",
          {} },
        { "test_prompt_with_image", "[" MESSAGE(IMAGE) "," MESSAGE(TEXT("Look at it.")) "]", {} },
        { "test_input_required_result_prompt", "[" MESSAGE(TEXT("asked")) "]", { { &name_input } } },
        { "slow_compute", "[" TEXT("computed") "]", {} },
        { "failing_job", "[" TEXT("it failed") "]", {} },
        { "protocol_error_job", NULL, {} },
        { "confirm_delete", "[" TEXT("deleted") "]", {} },
        { "multi_input", "[" TEXT("both") "]", {} },
        { "test_tool_with_task", NULL, { { &name_input } } },
        { "json_schema_2020_12_tool", "[" TEXT("fine") "]", {} },
};

static const struct row *find(const char *name)
{
        for (unsigned i = 0; name && i < CAY_COUNT(rows); i++)
                if (strcmp(rows[i].name, name) == 0)
                        return &rows[i];
        return NULL;
}

static bool is_prompt(const struct row *row)
{
        return strstr(row->name, "prompt") != NULL;
}

static void complete(struct cay_mcp_call *c, const struct row *row)
{
        struct cay_mcp_result r;

        if (!row->answer) {
                cay_mcp_call_error(c, CAY_RPC_INTERNAL, NULL, "a fault, as was asked for");
                return;
        }
        cay_mcp_result_begin(&r);
        cay_json_key(&r.j, is_prompt(row) ? "messages" : "content");
        cay_json_raw(&r.j, row->answer, strlen(row->answer));
        if (strcmp(row->name, "failing_job") == 0)
                cay_op_key_bool(&r.j, "isError", true);
        cay_mcp_result_send(&r, c, CAY_MCP_UNCACHED);
}

/* Asking, the modern way: which round it is stands in the state. */

static bool can(const struct cay_mcp_call *c, const char *capability)
{
        const struct cay_json_value *all =
                cay_json_value_find(c->rpc.meta, "io.modelcontextprotocol/clientCapabilities");

        return cay_json_value_find(all, capability) != NULL;
}

/* Where the client declares nothing at all it is asked for all: the tool's scenarios have it so. */
static bool asks_for(const struct cay_mcp_call *c, const struct input *in)
{
        return can(c, in->capability) || (!can(c, "elicitation") && !can(c, "sampling") && !can(c, "roots"));
}

static void ask_modern(struct cay_mcp_call *c, const struct row *row, unsigned round)
{
        struct cay_mcp_result r;
        char state[16];

        snprintf(state, sizeof(state), "round-%u", round);
        cay_mcp_result_begin(&r);
        cay_json_key(&r.j, "inputRequests");
        cay_json_begin_object(&r.j);
        for (unsigned i = 0; i < INPUTS_MAX && row->rounds[round][i]; i++) {
                const struct input *in = row->rounds[round][i];

                if (!asks_for(c, in))
                        continue;
                cay_json_key(&r.j, in->key);
                cay_json_begin_object(&r.j);
                cay_op_key_text(&r.j, "method", in->method);
                cay_json_key(&r.j, "params");
                cay_json_raw(&r.j, in->params, strlen(in->params));
                cay_json_end_object(&r.j);
        }
        cay_json_end_object(&r.j);
        cay_op_key_text(&r.j, "requestState", state);
        c->asks_input = true;
        cay_mcp_result_send(&r, c, CAY_MCP_UNCACHED);
}

static void run_modern(struct cay_mcp_call *c, const struct row *row)
{
        const struct cay_json_value *said = cay_json_value_find(c->rpc.params, "inputResponses");
        const char *state = cay_json_value_text(cay_json_value_find(c->rpc.params, "requestState"));
        unsigned round = state && strcmp(state, "round-1") == 0;
        bool has_all = said != NULL;

        for (unsigned i = 0; i < INPUTS_MAX && row->rounds[round][i]; i++)
                has_all = has_all && cay_json_value_find(said, row->rounds[round][i]->key);
        if (!has_all)
                ask_modern(c, row, round);
        else if (round + 1 < ROUNDS_MAX && row->rounds[round + 1][0])
                ask_modern(c, row, round + 1);
        else
                complete(c, row);
}

/* Asking, the legacy way */

static void on_reply(struct cay_mcp_call *c, const struct cay_json_value *result)
{
        (void)result;
        complete(c, find(c->tool->name));
}

static void greet(struct cay_mcp_call *c, const char *name)
{
        char text[128];
        struct cay_mcp_result r;

        snprintf(text, sizeof(text), "Hello, %.100s!", name ? name : "");
        cay_mcp_result_begin(&r);
        cay_json_key(&r.j, "content");
        cay_json_begin_array(&r.j);
        cay_json_begin_object(&r.j);
        cay_op_key_text(&r.j, "type", "text");
        cay_op_key_text(&r.j, "text", text);
        cay_json_end_object(&r.j);
        cay_json_end_array(&r.j);
        cay_mcp_result_send(&r, c, CAY_MCP_UNCACHED);
}

static void run_greet(struct cay_mcp_call *c)
{
        greet(c, cay_mcp_arg_text(c, "name"));
}

/* Tasks */

static void on_input(struct cay_mcp_call *c, const struct cay_json_value *answer, unsigned left)
{
        (void)answer;
        if (left == 0)
                complete(c, find(c->tool->name));
}

/* Asks once, or twice at the same time, inside a task. */
static void run_asking(struct cay_mcp_call *c)
{
        const struct cay_mcp_question questions[] = { { name_input.method, name_input.params },
                                                      { color_input.method, color_input.params } };

        if (c->can_task && cay_mcp_task_make(c))
                cay_mcp_task_ask(c, questions, strcmp(c->tool->name, "multi_input") == 0 ? 2 : 1, on_input);
        else
                complete(c, find(c->tool->name));
}

/* Asks first, then becomes a task, whose result has the answer in it. */
static void run_then_task(struct cay_mcp_call *c)
{
        const struct cay_json_value *said = cay_json_value_find(c->rpc.params, "inputResponses");
        const struct cay_json_value *answer = cay_json_value_find(said, name_input.key);
        const struct cay_json_value *content = cay_json_value_find(answer, "content");

        if (!answer && c->is_modern) {
                ask_modern(c, find(c->tool->name), 0);
                return;
        }
        if (c->can_task)
                cay_mcp_task_make(c);
        greet(c, cay_json_value_text(cay_json_value_find(content, "name")));
}

struct slow {
        struct cay_timer timer;
        struct cay_mcp_call *call;
};

static void free_slow(struct cay_mcp_call *c)
{
        struct slow *s = c->state;

        cay_timer_clear(&s->timer);
        free(s);
}

static void on_slow(struct cay_timer *t)
{
        struct slow *s = cay_container_of(t, struct slow, timer);

        if (!s->call->is_over)
                complete(s->call, find(s->call->tool->name));
}

static void run_task(struct cay_mcp_call *c)
{
        int64_t seconds = 1;
        struct slow *s;

        if (strcmp(c->tool->name, "failing_job") == 0 && cay_mcp_refuse_no_tasks(c))
                return;
        cay_json_value_i64(cay_json_value_find(c->args, "seconds"), &seconds);
        if (c->can_task)
                cay_mcp_task_make(c);
        s = calloc(1, sizeof(*s));
        if (!s) {
                cay_mcp_call_error(c, CAY_RPC_INTERNAL, NULL, "no memory");
                return;
        }
        s->call = c;
        c->state = s;
        c->free_state = free_slow;
        cay_timer_set(c->mcp->world->loop, &s->timer,
                      (uint64_t)(seconds >= 0 && seconds <= SECONDS_MAX ? seconds : 0) * 1000, on_slow);
}

static void run(struct cay_mcp_call *c)
{
        const struct row *row = find(c->tool->name);
        const struct input *first = row->rounds[0][0];

        if (strcmp(row->name, "test_missing_capability") == 0 && !can(c, "sampling"))
                cay_mcp_call_error(c, CAY_RPC_NEEDS_CAPABILITY,
                                   "{\"requiredCapabilities\":{\"sampling\":{}}}", "this needs sampling");
        else if (first && c->is_modern)
                run_modern(c, row);
        else if (first)
                cay_mcp_call_request(c, first->method, first->params, on_reply);
        else
                complete(c, row);
}

static const struct cay_field own_text = { .name = "", .kind = CAY_FIELD_TEXT };
static const struct cay_field own_number = { .name = "", .kind = CAY_FIELD_U64 };
static const struct cay_tool_param params[] = {
        { "prompt", NULL, "For the tests.", &own_text, false, NULL },
        { "name", NULL, "For the tests.", &own_text, false, NULL },
        { "label", NULL, "For the tests.", &own_text, false, NULL },
        { "seconds", NULL, "For the tests.", &own_number, false, NULL },
        { "filename", NULL, "For the tests.", &own_text, false, NULL },
        { .name = NULL },
};

/* file_read: an op without a table of its answer, so that no schema is promised. */
#define FIXTURE(name, how)                                                                                   \
        {                                                                                                    \
                name, name, "For the tests.", "file_read", CAY_TOOL_READS, params, how, NULL                 \
        }
static const struct cay_mcp_tool tools[] = {
        FIXTURE("test_audio_content", run),
        FIXTURE("test_embedded_resource", run),
        FIXTURE("test_multiple_content_types", run),
        FIXTURE("test_sampling", run),
        FIXTURE("test_elicitation_sep1034_defaults", run),
        FIXTURE("test_elicitation_sep1330_enums", run),
        FIXTURE("test_missing_capability", run),
        FIXTURE("test_input_required_result_elicitation", run),
        FIXTURE("test_input_required_result_sampling", run),
        FIXTURE("test_input_required_result_list_roots", run),
        FIXTURE("test_input_required_result_multiple_inputs", run),
        FIXTURE("test_input_required_result_multi_round", run),
        FIXTURE("test_input_required_result_capabilities", run),
        FIXTURE("greet", run_greet),
        FIXTURE("slow_compute", run_task),
        FIXTURE("failing_job", run_task),
        FIXTURE("protocol_error_job", run_task),
        FIXTURE("confirm_delete", run_asking),
        FIXTURE("multi_input", run_asking),
        FIXTURE("test_tool_with_task", run_then_task),
        FIXTURE("json_schema_2020_12_tool", run),
};

/* The words of JSON Schema that none of our own schemas has a use for. */
static const char *schema_of(const struct cay_mcp_tool *t)
{
        static const char schema[] =
                "{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\"type\":\"object\","
                "\"$defs\":{\"address\":{\"$anchor\":\"addressDef\",\"type\":\"object\",\"properties\":{"
                "\"street\":{\"type\":\"string\"},\"city\":{\"type\":\"string\"}}}},"
                "\"properties\":{\"name\":{\"type\":\"string\"},\"address\":{\"$ref\":\"#/$defs/address\"},"
                "\"contactMethod\":{\"type\":\"string\",\"enum\":[\"phone\",\"email\"]},"
                "\"phone\":{\"type\":\"string\"},\"email\":{\"type\":\"string\"}},"
                "\"allOf\":[{\"anyOf\":[{\"required\":[\"phone\"]},{\"required\":[\"email\"]}]}],"
                "\"if\":{\"properties\":{\"contactMethod\":{\"const\":\"phone\"}},"
                "\"required\":[\"contactMethod\"]},"
                "\"then\":{\"required\":[\"phone\"]},\"else\":{\"required\":[\"email\"]},"
                "\"additionalProperties\":false}";

        return strcmp(t->name, "json_schema_2020_12_tool") == 0 ? schema : NULL;
}

static bool get_prompt(struct cay_mcp_call *c)
{
        const struct row *row = find(cay_json_value_text(cay_json_value_find(c->rpc.params, "name")));

        if (!row || !is_prompt(row))
                return false;
        if (row->rounds[0][0] && c->is_modern)
                run_modern(c, row);
        else
                complete(c, row);
        return true;
}

__attribute__((constructor)) static void add_fixtures(void)
{
        static const struct cay_mcp_extras extras = { tools, CAY_COUNT(tools), schema_of, get_prompt };

        if (getenv("CAY_TEST_MCP_FIXTURES"))
                cay_mcp_add_extras(&extras);
}
