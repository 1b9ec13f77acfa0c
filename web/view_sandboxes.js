// SPDX-License-Identifier: Apache-2.0
// The list. Rows are made once and then only changed; what a row uses is asked for while it can be seen.
import { h, button, icon, setText } from './dom.js';
import { may } from './api.js';
import { ACTIONS, runAll } from './actions.js';
import { Row, ghostRow } from './box_row.js';
import { createSandbox } from './create.js';
import { ASK_AGAIN_MS, lifeOf } from './life.js';
import { live } from './live.js';
import * as format from './format.js';

const STATES = ['ready', 'busy', 'creating', 'paused', 'stopped', 'error'];
const SAMPLE_MS = 2000;
const FRESH_MAX = 25; // rows that are made between two frames: hundreds at once would hold the page
const AT_ONCE = 3; // a browser has six connections to a server, and others need some
const last = (id, of) => live.history.get(id)?.at(-1)?.[of] ?? -1;
const COLUMNS = [ // what each sorts by; newest and largest first
  { label: 'Name', key: 'name', by: (a, b) => format.title(a).localeCompare(format.title(b)) }, { label: 'State', key: 'state', by: (a, b) => STATES.indexOf(a.status) - STATES.indexOf(b.status) },
  { label: 'Template', key: 'template', by: (a, b) => a.template.localeCompare(b.template) }, { label: 'Age', key: 'age', by: (a, b) => Date.parse(b.created_at) - Date.parse(a.created_at) },
  { label: 'Processor', key: 'cpu', by: (a, b) => last(b.sandbox_id, 'cpu') - last(a.sandbox_id, 'cpu') }, { label: 'Memory', key: 'memory', by: (a, b) => last(b.sandbox_id, 'memory') - last(a.sandbox_id, 'memory') },
  { label: 'Actions' },
];
const BULK = ['start', 'pause', 'resume', 'stop', 'destroy'];

class Sandboxes extends HTMLElement {
  rows = new Map();
  seen = new Set();
  picked = new Set();
  off = new AbortController();
  wanted = ''; // the row that gets the focus when it appears

  connectedCallback() {
    const { signal } = this.off;
    this.query = new URLSearchParams(location.hash.split('?')[1] || '');
    this.search = h('input', { type: 'search', placeholder: 'Name, id, owner or label', 'aria-label': 'Filter by name, id, owner or label', 'aria-keyshortcuts': '/', oninput: () => this.#setFilter('q', this.search.value) });
    this.template = h('select', { 'aria-label': 'Filter by template', onchange: () => this.#setFilter('template', this.template.value) }, h('option', { value: '' }, 'Any template'));
    this.states = h('div', { class: 'filters', role: 'group', 'aria-label': 'Filter by state' }, ['', ...STATES].map((s) => h('button', {
      type: 'button', 'data-state': s, onclick: () => this.#setFilter('state', s),
    }, s || 'all', h('b', {}))));
    this.count = h('span', { class: 'quiet', role: 'status' });
    this.list = h('div', { role: 'rowgroup' }, Array.from({ length: 3 }, ghostRow));
    this.pickAll = h('input', { type: 'checkbox', class: 'pick', 'aria-label': 'Select all that are shown', onchange: () => this.#pickAll() });
    this.order = h('select', { class: 'order', 'aria-label': 'Sort by', onchange: () => this.#sortBy(this.order.value) }, COLUMNS.filter((c) => c.key).map((c) => h('option', { value: c.key }, `Sort by ${c.label.toLowerCase()}`)));
    this.bulk = h('div', { class: 'bulk', role: 'group', 'aria-label': 'Actions for the selected sandboxes', hidden: true }, h('b', { class: 'num' }), ACTIONS.filter((a) => BULK.includes(a.verb)).map((a) => button(a.label, { class: a.class, 'data-bulk': a.verb, onclick: () => this.#runAll(a) }, a.icon)),
      button('Clear selection', { onclick: () => { this.picked.clear(); this.#draw(); } }));
    this.table = h('div', { class: 'card boxes', role: 'table', 'aria-label': 'Sandboxes' },
      h('div', { class: 'boxes-head', role: 'row' }, h('span', { role: 'columnheader' }, this.pickAll), COLUMNS.map((c) => this.#head(c))), this.list);
    this.empty = h('div', { class: 'card empty whole', hidden: true });
    this.append(
      h('div', { class: 'bar' }, h('h1', {}, 'Sandboxes'), this.count, h('span', { class: 'grow' }),
        h('div', { class: 'tools' }, h('span', { class: 'search' }, icon('search'), this.search), this.template, this.order),
        may('exec') && button('New sandbox', { class: 'primary', id: 'create', title: 'New sandbox (n)', 'aria-keyshortcuts': 'n', onclick: () => this.#create() }, 'plus')),
      this.states, this.bulk, this.table, this.empty);
    this.classList.toggle('may-pick', may('exec'));
    this.list.addEventListener('change', (e) => this.#onPick(e));
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
    cancelAnimationFrame(this.frame);
  }

  onPlace({ query }) {
    this.query = query;
    this.#readFilters();
    this.#draw();
  }

  #readFilters() {
    if (document.activeElement !== this.search) this.search.value = this.query.get('q') || '';
    this.#templates();
    this.template.value = this.query.get('template') || '';
    this.#drawStates();
  }

  #setFilter(name, value) {
    if (value) this.query.set(name, value);
    else this.query.delete(name);
    const text = this.query.toString();
    history.replaceState(null, '', `#/sandboxes${text ? `?${text}` : ''}`);
    this.#draw();
  }

  /** A column's heading, which sorts by it; once more: the other way round. */
  #head(c) {
    if (!c.key) return h('span', { role: 'columnheader', class: 'actions' }, c.label);
    const el = h('button', { type: 'button', onclick: () => this.#sortBy(c.key) }, c.label);
    return h('span', { role: 'columnheader', 'data-sort': c.key }, el);
  }

  #sortBy(key) {
    const same = (this.query.get('sort') || 'age') === key;
    this.#setFilter('reverse', same && !this.query.get('reverse') ? '1' : '');
    this.#setFilter('sort', key === 'age' ? '' : key);
  }

  #sorted(boxes) {
    const key = this.query.get('sort') || 'age';
    const sign = this.query.get('reverse') ? -1 : 1;
    const column = COLUMNS.find((c) => c.key === key) || COLUMNS[3];
    for (const el of this.table.querySelectorAll('[data-sort]')) {
      if (el.dataset.sort === column.key) el.setAttribute('aria-sort', sign > 0 === ['name', 'state', 'template', 'age'].includes(column.key) ? 'ascending' : 'descending');
      else el.removeAttribute('aria-sort');
    }
    this.order.value = column.key;
    return [...boxes].sort((a, b) => sign * column.by(a, b) || a.sandbox_id.localeCompare(b.sandbox_id));
  }

  #onPick(e) {
    const id = e.target.closest('.box')?.dataset.id;
    if (!id) return;
    if (e.target.checked) this.picked.add(id);
    else this.picked.delete(id);
    this.#drawBulk();
  }

  #pickAll() {
    for (const id of this.rows.keys()) {
      if (this.pickAll.checked) this.picked.add(id);
      else this.picked.delete(id);
    }
    this.#drawBulk();
  }

  #picked() { return [...this.picked].map((id) => live.boxes.get(id)).filter(Boolean); }

  /** What is selected goes on being so while the list changes; what is gone, or is not shown any more, is not. */
  #drawBulk() {
    for (const id of this.picked) if (live.loaded && !this.rows.has(id)) this.picked.delete(id);
    for (const [id, row] of this.rows) row.pick.checked = this.picked.has(id);
    const boxes = this.#picked();
    this.bulk.hidden = boxes.length === 0;
    this.pickAll.checked = boxes.length > 0 && boxes.length === this.rows.size;
    this.pickAll.indeterminate = boxes.length > 0 && boxes.length < this.rows.size;
    setText(this.bulk.firstChild, `${boxes.length} selected`);
    for (const el of this.bulk.querySelectorAll('[data-bulk]')) el.hidden = !boxes.some(ACTIONS.find((a) => a.verb === el.dataset.bulk).when);
  }

  async #runAll(action) { await runAll(action, this.#picked()); }

  #templates() {
    const names = new Set([...live.boxes.values()].map((b) => b.template));
    if (this.query.get('template')) names.add(this.query.get('template'));
    const have = new Set([...this.template.options].map((o) => o.value));
    for (const n of names) if (!have.has(n)) this.template.append(h('option', { value: n }, n));
  }

  #matches(b) {
    const q = (this.query.get('q') || '').toLowerCase();
    if (this.query.get('template') && b.template !== this.query.get('template')) return false;
    return !q || [b.name, b.sandbox_id, b.project_name, b.owner, ...Object.entries(b.labels || {}).flat()].some((t) => t && t.toLowerCase().includes(q));
  }

  /** How many there are in each state, of those that the other filters leave. */
  #drawStates(some = []) {
    const chosen = this.query.get('state') || '';
    for (const el of this.states.children) {
      const n = el.dataset.state ? some.filter((b) => b.status === el.dataset.state).length : some.length;
      setText(el.lastChild, `${n}`);
      el.setAttribute('aria-pressed', String(el.dataset.state === chosen));
      el.hidden = el.dataset.state !== '' && n === 0 && el.dataset.state !== chosen;
    }
  }

  #draw() {
    const some = [...live.boxes.values()].filter((b) => this.#matches(b));
    const state = this.query.get('state');
    const shown = this.#sorted(state ? some.filter((b) => b.status === state) : some);
    if (live.loaded) for (const el of this.list.querySelectorAll('.loading')) el.remove();
    this.#dropRows(new Set(shown.map((b) => b.sandbox_id)));
    let at = this.list.firstElementChild;
    let fresh = 0;
    for (const box of shown) {
      let row = this.rows.get(box.sandbox_id);
      if (!row) {
        fresh += 1;
        if (fresh > FRESH_MAX) {
          this.#drawOn();
          break;
        }
        row = new Row(box.sandbox_id);
        this.rows.set(box.sandbox_id, row);
        this.watch.observe(row.el);
      }
      row.set(box);
      if (row.el === at) at = at.nextElementSibling;
      else this.list.insertBefore(row.el, at);
    }
    this.#templates();
    this.#drawStates(some);
    this.#drawBulk();
    setText(this.count, live.boxes.size === shown.length ? '' : `${shown.length} of ${live.boxes.size}`);
    this.#drawEmpty(live.loaded && shown.length === 0);
    if (this.rows.has(this.wanted)) {
      this.rows.get(this.wanted).name.focus();
      this.wanted = '';
    }
  }

  /** With the rest, when what is there has been seen. */
  #drawOn() {
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => this.#draw());
  }

  /** A row that goes hands the focus on: to the one behind it, or to the button that makes one. */
  #dropRows(keep) {
    for (const [id, row] of this.rows) {
      if (keep.has(id)) continue;
      const next = row.el.contains(document.activeElement) && (row.el.nextElementSibling?.querySelector('.name') || this.querySelector('#create'));
      this.watch.unobserve(row.el);
      row.el.remove();
      this.rows.delete(id);
      this.seen.delete(id);
      if (next) next.focus();
    }
  }

  #drawEmpty(is) {
    this.empty.hidden = !is;
    this.table.hidden = is;
    this.states.hidden = live.loaded && live.boxes.size === 0;
    if (!is || this.empty.dataset.of === `${live.boxes.size > 0}`) return;
    this.empty.dataset.of = `${live.boxes.size > 0}`;
    this.empty.replaceChildren(...(live.boxes.size
      ? [icon('search'), h('h2', {}, 'No sandbox matches'), h('p', {}, 'Change the filters, or show all sandboxes.'), button('Show all', { onclick: () => { location.hash = '#/sandboxes'; } })]
      : [icon('box'), h('h2', {}, 'No sandboxes yet'), h('p', {}, 'A sandbox is an isolated place to run code that you do not trust. It is created in milliseconds, and nothing of it remains after it is destroyed.'),
        h('div', { class: 'row' }, may('exec') && [button('New sandbox', { class: 'primary', onclick: () => this.#create() }, 'plus'), button('Try some code', { onclick: () => { location.hash = '#/try'; } }, 'chat')]),
        h('p', { class: 'hint small' }, 'From a shell: ', h('code', {}, 'cay create --template python'))]));
  }

  async #sample() {
    if (this.sampling || document.hidden) return;
    this.sampling = true;
    const ids = [...this.seen].filter((id) => format.isAlive(this.rows.get(id)?.box));
    const work = async () => {
      for (let id = ids.shift(); id && !this.off.signal.aborted; id = ids.shift()) await live.sample(id).catch(() => {});
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    for (const id of this.seen) this.rows.get(id)?.tick();
    this.#askAboutIdle();
    if (['cpu', 'memory'].includes(this.query.get('sort'))) this.#draw();
    this.sampling = false;
  }

  /** What is idle may have been used meanwhile, and nobody is told of that: what would soon end by it is asked for. */
  #askAboutIdle() {
    if (performance.now() - (this.askedAt || 0) < ASK_AGAIN_MS || ![...this.seen].some((id) => { const life = this.rows.has(id) && lifeOf(this.rows.get(id).box); return life && life.soon && life.counts; })) return;
    this.askedAt = performance.now();
    live.refresh();
  }

  async #create() {
    const box = await createSandbox(this.query.get('template') || '');
    if (box) this.wanted = box.sandbox_id;
  }
}
customElements.define('cay-sandboxes', Sandboxes);
