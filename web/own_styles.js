// SPDX-License-Identifier: Apache-2.0
// The page's policy allows no inline style, and xterm writes style elements and style attributes. Here these become sheets of the document
// and properties of the element, which the policy leaves to scripts that it has let in. Loaded before xterm.

const sheets = new Map(); // what stands for a style element -> its sheet
const createElement = document.createElement.bind(document);
const { setAttribute } = Element.prototype;

function adopt(el) {
  let sheet = sheets.get(el);
  if (!sheet) {
    sheet = new CSSStyleSheet();
    sheets.set(el, sheet);
    document.adoptedStyleSheets.push(sheet);
  }
  sheet.replaceSync(el.textContent);
}

document.createElement = (tag, options) => {
  if (tag.toLowerCase() !== 'style') return createElement(tag, options);
  const el = createElement('cay-style'); // an element like any other, which cay.css does not show
  new MutationObserver(() => adopt(el)).observe(el, { childList: true, characterData: true, subtree: true });
  return el;
};

Element.prototype.setAttribute = function set(name, value) {
  if (name === 'style' && this.style) this.style.cssText = value;
  else setAttribute.call(this, name, value);
};

/** Sheets whose elements have left the page go too. */
export function sweepStyles() {
  for (const [el, sheet] of sheets) {
    if (el.isConnected) continue;
    sheets.delete(el);
    document.adoptedStyleSheets = document.adoptedStyleSheets.filter((s) => s !== sheet);
  }
}
