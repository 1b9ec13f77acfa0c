// SPDX-License-Identifier: Apache-2.0
// What a sandbox uses over time, since it is looked at.
import { live } from './live.js';
import { Plot } from './plot.js';
import * as format from './format.js';

const POLL_MS = 1000;
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

class Charts extends HTMLElement {
  connectedCallback() {
    this.sandbox = this.getAttribute('sandbox');
    this.plots = [...CURVES, networkCurve(this.getAttribute('network') || 'none')].map((curve) => {
      const plot = new Plot(curve);
      this.append(plot.el);
      return { curve, plot };
    });
    for (const { plot } of this.plots) plot.attach();
    this.#tick();
    this.timer = setInterval(() => this.#tick(), POLL_MS);
  }

  disconnectedCallback() {
    clearInterval(this.timer);
    for (const { plot } of this.plots) plot.detach();
  }

  async #tick() {
    if (document.hidden) return;
    await live.sample(this.sandbox).catch(() => {});
    const list = live.history.get(this.sandbox) || [];
    if (list.length === 0 || !this.isConnected) return;
    const times = list.map((s) => s.wall);
    for (const { curve, plot } of this.plots) plot.set(times, curve.series.map(({ of }) => list.map(of)));
  }
}
customElements.define('cay-charts', Charts);
