/* SPDX-License-Identifier: Apache-2.0 */
/* Networks, published ports and volumes, of engines that have them. */
#include "contract/contract.h"

/* Each capability by itself. The fake has no checks of its own. */
static void refuses_what_it_lacks(struct subject *s, struct box *b)
{
        static const unsigned caps[] = { CAY_ENGINE_CAN_NETWORK_BRIDGE, CAY_ENGINE_CAN_VOLUMES,
                                         CAY_ENGINE_CAN_NO_INIT };
        static const struct cay_spec_volume volume[] = { { .name = "data", .target = "/data" } };

        for (unsigned i = 0; i < CAY_COUNT(caps) && !s->kind->is_fake; i++) {
                prepare_box(s, b, "plain");
                b->spec.bridge = caps[i] == CAY_ENGINE_CAN_NETWORK_BRIDGE;
                b->spec.options.no_init = caps[i] == CAY_ENGINE_CAN_NO_INIT;
                b->spec.volumes = volume;
                b->spec.volume_count = caps[i] == CAY_ENGINE_CAN_VOLUMES;
                if (!(s->engine->caps & caps[i]))
                        assert_int_equal(create(b), CAY_UNSUPPORTED);
        }
}

/* A port that is taken is no error, a volume is its owner's, and a network goes with its box. */
void networks_ports_and_volumes(void **state)
{
        static const struct cay_spec_port wish[] = { { .inside = 80, .host = 18080 }, { .inside = 81 } };
        static const struct cay_spec_volume volume[] = { { .name = "data", .target = "/data" } };
        static const char *const labels[] = { "cay.id", "forged", "colour", "blue" };
        const unsigned all = CAY_ENGINE_CAN_NETWORK_BRIDGE | CAY_ENGINE_CAN_PORTS | CAY_ENGINE_CAN_VOLUMES;
        struct subject *s = subject(state);
        static struct box b[3];

        if ((s->engine->caps & all) != all) {
                refuses_what_it_lacks(s, &b[0]);
                return;
        }
        for (unsigned i = 0; i < 3; i++) {
                prepare_box(s, &b[i], (const char *[]){ "net-a", "net-b", "net-c" }[i]);
                b[i].spec.bridge = i < 2;
                b[i].spec.ports = wish;
                b[i].spec.port_count = i < 2 ? CAY_COUNT(wish) : 0;
                b[i].spec.volumes = volume;
                b[i].spec.volume_count = 1;
                b[i].spec.owner = i < 2 ? "alice" : "bob";
                b[i].spec.labels = labels;
                b[i].spec.label_count = 2;
                assert_int_equal(create(&b[i]), CAY_OK);
                attach(&b[i], b[i].box.secret);
        }
        assert_int_equal(b[0].box.port_count, 2);
        assert_int_equal(b[0].box.ports[0].inside, 80);
        assert_int_equal(b[0].box.ports[0].host, 18080);
        assert_int_equal(b[1].box.ports[0].host, 18081); /* the next one */
        assert_true(b[0].box.ports[1].host > 0 && b[0].box.ports[1].host != b[1].box.ports[1].host);
        assert_int_equal(b[2].box.port_count, 0);
        run_ok(&b[0], "grep -q eth0 /proc/net/dev && echo alice > /data/f");
        run_ok(&b[1], "test $(cat /data/f) = alice");
        run_ok(&b[2], "! grep -q eth0 /proc/net/dev && test ! -e /data/f && echo bob > /data/f");
        run_ok(&b[0], "test $(cat /data/f) = alice");
        for (unsigned i = 0; i < 3; i++)
                assert_int_equal(destroy(&b[i]), CAY_OK);
        assert_int_equal(system("test -z \"$(docker network ls -q --filter label=cay.id)\""), 0);
        assert_int_equal(
                system("docker volume rm -f $(docker volume ls -q --filter label=cay.volume) >/dev/null"), 0);
}
