// SPDX-License-Identifier: Apache-2.0
// One's own machines for sandboxes: added with a code that is typed there, watched, removed. The fingerprints are shown on both sides, to be
// compared by whoever likes to.
import { h, button, icon, setText } from './dom.js';
import * as api from './api.js';
import { copy } from './clipboard.js';
import { ask, factList, fail, note } from './dialogs.js';
import { pause, untilSeen } from './live.js';
import * as format from './format.js';

const POLL_MS = 2000;
const COLUMNS = ['Name', 'State', 'Sandboxes', 'Latency', 'Last heard of', 'Fingerprint', 'About', ''];
const STATES = { ready: ['ready', 'ready'], away: ['paused', 'away'], waiting: ['creating', 'waits for its agent'], disconnected: ['stopped', 'disconnected'] };

/** A machine is one row for as long as it is there: what is focused or selected stays so. */
class Row {
  constructor(remove, toggle) {
    this.cells = COLUMNS.map((c, i) => h(i === 0 ? 'th' : 'td', { class: [2, 3].includes(i) ? 'num' : null, scope: i === 0 ? 'row' : null }));
    this.state = h('span', {});
    this.open = h('span', { class: 'quiet' });
    this.cells[1].append(this.state, ' ', this.open);
    this.about = h('div', {});
    this.trouble = h('div', { class: 'quiet' });
    this.cells[6].append(this.about, this.trouble);
    this.el = h('tr', {}, this.cells);
    this.remove = remove;
    this.toggle = toggle;
    this.off = false;
  }

  #buttons(m) {
    if (!api.may('exec')) return;
    const cell = this.cells[7];
    if (!this.switch) {
      this.switch = button('Disconnect', { onclick: () => this.toggle(m.name, !this.off) });
      cell.append(h('div', { class: 'row' }, this.switch, button('Remove', { 'aria-label': `Remove ${m.name}`, onclick: () => this.remove(m.name) }, 'trash')));
    }
    this.off = m.state === 'disconnected';
    setText(this.switch.lastChild, this.off ? 'Connect' : 'Disconnect');
    this.switch.setAttribute('aria-label', `${this.off ? 'Connect' : 'Disconnect'} ${m.name}`);
    this.switch.hidden = m.state === 'waiting';
  }

  set(m) {
    const [kind, words] = STATES[m.state] || ['stopped', m.state];
    setText(this.cells[0], m.name);
    setText(this.state, words);
    this.state.className = `state ${kind}`;
    setText(this.open, m.commands === 'user' ? 'without isolation' : '');
    setText(this.cells[2], m.state === 'ready' ? String(m.sandboxes) : '');
    setText(this.cells[3], m.state === 'ready' && m.latency_us ? format.fine(m.latency_us / 1000) : '');
    setText(this.cells[4], m.seen_at ? (m.state === 'ready' ? 'now' : format.moment(m.seen_at)) : '');
    setText(this.cells[5], m.fingerprint || '');
    setText(this.about, m.about || m.url || '');
    this.about.title = m.url || '';
    setText(this.trouble, m.state !== 'ready' && m.problem ? m.problem + (m.next_try_at ? `; tried again at ${format.moment(m.next_try_at)}` : '') : '');
    this.#buttons(m);
  }
}

class Machines extends HTMLElement {
  off = new AbortController();
  rows = new Map();
  shown = null; // what was added here and waits for its agent

  connectedCallback() {
    this.body = h('tbody', {});
    this.empty = h('p', { class: 'quiet', hidden: true }, 'No machines yet. Add one to run sandboxes on a computer of your own: it connects to this daemon, so nothing has to be open there.');
    this.problem = h('p', { class: 'problem', role: 'alert' });
    this.pairing = h('section', { class: 'card pairing', hidden: true, 'aria-live': 'polite' });
    this.field = h('input', { name: 'name', 'aria-label': 'Name of the machine', placeholder: 'laptop', autocomplete: 'off', spellcheck: 'false', maxlength: 63 });
    this.url = h('input', { name: 'url', 'aria-label': 'URL at which its agent listens, if the daemon is to dial it', placeholder: 'wss://… (only for an agent behind a tunnel)', autocomplete: 'off', spellcheck: 'false', maxlength: 400 });
    this.append(h('div', { class: 'bar' }, h('h1', {}, 'Machines'), h('span', { class: 'quiet' }, 'your own, with an agent')), this.problem);
    if (api.may('exec')) this.append(h('form', { class: 'row rule-form', onsubmit: (e) => { e.preventDefault(); this.#add(); } }, this.field, this.url, h('button', { type: 'submit' }, icon('plus'), 'Add a machine')));
    this.append(this.pairing, this.empty, this.table = h('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'Machines', hidden: true },
      h('table', { class: 'machines' }, h('thead', {}, h('tr', {}, COLUMNS.map((t) => h(t ? 'th' : 'td', t ? { scope: 'col' } : {}, t)))), this.body)));
    this.#follow(this.off.signal);
  }

  disconnectedCallback() { this.off.abort(); }

  async #follow(signal) {
    while (!signal.aborted) {
      await untilSeen(signal);
      await this.#read(signal);
      await pause(POLL_MS);
    }
  }

  async #read(signal) {
    try {
      this.#draw((await api.get('/api/machines', { signal })).machines);
      setText(this.problem, '');
    } catch (e) {
      if (!signal.aborted && e.status !== 401) setText(this.problem, api.words(e));
    }
  }

  #draw(machines) {
    const there = new Set(machines.map((m) => m.name));
    for (const [name, row] of this.rows) if (!there.has(name)) { row.el.remove(); this.rows.delete(name); }
    for (const m of machines) {
      if (!this.rows.has(m.name)) {
        const row = new Row((name) => this.#remove(name), (name, off) => this.#toggle(name, off));
        this.rows.set(m.name, row);
        const after = machines.slice(machines.indexOf(m) + 1).map((n) => this.rows.get(n.name)).find(Boolean);
        this.body.insertBefore(row.el, after ? after.el : null);
      }
      this.rows.get(m.name).set(m);
    }
    this.empty.hidden = machines.length > 0;
    this.table.hidden = machines.length === 0;
    this.#drawPairing(machines.find((m) => m.name === this.shown?.name));
  }

  /** The code is shown until it was used, and then only what there is to compare. */
  #drawPairing(m) {
    if (!this.shown || (m && m.state === 'waiting')) return; // why the daemon does not reach it stands in its row
    if (m) note(`${m.name} is paired. Its fingerprint is ${m.fingerprint}; the agent shows the same one.`, { kind: 'good', ms: 15000 });
    this.shown = null;
    this.pairing.hidden = true;
    this.pairing.replaceChildren();
  }

  #showPairing(added) {
    this.shown = added;
    this.pairing.replaceChildren(h('h2', {}, `Pair ${added.name}`),
      h('p', {}, 'Run this on the machine, and type the code when the agent asks for it. With --install behind it, it becomes a service there, which also runs after a reboot:'),
      h('pre', { class: 'output', tabindex: 0, 'aria-label': 'Command for the machine' }, added.command),
      h('p', {}, h('b', { class: 'big num pairing-code' }, added.code)),
      factList([['Good until', format.moment(added.code_expires_at)], ['This daemon’s fingerprint', added.daemon_fingerprint]]),
      h('div', { class: 'row' }, button('Copy the command', { onclick: () => copy(added.command, 'The command is on the clipboard.') }, 'copy'),
        button('Copy the code', { onclick: () => copy(added.code, 'The code is on the clipboard.') }, 'copy')));
    this.pairing.hidden = false;
  }

  async #add() {
    const name = this.field.value.trim();
    const url = this.url.value.trim();
    if (!name) { this.field.focus(); return; }
    try {
      this.#showPairing(await api.post('/api/machines', url ? { name, url } : { name }));
      this.field.value = this.url.value = '';
      this.#read(this.off.signal);
    } catch (e) { fail(e); }
  }

  async #toggle(name, off) {
    try {
      await api.post(api.path('machines', name, off ? 'disconnect' : 'connect'));
      note(off ? `${name} is disconnected. Its sandboxes live on there.` : `${name} may connect again.`, { kind: 'good' });
      await this.#read(this.off.signal);
    } catch (e) { fail(e); }
  }

  async #remove(name) {
    const yes = await ask({
      title: `Remove ${name}?`, text: 'Its agent is disconnected and not let in again. The sandboxes on it are lost to this daemon.', yes: 'Remove', danger: true,
      send: () => api.call('DELETE', api.path('machines', name)),
    });
    if (yes) await this.#read(this.off.signal);
  }
}
customElements.define('cay-machines', Machines);
