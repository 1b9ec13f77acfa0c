// SPDX-License-Identifier: Apache-2.0
// One sandbox: the terminal on one side, everything else about it in panes on the other. Which pane is open is in the address.
import { button, h, icon, setText } from './dom.js';
import { get, isRefused, may, path, words } from './api.js';
import { ACTIONS, actionButtons, run, showCause } from './actions.js';
import { live } from './live.js';
import * as format from './format.js';
import { upperFirst } from './format.js';
import { Life, lifeOf, whyGone } from './life.js';
import { loadTerminal } from './load_later.js';
import './files.js';
import './activity.js';
import './timeline.js';
import './processes.js';
import './charts.js';
import './network.js';

/** Why there is no terminal, or nothing in a pane. */
const STOPPED = { paused: 'This sandbox is paused', stopped: 'This sandbox is stopped', error: 'This sandbox has failed', creating: 'This sandbox is being created' };

/** name, label, element, and when it has something to show, if not only while the sandbox runs. */
const PANES = [
  ['terminal', 'Terminal', null],
  ['files', 'Files', 'cay-files'],
  ['browser', 'Browser', 'cay-browser-pane'],
  ['desktop', 'Desktop', 'cay-desktop'],
  ['activity', 'Activity', 'cay-activity', 'always'],
  ['timeline', 'Time line', 'cay-timeline', 'always'],
  ['processes', 'Processes', 'cay-processes'],
  ['network', 'Network', 'cay-network', 'always'],
  ['charts', 'Charts', 'cay-charts', 'paused'],
  ['about', 'About', 'cay-about', 'always'],
];

/** In place of what only a running sandbox has. */
function standIn(box, text, picture) {
  const action = ACTIONS.find((a) => ['start', 'resume'].includes(a.verb) && a.when(box));
  return h('div', { class: 'empty whole' }, icon(picture), h('h2', {}, STOPPED[box.status] || `This sandbox is ${box.status}`), h('p', {}, text),
    may('exec') && action && button(action.label, { onclick: () => run(action, box) }, 'play'));
}

class Sandbox extends HTMLElement {
  off = new AbortController();

  connectedCallback() {
    this.id_ = this.getAttribute('sandbox');
    this.heading = h('h1', {}, '…');
    this.state = h('span', { class: 'state' });
    this.facts = h('span', {});
    this.life = new Life(() => this.box);
    this.life.el.hidden = true;
    this.cause = h('p', { class: 'cause', hidden: true, role: 'status' });
    this.actions = actionButtons(() => this.box, { named: true, done: (verb) => { if (verb === 'destroy') location.hash = '#/sandboxes'; } });
    this.actions.hidden = true; // until it is known what they would act on
    this.tabs = h('div', { class: 'tabs', role: 'tablist', 'aria-label': 'Panes' }, PANES.map(([name, label]) => h('button', {
      type: 'button', role: 'tab', id: `tab-${name}`, 'data-pane': name, 'aria-controls': 'pane', onclick: () => this.#go(name),
    }, label)));
    this.tabs.addEventListener('keydown', (e) => this.#onKey(e));
    this.term = h('section', { class: 'half terminal', 'aria-label': 'Terminal' });
    this.pane = h('section', { class: 'half pane', id: 'pane', role: 'tabpanel', tabindex: -1 });
    this.append(h('div', { class: 'bar' }, h('a', { href: '#/sandboxes', class: 'back', 'aria-label': 'Back to the list of sandboxes', title: 'Back to the list of sandboxes' }, icon('back')), this.heading, this.state, h('span', { class: 'meta quiet' }, this.facts, this.life.el), h('span', { class: 'grow' }), this.actions),
      this.cause, this.tabs, h('div', { class: 'split' }, this.term, this.pane));
    live.addEventListener('change', () => this.#update(live.boxes.get(this.id_)), { signal: this.off.signal });
    this.#ask();
  }

  /** No answer (too many requests, no daemon) is no word about it: the list, which goes on asking, comes next; what that lacks is asked for again. */
  async #ask() {
    this.unknown = false;
    try {
      const box = await get(path('sandboxes', this.id_));
      if (this.off.signal.aborted) return;
      if (!this.box) this.#update({ ...box, read_at: performance.now() }); // else the list was quicker, and may know better
    } catch (e) {
      if (this.box || this.off.signal.aborted) return;
      if (isRefused(e)) {
        this.#showMissing(e);
        return;
      }
      this.unknown = true;
      live.refresh();
    }
  }

  async #showMissing(e) {
    this.off.abort();
    const why = await whyGone(this.id_, null);
    this.replaceChildren(h('div', { class: 'card empty whole' }, icon('box'), h('h1', {}, why ? 'This sandbox is gone' : 'Sandbox not found'), h('p', {}, why || words(e)), h('p', { class: 'hint' }, h('a', { href: '#/sandboxes' }, 'Show all sandboxes'))));
  }

  /** It was here a moment ago: why it is not, where one looks. */
  async #showGone() {
    setText(this.state, 'gone');
    this.state.className = 'state error';
    this.actions.hidden = true;
    this.life.el.hidden = true;
    setText(this.facts, this.box.template);
    clearInterval(this.timer);
    this.drawn = 'gone';
    this.term.replaceChildren(h('div', { class: 'empty whole' }, icon('terminal'), h('h2', {}, 'This sandbox is gone'), h('p', { class: 'why' }, '…')));
    this.#pane();
    const why = await whyGone(this.id_, this.box) || 'It is no longer in the list.';
    for (const el of this.querySelectorAll('.why')) setText(el, why);
    this.why = why;
    this.cause.hidden = false;
    this.cause.classList.add('calm');
    setText(this.cause, why);
  }

  disconnectedCallback() { this.off.abort(); clearInterval(this.timer); }

  #facts() {
    const b = this.box;
    setText(this.facts, `${b.template} · ${format.age(b.created_at)} old · `);
    this.life.tick();
    this.life.el.hidden = false;
  }

  #update(box) {
    if (!box) {
      if (live.loaded && this.box && this.drawn !== 'gone') this.#showGone();
      if (this.unknown && !this.box) this.#ask();
      return;
    }
    const isFirst = !this.box;
    this.box = box;
    setText(this.heading, format.title(box));
    document.title = `${format.title(box)} · Cay`;
    setText(this.state, box.status);
    this.state.className = `state ${box.status}`;
    this.#facts();
    this.actions.setState(box);
    this.actions.hidden = false;
    this.cause.hidden = !box.cause;
    if (box.cause) showCause(this.cause, box);
    if (this.drawn !== box.status) this.#terminal();
    this.drawn = box.status;
    if (!isFirst) {
      this.#pane();
      return;
    }
    this.timer = setInterval(() => this.#facts(), 1000);
    this.onPlace();
  }

  /** There is a terminal while there is a box. */
  async #terminal() {
    if (!may('exec')) {
      this.term.replaceChildren(h('div', { class: 'empty whole' }, icon('terminal'), h('h2', {}, 'No terminal'), h('p', {}, 'You are signed in with read access. A terminal needs the scope exec.')));
      return;
    }
    const can = format.isAlive(this.box);
    const has = this.term.querySelector('cay-terminal');
    if (can && !has) {
      try {
        await loadTerminal();
      } catch (e) {
        setTimeout(() => { if (this.isConnected && format.isAlive(this.box)) this.#terminal(); }, 1000);
        return;
      }
      if (!this.isConnected || !format.isAlive(this.box) || this.drawn === 'gone' || this.term.querySelector('cay-terminal')) return;
      const el = document.createElement('cay-terminal');
      el.setAttribute('sandbox', this.id_);
      this.term.replaceChildren(el);
      if (this.wantsFocus) el.querySelector('textarea')?.focus();
    } else if (!can) {
      this.term.replaceChildren(standIn(this.box, this.box.status === 'creating' ? 'The terminal opens when it is ready.' : 'Start it to open a terminal.', 'terminal'));
    }
  }

  #go(name) { location.hash = `#/sandbox/${encodeURIComponent(this.id_)}?pane=${name}`; }

  onPlace() {
    if (!this.box) return; // when it is known
    const query = new URLSearchParams(location.hash.split('?')[1] || '');
    const narrow = matchMedia('(max-width: 900px)').matches;
    const name = PANES.some(([n]) => n === query.get('pane')) ? query.get('pane') : narrow ? 'terminal' : 'files';
    this.dataset.pane = name;
    for (const tab of this.tabs.children) {
      const here = tab.dataset.pane === name;
      tab.setAttribute('aria-selected', String(here));
      tab.tabIndex = here ? 0 : -1;
      if (here) tab.scrollIntoView({ block: 'nearest', inline: 'nearest' });
    }
    this.pane.setAttribute('aria-labelledby', `tab-${name}`);
    this.#pane();
    this.wantsFocus = !query.get('pane') || name === 'terminal';
    if (this.wantsFocus) this.term.querySelector('textarea')?.focus();
  }

  /** What the open pane has to show now: itself, or why it has nothing. */
  #pane() {
    const [name, , element, when] = PANES.find(([n]) => n === this.dataset.pane) || [];
    if (!element) return;
    const isGone = this.drawn === 'gone';
    const has = when === 'always' || (format.isAlive(this.box) && (this.box.status !== 'paused' || when === 'paused'));
    const why = isGone && name !== 'about' ? 'gone' : has || isGone ? '' : this.box.status;
    if (this.shown === `${name} ${why}`) return;
    this.shown = `${name} ${why}`;
    if (why === 'gone') {
      this.pane.replaceChildren(h('div', { class: 'empty whole' }, icon('box'), h('h2', {}, 'This sandbox is gone'), h('p', { class: 'why' }, this.why || '…')));
    } else if (why) {
      this.pane.replaceChildren(standIn(this.box, why === 'creating' ? 'It will be shown here when it is ready.' : `This is shown while the sandbox runs.${name === 'files' ? ' Its files are kept.' : ''}`, 'box'));
    } else {
      const el = document.createElement(element);
      el.setAttribute('sandbox', this.id_);
      el.setAttribute('network', this.box.network);
      el.last = this.box;
      this.pane.replaceChildren(el);
    }
  }

  #onKey(e) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
    if (!step) return;
    const i = PANES.findIndex(([n]) => n === this.dataset.pane);
    const [next] = PANES[(i + step + PANES.length) % PANES.length];
    this.#go(next);
    this.tabs.querySelector(`[data-pane=${next}]`).focus();
  }
}

class About extends HTMLElement {
  off = new AbortController();

  connectedCallback() {
    live.addEventListener('change', () => this.#read(), { signal: this.off.signal });
    this.second = setInterval(() => this.#tick(), 1000);
    this.life = h('dd', {});
    this.#read();
  }

  disconnectedCallback() { this.off.abort(); clearInterval(this.second); }

  #isGone() { return live.loaded && !live.boxes.has(this.getAttribute('sandbox')); }
  #tick() { if (this.box) setText(this.life, this.#isGone() ? 'Gone' : upperFirst(lifeOf(this.box).text)); }

  async #read() {
    if (this.box && this.#isGone()) return; // as it was
    const box = live.boxes.get(this.getAttribute('sandbox')) || await get(path('sandboxes', this.getAttribute('sandbox'))).then((b) => ({ ...b, read_at: performance.now() }), () => this.last);
    if (!box) return;
    this.box = box;
    this.#tick();
    const { read_at: at, expires_in_ms: ms, idle_ms: idle, idle_expires_in_ms: rest, ...stays } = box;
    if (this.as === JSON.stringify(stays)) return;
    this.as = JSON.stringify(stays);
    const l = box.limits;
    const rows = [['Id', box.sandbox_id], ['Name', box.name], ['Owner', box.owner], ['Template', box.template], ['Engine', box.engine], ['Network', box.network],
      ['Created', format.moment(box.created_at)], ['Workspace', box.workspace.mapped ? `${box.workspace.path} (${box.workspace.mode})` : box.workspace.inside],
      ['Life', this.life], ['Idle limit', box.idle_limit_ms ? format.span(box.idle_limit_ms) : 'none'],
      ['Time per command', l.wall_ms ? `${format.span(l.wall_ms)} (shells have no limit)` : 'no limit'], ['Processor time per command', l.cpu_time_ms && format.span(l.cpu_time_ms)], ['Output per command', l.output_bytes && format.bytes(l.output_bytes)],
      ['Memory', format.bytes(l.memory_bytes)], ['Processors', l.cpu_milli / 1000], ['Processes', l.pids], ['Disk', format.bytes(l.disk_bytes)], ['Open files', l.files],
      ['Limits not enforced', box.limits_skipped.join(', ')], ['Labels', Object.entries(box.labels).map(([k, v]) => `${k}=${v}`).join(', ')]];
    this.replaceChildren(h('dl', { class: 'facts wide' }, rows.filter(([, v]) => v).flatMap(([k, v]) => [h('dt', {}, k), v === this.life ? v : h('dd', { class: ['Id', 'Workspace'].includes(k) ? 'id' : null }, String(v))])));
  }
}
customElements.define('cay-about', About);
customElements.define('cay-sandbox', Sandbox);
