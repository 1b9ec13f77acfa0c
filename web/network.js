// SPDX-License-Identifier: Apache-2.0
// The network of a sandbox: what it may reach, and what it looked up and connected to, as it happens. What was refused can be allowed with
// one click; what was needed can be copied as a template's policy.
import { add, h, button, iconButton, setChildren, setText } from './dom.js';
import * as api from './api.js';
import { copy } from './clipboard.js';
import { fail, note } from './dialogs.js';
import { live, pause, untilSeen, whileSeen } from './live.js';
import * as format from './format.js';

const SHOWN_MAX = 500; // rows; the oldest go first
const AGAIN_MS = 1000;
const WORDS = {
  none: 'No network: only its own loopback.',
  list: 'Only what the rules allow can be reached.',
  bridge: 'All public addresses can be reached.',
  learn: 'All public addresses can be reached. What the sandbox needs is recorded here, so that you can copy it as a policy.',
  private: 'Only other sandboxes in its private network can be reached.',
};
const COLUMNS = ['Time', 'Host', 'Verdict', 'Sent', 'Received', ''];
const STATES = { allowed: 'ready', ended: 'ready', refused: 'error', failed: 'stopped' };

/** An entry of the log as the rule that would allow it; '' for one that no rule is for. */
export function ruleOf(e) {
  const host = e.name || e.address;
  if (!host || e.kind === 'quota') return '';
  if (!e.port) return host;
  return `${host.includes(':') ? `[${host}]` : host}:${e.port}${e.kind === 'udp' ? '/udp' : ''}`;
}

/** One look-up or connection: the entries of a connection are told on its one row. */
class Row {
  constructor(allow) {
    this.cells = COLUMNS.map((c, i) => h('td', { class: [0, 3, 4].includes(i) ? 'num' : null }));
    this.state = h('span', {});
    this.why = h('span', { class: 'quiet' });
    this.cells[2].append(this.state, ' ', this.why);
    this.el = h('tr', {}, this.cells);
    this.allow = allow;
  }

  set(e) {
    const rule = ruleOf(e);
    const isRefused = e.verdict === 'refused';
    setText(this.cells[0], format.clock(e.at));
    setText(this.cells[1], rule || e.kind);
    this.cells[1].title = [e.kind, e.address, e.rule && `rule ${e.rule}`].filter(Boolean).join(' · ');
    setText(this.state, e.verdict === 'ended' ? `ended after ${format.span(e.duration_ms)}` : !e.port && e.verdict === 'allowed' ? 'looked up' : e.verdict);
    this.state.className = `state ${STATES[e.verdict] || ''}`;
    setText(this.why, e.verdict === 'allowed' ? '' : e.why || '');
    setText(this.cells[3], e.up_bytes ? format.bytes(e.up_bytes) : '');
    setText(this.cells[4], e.down_bytes ? format.bytes(e.down_bytes) : '');
    const can = isRefused && rule && api.may('exec') && !/quota|limit/.test(e.why || '');
    if (can && !this.cells[5].firstChild) this.cells[5].append(button('Allow', { title: `Allow ${rule} for this sandbox`, 'aria-label': `Allow ${rule} for this sandbox`, onclick: () => this.allow(rule) }));
    else if (!can) this.cells[5].replaceChildren();
  }
}

class Network extends HTMLElement {
  off = new AbortController();
  rows = new Map(); // by connection, or by the entry's own number
  next = 0; // number of the entry to go on with

  connectedCallback() {
    this.sandbox = this.getAttribute('sandbox');
    this.about = h('p', { class: 'quiet' });
    this.rules = h('ul', { class: 'rules', 'aria-label': 'Rules' });
    this.body = h('tbody', {});
    this.empty = h('p', { class: 'quiet' }, 'Nothing has been looked up or connected to yet.');
    this.copy = button('Copy as policy', { title: 'Copies rules for a template that would allow what the sandbox connected to', onclick: () => this.#copyPolicy() }, 'copy');
    this.field = h('input', { name: 'rule', 'aria-label': 'Host to allow', placeholder: 'pypi.org, *.example.org:443, preset:python', autocomplete: 'off', spellcheck: 'false' });
    add(this, h('div', { class: 'bar small' }, h('h2', {}, 'Rules'), h('span', { class: 'grow' }), this.copy), this.about, this.rules,
      api.may('exec') && h('form', { class: 'row rule-form', onsubmit: (e) => { e.preventDefault(); this.#allowTyped(); } }, this.field, h('button', { type: 'submit' }, 'Allow')),
      h('h2', {}, 'Connections'), this.empty,
      h('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'Connections, newest first' }, h('table', { class: 'connections' }, h('thead', {}, h('tr', {}, COLUMNS.map((t) => h(t ? 'th' : 'td', t ? { scope: 'col' } : {}, t)))), this.body)));
    live.addEventListener('event', (e) => { if (e.detail.sandbox_id === this.sandbox) this.#read(); }, { signal: this.off.signal });
    this.#read();
    this.#follow(this.off.signal);
  }

  disconnectedCallback() { this.off.abort(); }

  #url(...more) { return api.path('sandboxes', this.sandbox, 'network', ...more); }

  async #read() {
    try {
      this.#draw(await api.get(this.#url()));
    } catch (e) { if (!this.off.signal.aborted && !api.isRefused(e)) fail(e); }
  }

  #draw(net) {
    const name = net.private_network && `${net.private_name ? `${net.private_name}.` : ''}${net.private_network}.internal`;
    setText(this.about, [WORDS[net.network] || net.network, name && `Private network: ${name}.`].filter(Boolean).join(' '));
    const rule = (kind, text) => h('li', { class: kind }, h('span', { class: 'quiet' }, kind), ` ${text}`,
      api.may('exec') && iconButton(`Remove ${kind} ${text}`, 'close', { onclick: () => this.#change({ [`remove_${kind}`]: [text] }) }));
    this.rules.replaceChildren(...net.allow.map((t) => rule('allow', t)), ...net.deny.map((t) => rule('deny', t)));
    this.rules.hidden = net.allow.length + net.deny.length === 0;
  }

  async #change(fields) {
    try {
      this.#draw(await api.call('PATCH', this.#url(), fields));
      return true;
    } catch (e) {
      fail(e);
      return false;
    }
  }

  async #allow(rule) {
    if (await this.#change({ add_allow: [rule] })) note(`${rule} is allowed for this sandbox.`);
  }

  async #allowTyped() {
    const rule = this.field.value.trim();
    if (rule && await this.#change({ add_allow: [rule] })) this.field.value = '';
  }

  async #copyPolicy() {
    try {
      const { yaml, allow } = await api.get(this.#url('suggest'));
      await copy(yaml, allow.length ? `Copied ${allow.length} rule${allow.length > 1 ? 's' : ''} for a template.` : 'Copied a policy without rules: it has not connected to anything yet.');
    } catch (e) { fail(e); }
  }

  /** The stream ends when there is no network, or no box: it is asked for again, from the last entry on. A hidden tab gives its connection back. */
  async #follow(signal) {
    while (!signal.aborted) {
      await untilSeen(signal);
      const [seen, letGo] = whileSeen(signal);
      try {
        await api.stream('GET', `${this.#url('log')}?follow=true${this.next ? `&from=${this.next}` : ''}`, undefined, (e) => this.#hear(e), seen);
      } catch (e) {
        if (signal.aborted || e.status === 401) return;
      } finally { letGo(); }
      await pause(AGAIN_MS);
    }
  }

  /** After a start the numbers begin again. */
  #hear(e) {
    if (!e.number) return;
    this.next = e.number + 1;
    const key = e.connection ? `c${e.connection}` : `n${e.number}`;
    const row = this.rows.get(key) || new Row((rule) => this.#allow(rule));
    row.set(e);
    this.rows.set(key, row);
    if (this.rows.size > SHOWN_MAX) this.rows.delete(this.rows.keys().next().value);
    this.frame ||= requestAnimationFrame(() => {
      this.frame = 0;
      this.empty.hidden = this.rows.size > 0;
      setChildren(this.body, [...this.rows.values()].reverse().map((r) => r.el));
    });
  }
}
customElements.define('cay-network', Network);
