// SPDX-License-Identifier: Apache-2.0
// The frame of the page: who is signed in, where in the page one is (all of it in the address, behind '#/'), and that view.
import { h, button, icon, iconButton } from './dom.js';
import * as api from './api.js';
import { ask, fail } from './dialogs.js';
import { live } from './live.js';
import './view_sign_in.js';
import './view_sandboxes.js';
import './view_sandbox.js';
import { forgetConversation } from './view_try.js';
import './view_templates.js';
import './view_metrics.js';
import './machines.js';

const VIEWS = {
  sandboxes: { element: 'cay-sandboxes', label: 'Sandboxes', key: 's', icon: 'box' },
  try: { element: 'cay-try', label: 'Try it', key: 't', icon: 'chat' },
  templates: { element: 'cay-templates', label: 'Templates', key: 'e', icon: 'layers' },
  machines: { element: 'cay-machines', label: 'Machines', key: 'a', icon: 'laptop' },
  metrics: { element: 'cay-metrics', label: 'Metrics', key: 'm', icon: 'chart' },
  sandbox: { element: 'cay-sandbox' },
};

const KEYS = [
  ...Object.values(VIEWS).filter((v) => v.key).map((v) => [['g', v.key], `Go to ${v.label}`]),
  [['/'], 'Go to the filter'], [['n'], 'New sandbox'], [['←', '→'], 'Switch between the tabs of a sandbox'], [['Shift', 'F6'], 'Leave the terminal'],
  [['Ctrl', 'Enter'], 'Send the message in Try it'], [['Ctrl', 'S'], 'Save the file in the editor'], [['?'], 'Show this list'],
];

function showKeys() {
  return ask({ title: 'Keyboard shortcuts', yes: 'Close', no: '', fields: [h('dl', { class: 'keys' }, KEYS.flatMap(([keys, text]) => [h('dt', {}, keys.flatMap((k) => [h('kbd', {}, k), ' '])), h('dd', {}, text)]))] });
}

/** '#/sandbox/ID?pane=files' -> {view, id, query} */
export function place() {
  const [route, query = ''] = location.hash.replace(/^#\/?/, '').split('?');
  const [view = '', id = ''] = route.split('/').map(decodeURIComponent);
  return { view: VIEWS[view] ? view : 'sandboxes', id, query: new URLSearchParams(query) };
}

class App extends HTMLElement {
  #who = null;
  #shown = '';

  connectedCallback() {
    addEventListener('hashchange', () => this.#enterOrShow());
    // '#…' is where in the page one is: the link that skips the head must not change it.
    document.querySelector('.skip').addEventListener('click', (e) => { e.preventDefault(); document.getElementById('main')?.focus(); });
    addEventListener('keydown', (e) => this.#onKey(e));
    addEventListener('pointerdown', () => { this.g = false; });
    api.events.addEventListener('signed-out', () => this.#leave());
    api.events.addEventListener('down', () => this.#setBanner(true));
    api.events.addEventListener('up', () => this.#setBanner(false));
    this.addEventListener('signed-in', () => this.#begin());
    this.#enterOrShow();
  }

  /** The login is taken out of the address before anything else, so that no copy of the address holds it. */
  async #enterOrShow() {
    const given = /^#login=([A-Za-z0-9_-]+)$/.exec(location.hash);
    if (given) {
      history.replaceState(null, '', `${location.pathname}#/sandboxes`);
      try {
        await api.post('/api/login', { login: given[1] });
      } catch (e) {
        this.#askWho(api.isRefused(e) ? 'This link has already been used or has expired. “cay token --login” prints a new one.' : api.words(e));
        return;
      }
      this.#who = null;
    }
    if (this.#who) this.#show();
    else this.#begin();
  }

  async #begin() {
    try {
      this.#who = await api.get('/api/whoami');
      Object.assign(api.session, this.#who);
    } catch (e) {
      if (e.status !== 401) this.#askWho(api.words(e));
      else this.#askWho('');
      return;
    }
    this.#frame();
    live.start();
    this.#show();
  }

  #askWho(text) {
    this.#who = null;
    forgetConversation(); // the next person need not be the same
    this.#shown = '';
    live.stop();
    const view = document.createElement('cay-sign-in');
    view.setAttribute('message', text);
    this.replaceChildren(view);
    document.title = 'Sign in · Cay';
  }

  #leave() {
    if (!this.#who) return;
    api.setToken('');
    this.#askWho('Your session has ended. Please sign in again.');
  }

  async #signOut() {
    const session = !api.hasToken();
    this.#who = null;
    live.stop();
    try {
      if (session) await api.post('/api/logout');
    } catch (e) { fail(e); }
    api.setToken('');
    this.#askWho('You are signed out.');
  }

  #frame() {
    this.main = h('main', { id: 'main', tabindex: -1 });
    this.banner = h('p', { class: 'banner', role: 'status', hidden: true }, 'The daemon is not answering. Trying again…');
    this.nav = h('nav', { 'aria-label': 'Views' }, Object.entries(VIEWS).filter(([, v]) => v.label).map(([name, v]) => h('a', {
      href: `#/${name}`, 'data-view': name, 'aria-keyshortcuts': `g ${v.key}`, title: `${v.label} (g, then ${v.key})`,
    }, icon(v.icon), v.label)));
    this.replaceChildren(
      h('header', {},
        h('a', { class: 'brand', href: '#/sandboxes', 'aria-label': 'Cay: list of sandboxes' }, h('img', { src: '/favicon.svg', alt: '', width: 24, height: 24 }), 'Cay'),
        this.nav,
        h('div', { class: 'who' },
          h('span', { class: 'quiet', id: 'who', title: `Signed in with: ${this.#who.credential}` }, `${this.#who.owner} · ${this.#who.scope}`),
          iconButton('Keyboard shortcuts', 'keyboard', { id: 'keys', 'aria-keyshortcuts': '?', title: 'Keyboard shortcuts (?)', onclick: () => showKeys() }),
          button('Sign out', { id: 'sign-out', 'aria-label': 'Sign out', onclick: () => this.#signOut() }, 'leave'))),
      this.banner, this.main);
  }

  #setBanner(down) {
    if (this.banner) this.banner.hidden = !down;
    if (!down) live.refresh();
  }

  #show() {
    const { view, id } = place();
    const key = `${view}/${id}`;
    for (const a of this.nav.children) {
      const here = a.dataset.view === view || (view === 'sandbox' && a.dataset.view === 'sandboxes');
      if (here) a.setAttribute('aria-current', 'page');
      else a.removeAttribute('aria-current');
    }
    if (key === this.#shown && this.main.firstChild) {
      this.main.firstChild.onPlace?.(place());
      return;
    }
    const wasElsewhere = this.#shown !== '';
    this.#shown = key;
    const el = document.createElement(VIEWS[view].element);
    if (id) el.setAttribute('sandbox', id);
    document.title = `${VIEWS[view].label || id} · Cay`;
    this.main.replaceChildren(el);
    // Whoever goes to a view by a key or a link goes on from there; a view that has a better place takes the focus itself.
    if (wasElsewhere && !el.contains(document.activeElement)) this.main.focus({ preventScroll: true });
  }

  /** g then a letter goes to a view, however long it takes; / to the filter; ? says so. Never while somebody types. */
  #onKey(e) {
    if (!this.#who || e.ctrlKey || e.metaKey || e.altKey || e.target.closest('input,textarea,select,dialog,.xterm,[contenteditable]')) return;
    const wasG = this.g;
    this.g = e.key === 'g';
    if (this.g) return;
    const found = wasG && Object.entries(VIEWS).find(([, v]) => v.key === e.key);
    if (found) {
      location.hash = `#/${found[0]}`;
    } else if (e.key === '/') {
      const field = this.querySelector('input[type=search]');
      if (field) { e.preventDefault(); field.focus(); }
    } else if (e.key === 'n') {
      this.querySelector('#create')?.click();
      e.preventDefault();
    } else if (e.key === '?') {
      showKeys();
    }
  }
}
customElements.define('cay-app', App);
