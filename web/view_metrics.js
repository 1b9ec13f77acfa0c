// SPDX-License-Identifier: Apache-2.0
// The service itself. Its histograms count from its start; an hour's figures are the difference to a count an hour ago, if this page has one.
import { h, setText } from './dom.js';
import { get, words } from './api.js';
import { chart } from './charts.js';
import * as format from './format.js';

const POLL_MS = 2000;
const HOUR_MS = 3600000;

/** Buckets are cumulative ({le_ms, count}); the value is the bound below which that share lies. */
export function quantile(h1, share, h0) {
  const buckets = h1.buckets.map((b, i) => ({ le: b.le_ms, count: b.count - (h0?.buckets[i]?.count || 0) }));
  const total = h1.count - (h0?.count || 0);
  if (total <= 0) return null;
  const at = buckets.find((b) => b.count >= share * total);
  return at ? at.le : Infinity;
}

const bound = (ms) => (ms === null ? '–' : ms === Infinity ? 'more than any bucket' : `≤ ${format.span(ms)}`);

class Metrics extends HTMLElement {
  kept = [];

  connectedCallback() {
    this.cells = {};
    const card = (key, label) => {
      this.cells[key] = h('b', { class: 'big num' }, '–');
      return h('div', { class: 'card stat' }, h('span', { class: 'quiet' }, label), this.cells[key]);
    };
    this.since = h('p', { class: 'quiet' });
    this.problem = h('p', { class: 'problem', role: 'alert' });
    this.place = h('div', { class: 'plot' });
    this.append(h('div', { class: 'bar' }, h('h1', {}, 'Metrics')), this.problem,
      h('div', { class: 'cards stats' }, card('alive', 'Sandboxes alive'), card('running', 'Commands running'), card('creates', 'Sandboxes made'), card('execs', 'Commands started'),
        card('c50', 'Create, p50'), card('c99', 'Create, p99'), card('e50', 'Command start, p50'), card('e99', 'Command start, p99'), card('memory', 'Memory used'), card('failed', 'Creates failed')),
      this.since, h('figure', { class: 'card' }, h('figcaption', {}, 'Commands started per second'), this.place));
    this.plot = chart(this.place, { label: 'Commands', say: (v) => v.toFixed(v < 10 ? 1 : 0), color: '--curve-1' }, Math.max(260, this.clientWidth - 44));
    this.sizes = new ResizeObserver(() => this.plot.setSize({ width: Math.max(260, this.clientWidth - 44), height: 150 }));
    this.sizes.observe(this);
    this.#tick();
    this.timer = setInterval(() => this.#tick(), POLL_MS);
  }

  disconnectedCallback() {
    clearInterval(this.timer);
    this.sizes.disconnect();
    this.plot.destroy();
  }

  async #tick() {
    if (document.hidden) return;
    let m;
    try {
      m = await get('/api/metrics');
    } catch (e) { setText(this.problem, words(e)); return; }
    setText(this.problem, '');
    this.kept.push({ at: Date.now(), m });
    while (this.kept.length > 2 && this.kept[1].at < Date.now() - HOUR_MS) this.kept.shift();
    const old = this.kept[0].at < Date.now() - HOUR_MS + POLL_MS * 2 ? this.kept[0].m : null;
    this.#draw(m, old);
  }

  #draw(m, old) {
    const create = m.creations.latency;
    const oldCreate = old && old.creations.latency;
    const start = m.execs.start_latency;
    const values = {
      alive: m.sandboxes.alive, running: m.execs.running, creates: m.creations.started, execs: m.execs.started, failed: m.creations.failed,
      c50: bound(quantile(create, 0.5, oldCreate)), c99: bound(quantile(create, 0.99, oldCreate)),
      e50: bound(quantile(start, 0.5, old?.execs.start_latency)), e99: bound(quantile(start, 0.99, old?.execs.start_latency)),
      memory: format.bytes(m.resources.memory_bytes),
    };
    for (const [k, v] of Object.entries(values)) setText(this.cells[k], String(v));
    setText(this.since, old ? 'p50 and p99 of the last hour, as the bound of their bucket.' : `p50 and p99 since the daemon's start${m.daemon.started_at ? ` (${new Date(m.daemon.started_at).toLocaleString()})` : ''}, as the bound of their bucket; of the last hour once this page has been open for that long.`);
    const rate = this.kept.slice(1).map((k, i) => ({ t: k.at / 1000, v: Math.max(0, k.m.execs.started - this.kept[i].m.execs.started) / ((k.at - this.kept[i].at) / 1000) })).slice(-300);
    this.plot.setData([rate.map((r) => r.t), rate.map((r) => r.v)]);
  }
}
customElements.define('cay-metrics', Metrics);
