// SPDX-License-Identifier: Apache-2.0
// Paths in a sandbox. A name there is bytes, and need not be UTF-8; so a path is kept as it stands in a query: percent-encoded.

/** A text, or an entry of a list ({name} or {name_base64}), as part of a query. */
export function encode(name) {
  if (typeof name === 'string') return encodeURIComponent(name);
  if (name.name !== undefined) return encodeURIComponent(name.name);
  return Array.from(atob(name.name_base64), (c) => `%${c.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`).join('');
}

/** For people: what is no text is shown as \ufffd. */
export function show(path) {
  const bytes = [];
  for (let i = 0; i < path.length; i++) {
    if (path[i] === '%') {
      bytes.push(parseInt(path.slice(i + 1, i + 3), 16));
      i += 2;
    } else bytes.push(path.charCodeAt(i));
  }
  return new TextDecoder().decode(new Uint8Array(bytes));
}

export const ROOT = encode('/');
export const join = (folder, name) => `${folder === ROOT ? '' : folder}${ROOT}${name}`;
export const parent = (path) => path.slice(0, path.lastIndexOf(ROOT)) || ROOT;
export const lastName = (path) => path.slice(path.lastIndexOf(ROOT) + ROOT.length);
/** What the user typed, below this folder unless it starts with '/'. A name that could not be shown whole stays as it was. */
export function typed(text, folder, was) {
  if (was && text === show(was)) return was;
  return text.startsWith('/') ? encode(text.replace(/\/+$/, '') || '/') : join(folder, encode(text));
}
