/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon chooses the template; the trigger is found here, by the function that the daemon uses. */
#include "cay/cli/template_task.h"

#include <stdio.h>
#include <string.h>

#include "foundation/base/json_out.h"
#include "cay/cli/cli.h"
#include "cay/cli/safe.h"
#include "domain/model/template.h"

#define TRIGGER_MAX 256u
#define ANSWER_MAX 4096u

enum { NONE_STATUS = 1 };

/* The longest trigger of a template that is in the task; "": none. */
static void find_trigger(struct cay_json_view template, const char *task, char ret[TRIGGER_MAX])
{
        struct cay_json_walk w = cay_json_view_walk(cay_json_view_find(template, "triggers"));
        struct cay_json_view item;
        size_t longest = 0;

        ret[0] = '\0';
        while (cay_json_view_next(&w, NULL, &item)) {
                char trigger[TRIGGER_MAX];
                size_t len;

                cay_json_view_copy(item, trigger, sizeof(trigger));
                len = cay_template_trigger(trigger, task);
                if (len > longest) {
                        memcpy(ret, trigger, sizeof(trigger));
                        longest = len;
                }
        }
}

static int print_json(struct cay_json_view template, const char *trigger, struct cay_error *err)
{
        cay_auto_buf struct cay_buf out = { 0 };
        char name[CAY_TEMPLATE_NAME_MAX + 1], why[CAY_CELL_MAX];
        struct cay_json j;

        cay_json_view_copy(cay_json_view_find(template, "name"), name, sizeof(name));
        cay_json_view_copy(cay_json_view_find(template, "why"), why, sizeof(why));
        cay_buf_init(&out, ANSWER_MAX);
        cay_json_init(&j, &out);
        cay_json_begin_object(&j);
        cay_json_key(&j, "template");
        cay_json_text(&j, name[0] != '\0' ? name : NULL);
        cay_json_key(&j, "trigger");
        cay_json_text(&j, trigger[0] != '\0' ? trigger : NULL);
        cay_json_key(&j, "available");
        cay_json_bool(&j, cay_json_view_is_true(cay_json_view_find(template, "available")));
        cay_json_key(&j, "why");
        cay_json_text(&j, why[0] != '\0' ? why : NULL);
        cay_json_key(&j, "needs_confirm");
        cay_json_bool(&j, cay_json_view_is_true(cay_json_view_find(template, "needs_confirm")));
        cay_json_end_object(&j);
        return cay_cli_print_json(&j, err);
}

static void print_text(struct cay_json_view template, const char *trigger)
{
        char name[CAY_CELL_MAX], why[CAY_CELL_MAX], safe[2 * TRIGGER_MAX];

        printf("%s: the trigger \"%s\" is in the text\n",
               cay_cell_format(cay_json_view_find(template, "name"), CAY_CELL_TEXT, name),
               cay_safe_copy(trigger, safe, sizeof(safe)));
        if (!cay_json_view_is_true(cay_json_view_find(template, "available")))
                printf("not available here: %s\n",
                       cay_cell_format(cay_json_view_find(template, "why"), CAY_CELL_TEXT, why));
        if (cay_json_view_is_true(cay_json_view_find(template, "needs_confirm")))
                printf("needs a confirmation\n");
}

int cay_template_task(struct cay_reach *reach, struct cay_verb_args *a, struct cay_error *err)
{
        cay_auto_answer struct cay_reach_answer answer = { 0 };
        cay_auto_values struct cay_values v = { 0 };
        struct cay_json_view template = { 0 };
        struct cay_json_walk w;
        char trigger[TRIGGER_MAX] = "";

        if (cay_values_get(&a->values, "name") != NULL)
                return cay_fail(err, CAY_INVALID, "--task: do not name a template as well");
        cay_values_init(&v, cay_cli_op_find("template_list"));
        if (cay_values_add(&v, "task", "--task", a->task, err) < 0 ||
            cay_reach_call(reach, &v, -1, CAY_REACH_WAIT_MS, &answer, err) < 0)
                return -1;
        w = cay_json_view_walk(cay_json_view_find(answer.json, "templates"));
        if (cay_json_view_next(&w, NULL, &template))
                find_trigger(template, a->task, trigger);
        if (a->json) {
                if (print_json(template, trigger, err) < 0)
                        return -1;
        } else if (template.len > 0) {
                print_text(template, trigger);
        } else {
                fprintf(stderr,
                        "cay template: the text contains no trigger; `cay template` lists the templates\n");
        }
        return cay_verb_flush(err) < 0 ? -1 : template.len > 0 ? 0 : NONE_STATUS;
}
