/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The remote engine with all that it needs: the front's accepting side in this process, and a real agent that
 * is paired with it.
 */
#include "contract/contract.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#include "cay-front/front_agents.h"
#include "daemon/store/store_sqlite.h"
#include "engines/remote/remote.h"
#include "fake/fake_store.h"
#include "fake/http_listen.h"

struct agent_rig {
        struct cay_machines *machines;
        struct fake_store *store;
        struct cay_proof_pair pair;
        struct cay_service *service; /* NULL: nobody hears of machines */
        struct cay_front_agents *agents;
        struct cay_http_server *server;
        char state[32]; /* the agent's folder */
        pid_t agent;
        bool is_idle;
};

static void on_request(struct cay_http_server *server, struct cay_http_request *req)
{
        static const struct cay_visitor visitor;
        const struct agent_rig *rig = cay_http_server_user(server);
        const struct cay_rest_more *row = cay_front_agents_row(rig->agents);

        row->handle(row->owner, NULL, req, &visitor);
}

static const char *make_error(struct cay_http_server *s, const struct cay_http_fault *fault,
                              struct cay_buf *fields, struct cay_buf *body)
{
        return NULL;
}

static void on_idle(struct cay_http_server *s)
{
        ((struct agent_rig *)cay_http_server_user(s))->is_idle = true;
}

static void open_server(struct subject *s, struct agent_rig *rig)
{
        static const struct cay_http_server_ops ops = { .on_request = on_request,
                                                        .make_error = make_error,
                                                        .on_idle = on_idle };
        const struct cay_front_agents_env env = { .loop = s->loop,
                                                  .engine = s->engine,
                                                  .machines = rig->machines,
                                                  .store = &rig->store->store,
                                                  .clock = &cay_store_system_clock,
                                                  .pair = &rig->pair,
                                                  .service = &rig->service,
                                                  .heartbeat_ms = WAIT_MS };
        struct cay_http_config config;
        struct cay_error err = { 0 };

        assert_int_equal(cay_front_agents_new(&env, &rig->agents, &err), 0);
        cay_http_config_init(&config);
        config.ops = &ops;
        rig->server = cay_http_server_new(s->loop, &config, rig, &err);
        assert_non_null(rig->server);
        assert_int_equal(http_listen(rig->server, "127.0.0.1", 0, NULL, &err), 0);
}

/* The code goes in by standard input, as a person would type it. */
static void start_agent(struct agent_rig *rig, const char *code)
{
        char path[256], url[64];
        int in[2];

        snprintf(path, sizeof(path), "%s/cay-agent", getenv("CAY_BUILD_DIR"));
        snprintf(url, sizeof(url), "ws://127.0.0.1:%u/agent", http_listen_port);
        assert_int_equal(pipe2(in, O_CLOEXEC), 0);
        fflush(NULL);
        rig->agent = fork();
        assert_true(rig->agent >= 0);
        if (rig->agent == 0) {
                dup2(in[0], STDIN_FILENO);
                execl(path, "cay-agent", "--connect", url, "--name", SUBJECT_MACHINE, "--state", rig->state,
                      NULL);
                _exit(127);
        }
        close(in[0]);
        assert_int_equal(dprintf(in[1], "%s\n", code), (int)strlen(code) + 1);
        close(in[1]);
}

void open_remote_engine(struct subject *s)
{
        static const uint8_t seed[CAY_PROOF_KEY] = { 1 };
        struct agent_rig *rig = calloc(1, sizeof(*rig));
        uint64_t end = cay_clock_ms() + WAIT_MS;
        struct cay_remote_facts facts = { 0 };
        struct cay_clock_reading now;
        struct cay_error err = { 0 };
        struct cay_machine machine;

        assert_non_null(rig);
        s->rig = rig;
        cay_str_copy(rig->state, sizeof(rig->state), "/tmp/contract-XXXXXX");
        assert_non_null(mkdtemp(rig->state));
        assert_int_equal(cay_engine_remote_new(s->loop, &s->engine, &err), 0);
        rig->machines = cay_machines_new();
        rig->store = fake_store_new(s->loop);
        assert_int_equal(cay_proof_pair_from_seed(seed, &rig->pair), 0);
        cay_store_system_clock.read(&cay_store_system_clock, &now);
        assert_int_equal(cay_machine_make(rig->machines, SUBJECT_OWNER, SUBJECT_MACHINE, now.wall_ms,
                                          &machine, &err),
                         0);
        assert_int_equal(cay_machines_put(rig->machines, &machine, &err), 0);
        open_server(s, rig);
        start_agent(rig, machine.code);
        while (!facts.is_ready && cay_clock_ms() < end) {
                cay_loop_round(s->loop, 20);
                cay_remote_find(s->engine, SUBJECT_OWNER, SUBJECT_MACHINE, &facts);
        }
        assert_true(facts.is_ready);
}

/* The agent first: what it leaves is its own fault. Then this side, as the front does it. */
void close_remote_engine(struct subject *s)
{
        struct agent_rig *rig = cay_take(s->rig);
        uint64_t end = cay_clock_ms() + WAIT_MS;
        char command[64];
        int status = -1;

        kill(rig->agent, SIGTERM);
        while (waitpid(rig->agent, &status, WNOHANG) == 0 && cay_clock_ms() < end)
                cay_loop_round(s->loop, 5);
        assert_int_equal(status, 0);
        cay_front_agents_stop(rig->agents);
        cay_http_server_stop(rig->server);
        while (!rig->is_idle && cay_clock_ms() < end)
                cay_loop_round(s->loop, 20);
        assert_true(rig->is_idle);
        s->kind->ops->close(cay_take(s->engine));
        cay_loop_round(s->loop, 0);
        cay_http_server_free(rig->server);
        cay_front_agents_free(rig->agents);
        cay_machines_free(rig->machines);
        fake_store_free(rig->store);
        snprintf(command, sizeof(command), "rm -r %s", rig->state);
        assert_int_equal(system(command), 0);
        free(rig);
}
