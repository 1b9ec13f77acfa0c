// SPDX-License-Identifier: Apache-2.0
// What happened in a sandbox: its commands with their ends, its events; and what runs in it now, with the ports that are open.
import { h, button, iconButton, keepRows, setChildren, setText } from './dom.js';
import * as api from './api.js';
import { fail } from './dialogs.js';
import { live } from './live.js';
import { SHELL } from './shells.js';
import { Tail } from './output.js';
import * as format from './format.js';

const POLL_MS = 3000;

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
      this.events.replaceChildren(...events.map((e) => h('li', {}, h('time', { class: 'quiet num', datetime: e.at }, format.clock(e.at)), h('b', {}, e.kind.replaceAll('_', ' ')),
        h('span', { class: 'quiet' }, Object.entries(e.detail || {}).map(([k, v]) => `${k}: ${typeof v === 'object' ? JSON.stringify(v) : v}`).join(' · ')))));
    } catch (e) { if (!this.off.signal.aborted) fail(e); }
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
      h('summary', {}, verdict(x), h('code', {}, sayCommand(x)), isOver ? h('span', { class: 'quiet num' }, format.span(x.duration_ms)) : h('span', { class: 'quiet num', 'data-since': x.started_at }, format.age(x.started_at))),
      x.cause && x.cause !== 'exited' && h('p', { class: 'cause' }, h('b', {}, x.cause.replaceAll('_', ' ')), ` ${x.cause_text} `, h('i', {}, x.advice)),
      h('p', { class: 'quiet' }, [format.clock(x.started_at), isOver && `processor ${format.span(x.cpu_us / 1000)}`, isOver && `output ${format.bytes(x.stdout_bytes + x.stderr_bytes)}`, x.tty && 'terminal'].filter(Boolean).join(' · '),
        !isOver && button('End it', { class: 'danger', onclick: () => api.call('DELETE', api.path('sandboxes', this.sandbox, 'execs', x.exec_id)).then(() => this.#soon(), fail) })),
      tail.el);
    return h('li', {}, details);
  }
}

class Processes extends HTMLElement {
  connectedCallback() {
    this.sandbox = this.getAttribute('sandbox');
    this.ports = h('div', { class: 'ports' });
    this.rows = h('tbody', {});
    this.append(h('div', { class: 'bar small' }, h('h2', {}, 'Ports'), h('span', { class: 'grow' }), iconButton('Read again', 'refresh', { onclick: () => this.#read() })), this.ports, h('h2', {}, 'Processes'),
      h('div', { class: 'scroll' }, h('table', {}, h('thead', {}, h('tr', {}, ['Pid', 'Parent', 'State', 'Command'].map((t) => h('th', { scope: 'col' }, t)))), this.rows)));
    this.#read();
    this.timer = setInterval(() => { if (!document.hidden) this.#read(); }, POLL_MS);
  }

  disconnectedCallback() { clearInterval(this.timer); }

  async #read() {
    if (this.reading) return; // one question at a time: no answer is followed by an older one
    this.reading = true;
    try {
      const { processes } = await api.get(api.path('sandboxes', this.sandbox, 'processes'));
      const { ports } = await api.get(api.path('sandboxes', this.sandbox, 'ports'));
      this.rows.replaceChildren(...processes.map((p) => h('tr', {}, [p.pid, p.parent, p.state, p.command].map((t, i) => h('td', { class: i < 2 ? 'num' : '' }, String(t))))));
      if (ports.join() !== this.known) {
        this.known = ports.join();
        this.ports.replaceChildren(...ports.map((p) => button(`Open port ${p}`, { onclick: () => this.#open(p) }, 'open')));
        if (ports.length === 0) this.ports.append(h('p', { class: 'quiet' }, 'Nothing listens. A server in the sandbox appears here, and opens in a tab of its own.'));
      }
    } catch (e) {
      this.rows.replaceChildren(h('tr', {}, h('td', { colspan: 4 }, api.words(e))));
    }
    this.reading = false;
  }

  /** The tab is opened by the click, before the link is there: browsers stop those that come later. */
  async #open(port) {
    const tab = open('', '_blank');
    try {
      const { url } = await api.post(api.path('sandboxes', this.sandbox, 'links'), { port });
      tab.opener = null;
      tab.location = url;
    } catch (e) {
      tab?.close();
      fail(e);
    }
  }
}
customElements.define('cay-activity', Activity);
customElements.define('cay-processes', Processes);
