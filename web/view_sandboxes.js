// SPDX-License-Identifier: Apache-2.0
// The list. Rows are made once and then only changed; what a row uses is asked for while it can be seen.
import { h, svg, button, setText } from './dom.js';
import { get } from './api.js';
import { actionButtons, showCause } from './actions.js';
import { ask, fail, note, postConfirmed } from './dialogs.js';
import { live } from './live.js';
import * as format from './format.js';

const STATES = ['creating', 'ready', 'busy', 'paused', 'stopped', 'error'];
const SAMPLE_MS = 2000;
const AT_ONCE = 3; // a browser has six connections to a server, and others need some
const POINTS = 30;

class Spark {
  constructor(label) {
    this.line = svg('polyline', { points: '' });
    this.text = h('span', { class: 'num' });
    this.el = h('span', { class: 'spark' }, svg('svg', { viewBox: '0 0 60 18', preserveAspectRatio: 'none', role: 'img', 'aria-label': label }, this.line), this.text);
  }

  set(values, max, text) {
    const step = 60 / (POINTS - 1);
    const top = Math.max(max, ...values, 1e-9);
    const from = POINTS - values.length;
    this.line.setAttribute('points', values.map((v, i) => `${((from + i) * step).toFixed(1)},${(17 - (v / top) * 16).toFixed(1)}`).join(' '));
    setText(this.text, text);
  }
}

class Row {
  constructor(id) {
    this.id = id;
    this.name = h('a', { href: `#/sandbox/${encodeURIComponent(id)}`, class: 'name' });
    this.sub = h('span', { class: 'quiet id' }, id);
    this.state = h('span', { class: 'state' });
    this.cause = h('p', { class: 'cause', hidden: true });
    this.template = h('span', {});
    this.age = h('span', { class: 'num' });
    this.left = h('span', { class: 'quiet num' });
    this.cpu = new Spark('Processor over the last minute');
    this.memory = new Spark('Memory over the last minute');
    this.actions = actionButtons(() => this.box);
    this.el = h('li', { class: 'box', 'data-id': id },
      h('div', { class: 'c-name' }, this.name, this.sub, this.cause),
      h('div', { class: 'c-state' }, this.state),
      h('div', { class: 'c-template' }, this.template),
      h('div', { class: 'c-age' }, this.age, this.left),
      h('div', { class: 'c-cpu' }, this.cpu.el),
      h('div', { class: 'c-memory' }, this.memory.el),
      h('div', { class: 'c-actions' }, this.actions));
  }

  set(box) {
    const changed = this.box?.changed_at !== box.changed_at || this.box?.status !== box.status;
    this.box = box;
    setText(this.name, format.title(box));
    this.sub.hidden = format.title(box) === box.sandbox_id;
    setText(this.template, box.template);
    if (changed) {
      setText(this.state, box.status);
      this.state.className = `state ${box.status}`;
      this.actions.setState(box);
      this.cause.hidden = !box.cause;
      if (box.cause) showCause(this.cause, box);
    }
    this.tick();
  }

  tick() {
    setText(this.age, format.age(this.box.created_at));
    setText(this.left, this.box.expires_in_ms === null || this.box.expires_in_ms === undefined ? '' : `${format.span(this.box.expires_in_ms)} left`);
  }

  draw() {
    const list = (live.history.get(this.id) || []).slice(-POINTS);
    const last = list.at(-1);
    if (!last) return;
    this.cpu.set(list.map((s) => s.cpu), 1, `${Math.round(last.cpu * 100)} %`);
    this.memory.set(list.map((s) => s.memory), (this.box.limits?.memory_bytes || 0) / 8, format.bytes(last.memory));
  }
}

class Sandboxes extends HTMLElement {
  rows = new Map();
  seen = new Set();
  off = new AbortController();

  connectedCallback() {
    const { signal } = this.off;
    this.query = new URLSearchParams(location.hash.split('?')[1] || '');
    this.search = h('input', { type: 'search', placeholder: 'Name, id or label  ( / )', 'aria-label': 'Filter by name, id or label', value: this.query.get('q') || '', oninput: () => this.#setFilter('q', this.search.value) });
    this.state = h('select', { 'aria-label': 'Filter by state', onchange: () => this.#setFilter('state', this.state.value) }, h('option', { value: '' }, 'Any state'), STATES.map((s) => h('option', { value: s }, s)));
    this.template = h('select', { 'aria-label': 'Filter by template', onchange: () => this.#setFilter('template', this.template.value) }, h('option', { value: '' }, 'Any template'));
    this.count = h('span', { class: 'quiet', role: 'status' });
    this.list = h('ul', { class: 'boxes', 'aria-label': 'Sandboxes' });
    this.empty = h('div', { class: 'empty', hidden: true });
    this.append(
      h('div', { class: 'bar' }, h('h1', {}, 'Sandboxes'), this.count, h('span', { class: 'grow' }),
        this.search, this.state, this.template,
        button('New sandbox', { class: 'primary', id: 'create', title: 'New sandbox (n)', onclick: () => this.#create() }, 'plus')),
      h('div', { class: 'boxes-head', 'aria-hidden': 'true' }, ['Name', 'State', 'Template', 'Age', 'Processor', 'Memory', ''].map((t) => h('span', {}, t))),
      this.list, this.empty);
    this.watch = new IntersectionObserver((entries) => {
      for (const e of entries) {
        if (e.isIntersecting) this.seen.add(e.target.dataset.id);
        else this.seen.delete(e.target.dataset.id);
      }
    });
    live.addEventListener('change', () => this.#draw(), { signal });
    live.addEventListener('sample', (e) => this.rows.get(e.detail)?.draw(), { signal });
    this.timer = setInterval(() => this.#sample(), SAMPLE_MS);
    this.#readFilters();
    if (live.loaded) this.#draw();
    setTimeout(() => this.#sample(), 300);
  }

  disconnectedCallback() {
    this.off.abort();
    this.watch.disconnect();
    clearInterval(this.timer);
  }

  onPlace({ query }) {
    this.query = query;
    this.#readFilters();
    this.#draw();
  }

  #readFilters() {
    if (document.activeElement !== this.search) this.search.value = this.query.get('q') || '';
    this.state.value = this.query.get('state') || '';
    this.#templates();
    this.template.value = this.query.get('template') || '';
  }

  #setFilter(name, value) {
    if (value) this.query.set(name, value);
    else this.query.delete(name);
    const text = this.query.toString();
    history.replaceState(null, '', `#/sandboxes${text ? `?${text}` : ''}`);
    this.#draw();
  }

  #templates() {
    const names = new Set([...live.boxes.values()].map((b) => b.template));
    if (this.query.get('template')) names.add(this.query.get('template'));
    const have = new Set([...this.template.options].map((o) => o.value));
    for (const n of names) if (!have.has(n)) this.template.append(h('option', { value: n }, n));
  }

  #matches(b) {
    const q = (this.query.get('q') || '').toLowerCase();
    if (this.query.get('state') && b.status !== this.query.get('state')) return false;
    if (this.query.get('template') && b.template !== this.query.get('template')) return false;
    return !q || [b.name, b.sandbox_id, b.project_name, ...Object.entries(b.labels || {}).flat()].some((t) => t && t.toLowerCase().includes(q));
  }

  #draw() {
    const shown = [...live.boxes.values()].filter((b) => this.#matches(b));
    const keep = new Set(shown.map((b) => b.sandbox_id));
    for (const [id, row] of this.rows) {
      if (keep.has(id)) continue;
      this.watch.unobserve(row.el);
      row.el.remove();
      this.rows.delete(id);
      this.seen.delete(id);
    }
    let at = this.list.firstElementChild;
    for (const box of shown) {
      let row = this.rows.get(box.sandbox_id);
      if (!row) {
        row = new Row(box.sandbox_id);
        this.rows.set(box.sandbox_id, row);
        this.watch.observe(row.el);
      }
      row.set(box);
      if (row.el === at) at = at.nextElementSibling;
      else this.list.insertBefore(row.el, at);
    }
    this.#templates();
    setText(this.count, live.boxes.size === shown.length ? `${shown.length}` : `${shown.length} of ${live.boxes.size}`);
    this.#drawEmpty(shown.length === 0);
  }

  #drawEmpty(is) {
    this.empty.hidden = !is;
    if (!is) return;
    this.empty.replaceChildren(live.boxes.size
      ? h('p', {}, 'No sandbox matches. ', h('a', { href: '#/sandboxes' }, 'Show all'))
      : h('p', {}, 'No sandboxes yet. Make one with ', h('b', {}, 'New sandbox'), ', or ', h('a', { href: '#/try' }, 'try some code'), '.'));
  }

  async #sample() {
    if (this.sampling || document.hidden) return;
    this.sampling = true;
    const ids = [...this.seen].filter((id) => ['ready', 'busy', 'paused'].includes(this.rows.get(id)?.box.status));
    const work = async () => {
      for (let id = ids.shift(); id && !this.off.signal.aborted; id = ids.shift()) await live.sample(id).catch(() => {});
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    for (const id of this.seen) this.rows.get(id)?.tick();
    this.sampling = false;
  }

  async #create() {
    let templates;
    try {
      ({ templates } = await get('/api/templates'));
    } catch (e) { fail(e); return; }
    const facts = h('dl', { class: 'facts' });
    const show = () => {
      const t = templates.find((x) => x.name === choice.value);
      facts.replaceChildren(...describe(t));
      life.placeholder = t?.life_time_ms ? format.span(t.life_time_ms) : 'as configured';
    };
    const choice = h('select', { id: 'template', name: 'template', onchange: show, autofocus: true }, templates.map((t) => h('option', { value: t.name, disabled: !t.available }, t.available ? t.name : `${t.name} (${t.why})`)));
    const life = h('input', { id: 'life', name: 'timeout', pattern: '[0-9.]+[smhd]?' });
    show();
    const given = await ask({
      title: 'New sandbox', yes: 'Create',
      fields: [h('label', { for: 'template' }, 'Template'), choice, facts,
        h('label', { for: 'name' }, 'Name (optional)'), h('input', { id: 'name', name: 'name', maxlength: 63, autocomplete: 'off' }),
        h('label', { for: 'life' }, 'Life time (90s, 30m, 2h; empty: the template’s)'), life],
    });
    if (!given) return;
    try {
      const box = await postConfirmed('/api/sandboxes', Object.fromEntries(Object.entries(given).filter(([, v]) => v)));
      if (!box) return;
      note(`${format.title(box)} is ready.`, { kind: 'good', action: { label: 'Open', run: () => { location.hash = `#/sandbox/${box.sandbox_id}`; } } });
      live.refresh();
    } catch (e) { fail(e); }
  }
}

/** A template's defaults as pairs of a definition list. */
export function describe(t) {
  if (!t) return [];
  const l = t.limits || {};
  return [
    ['About', t.description], ['Memory', l.memory_bytes && format.bytes(l.memory_bytes)], ['Processors', l.cpu_milli && `${l.cpu_milli / 1000}`],
    ['Processes', l.pids], ['Disk', l.disk_bytes && format.bytes(l.disk_bytes)], ['Network', t.network],
    ['Lives', t.life_time_ms ? format.span(t.life_time_ms) : 'until destroyed, or as configured'],
    ['Asks first', t.needs_confirm ? 'yes' : null],
  ].filter(([, v]) => v).flatMap(([k, v]) => [h('dt', {}, k), h('dd', {}, String(v))]);
}
customElements.define('cay-sandboxes', Sandboxes);
