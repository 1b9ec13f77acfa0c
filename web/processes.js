// SPDX-License-Identifier: Apache-2.0
// What runs in a sandbox now, what each process uses, and the ports that are open.
import { h, button, iconButton, setChildren, setText } from './dom.js';
import * as api from './api.js';
import { ask, fail } from './dialogs.js';
import { show } from './file_path.js';
import * as format from './format.js';

const POLL_MS = 3000;
const COLUMNS = ['Pid', 'Processor', 'Memory', 'State', 'Command', ''];
const STATES = { R: 'running', S: 'sleeping', D: 'waiting', T: 'stopped', t: 'traced', Z: 'ended', I: 'idle' };
const INIT = 1;

/** One process: made once, then only changed. */
class Row {
  constructor(p, end) {
    this.cells = COLUMNS.map((c, i) => h('td', { class: i < 3 ? 'num' : null }));
    this.el = h('tr', {}, this.cells);
    setText(this.cells[0], `${p.pid}`);
    if (api.may('exec') && p.pid !== INIT) this.cells[5].append(iconButton(`End process ${p.pid}`, 'close', { class: 'danger', onclick: () => end(this.p) }));
  }

  set(p, at) {
    const used = this.p && p.cpu_ms !== undefined ? Math.max(0, p.cpu_ms - this.p.cpu_ms) / Math.max(1, at - this.at) : null;
    setText(this.cells[1], used === null ? '–' : `${Math.round(used * 100)} %`);
    setText(this.cells[2], p.memory_bytes === undefined ? '–' : format.bytes(p.memory_bytes));
    setText(this.cells[3], STATES[p.state] || `${p.state}`);
    const text = show(p.command || '');
    setText(this.cells[4], text);
    this.cells[4].title = `${text}\nParent ${p.parent}, ${format.span(p.cpu_ms ?? NaN)} of processor time`;
    this.p = p;
    this.at = at;
  }
}

class Processes extends HTMLElement {
  known = new Map();

  connectedCallback() {
    this.sandbox = this.getAttribute('sandbox');
    this.ports = h('div', { class: 'ports' });
    this.rows = h('tbody', {});
    this.problem = h('p', { class: 'problem', role: 'status' });
    this.append(h('div', { class: 'bar small' }, h('h2', {}, 'Ports'), h('span', { class: 'grow' }), iconButton('Refresh', 'refresh', { onclick: () => this.#read() })), this.ports, h('h2', {}, 'Processes'), this.problem,
      h('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'Processes' }, h('table', { class: 'processes' }, h('thead', {}, h('tr', {}, COLUMNS.map((t) => h(t ? 'th' : 'td', t ? { scope: 'col' } : {}, t)))), this.rows)));
    this.#read();
    this.timer = setInterval(() => { if (!document.hidden) this.#read(); }, POLL_MS);
  }

  disconnectedCallback() { clearInterval(this.timer); }

  async #read() {
    if (this.reading) return; // one question at a time: no answer is followed by an older one
    this.reading = true;
    try {
      const { processes } = await api.get(api.path('sandboxes', this.sandbox, 'processes'));
      const { ports } = await api.get(api.path('sandboxes', this.sandbox, 'ports'));
      this.#draw(processes);
      this.#drawPorts(ports);
      setText(this.problem, '');
    } catch (e) {
      this.#draw([]);
      setText(this.problem, api.words(e));
    }
    this.reading = false;
  }

  #draw(processes) {
    const at = performance.now();
    this.known = new Map(processes.map((p) => {
      const row = this.known.get(p.pid) || new Row(p, (now) => this.#end(now));
      row.set(p, at);
      return [p.pid, row];
    }));
    setChildren(this.rows, [...this.known.values()].map((r) => r.el));
  }

  #drawPorts(ports) {
    if (ports.join() === this.open) return;
    this.open = ports.join();
    this.ports.replaceChildren(...ports.map((p) => button(`Open port ${p}`, { onclick: () => this.#openPort(p) }, 'open')));
    if (ports.length === 0) this.ports.append(h('p', { class: 'quiet' }, 'No process is listening on a port. A server in the sandbox is listed here and opens in a new tab.'));
  }

  /** By a command in the sandbox, as its user: what that may not end, it does not. */
  async #end(p) {
    const pid = Number(p.pid);
    const yes = await ask({ title: `End process ${pid}?`, text: `${show(p.command || '')}\nIt is sent SIGKILL and cannot save anything.`, yes: 'End it', danger: true });
    if (!yes) return;
    try {
      const done = await api.post(api.path('sandboxes', this.sandbox, 'execute'), { command: ['/bin/sh', '-c', 'kill -KILL "$0"', `${pid}`], timeout: 10 });
      if (done.exit_code !== 0) throw new Error(`Process ${pid} could not be ended: ${(done.stderr || done.cause_text || '').trim()}`);
    } catch (e) { fail(e); }
    this.#read();
  }

  /** The tab is opened by the click, before the link is there: browsers stop those that come later. */
  async #openPort(port) {
    const tab = open('', '_blank');
    try {
      const { url } = await api.post(api.path('sandboxes', this.sandbox, 'links'), { port });
      tab.opener = null;
      tab.location = url;
    } catch (e) {
      tab?.close();
      fail(e);
    }
  }
}
customElements.define('cay-processes', Processes);
