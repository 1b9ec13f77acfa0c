// SPDX-License-Identifier: Apache-2.0
// A notebook: cells of code that share their variables, in one sandbox, with one context for each language (docs/contexts.md). It stays
// while the tab is open; its sandbox ends when nobody used it for a while. What a cell gives is text, pictures and tables: HTML of a result
// is shown in a frame of its own, without scripts, and nothing of it is parsed here.
import { h, button } from './dom.js';
import * as api from './api.js';
import { confirmFacts } from './create.js';
import { fail, postConfirmed } from './dialogs.js';
import { Output } from './output.js';
import * as format from './format.js';

const IDLE = '30m';
const LANGUAGES = { python: 'Python', javascript: 'JavaScript', bash: 'Bash' };
const ROWS_SHOWN = 50;
const LINES_MAX = 24; // of a cell's code that are seen at once

const picture = (type, data, alt) => h('img', { src: `data:${type}${data}`, alt });
const isNumber = (v) => typeof v === 'number' && Number.isFinite(v);

function table({ columns, rows, row_count: total }) {
  const shown = rows.slice(0, ROWS_SHOWN);
  const all = total ?? rows.length;
  return h('div', { class: 'result-table' },
    h('table', {}, h('thead', {}, h('tr', {}, columns.map((c) => h('th', { scope: 'col' }, String(c))))),
      h('tbody', {}, shown.map((row) => h('tr', {}, row.map((v) => h('td', { class: isNumber(v) ? 'num' : null }, v === null ? '–' : String(v))))))),
    shown.length < all && h('p', { class: 'quiet small' }, `The first ${shown.length} of ${all} rows.`));
}

/** What a picture of a chart shows, as a table of its numbers. */
function numbersOf(chart) {
  const all = chart.type === 'superchart' ? chart.elements : [chart];
  const rows = all.flatMap((c) => (c.elements || []).flatMap((e) => (e.points
    ? e.points.map(([x, y]) => [c.title, e.label, x, y]) : [[c.title, e.group ?? null, e.label, e.value ?? e.angle ?? null]])));
  const [first] = all;
  return table({ columns: ['Chart', 'Series', first?.x_label || 'x', first?.y_label || 'y'], rows });
}

/** The richest of a result's forms that can be shown here. */
function formOf(r) {
  if (r.png) return picture('image/png;base64,', r.png, r.text || 'A picture');
  if (r.jpeg) return picture('image/jpeg;base64,', r.jpeg, r.text || 'A picture');
  if (r.svg) return picture('image/svg+xml;charset=utf-8,', encodeURIComponent(r.svg), r.text || 'A drawing');
  if (r.data?.columns && r.data?.rows) return table(r.data);
  if (r.html) return h('iframe', { sandbox: '', srcdoc: r.html, title: r.text || 'A result in HTML', loading: 'lazy' });
  return h('pre', { class: 'result-text' }, r.markdown ?? r.latex ?? r.text ?? JSON.stringify(r.json ?? r, null, 2));
}

const resultOf = (r) => h('div', { class: 'result' }, formOf(r), r.chart?.elements && h('details', {}, h('summary', {}, 'Numbers of the chart'), numbersOf(r.chart)));

class Cell {
  constructor(book, language = 'python') {
    this.book = book;
    this.count = h('span', { class: 'quiet num count' }, '[ ]');
    this.text = h('textarea', { rows: 3, class: 'code', spellcheck: false, 'aria-label': 'Code', oninput: () => { this.text.rows = Math.min(LINES_MAX, Math.max(3, this.text.value.split('\n').length)); }, onkeydown: (e) => {
      if (e.key !== 'Enter' || !(e.shiftKey || e.ctrlKey || e.metaKey)) return;
      e.preventDefault();
      this.run();
      if (e.shiftKey) this.book.next(this).text.focus();
    } });
    this.language = h('select', { 'aria-label': 'Language' }, Object.entries(LANGUAGES).map(([name, title]) => h('option', { value: name, selected: name === language }, title)));
    this.play = button('Run', { onclick: () => this.run() }, 'play');
    this.stop = button('Interrupt', { hidden: true, onclick: () => this.interrupt() }, 'stop');
    this.what = h('div', { class: 'results', 'aria-live': 'polite' });
    this.el = h('section', { class: 'cell card', 'aria-label': 'Cell' }, h('div', { class: 'row' }, this.count, this.language, h('span', { class: 'grow' }), this.play, this.stop,
      button('Remove cell', { class: 'icon-only', title: 'Remove cell', onclick: () => this.book.remove(this) }, 'trash')), this.text, this.what);
  }

  get context() { return this.language.value; }

  async run() {
    if (this.isRunning || !this.text.value.trim()) return;
    this.#busy(true);
    const out = new Output();
    this.out = null;
    this.what.replaceChildren();
    try {
      const id = await this.book.sandbox(this.text.value);
      if (id) await api.stream('POST', api.path('sandboxes', id, 'contexts', this.context, 'run'), { code: this.text.value, stream: true }, (e) => this.#event(e, out));
    } catch (e) {
      this.book.lost(e);
      this.what.append(h('p', { class: 'problem' }, api.words(e)));
    }
    this.#busy(false);
  }

  #busy(is) {
    this.isRunning = is;
    this.play.hidden = is;
    this.stop.hidden = !is;
    if (is) this.count.textContent = '[*]';
    else if (this.count.textContent === '[*]') this.count.textContent = '[ ]';
  }

  #event(e, out) {
    if (out.event(e)) {
      if (this.what.lastChild !== out.el) this.what.append(out.el);
    } else if (e.event === 'result') {
      this.what.append(resultOf(e));
    } else if (e.event === 'error' && e.traceback !== undefined) {
      this.what.append(h('pre', { class: 'output problem' }, Array.isArray(e.traceback) ? e.traceback.join('\n') : e.traceback || `${e.name}: ${e.value}`));
    } else if (e.event === 'error') {
      this.what.append(h('p', { class: 'problem' }, e.message || `${e.name}: ${e.value}`));
    } else if (e.event === 'end') {
      this.count.textContent = `[${e.execution_count}]`;
      this.what.append(h('p', { class: 'quiet small num' }, format.span(e.duration_ms)));
      if (e.cause) this.what.append(h('p', { class: 'problem' }, `${format.upperFirst(e.cause_text || e.cause)}. ${e.advice || ''}`));
    }
  }

  async interrupt() {
    try {
      await api.post(api.path('sandboxes', this.book.id, 'contexts', this.context, 'interrupt'));
    } catch (e) { fail(e); }
  }
}

export class Notebook {
  constructor() {
    this.id = '';
    this.cells = [];
    this.list = h('div', { class: 'cells' });
    this.where = h('p', { class: 'quiet small', role: 'status' }, 'The first cell that runs makes a sandbox. Cells of one language share their variables.');
    this.restart = button('Restart', { title: 'Start again without variables', onclick: () => this.#restart() }, 'refresh');
    this.el = h('div', { class: 'notebook', hidden: true }, this.where, this.list,
      h('div', { class: 'row' }, button('Add cell', { onclick: () => this.add().text.focus() }, 'plus'), this.restart, h('span', { class: 'quiet small' }, h('kbd', {}, 'Shift'), ' ', h('kbd', {}, 'Enter'), ' runs a cell')));
    this.add();
  }

  add(after = this.cells.at(-1)) {
    const cell = new Cell(this, after?.language.value);
    this.cells.splice(after ? this.cells.indexOf(after) + 1 : 0, 0, cell);
    if (after) after.el.after(cell.el);
    else this.list.append(cell.el);
    return cell;
  }

  /** The cell below, made if there is none. */
  next(cell) { return this.cells[this.cells.indexOf(cell) + 1] || this.add(cell); }

  remove(cell) {
    if (cell.isRunning) cell.interrupt();
    this.cells.splice(this.cells.indexOf(cell), 1);
    cell.el.remove();
    if (this.cells.length === 0) this.add();
  }

  /** Its sandbox, made once, also when several cells ask; '': a person said no. */
  sandbox(code) {
    this.making ??= this.#make(code).finally(() => { if (!this.id) this.making = null; });
    return this.making;
  }

  async #make(code) {
    const box = await postConfirmed('/api/sandboxes', { labels: { from: 'notebook' }, idle_timeout: IDLE }, { facts: () => confirmFacts({}), code });
    if (!box) return '';
    this.id = box.sandbox_id;
    this.where.replaceChildren('In sandbox ', h('a', { href: `#/sandbox/${encodeURIComponent(this.id)}` }, this.id), `, which ends when it was not used for ${IDLE.replace('m', ' minutes')}.`);
    return this.id;
  }

  /** The sandbox is gone: the next cell that runs makes another. */
  lost(e) {
    if (!this.id || e.status !== 404) return;
    this.id = '';
    this.making = null;
    this.where.textContent = 'Its sandbox is gone, and the variables with it. The next cell that runs makes another.';
  }

  async #restart() {
    const used = new Set(this.cells.map((c) => c.context));
    for (const name of this.id ? used : []) {
      try {
        await api.post(api.path('sandboxes', this.id, 'contexts', name, 'restart'));
      } catch (e) {
        this.lost(e);
        if (e.status !== 404) fail(e);
      }
    }
    for (const c of this.cells) c.count.textContent = '[ ]';
  }
}
