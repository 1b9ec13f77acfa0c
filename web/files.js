// SPDX-License-Identifier: Apache-2.0
// Files of a sandbox: look, upload, download, rename, edit small texts. The folder that is shown is watched while the tab can be seen.
import { add, h, button, iconButton, icon, keepRows, setChildren } from './dom.js';
import * as api from './api.js';
import { ask, fail, note } from './dialogs.js';
import { editText, readText } from './editor.js';
import { encode, join, lastName, parent, ROOT, show, typed } from './file_path.js';
import { pause } from './live.js';
import * as format from './format.js';

const EDIT_MAX = 256 * 1024;
const SOON_MS = 200;
const AGAIN_MS = 5000;
const WORKSPACE = encode('/workspace');

const isFolder = (e) => e.type === 'folder' || e.type === 'directory';
const isFile = (e) => e.type === 'file' || e.type === 'regular';

class Files extends HTMLElement {
  rows = new Map(); // by path, see keepRows
  shows = 0;
  off = new AbortController();

  connectedCallback() {
    this.sandbox = this.getAttribute('sandbox');
    this.base = api.path('sandboxes', this.sandbox, 'files');
    this.crumbs = h('nav', { class: 'crumbs', 'aria-label': 'Folder' });
    this.list = h('ul', { class: 'files', 'aria-label': 'Files' });
    this.uploads = h('ul', { class: 'uploads', 'aria-label': 'Uploads' });
    this.pick = h('input', { type: 'file', multiple: true, hidden: true, onchange: () => this.#upload(this.pick.files) });
    const may = api.may('exec');
    add(this, h('div', { class: 'bar small' }, this.crumbs, h('span', { class: 'grow' }),
      may && [button('Upload', { onclick: () => this.pick.click() }, 'up'), button('New file', { onclick: () => this.#newFile() }, 'file'), button('New folder', { onclick: () => this.#mkdir() }, 'folder')],
      iconButton('Download this folder', 'down', { onclick: () => this.#downloadFolder(this.#here()) }),
      iconButton('Refresh', 'refresh', { onclick: () => this.show(this.#here()) }), this.pick), this.uploads, this.list,
    may && h('p', { class: 'quiet drop-hint' }, 'Drop files here to upload them to this folder.'));
    if (may) this.#takeDrops();
    document.addEventListener('visibilitychange', () => this.#watch(), { signal: this.off.signal });
    this.first = this.show(this.#here());
  }

  disconnectedCallback() {
    this.off.abort();
    this.watching?.abort();
    clearTimeout(this.timer);
  }

  #takeDrops() {
    for (const kind of ['dragenter', 'dragover']) this.addEventListener(kind, (e) => { e.preventDefault(); this.classList.add('dropping'); });
    this.addEventListener('dragleave', (e) => { if (!this.contains(e.relatedTarget)) this.classList.remove('dropping'); });
    this.addEventListener('drop', (e) => { e.preventDefault(); this.classList.remove('dropping'); this.#drop(e.dataTransfer); });
  }

  /** Where to begin, until a folder is shown. */
  #here() { return this.folder || WORKSPACE; }
  #url(path, more = '') { return `${this.base}?path=${path}${more}`; }

  /** Only the folder that was asked for last is shown, however late the others answer. */
  async show(folder, isAsked = true) {
    this.shows += 1;
    const mine = this.shows;
    let answer;
    try {
      answer = await api.get(`${this.base}/list?path=${folder}`);
      if (mine !== this.shows) return;
    } catch (e) {
      if (mine !== this.shows) return;
      if (folder === WORKSPACE && e.status === 404) await this.show(ROOT);
      else if (this.folder === folder && e.status === 404) await this.show(parent(folder)); // it was removed
      else if (!this.folder) this.list.replaceChildren(h('li', { class: 'empty' }, api.words(e)));
      else if (isAsked) fail(e);
      return;
    }
    if (this.folder !== folder) this.#enter(folder);
    const shown = (e) => show(encode(e));
    const entries = answer.entries.sort((a, b) => isFolder(b) - isFolder(a) || shown(a).localeCompare(shown(b)));
    const items = this.#draw(entries);
    if (folder !== ROOT) items.unshift(this.above ??= this.#up());
    if (entries.length === 0) items.push(h('li', { class: 'empty' }, icon('folder'), h('p', {}, 'This folder is empty.')));
    if (answer.more) items.push(h('li', { class: 'quiet' }, `Only the first ${entries.length} entries are shown.`));
    setChildren(this.list, items);
  }

  #enter(folder) {
    this.folder = folder;
    const parts = folder.split(ROOT).filter(Boolean);
    this.crumbs.replaceChildren(h('button', { type: 'button', onclick: () => this.show(ROOT) }, '/'), ...parts.map((p, i) => h('button', { type: 'button', onclick: () => this.show(ROOT + parts.slice(0, i + 1).join(ROOT)) }, show(p))));
    this.#watch();
  }

  /** A stream takes one of the few connections that a browser has for a server: there is one only while somebody can see this. */
  async #watch() {
    this.watching?.abort();
    if (document.hidden || this.off.signal.aborted || !this.folder) return;
    const stop = new AbortController();
    this.watching = stop;
    const { signal } = stop;
    const { folder } = this;
    while (!signal.aborted && this.isConnected) {
      try {
        await api.stream('GET', `${this.base}/watch?path=${folder}`, undefined, (e) => { if (e.event !== 'modified') this.#soon(folder); }, signal);
      } catch { /* paused, stopped, or not there: asked again below */ }
      if (!signal.aborted) await pause(AGAIN_MS);
    }
  }

  #soon(folder) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => { if (folder === this.folder && this.isConnected) this.show(folder, false); }, SOON_MS);
  }

  /** A file that is as it was keeps its row. */
  #draw(entries) {
    this.rows = keepRows(this.rows, entries, (e) => join(this.folder, encode(e)), (e) => this.#row(e));
    return [...this.rows.values()].map((r) => r.el);
  }

  #up() {
    return h('li', { class: 'folder' }, icon('folder'), h('button', { type: 'button', class: 'link', onclick: () => this.show(parent(this.folder)) }, '..'));
  }

  #row(e) {
    const name = encode(e);
    const text = show(name);
    const path = join(this.folder, name);
    const dir = isFolder(e);
    const open = () => (dir ? this.show(path) : this.#edit(path, e));
    return h('li', { class: dir ? 'folder' : null }, icon(dir ? 'folder' : 'file'), h('button', { type: 'button', class: 'link', title: e.name === undefined ? 'This name is not UTF-8.' : null, onclick: open }, text),
      h('span', { class: 'quiet num' }, dir ? '' : format.bytes(e.size)), h('span', { class: 'quiet mode' }, e.mode),
      h('span', { class: 'actions' },
        iconButton(`Download ${text}`, 'down', { onclick: () => (dir ? this.#downloadFolder(path) : this.#download(this.#url(path), text)) }),
        api.may('exec') && [iconButton(`Rename ${text}`, 'pen', { onclick: () => this.#rename(path) }),
          iconButton(`Remove ${text}`, 'trash', { class: 'danger', onclick: () => this.#remove(path, dir) })]));
  }

  /** A plain link lets the browser write to the disk as bytes come; with a pasted token the page has to fetch them itself. */
  async #download(url, name) {
    const a = h('a', { href: url, download: name });
    if (api.hasToken()) {
      try {
        a.href = URL.createObjectURL(await (await api.ask('GET', url)).blob());
      } catch (e) { fail(e); return; }
    }
    document.body.append(a);
    a.click();
    a.remove();
  }

  #downloadFolder(path) {
    this.#download(`${api.path('sandboxes', this.sandbox, 'archive')}?path=${path}&format=tar.gz`, `${show(lastName(path)) || 'root'}.tar.gz`);
  }

  /** A dropped folder looks like a file that cannot be read: it is told apart, and named. */
  #drop(what) {
    const folders = [...what.items].map((item) => item.webkitGetAsEntry?.()).filter((entry) => entry?.isDirectory).map((entry) => entry.name);
    if (folders.length) fail(new Error(`Folders cannot be uploaded (${folders.join(', ')}). Pack them into an archive, upload that, and unpack it in the terminal.`));
    this.#upload([...what.files].filter((f) => !folders.includes(f.name)));
  }

  async #upload(files) {
    const all = [...files];
    this.pick.value = '';
    await this.first;
    const folder = this.#here(); // this one, whatever is looked at meanwhile
    for (const f of all) await this.#uploadOne(folder, f);
    this.show(this.#here());
  }

  async #uploadOne(folder, f) {
    const stop = new AbortController();
    const bar = h('progress', { max: Math.max(1, f.size), value: 0, 'aria-label': `Upload of ${f.name}` });
    const sent = h('span', { class: 'quiet num' });
    const row = h('li', {}, h('span', { class: 'name' }, f.name), bar, sent, iconButton(`Cancel the upload of ${f.name}`, 'close', { onclick: () => stop.abort() }));
    this.uploads.append(row);
    try {
      await api.upload('PUT', this.#url(join(folder, encode(f.name))), f, (n, total) => {
        bar.value = n;
        sent.textContent = `${format.bytes(n)} of ${format.bytes(total)}`;
      }, stop.signal);
      note(`${f.name} was uploaded to ${show(folder)}.`, { kind: 'good' });
    } catch (e) { fail(e); }
    row.remove();
  }

  /** Asks for a name and does something with the path; a name that is refused can be corrected. */
  async #askName(title, yes, value, send) {
    await this.first;
    const folder = this.#here();
    const done = await ask({
      title, yes,
      fields: [h('label', { for: 'file-name' }, 'Name, or a path that starts with /'), h('input', { id: 'file-name', name: 'path', required: true, autofocus: true, autocomplete: 'off', spellcheck: 'false', value })],
      send: async ({ path }) => {
        if (!path.trim()) throw Object.assign(new Error('A name is needed.'), { field: 'path' });
        await send(path, folder);
        return true;
      },
      onForm: (form) => form.elements.path.select(),
    });
    if (done) this.show(this.#here());
  }

  #mkdir() {
    this.#askName('New folder', 'Create', '', (text, folder) => api.call('POST', `${this.base}/mkdir?path=${typed(text, folder)}`));
  }

  #newFile() {
    this.#askName('New file', 'Create', '', (text, folder) => api.call('PUT', this.#url(typed(text, folder), '&exclusive=true'), undefined, { bytes: '' }));
  }

  #rename(path) {
    this.#askName(`Rename or move ${show(lastName(path))}`, 'Rename', show(lastName(path)), (text, folder) => {
      const to = text === show(lastName(path)) ? path : typed(text, folder);
      return to === path ? null : api.call('POST', `${this.base}/move?path=${path}&to=${to}&no_replace=true`);
    });
  }

  async #remove(path, dir) {
    const yes = await ask({ title: `Remove ${show(path)}?`, text: dir ? 'The folder and everything in it is deleted. This cannot be undone.' : 'This cannot be undone.', yes: 'Remove', danger: true });
    if (!yes) return;
    await api.call('DELETE', this.#url(path, dir ? '&recursive=true' : '')).catch(fail);
    this.show(this.#here());
  }

  /** One at a time, until it is saved: what a second click would read is older than that. */
  async #edit(path, e) {
    if (e.size > EDIT_MAX || !isFile(e)) { this.#download(this.#url(path), show(encode(e))); return; }
    if (this.editing) return;
    this.editing = true;
    try {
      const file = await readText(this.base, path);
      if (file) await editText(this.base, path, show(path), file);
      else this.#download(this.#url(path), show(encode(e))); // not a text
    } catch (problem) {
      fail(problem);
    } finally { this.editing = false; }
    if (this.isConnected) this.show(this.#here());
  }
}
customElements.define('cay-files', Files);
