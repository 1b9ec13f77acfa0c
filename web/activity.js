// SPDX-License-Identifier: Apache-2.0
// What happened in a sandbox: its commands with their ends, and its events.
import { h, button, keepRows, setChildren, setText } from './dom.js';
import * as api from './api.js';
import { adviceOf, saidOf } from './cause_words.js';
import { fail } from './dialogs.js';
import { live } from './live.js';
import { detailOf, sayEvent } from './event_words.js';
import { SHELL } from './shells.js';
import { Tail } from './output.js';
import * as format from './format.js';

function verdict(x) {
  if (x.status !== 'ended') return h('span', { class: 'state busy' }, 'running');
  const good = x.exit_code === 0;
  return h('span', { class: `state ${good ? 'ready' : 'error'}` }, x.exit_code !== null ? `exit ${x.exit_code}` : x.signal || x.cause || 'ended');
}

/** The page's own terminals by what they are. */
function sayCommand(x) {
  const text = format.command(x.command);
  return text === SHELL ? 'a shell in a terminal' : text;
}

class Activity extends HTMLElement {
  off = new AbortController();
  rows = new Map(); // by exec_id, see keepRows
  tails = new Map(); // by exec_id: its output, once somebody has opened it
  reads = 0;

  connectedCallback() {
    this.sandbox = this.getAttribute('sandbox');
    this.execs = h('ol', { class: 'execs', 'aria-label': 'Commands, newest first' });
    this.events = h('ol', { class: 'events', 'aria-label': 'Events, newest first' });
    this.append(h('h2', {}, 'Commands'), this.execs, h('h2', {}, 'Events'), this.events);
    live.addEventListener('event', (e) => { if (e.detail.sandbox_id === this.sandbox) this.#soon(); }, { signal: this.off.signal });
    this.second = setInterval(() => this.#tick(), 1000);
    this.#read();
  }

  disconnectedCallback() {
    this.off.abort();
    clearTimeout(this.timer);
    clearInterval(this.second);
    for (const tail of this.tails.values()) tail.stop();
  }

  #tick() { for (const el of this.execs.querySelectorAll('[data-since]')) setText(el, format.age(el.dataset.since)); }

  #soon() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.#read(), 400);
  }

  /** Only what was asked for last is drawn: an answer that comes late is older than what is there. */
  async #read() {
    this.reads += 1;
    const mine = this.reads;
    try {
      const [{ execs }, { events }] = await Promise.all([
        api.get(api.path('sandboxes', this.sandbox, 'execs')),
        api.get(`${api.path('sandboxes', this.sandbox, 'events')}?newest_first=true&limit=50`)]);
      if (mine !== this.reads) return;
      this.#drawExecs(execs.reverse());
      this.events.replaceChildren(...events.map((e) => {
        const [title, more] = sayEvent(e);
        return h('li', { title: detailOf(e) }, h('time', { class: 'quiet num', datetime: e.at }, format.clock(e.at)), h('b', {}, title), h('span', { class: 'quiet' }, more));
      }));
    } catch (e) { if (!this.off.signal.aborted && !api.isRefused(e)) fail(e); }
  }

  /** A command that is as it was keeps its row. */
  #drawExecs(execs) {
    // How much it has printed and who watches it changes all the time, and is no reason to draw its row again.
    const asDrawn = execs.map(({ output_first: first, output_end: end, idle_ms: idle, watchers, deadline_in_ms: left, ...x }) => (x.status === 'ended' ? x : { ...x, stdout_bytes: 0, stderr_bytes: 0 }));
    this.rows = keepRows(this.rows, asDrawn, (x) => x.exec_id, (x, was) => this.#exec(x, Boolean(was?.querySelector('details[open]'))));
    for (const [id, tail] of this.tails) if (!this.rows.has(id)) { tail.stop(); this.tails.delete(id); }
    setChildren(this.execs, this.rows.size ? [...this.rows.values()].map((r) => r.el) : [h('li', { class: 'empty' }, 'No command has run yet.')]);
  }

  #tail(id) {
    if (!this.tails.has(id)) this.tails.set(id, new Tail(this.sandbox, id));
    return this.tails.get(id);
  }

  #exec(x, isOpen) {
    const isOver = x.status === 'ended';
    const tail = this.#tail(x.exec_id);
    const details = h('details', { 'data-id': x.exec_id, open: isOpen, ontoggle: () => { if (!details.open) tail.stop(); else if (!tail.isOn) tail.follow(); } },
      h('summary', {}, verdict(x), h('code', {}, sayCommand(x)), isOver ? h('span', { class: 'quiet num' }, format.span(x.duration_ms || Date.parse(x.ended_at) - Date.parse(x.started_at))) : h('span', { class: 'quiet num', 'data-since': x.started_at }, format.age(x.started_at))),
      x.cause && x.cause !== 'exited' && h('p', { class: 'cause' }, saidOf(x), ' ', h('i', {}, adviceOf(x))),
      format.hasNotRun(x) && h('p', { class: 'cause' }, saidOf(x)),
      h('p', { class: 'quiet' }, [format.clock(x.started_at), isOver && `processor ${format.span(x.cpu_us / 1000)}`, isOver && `output ${format.bytes(x.stdout_bytes + x.stderr_bytes)}`, x.tty && 'terminal'].filter(Boolean).join(' · '),
        !isOver && api.may('exec') && button('End it', { class: 'danger', onclick: () => api.call('DELETE', api.path('sandboxes', this.sandbox, 'execs', x.exec_id)).then(() => this.#soon(), fail) })),
      tail.el);
    return h('li', {}, details);
  }
}

customElements.define('cay-activity', Activity);
