/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every engine promises (domain/model/port_engine.h), one list (promises.def) run on each row of
 * engines.def and on the fake.
 */
#include "contract/contract.h"

#include "engines/engine_table.h"
#include "engines/native/native.h"
#include "engines/process/process_link.h"
#include "engines/remote/remote.h"
#include "fake/fake_engine.h"

#define KINDS_MAX 8

enum { BY_KEPT = 1, BY_DOCKER = 2 };

static const struct {
        const char *name;
        void (*run)(void **state);
        unsigned not_by;
} promises[] = {
#define PROMISE(name, not_by) { #name, name, not_by },
#include "contract/promises.def"
#undef PROMISE
};

static unsigned list_kinds(struct kind *kinds)
{
        unsigned count = 0;

        kinds[count++] = (struct kind){ .ops = &cay_engine_fake_ops, .is_fake = true };
        for (unsigned i = 0; i < CAY_ENGINE_COUNT && count < KINDS_MAX - 2; i++) {
                if (i ==
                    CAY_ENGINE_remote) { /* a part of the daemon; its boxes outlive it on their machine */
                        kinds[count++] = (struct kind){ .ops = &cay_engine_remote_link_ops,
                                                        .has_agent = true,
                                                        .has_keeper = true,
                                                        .needs_root = true };
                        continue;
                }
                kinds[count++] = (struct kind){ .ops = cay_engine_ops((enum cay_engine_nr)i),
                                                .needs_root = i == CAY_ENGINE_native,
                                                .needs_docker = i == CAY_ENGINE_docker };
        }
        kinds[count++] =
                (struct kind){ .ops = &cay_engine_native_ops, .needs_root = true, .has_keeper = true };
        kinds[count++] = (struct kind){ .ops = &cay_engine_process_link_ops, .has_keeper = true };
        return count;
}

/* `only` names one, and without it all but Docker are asked. */
static bool is_asked(const struct kind *kind, const char *only)
{
        return only != NULL ? strcmp(only, kind->ops->name) == 0 : !kind->needs_docker;
}

int main(void)
{
        static struct kind kinds[KINDS_MAX];
        static struct CMUnitTest tests[KINDS_MAX * CAY_COUNT(promises)];
        static char names[CAY_COUNT(tests)][96];
        unsigned kind_count = list_kinds(kinds), count = 0;

        for (unsigned k = 0; k < kind_count; k++) {
                unsigned kind = (kinds[k].has_keeper ? BY_KEPT : 0) | (kinds[k].needs_docker ? BY_DOCKER : 0);

                for (unsigned i = 0; i < CAY_COUNT(promises); i++) {
                        if (promises[i].not_by & kind || !is_asked(&kinds[k], getenv("CAY_CONTRACT_ENGINE")))
                                continue;
                        snprintf(names[count], sizeof(names[count]), "%s%s: %s", kinds[k].ops->name,
                                 kinds[k].has_keeper ? " (kept)" : "", promises[i].name);
                        tests[count] = (struct CMUnitTest){ names[count], promises[i].run, setup, teardown,
                                                            &kinds[k] };
                        count++;
                }
        }
        return _cmocka_run_group_tests("engines", tests, count, NULL, NULL);
}
