/* SPDX-License-Identifier: Apache-2.0 */
/* Walks argv against a table of options. */
#include "cli/args_flags.h"

#include "cli/cli.h"

#define FLAGS_MAX 64

static void *at(void *args, const struct cay_flag *flag)
{
        return (char *)args + flag->nr;
}

int cay_flag_set_true(void *args, const struct cay_flag *flag, const char *value, struct cay_error *err)
{
        *(bool *)at(args, flag) = true;
        return 0;
}

int cay_flag_set_text(void *args, const struct cay_flag *flag, const char *value, struct cay_error *err)
{
        if (value[0] == '\0')
                return cay_fail(err, CAY_INVALID, "--%s: the value is empty", flag->name);
        *(const char **)at(args, flag) = value;
        return 0;
}

int cay_flag_add_text(void *args, const struct cay_flag *flag, const char *value, struct cay_error *err)
{
        struct cay_flag_list *list = at(args, flag);
        const char **items = reallocarray(list->items, list->count + 2, sizeof(*items));

        if (items == NULL)
                return cay_fail(err, CAY_INTERNAL, "no memory");
        items[list->count++] = value;
        items[list->count] = NULL;
        list->items = items;
        return 0;
}

void cay_flag_list_done(struct cay_flag_list *list)
{
        free(list->items);
        *list = (struct cay_flag_list){ 0 };
}

static const struct cay_flag *find(const struct cay_flag *table, const char *name, size_t len)
{
        for (; table->name != NULL; table++)
                if (strlen(table->name) == len && memcmp(table->name, name, len) == 0)
                        return table;
        return NULL;
}

static int unknown(const struct cay_flag *table, const char *word, struct cay_error *err)
{
        const char *names[FLAGS_MAX + 1], *meant;
        char name[32];
        unsigned count = 0;

        snprintf(name, sizeof(name), "%.*s", (int)strcspn(word + strspn(word, "-"), "="),
                 word + strspn(word, "-"));
        for (; table->name != NULL && count < FLAGS_MAX; table++)
                names[count++] = table->name;
        names[count] = NULL;
        meant = cay_cli_suggest(name, names);
        if (meant != NULL)
                return cay_fail(err, CAY_INVALID, "unknown option '%.60s' (did you mean --%s?)", word, meant);
        return cay_fail(err, CAY_INVALID, "unknown option '%.60s'", word);
}

int cay_flags_parse(const struct cay_flag *table, int argc, char **argv, void *args, int *ret_rest,
                    struct cay_error *err)
{
        int i = 1;

        for (; i < argc; i++) {
                const char *word = argv[i], *name = word + 2, *equals, *value = NULL;
                const struct cay_flag *flag;

                if (word[0] != '-' || word[1] == '\0')
                        break;
                if (strcmp(word, "--") == 0) {
                        i++;
                        break;
                }
                if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
                        return 1;
                if (word[1] != '-')
                        return unknown(table, word, err);
                equals = strchr(name, '=');
                flag = find(table, name, equals != NULL ? (size_t)(equals - name) : strlen(name));
                if (flag == NULL)
                        return unknown(table, word, err);
                if (flag->value == NULL && equals != NULL)
                        return cay_fail(err, CAY_INVALID, "--%s takes no value", flag->name);
                if (equals != NULL)
                        value = equals + 1;
                else if (flag->value != NULL && i + 1 < argc)
                        value = argv[++i];
                if (flag->value != NULL && value == NULL)
                        return cay_fail(err, CAY_INVALID, "--%s needs a value (%s)", flag->name, flag->value);
                if (flag->set(args, flag, value, err) < 0)
                        return -1;
        }
        *ret_rest = i;
        return 0;
}

void cay_flags_print(const struct cay_flag *table, FILE *out)
{
        for (; table->name != NULL; table++) {
                char left[40];

                snprintf(left, sizeof(left), "--%s%s%s", table->name, table->value != NULL ? " " : "",
                         table->value != NULL ? table->value : "");
                fprintf(out, "  %-28s %s\n", left, table->doc);
        }
}
