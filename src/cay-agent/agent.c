/* SPDX-License-Identifier: Apache-2.0 */
/* The agent's connection: dialled, proven, watched, and dialled again. */
#include "cay-agent/agent.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "cay-agent/confine.h"
#include "domain/auth/digest.h"
#include "foundation/base/clock.h"
#include "foundation/base/str.h"
#include "foundation/sys/confine.h"

#define NOBODY 65534u
#define PATIENCE_MS 20000u /* from dialling to WELCOME */
#define PAUSE_FIRST_MS 250u
#define PAUSE_MOST_MS 30000u
#define STEADY_MS 10000u /* a connection that lived so long was a good one: pauses begin small again */
#define SHORT_TRIES 2u   /* the daemon answers, so it is the network that cuts: at most a second */
#define SILENT_BEATS 3u
#define CHALLENGE_SIGNED (AGENT_HEAD + 2 + AGENT_KEY + AGENT_NONCE)

static void tell(const char *what, const char *text)
{
        fprintf(stderr, "cay agent: %s%s\n", what, text);
}

static void leave(struct agent *a, int status)
{
        a->is_over = true;
        a->status = status;
        cay_loop_stop(a->loop);
}

/* Trying again */

static void dial(struct agent *a);

static void on_pause_over(struct cay_timer *t)
{
        dial(cay_container_of(t, struct agent, timer));
}

/* Doubled each time up to a ceiling, of which a random half is taken: many agents must not return at once. */
static uint32_t next_pause(struct agent *a)
{
        uint32_t most = PAUSE_FIRST_MS << (a->tries < 7 ? a->tries : 7), random = 0;

        if (most > PAUSE_MOST_MS)
                most = PAUSE_MOST_MS;
        a->tries++;
        if (getrandom(&random, sizeof(random), GRND_NONBLOCK) < 0)
                random = (uint32_t)cay_clock_ns();
        return most / 2 + random % (most / 2 + 1);
}

static void pause_and_dial(struct agent *a, const char *why)
{
        uint32_t ms;
        char text[400];

        if (a->is_over)
                return;
        if (a->step == AGENT_STEP_SERVING) {
                unsigned most = cay_clock_ms() - a->welcomed_ms >= STEADY_MS ? 0 : SHORT_TRIES;

                a->tries = a->tries < most ? a->tries : most;
        }
        ms = next_pause(a);
        snprintf(text, sizeof(text), "%.300s; trying again in %u.%u s", why, ms / 1000, ms % 1000 / 100);
        tell(a->step == AGENT_STEP_SERVING ? "away: " : "not connected: ", text);
        a->step = AGENT_STEP_PAUSE;
        cay_timer_set(a->loop, &a->timer, ms, on_pause_over);
}

static void on_end(struct agent_dial *d, const char *why)
{
        struct agent *a = cay_container_of(d, struct agent, dial);

        a->serial++;
        agent_serve_away(a);
        agent_channels_done(&a->channels);
        a->channels.held = false;
        pause_and_dial(a, a->why[0] ? a->why : why);
        a->why[0] = '\0';
}

static void drop_connection(struct agent *a, const char *why)
{
        cay_str_copy(a->why, sizeof(a->why), why);
        agent_dial_abort(&a->dial);
        on_end(&a->dial, why);
}

/* Saying */

int agent_say(struct agent *a, const struct agent_message *m)
{
        uint8_t bytes[AGENT_SMALL_MAX];
        int len = agent_message_write(m, bytes, sizeof(bytes));
        ssize_t r = len < 0 ? len : cay_ws_send(&a->dial.ws, CAY_WS_BINARY, bytes, (size_t)len);

        return r < 0 ? (int)r : 0;
}

static void on_over(struct cay_deferred *d)
{
        struct agent *a = cay_container_of(d, struct agent, over);

        a->over.run = NULL;
        if (a->dial.is_busy)
                drop_connection(a, "there is no room for more");
}

static ssize_t send_channel(struct agent_channels *c, const void *bytes, size_t len)
{
        struct agent *a = cay_container_of(c, struct agent, channels);
        ssize_t r = cay_ws_send(&a->dial.ws, CAY_WS_BINARY, bytes, len);

        if (r < 0 && !a->over.run) { /* bytes are missing now; not inside the channels' own call */
                a->over.run = on_over;
                cay_loop_defer(a->loop, &a->over);
        }
        if (r >= (ssize_t)AGENT_QUEUED_HIGH)
                cay_ws_ask_drain(&a->dial.ws);
        return r;
}

static void on_drain(struct agent_dial *d)
{
        agent_channels_drained(&cay_container_of(d, struct agent, dial)->channels);
}

/* Proofs */

static void on_open(struct agent_dial *d)
{
        struct agent *a = cay_container_of(d, struct agent, dial);
        struct agent_message m = { .type = AGENT_hello, .hello.version = AGENT_VERSION };
        struct utsname u;
        int len;

        cay_str_copy(m.hello.name, sizeof(m.hello.name), a->options.name);
        if (!a->state.is_paired)
                memcpy(m.hello.code_id, a->code, AGENT_CODE_ID);
        memcpy(m.hello.key, a->state.pair.key, sizeof(m.hello.key));
        if (uname(&u) == 0)
                snprintf(m.hello.about, sizeof(m.hello.about), "%.30s %.40s %.20s, cay %s", u.sysname,
                         u.release, u.machine, CAY_VERSION);
        if (cay_digest_random(m.hello.nonce, sizeof(m.hello.nonce)) < 0 ||
            (len = agent_message_write(&m, a->said, sizeof(a->said))) < 0 ||
            cay_ws_send(&d->ws, CAY_WS_BINARY, a->said, (size_t)len) < 0) {
                drop_connection(a, "the first message could not be sent");
                return;
        }
        a->hello_len = (size_t)len;
        a->step = AGENT_STEP_CHALLENGE;
}

/* The daemon proves itself first. */
static bool is_proven(const struct agent *a, const struct agent_challenge *c)
{
        size_t len = a->hello_len + CHALLENGE_SIGNED;
        uint8_t mac[AGENT_MAC];

        if (!cay_proof_is_signed(c->key, "daemon", a->said, len, c->signature))
                return false;
        if (a->state.is_paired)
                return memcmp(c->key, a->state.daemon, sizeof(c->key)) == 0;
        return cay_proof_mac(a->code, "daemon", a->said, len, mac) == 0 &&
               cay_digest_equal(mac, c->mac, sizeof(mac));
}

static void hear_challenge(struct agent *a, const struct agent_challenge *c, const void *bytes, size_t len)
{
        struct agent_message m = { .type = AGENT_proof };

        if (a->hello_len + len > sizeof(a->said) || c->version != AGENT_VERSION) {
                drop_connection(a, "the daemon speaks another version");
                return;
        }
        memcpy(a->said + a->hello_len, bytes, len);
        a->said_len = a->hello_len + len;
        if (!is_proven(a, c)) {
                if (a->state.is_paired) { /* somebody else answers there: it learns nothing, and may go away again */
                        drop_connection(a, "the server is not the daemon that this machine was paired with");
                        return;
                }
                tell("", "the pairing code is wrong, was used, or is too old, or this is not the daemon that "
                         "made it");
                leave(a, 1);
                return;
        }
        memcpy(a->daemon, c->key, sizeof(a->daemon));
        if (cay_proof_sign(&a->state.pair, "agent", a->said, a->said_len, m.proof.signature) < 0 ||
            (a->state.is_paired ? cay_digest_random(m.proof.mac, sizeof(m.proof.mac))
                                : cay_proof_mac(a->code, "agent", a->said, a->said_len, m.proof.mac)) < 0 ||
            agent_say(a, &m) < 0) {
                drop_connection(a, "the proof could not be sent");
                return;
        }
        a->step = AGENT_STEP_WELCOME;
}

/* Being served */

/* The daemon sends PING; one that falls silent is gone, whatever TCP says. */
static void on_silence(struct cay_timer *t)
{
        struct agent *a = cay_container_of(t, struct agent, timer);
        uint64_t now = cay_clock_ms(), quiet = now - a->heard_ms,
                 most = (uint64_t)a->heartbeat_ms * SILENT_BEATS;
        struct cay_error err = { 0 };

        if (a->engine->ops->health(a->engine, &err) < 0) {
                tell("", err.msg);
                leave(a, 1);
        } else if (quiet >= most) {
                drop_connection(a, "nothing was heard of the daemon");
        } else {
                cay_timer_set(a->loop, t, most - quiet, on_silence);
        }
}

static int remember_daemon(struct agent *a)
{
        struct cay_error err = { 0 };
        char print[CAY_PROOF_PRINT];

        if (a->state.is_paired)
                return 0;
        if (agent_state_pin(&a->state, a->daemon, &err) < 0) {
                tell("", err.msg);
                leave(a, 1);
                return -1;
        }
        explicit_bzero(a->code, sizeof(a->code));
        cay_proof_print(a->daemon, print);
        tell("paired with daemon ", print);
        return 0;
}

static void hear_welcome(struct agent *a, const struct agent_welcome *w)
{
        char print[CAY_PROOF_PRINT], text[2 * CAY_NAME_MAX + 1024];

        if (remember_daemon(a) < 0)
                return;
        a->heartbeat_ms = w->heartbeat_ms >= 100 ? w->heartbeat_ms : 100;
        a->step = AGENT_STEP_SERVING;
        a->welcomed_ms = a->heard_ms = cay_clock_ms();
        cay_timer_set(a->loop, &a->timer, (uint64_t)a->heartbeat_ms * SILENT_BEATS, on_silence);
        cay_proof_print(a->state.pair.key, print);
        snprintf(text, sizeof(text), "%s as '%s', this machine's fingerprint is %s", a->options.text, w->name,
                 print);
        tell("connected to ", text);
        if (agent_serve_begin(a) < 0)
                drop_connection(a, "there is no room for more");
}

static void hear_refused(struct agent *a, const struct agent_refused *r)
{
        char why[AGENT_TEXT_MAX + 1];

        cay_str_copy(why, sizeof(why), r->text);
        if (r->code == CAY_DENIED || r->code == CAY_UNSUPPORTED) {
                tell("refused: ", why);
                leave(a, 1);
        } else {
                drop_connection(a, why);
        }
}

static int hear_served(struct agent *a, struct agent_message *m)
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

static void on_message(struct agent_dial *d, const void *bytes, size_t len)
{
        struct agent *a = cay_container_of(d, struct agent, dial);
        struct agent_message m;

        if (agent_message_read(bytes, len, AGENT_DAEMON, &m) < 0) {
                drop_connection(a, "the daemon broke the protocol");
                return;
        }
        a->heard_ms = cay_clock_ms();
        if (m.type == AGENT_refused)
                hear_refused(a, &m.refused);
        else if (a->step == AGENT_STEP_CHALLENGE && m.type == AGENT_challenge)
                hear_challenge(a, &m.challenge, bytes, len);
        else if (a->step == AGENT_STEP_WELCOME && m.type == AGENT_welcome)
                hear_welcome(a, &m.welcome);
        else if (a->step != AGENT_STEP_SERVING || hear_served(a, &m) < 0)
                drop_connection(a, "the daemon broke the protocol");
}

/* Dialling */

static void on_late(struct cay_timer *t)
{
        drop_connection(cay_container_of(t, struct agent, timer), "no answer came in time");
}

static void dial(struct agent *a)
{
        struct cay_error err = { 0 };

        a->step = AGENT_STEP_DIALLING;
        if (agent_dial_begin(&a->dial, &a->options.url, &err) < 0) {
                pause_and_dial(a, err.msg);
                return;
        }
        cay_timer_set(a->loop, &a->timer, PATIENCE_MS, on_late);
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
                                a->options.text);
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
        tell("", "stopping: all sandboxes on this machine end");
        leave(a, 0);
}

static void on_key_stop(struct agent_prompt *p)
{
        on_signal(&cay_container_of(p, struct agent, prompt)->signals, SIGINT, 0);
}

static int open_all(struct agent *a, struct cay_error *err)
{
        static const int signals[] = { SIGINT, SIGTERM, SIGHUP };

        if (agent_state_open(&a->state, &a->options, &a->rules, err) < 0 || read_code(a, err) < 0)
                return -1;
        a->loop = cay_loop_new();
        if (!a->loop)
                return cay_fail_sys(err, CAY_INTERNAL, -errno, "make the event loop");
        a->dial.on_open = on_open;
        a->dial.on_message = on_message;
        a->dial.on_drain = on_drain;
        a->dial.on_end = on_end;
        a->channels = (struct agent_channels){ .loop = a->loop, .send = send_channel };
        if (agent_serve_open(a, err) < 0)
                return -1;
        if (cay_signal_open(a->loop, &a->signals, signals, CAY_COUNT(signals), on_signal) < 0)
                return cay_fail(err, CAY_INTERNAL, "watch signals");
        if (agent_dial_init(&a->dial, a->loop, &a->options.url, a->options.ca, err) < 0)
                return -1;
        agent_prompt_open(&a->prompt, a->loop, STDIN_FILENO, on_key_stop);
        if (sys_give_up_root(NOBODY) < 0) /* the warden keeps it; from here on strangers' bytes are read */
                return cay_fail(err, CAY_INTERNAL, "give up privileges");
        return agent_confine(false, err);
}

static void close_all(struct agent *a)
{
        cay_timer_clear(&a->timer);
        if (a->step == AGENT_STEP_SERVING && a->dial.is_busy)
                agent_dial_close(&a->dial, "the agent stops");
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

int agent_main(int argc, char **argv)
{
        static struct agent a;
        struct cay_error err = { 0 };
        int r;

        signal(SIGPIPE, SIG_IGN);
        r = agent_options_read(argc, argv, &a.options, &err);
        if (r < 0) {
                tell("", err.msg);
                return 2;
        }
        a.state.pin = -1;
        agent_rules_init(&a.rules);
        r = open_all(&a, &err);
        if (r == 0) {
                dial(&a);
                r = cay_loop_run(a.loop) < 0 ? cay_fail(&err, CAY_INTERNAL, "the event loop failed") : 0;
        }
        if (r < 0)
                tell("", err.msg);
        close_all(&a);
        return r < 0 ? 1 : a.status;
}
