// SPDX-License-Identifier: Apache-2.0
// Whether a template's image is there, and building it: `build` of the template ops. Only templates that have something to build say so.
import { h, button, setText } from './dom.js';
import * as api from './api.js';
import { Output, plainLine } from './output.js';
import * as format from './format.js';

const STATES = { // how each looks, what it means, what the button then does
  none: { look: 'stopped', text: 'not built yet', verb: 'Build' },
  building: { look: 'busy', text: 'building', verb: 'Follow' },
  built: { look: 'ready', text: 'built', verb: 'Rebuild' },
  stale: { look: 'paused', text: 'out of date', verb: 'Rebuild' },
  failed: { look: 'error', text: 'build failed', verb: 'Rebuild' },
};

class Build extends HTMLElement {
  /** t: a template with `build`; canBuild: the person may. */
  show(t, canBuild) {
    this.name = t.name;
    this.classList.add('build');
    this.state = h('span', { class: 'state' });
    this.about = h('span', { class: 'quiet small', role: 'status' });
    this.error = h('p', { class: 'cause', role: 'status' });
    this.button = button('Build', { hidden: !canBuild, onclick: () => this.#build() }, 'layers');
    this.replaceChildren(this.state, this.about, this.button, this.error);
    this.#set(t.build);
  }

  #set(build) {
    const { look, text, verb } = STATES[build.state] || { look: 'stopped', text: build.state, verb: 'Build' };
    this.known = build.state;
    this.state.className = `state ${look}`;
    setText(this.state, text);
    setText(this.about, [build.step, build.built_at && format.day(build.built_at), build.size_bytes && format.bytes(build.size_bytes)].filter(Boolean).join(' · '));
    setText(this.error, build.error || '');
    this.button.disabled = Boolean(this.follows);
    setText(this.button.lastChild, verb);
    this.button.setAttribute('aria-label', `${verb} the ${verb === 'Follow' ? 'build' : 'image'} of ${this.name}`);
  }

  /** A build that runs already is followed. It goes on in the daemon when this page goes: it is not ended by looking away. */
  async #build() {
    const body = { stream: true, no_cache: this.known === 'built' };
    this.output?.el.remove();
    this.output = new Output();
    this.append(this.output.el);
    this.follows = true;
    this.#set({ state: 'building' });
    this.ended = null;
    try {
      await api.stream('POST', api.path('templates', this.name, 'build'), body, (e) => this.#event(e));
    } catch (e) {
      this.problem = api.words(e);
    }
    this.follows = false;
    await this.#settle();
  }

  #event(e) {
    if (e.event === 'end') this.ended = e;
    else if (e.event === 'error') this.problem = e.message;
    else if (e.event === 'output') this.output.add('stdout', `${e.line === undefined ? '[binary output]' : plainLine(e.line)}\n`);
  }

  /** How it stands now; whoever shows the template is told. */
  async #settle() {
    const { problem, ended } = this;
    this.problem = null;
    let t = null;
    try { t = await api.get(api.path('templates', this.name)); } catch { /* what was heard has to do */ }
    const build = ended || t?.build || { state: 'failed' };
    this.#set({ ...build, error: problem || build.error || (ended ? '' : 'The connection was lost before the build ended.') });
    if (t) this.dispatchEvent(new CustomEvent('settled', { detail: t }));
  }
}
customElements.define('cay-build', Build);
