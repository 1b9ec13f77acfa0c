// SPDX-License-Identifier: Apache-2.0
// What a sandbox uses over time, since it is looked at.
import uPlot from './npm/uplot.mjs';
import { h } from './dom.js';
import { live } from './live.js';
import * as format from './format.js';

const POLL_MS = 1000;
const SHOWN_S = 120;
const CURVES = [
  { label: 'Processor', of: (s) => s.cpu * 100, say: (v) => `${Math.round(v)} %`, color: '--curve-1', least: 50 },
  { label: 'Memory', of: (s) => s.memory, say: (v) => format.bytes(v), color: '--curve-2', least: 1 << 20, steps: [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192].map((n) => n * (1 << 20)) },
  { label: 'Processes', of: (s) => s.pids, say: (v) => `${Math.round(v)}`, color: '--curve-3', least: 4, steps: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000] },
];

/** One curve over the last two minutes, with an axis of words. */
export function chart(place, { label, say, color, least = 1, steps }, width) {
  const css = getComputedStyle(document.documentElement);
  const ink = css.getPropertyValue('--quiet').trim();
  const grid = { stroke: css.getPropertyValue('--line').trim(), width: 1 };
  const stroke = css.getPropertyValue(color).trim();
  return new uPlot({
    width, height: 150, legend: { show: false }, cursor: { y: false },
    scales: { x: { range: () => [Date.now() / 1000 - SHOWN_S, Date.now() / 1000] }, y: { range: (u, min, max) => [0, Math.max((max || 0) * 1.15, least)] } },
    axes: [{ stroke: ink, grid, ticks: grid, space: 80, incrs: [15, 30, 60], values: (u, vals) => vals.map((v) => new Date(v * 1000).toTimeString().slice(0, 8)) },
      { stroke: ink, grid, ticks: grid, size: 68, ...(steps && { incrs: steps }), values: (u, vals) => vals.map(say) }],
    series: [{}, { label, stroke, width: 2, fill: `${stroke}22`, points: { show: false } }],
  }, [[], []], place);
}

class Charts extends HTMLElement {
  connectedCallback() {
    this.sandbox = this.getAttribute('sandbox');
    this.plots = CURVES.map((c) => {
      const now = h('b', { class: 'num' }, '–');
      const place = h('div', { class: 'plot' });
      this.append(h('figure', {}, h('figcaption', {}, c.label, now), place));
      return { c, now, plot: chart(place, c, Math.max(240, this.clientWidth - 8)) };
    });
    this.sizes = new ResizeObserver(() => { for (const p of this.plots) p.plot.setSize({ width: Math.max(240, this.clientWidth - 8), height: 150 }); });
    this.sizes.observe(this);
    this.#tick();
    this.timer = setInterval(() => this.#tick(), POLL_MS);
  }

  disconnectedCallback() {
    clearInterval(this.timer);
    this.sizes.disconnect();
    for (const p of this.plots) p.plot.destroy();
  }

  async #tick() {
    if (document.hidden) return;
    await live.sample(this.sandbox).catch(() => {});
    const list = live.history.get(this.sandbox) || [];
    if (list.length === 0) return;
    for (const { c, now, plot } of this.plots) {
      plot.setData([list.map((s) => s.wall), list.map(c.of)]);
      now.textContent = c.say(c.of(list.at(-1)));
    }
  }
}
customElements.define('cay-charts', Charts);
