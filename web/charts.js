// SPDX-License-Identifier: Apache-2.0
// What a sandbox uses over time: every second since it is looked at, and before that as the daemon has noted it.
import { h } from './dom.js';
import { get, path } from './api.js';
import { live } from './live.js';
import { Plot } from './plot.js';
import * as format from './format.js';

const POLL_MS = 1000;
const PAST_MS = 15000; // how often the daemon is asked for its points
const SPANS = [[120, '2 minutes'], [1800, '30 minutes']];
const MB = 1 << 20;

const CURVES = [
  { title: 'Processor', series: [{ color: '--curve-1', of: (s) => s.cpu * 100 }], say: (v) => `${Math.round(v)} %`, least: 50 },
  { title: 'Memory', series: [{ color: '--curve-2', of: (s) => s.memory }], say: format.bytes, least: MB, steps: [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192].map((n) => n * MB) },
  { title: 'Processes', series: [{ color: '--curve-3', of: (s) => s.pids }], say: (v) => `${Math.round(v)}`, least: 4, steps: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000] },
];

const NETWORK = { title: 'Network', say: format.rate, least: 1024, steps: Array.from({ length: 24 }, (_, i) => 256 * 2 ** i) };
const LOOPBACK = { label: 'loopback', color: '--curve-3', of: (s) => s.loopback };

/** Without a network there is what the sandbox says to itself, and that is said. */
function networkCurve(network) {
  if (network === 'none') return { ...NETWORK, title: 'Loopback', about: 'no network', series: [{ ...LOOPBACK, label: '', color: '--curve-4' }] };
  return { ...NETWORK, about: network, series: [{ label: 'in', color: '--curve-4', of: (s) => s.rx }, { label: 'out', color: '--curve-1', of: (s) => s.tx }, LOOPBACK] };
}

/** A point of the daemon's, as live.js has its own. */
function fromDaemon(p) {
  return { wall: Date.parse(p.at) / 1000, cpu: p.cpu_milli / 1000, memory: p.memory_bytes, pids: p.pids, rx: p.rx_bytes_per_s, tx: p.tx_bytes_per_s, loopback: p.loopback_bytes_per_s };
}

class Charts extends HTMLElement {
  past = [];

  connectedCallback() {
    this.sandbox = this.getAttribute('sandbox');
    this.spans = h('div', { class: 'filters', role: 'group', 'aria-label': 'Time shown' }, SPANS.map(([s, label]) => h('button', { type: 'button', 'data-span': s, 'aria-pressed': 'false', onclick: () => this.#show(s) }, label)));
    this.append(this.spans);
    this.plots = [...CURVES, networkCurve(this.getAttribute('network') || 'none')].map((curve) => {
      const plot = new Plot(curve);
      this.append(plot.el);
      return { curve, plot };
    });
    for (const { plot } of this.plots) plot.attach();
    this.#show(SPANS[0][0]);
    this.#readPast();
    this.#tick();
    this.timer = setInterval(() => this.#tick(), POLL_MS);
    this.pastTimer = setInterval(() => this.#readPast(), PAST_MS);
  }

  disconnectedCallback() {
    clearInterval(this.timer);
    clearInterval(this.pastTimer);
    for (const { plot } of this.plots) plot.detach();
  }

  #show(span) {
    for (const b of this.spans.children) b.setAttribute('aria-pressed', String(Number(b.dataset.span) === span));
    for (const { plot } of this.plots) plot.setSpan(span);
  }

  async #readPast() {
    if (document.hidden) return;
    const { history = [] } = await get(`${path('sandboxes', this.sandbox, 'stats')}?history=true`).catch(() => ({}));
    if (history.length > 0) this.past = history.map(fromDaemon);
  }

  async #tick() {
    if (document.hidden) return;
    await live.sample(this.sandbox).catch(() => {});
    const now = live.history.get(this.sandbox) || [];
    const list = [...this.past.filter((p) => !now.length || p.wall < now[0].wall), ...now];
    if (list.length === 0 || !this.isConnected) return;
    const times = list.map((s) => s.wall);
    for (const { curve, plot } of this.plots) plot.set(times, curve.series.map(({ of }) => list.map(of)));
  }
}
customElements.define('cay-charts', Charts);
