/* SPDX-License-Identifier: Apache-2.0 */
/* The agent: its connection, dialled again and again or awaited, and what is served by it. */
#include "cay-agent/agent.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cay-agent/confine.h"
#include "cay-agent/install.h"
#include "foundation/base/clock.h"
#include "foundation/base/str.h"
#include "foundation/sys/confine.h"
#include "links/agent/agent_pause.h"

#define NOBODY 65534u
#define TELL_AGAIN_MS (10u * 60 * 1000) /* the same reason for not being connected */

/* A journal adds the time by itself, and who sits at the terminal knows it. */
void agent_tell(const char *what, const char *text)
{
        time_t now = time(NULL);
        struct tm utc = { 0 };
        char at[32] = "";
        struct stat st;

        if (fstat(STDERR_FILENO, &st) == 0 && S_ISREG(st.st_mode) && gmtime_r(&now, &utc))
                strftime(at, sizeof(at), "%Y-%m-%dT%H:%M:%SZ ", &utc);
        fprintf(stderr, "%scay agent: %s%s\n", at, what, text);
}

void agent_leave(struct agent *a, int status, const char *why)
{
        agent_tell("", why);
        a->is_over = true;
        a->status = status;
        cay_loop_stop(a->loop);
}

/* Trying again */

static void dial(struct agent *a);

static void on_pause_over(struct cay_timer *t)
{
        dial(cay_container_of(t, struct agent, pause));
}

/* A daemon that is down for a week is told of a thousand times, not with each try. */
static bool is_news(struct agent *a, bool was_served, const char *why)
{
        uint64_t now = cay_clock_ms();

        if (!was_served && strcmp(a->told, why) == 0 && now - a->told_ms < TELL_AGAIN_MS)
                return false;
        cay_str_copy(a->told, sizeof(a->told), was_served ? "" : why);
        a->told_ms = now;
        return true;
}

static void pause_and_dial(struct agent *a, bool was_served, const char *why)
{
        uint32_t ms, random = 0;
        char text[400];

        if (a->is_over)
                return;
        if (was_served)
                agent_pause_was_served(&a->tries, cay_clock_ms() - a->peer.welcomed_ms);
        if (getrandom(&random, sizeof(random), GRND_NONBLOCK) < 0)
                random = (uint32_t)cay_clock_ns();
        ms = agent_pause_ms(&a->tries, random);
        if (is_news(a, was_served, why)) {
                snprintf(text, sizeof(text), "%.300s; trying again in %u.%u s", why, ms / 1000,
                         ms % 1000 / 100);
                agent_tell(was_served ? "away: " : "not connected: ", text);
        }
        cay_timer_set(a->loop, &a->pause, ms, on_pause_over);
}

static void on_end(struct agent_dial *d, const char *why)
{
        struct agent *a = cay_container_of(d, struct agent, dial);
        bool was_served = agent_lost(a, &a->peer);

        agent_peer_end(&a->peer);
        pause_and_dial(a, was_served, why);
}

static void on_peer_fail(struct agent_peer *p, const char *why)
{
        struct agent *a = cay_container_of(p, struct agent, peer);

        agent_dial_abort(&a->dial);
        on_end(&a->dial, why);
}

/* Saying */

int agent_say(struct agent *a, const struct agent_message *m)
{
        uint8_t bytes[AGENT_SMALL_MAX];
        int len = agent_message_write(m, bytes, sizeof(bytes));
        ssize_t r = len < 0      ? len
                    : !a->served ? -EPIPE
                                 : cay_ws_send(a->served->ws, CAY_WS_BINARY, bytes, (size_t)len);

        return r < 0 ? (int)r : 0;
}

static void on_over(struct cay_deferred *d)
{
        struct agent *a = cay_container_of(d, struct agent, over);

        a->over.run = NULL;
        if (a->served && a->over_serial == a->serial)
                a->served->on_fail(a->served, "there is no room for more");
}

static ssize_t send_channel(struct agent_channels *c, const void *bytes, size_t len)
{
        struct agent *a = cay_container_of(c, struct agent, channels);
        ssize_t r = a->served ? cay_ws_send(a->served->ws, CAY_WS_BINARY, bytes, len) : -EPIPE;

        if (r < 0 && !a->over.run) { /* bytes are missing now; not inside the channels' own call */
                a->over.run = on_over;
                a->over_serial = a->serial;
                cay_loop_defer(a->loop, &a->over);
        }
        if (r >= (ssize_t)AGENT_QUEUED_HIGH)
                cay_ws_ask_drain(a->served->ws);
        return r;
}

void agent_drained(struct agent *a, const struct agent_peer *p)
{
        if (a->served == p)
                agent_channels_drained(&a->channels);
}

/* Being served */

bool agent_lost(struct agent *a, const struct agent_peer *p)
{
        if (a->served != p)
                return false;
        a->served = NULL;
        a->serial++;
        agent_serve_away(a);
        agent_channels_done(&a->channels);
        a->channels.held = false;
        return true;
}

bool agent_is_well(struct agent *a)
{
        struct cay_error err = { 0 };

        if (a->engine->ops->health(a->engine, &err) == 0)
                return true;
        agent_leave(a, 1, err.msg);
        return false;
}

static int remember_daemon(struct agent *a, const struct agent_peer *p)
{
        struct cay_error err = { 0 };
        char print[CAY_PROOF_PRINT];

        if (a->state.is_paired)
                return 0;
        if (agent_state_pin(&a->state, p->daemon, &err) < 0) {
                agent_leave(a, 1, err.msg);
                return -1;
        }
        explicit_bzero(a->code, sizeof(a->code));
        cay_proof_print(p->daemon, print);
        agent_tell("paired with daemon ", print);
        return 0;
}

void agent_welcomed(struct agent *a, struct agent_peer *p, const char *name)
{
        char print[CAY_PROOF_PRINT], text[2 * CAY_NAME_MAX + 1024];

        if (remember_daemon(a, p) < 0)
                return;
        if (a->options.installs) { /* the service serves it */
                agent_leave(a, 0, "paired; installing");
                return;
        }
        if (a->served) /* the daemon noticed first that it was dead */
                a->served->on_fail(a->served, "the daemon has connected again");
        a->served = p;
        a->told[0] = '\0';
        cay_proof_print(a->state.pair.key, print);
        snprintf(text, sizeof(text), "%s as '%s', this machine's fingerprint is %s",
                 p->has_knocked ? a->listen_text : a->options.text, name, print);
        agent_tell(p->has_knocked ? "the daemon is connected to " : "connected to ", text);
        if (agent_serve_begin(a) < 0)
                p->on_fail(p, "there is no room for more");
}

int agent_hear_served(struct agent *a, struct agent_message *m)
{
        switch (m->type) {
        case AGENT_ping:
                m->type = AGENT_pong;
                agent_say(a, m);
                return 0;
        case AGENT_pong:
                return 0;
        case AGENT_ask:
                return agent_serve_ask(a, m);
        case AGENT_data:
        case AGENT_credit:
        case AGENT_end:
                return agent_channels_hear(&a->channels, m);
        default:
                return -EPROTO;
        }
}

/* Dialling */

static void on_open(struct agent_dial *d)
{
        agent_peer_begin(&cay_container_of(d, struct agent, dial)->peer);
}

static void on_message(struct agent_dial *d, const void *bytes, size_t len)
{
        agent_peer_hear(&cay_container_of(d, struct agent, dial)->peer, bytes, len);
}

static void on_drain(struct agent_dial *d)
{
        struct agent *a = cay_container_of(d, struct agent, dial);

        agent_drained(a, &a->peer);
}

static void dial(struct agent *a)
{
        struct cay_error err = { 0 };

        if (agent_dial_begin(&a->dial, &a->options.url, &err) < 0) {
                pause_and_dial(a, false, err.msg);
                return;
        }
        agent_peer_wait(&a->peer);
}

/* Starting */

static int read_code(struct agent *a, struct cay_error *err)
{
        char text[128];

        if (a->state.is_paired)
                return 0;
        if (isatty(STDIN_FILENO))
                fprintf(stderr, "pairing code (`cay remote add` prints one): ");
        if (!fgets(text, sizeof(text), stdin))
                return cay_fail(err, CAY_INVALID,
                                "this machine is not paired with %.100s: type the code of `cay remote add` "
                                "on standard input",
                                a->options.is_listening ? "a daemon that dials it" : a->options.text);
        if (!cay_proof_code_read(text, a->code))
                return cay_fail(err, CAY_INVALID,
                                "this is no pairing code: it has four groups of five letters and digits");
        explicit_bzero(text, sizeof(text));
        return 0;
}

static void on_signal(struct cay_signal *s, int signo, int pid)
{
        struct agent *a = cay_container_of(s, struct agent, signals);

        (void)signo;
        (void)pid;
        if (a->is_over) /* a terminal's Ctrl-C comes from the terminal and from the keeper */
                return;
        agent_leave(a, 0, "stopping: all sandboxes on this machine end");
}

static void on_key_stop(struct agent_prompt *p)
{
        on_signal(&cay_container_of(p, struct agent, prompt)->signals, SIGINT, 0);
}

static int open_all(struct agent *a, struct cay_error *err)
{
        static const int signals[] = { SIGINT, SIGTERM, SIGHUP };

        if (agent_state_reload(&a->state, err) < 0 || agent_rules_reload(&a->rules, err) < 0)
                return -1;
        a->loop = cay_loop_new();
        if (!a->loop)
                return cay_fail_sys(err, CAY_INTERNAL, -errno, "make the event loop");
        a->peer = (struct agent_peer){ .agent = a, .ws = &a->dial.ws, .on_fail = on_peer_fail };
        a->dial.on_open = on_open;
        a->dial.on_message = on_message;
        a->dial.on_drain = on_drain;
        a->dial.on_end = on_end;
        a->channels = (struct agent_channels){ .loop = a->loop, .send = send_channel };
        if (!a->options.installs && agent_serve_open(a, err) < 0)
                return -1;
        if (cay_signal_open(a->loop, &a->signals, signals, CAY_COUNT(signals), on_signal) < 0)
                return cay_fail(err, CAY_INTERNAL, "watch signals");
        if ((a->options.is_listening
                     ? agent_listen_open(&a->listen, a, err)
                     : agent_dial_init(&a->dial, a->loop, &a->options.url, a->options.ca, err)) < 0)
                return -1;
        agent_prompt_open(&a->prompt, a->loop, STDIN_FILENO, on_key_stop);
        if (sys_give_up_root(NOBODY) < 0) /* the warden keeps it; from here on strangers' bytes are read */
                return cay_fail(err, CAY_INTERNAL, "give up privileges");
        if (!a->options.installs)
                agent_keep_die_with_it();
        return agent_confine(a->options.is_listening, err);
}

static void tell_where(const struct agent *a)
{
        agent_tell("waiting for the daemon at ", a->listen_text);
        if (!a->options.is_loopback)
                agent_tell("", "this is not a loopback address and there is no TLS here: whoever is on the "
                               "way can read and change "
                               "what is said");
}

static void close_all(struct agent *a)
{
        cay_timer_clear(&a->pause);
        if (a->served == &a->peer && a->dial.is_busy)
                agent_dial_close(&a->dial, "the agent stops");
        agent_listen_close(&a->listen);
        agent_peer_end(&a->peer);
        if (a->loop) {
                agent_channels_done(&a->channels);
                agent_dial_done(&a->dial);
        }
        agent_prompt_close(&a->prompt);
        agent_serve_close(a);
        cay_signal_close(&a->signals);
        cay_loop_free(a->loop);
        agent_state_close(&a->state);
        agent_rules_done(&a->rules);
        explicit_bzero(a->code, sizeof(a->code));
}

/* The keeper's child; link -1: it only pairs. */
static int run(void *ctx, int link)
{
        struct agent *a = ctx;
        struct cay_error err = { 0 };
        int r;

        a->link = link;
        r = open_all(a, &err);
        if (r == 0) {
                if (a->options.is_listening)
                        tell_where(a);
                else
                        dial(a);
                r = cay_loop_run(a->loop) < 0 ? cay_fail(&err, CAY_INTERNAL, "the event loop failed") : 0;
        }
        if (r < 0)
                agent_tell("", err.msg);
        close_all(a);
        return r < 0 ? 1 : a->status;
}

/* Confined as when it serves, so in a child. */
static int pair(struct agent *a, struct cay_error *err)
{
        int status = -1;
        pid_t pid;

        if (a->state.is_paired)
                return 0;
        pid = fork();
        if (pid == 0)
                exit(run(a, -1));
        while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
                continue;
        if (status != 0)
                return cay_fail(err, CAY_UNAVAILABLE, "not installed, since it is not paired");
        if (agent_state_reload(&a->state, err) < 0)
                return -1;
        return a->state.is_paired ? 0 : cay_fail(err, CAY_UNAVAILABLE, "not installed");
}

/* The lock is given up before the service starts. */
static int install(struct agent *a, struct cay_error *err)
{
        if (agent_install_can(err) < 0 || agent_state_open(&a->state, &a->options, &a->rules, err) < 0 ||
            read_code(a, err) < 0 || pair(a, err) < 0)
                return -1;
        agent_state_close(&a->state);
        return agent_install(&a->options, err);
}

static int serve(struct agent *a, struct cay_error *err)
{
        struct agent_keep keep = { .link = -1, .socket = -1 };
        int status = 1;

        if (agent_state_open(&a->state, &a->options, &a->rules, err) < 0 || read_code(a, err) < 0 ||
            agent_keep_open(&keep, a->options.programs, &a->rules, err) < 0)
                agent_tell("", err->msg);
        else
                status = agent_keep_run(&keep, run, a);
        if (agent_keep_close(&keep) < 0 && status == 0)
                status = 1;
        return status;
}

int agent_main(int argc, char **argv)
{
        static struct agent a;
        struct cay_error err = { 0 };
        int status;

        signal(SIGPIPE, SIG_IGN);
        signal(SIGCHLD, SIG_DFL);
        if (agent_options_read(argc, argv, &a.options, &err) < 0) {
                agent_tell("", err.msg);
                return 2;
        }
        prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); /* keys and the code are in its memory */
        a.state.pin = -1;
        agent_rules_init(&a.rules);
        if (a.options.installs || a.options.uninstalls) {
                status = (a.options.installs ? install(&a, &err) : agent_uninstall(&a.options, &err)) < 0;
                if (status)
                        agent_tell("", err.msg);
        } else {
                status = serve(&a, &err);
        }
        agent_state_close(&a.state);
        agent_rules_done(&a.rules);
        explicit_bzero(a.code, sizeof(a.code));
        return status;
}
