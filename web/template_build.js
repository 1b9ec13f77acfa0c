// SPDX-License-Identifier: Apache-2.0
// Whether a template's image is there, and building it: `build` of the template ops. Only templates that have something to build say so.
import { h, button, setText } from './dom.js';
import * as api from './api.js';
import { Output } from './output.js';
import * as format from './format.js';

const STATES = { // how each looks, what it means, what the button then does
  none: { look: 'stopped', text: 'not built yet', verb: 'Build' },
  building: { look: 'busy', text: 'building', verb: 'Build' },
  built: { look: 'ready', text: 'built', verb: 'Build anew' },
  stale: { look: 'paused', text: 'out of date', verb: 'Build again' },
  failed: { look: 'error', text: 'build failed', verb: 'Build again' },
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
    setText(this.about, [build.step, build.built_at && new Date(build.built_at).toLocaleDateString(), build.size_bytes && format.bytes(build.size_bytes)].filter(Boolean).join(' · '));
    setText(this.error, build.error || '');
    this.button.disabled = build.state === 'building';
    setText(this.button.lastChild, verb);
    this.button.setAttribute('aria-label', `${verb} the image of ${this.name}`);
  }

  /** The output goes on in the daemon when this page goes: a build is not ended by looking away. */
  async #build() {
    const body = { stream: true, anew: this.known === 'built' };
    this.output?.el.remove();
    this.output = new Output();
    this.append(this.output.el);
    this.#set({ state: 'building' });
    try {
      await api.stream('POST', api.path('templates', this.name, 'build'), body, (e) => this.#event(e));
    } catch (e) {
      this.#set({ state: 'failed', error: api.words(e) });
    }
  }

  #event(e) {
    if (e.event === 'end') this.#set(e);
    else if (e.event === 'error') this.#set({ state: 'failed', error: e.message });
    else if (e.event === 'output') this.output.add('stdout', `${e.line ?? '[bytes that are no text]'}\n`);
  }
}
customElements.define('cay-build', Build);
