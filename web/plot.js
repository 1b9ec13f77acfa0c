// SPDX-License-Identifier: Apache-2.0
// Curves over time: uPlot in the page's colours, with what they are worth now (or under the pointer) in words above them.
import uPlot from './npm/uplot.mjs';
import { h, setText } from './dom.js';

const HEIGHT = 150;
const EDGE = 10; // room at the right

const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const pad = (n) => String(n).padStart(2, '0');

function clock(s, span) {
  const t = new Date(s * 1000);
  return `${pad(t.getHours())}:${pad(t.getMinutes())}${span > 600 ? '' : `:${pad(t.getSeconds())}`}`;
}

/** Whether a label at this time has its room: one at the edge would be cut. */
function fits(u, s, half) {
  const at = u.valToPos(s, 'x');
  return at > half - EDGE && at < u.bbox.width / devicePixelRatio - half + EDGE;
}

/**
 * A figure that is drawn by set(times, columns): one column of numbers for each of `series` ({label, color}).
 * say: a value in words; least: the top of the axis is never below it; steps: where its lines may be; span: seconds that are shown.
 */
export class Plot {
  constructor({ title, about = '', series, say, least = 1, steps, span = 120, dots = false, fill = true }) {
    this.series = series;
    this.say = say;
    this.span = span;
    this.values = series.map((s) => {
      const value = h('span', { class: 'key num' });
      value.style.setProperty('--key', `var(${s.color})`);
      return value;
    });
    this.place = h('div', { class: 'plot' });
    this.el = h('figure', {}, h('figcaption', {}, title, about && h('span', { class: 'quiet' }, about), h('span', { class: 'keys-of' }, this.values)), this.place);
    this.options = (width) => {
      const ink = css('--quiet');
      const font = `12px ${css('--sans')}`;
      const grid = { stroke: css('--line'), width: 1 };
      return {
        width, height: HEIGHT, padding: [8, EDGE, 0, 0], legend: { show: false }, cursor: { y: false, points: { size: 6 } },
        hooks: { setCursor: [(u) => this.#tell(u.cursor.idx)] },
        scales: { x: { range: () => [Date.now() / 1000 - this.span, Date.now() / 1000] }, y: { range: (u, min, max) => [0, Math.max((max || 0) * 1.15, least)] } },
        axes: [{ stroke: ink, font, grid: { show: false }, ticks: { show: false }, size: 26, space: 80, incrs: [15, 30, 60, 300, 600, 900, 1200, 1800], values: (u, vals) => vals.map((v) => (fits(u, v, this.span > 600 ? 18 : 28) ? clock(v, this.span) : '')) },
          { stroke: ink, font, grid, ticks: { show: false }, size: 62, gap: 6, space: 34, ...(steps && { incrs: steps }), values: (u, vals) => vals.map(say) }],
        series: [{}, ...series.map(({ label, color }) => ({ label, stroke: css(color), width: 1.75, spanGaps: true, ...(fill && { fill: `${css(color)}1f` }), points: { show: dots, size: 5, fill: css(color) } }))],
      };
    };
  }

  /** Drawn once it is in the page: only then it has a width. */
  attach() {
    this.width = this.place.clientWidth;
    this.plot = new uPlot(this.options(Math.max(200, this.width)), [[], ...this.series.map(() => [])], this.place);
    this.sizes = new ResizeObserver(() => {
      if (this.place.clientWidth === this.width || !this.place.clientWidth) return;
      this.width = this.place.clientWidth;
      this.plot.setSize({ width: this.width, height: HEIGHT });
    });
    this.sizes.observe(this.place);
    this.dark = matchMedia('(prefers-color-scheme: dark)');
    this.onDark = () => { this.plot.destroy(); this.plot = new uPlot(this.options(this.width), this.plot.data, this.place); };
    this.dark.addEventListener('change', this.onDark);
    this.#tell(null);
  }

  detach() {
    this.sizes.disconnect();
    this.dark.removeEventListener('change', this.onDark);
    this.plot.destroy();
  }

  set(times, columns) {
    this.plot.setData([times, ...columns]);
    this.#tell(this.plot.cursor.idx);
  }

  /** How many seconds are shown. */
  setSpan(seconds) {
    this.span = seconds;
    this.plot.setData(this.plot.data);
  }

  #tell(at) {
    const data = this.plot?.data;
    this.series.forEach((s, i) => {
      const column = data?.[i + 1] || [];
      const value = at === null || at === undefined ? column.at(-1) : column[at];
      setText(this.values[i], `${s.label ? `${s.label} ` : ''}${Number.isFinite(value) ? this.say(value) : '–'}`);
    });
  }
}
