// SPDX-License-Identifier: Apache-2.0
// The service itself (for who is not admin: one's own part of it): what there is now, and how quick it was in the last hour, which the daemon
// counts by minutes.
import { h, setText } from './dom.js';
import { get, words } from './api.js';
import { Plot } from './plot.js';
import * as format from './format.js';

const POLL_MS = 2000;
const KEPT = 150; // readings, for the curve of commands per second
const TILES = [
  ['Live sandboxes', (m) => m.sandboxes.alive], ['Commands running', (m) => m.execs.running],
  ['Memory in use', (m) => format.bytes(m.resources.memory_bytes)], ['Processes', (m) => m.resources.pids],
  ['Sandboxes created', (m) => m.creations.started], ['Failed to start', (m) => m.creations.failed], ['Commands started', (m) => m.execs.started],
];
const LATENCIES = [
  { key: 'create', title: 'Create a sandbox', about: 'from the request until it is ready' },
  { key: 'exec_start', title: 'Start a command', about: 'from the request until it runs' },
  { key: 'exec_run', title: 'Run time of commands', about: 'from start to end' },
];

const ms = (us) => format.fine(us / 1000);

/** p50 and p99 of one thing: of the hour as figures, of each minute as curves. */
class Latency {
  constructor({ key, title, about }) {
    this.key = key;
    this.p50 = h('b', { class: 'big num', 'data-of': `${key}-p50` }, '–');
    this.p99 = h('b', { class: 'big num', 'data-of': `${key}-p99` }, '–');
    this.sub = h('span', { class: 'quiet small num' });
    this.plot = new Plot({ title: 'Per minute', series: [{ label: 'p50', color: '--curve-1' }, { label: 'p99', color: '--curve-2' }], say: ms, least: 1000, span: 3600, dots: true, fill: false });
    this.el = h('section', { class: 'card' }, h('h2', {}, title), h('p', { class: 'quiet small' }, about),
      h('div', { class: 'pair' }, h('div', {}, h('span', { class: 'quiet' }, 'p50'), this.p50), h('div', {}, h('span', { class: 'quiet' }, 'p99'), this.p99)), this.plot.el, this.sub);
  }

  set(hour) {
    const now = Date.now() / 1000;
    setText(this.p50, hour.count ? ms(hour.p50_us) : '–');
    setText(this.p99, hour.count ? ms(hour.p99_us) : '–');
    setText(this.sub, hour.count ? `${hour.count} in the last hour, longest ${ms(hour.max_us)}` : 'none in the last hour');
    this.plot.set(hour.minutes.map((m) => now - m.ago * 60), [hour.minutes.map((m) => m.p50_us), hour.minutes.map((m) => m.p99_us)]);
  }
}

class Metrics extends HTMLElement {
  kept = [];

  connectedCallback() {
    this.since = h('span', { class: 'quiet' });
    this.problem = h('p', { class: 'problem', role: 'alert' });
    this.tiles = TILES.map(([, of]) => ({ of, el: h('b', { class: 'big num' }, '–') }));
    this.latencies = LATENCIES.map((l) => new Latency(l));
    this.rate = new Plot({ title: 'Commands started', about: 'per second, since you opened this page', series: [{ label: '', color: '--curve-1' }], say: (v) => v.toFixed(v < 10 ? 1 : 0), least: 1, span: 300 });
    this.rate.el.classList.add('card');
    this.append(h('div', { class: 'bar' }, h('h1', {}, 'Metrics'), this.since), this.problem,
      h('div', { class: 'card stats' }, TILES.map(([label], i) => h('div', { class: 'stat' }, h('span', { class: 'quiet' }, label), this.tiles[i].el))),
      h('h2', {}, 'The last hour'), h('div', { class: 'latencies' }, this.latencies.map((l) => l.el)), this.rate.el);
    for (const p of this.#plots()) p.attach();
    this.#tick();
    this.timer = setInterval(() => this.#tick(), POLL_MS);
  }

  disconnectedCallback() {
    clearInterval(this.timer);
    for (const p of this.#plots()) p.detach();
  }

  #plots() { return [...this.latencies.map((l) => l.plot), this.rate]; }

  async #tick() {
    if (document.hidden || this.asking) return; // one question at a time: no answer is followed by an older one
    this.asking = true;
    let m;
    try {
      m = await get('/api/metrics');
    } catch (e) {
      setText(this.problem, words(e));
      return;
    } finally { this.asking = false; }
    if (!this.isConnected) return;
    setText(this.problem, '');
    setText(this.since, m.daemon ? `Running since ${format.moment(m.daemon.started_at)}` : 'Your own sandboxes and commands');
    for (const { el, of } of this.tiles) setText(el, String(of(m)));
    for (const l of this.latencies) l.set(m.last_hour[l.key]);
    this.#drawRate(m.execs.started);
  }

  #drawRate(started) {
    this.kept = [...this.kept.slice(1 - KEPT), { at: Date.now() / 1000, started }];
    const steps = this.kept.slice(1).map((k, i) => ({ at: k.at, value: Math.max(0, k.started - this.kept[i].started) / Math.max(0.001, k.at - this.kept[i].at) }));
    this.rate.set(steps.map((s) => s.at), [steps.map((s) => s.value)]);
  }
}
customElements.define('cay-metrics', Metrics);
