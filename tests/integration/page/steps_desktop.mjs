// SPDX-License-Identifier: Apache-2.0
// The desktop on the page: drawn, typed into, its clipboard both ways, its size, only looked at, and back after the daemon's front died.
import { BASE, check, look, until } from './page.mjs';

const TERMINAL = { x: 300, y: 200 }; // a place in the desktop's first window
const state = (tab) => tab.evaluate(() => document.querySelector('cay-desktop-screen')?.dataset.state);
const isIn = (tab) => until('the desktop', async () => (await state(tab)) === 'connected');
const desktop = (tab, box) => tab.evaluate((id) => fetch(`/api/sandboxes/${id}/desktop`).then((r) => r.json()), box);
const runIn = async (p, box, command) => (await p.help('run', { box, command })).stdout;

/** How many colours the canvas has: an empty one has one. */
const colours = (tab) => tab.evaluate(() => {
  const canvas = document.querySelector('cay-desktop-screen canvas');
  const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
  return new Set(new Uint32Array(data.buffer)).size;
});

/** Points are the desktop's, whatever the canvas is scaled to. */
async function click(tab, { x, y }, how = {}) {
  const at = await tab.evaluate(([px, py]) => {
    const canvas = document.querySelector('cay-desktop-screen canvas');
    const r = canvas.getBoundingClientRect();
    return { x: r.left + (px + 0.5) * r.width / canvas.width, y: r.top + (py + 0.5) * r.height / canvas.height };
  }, [x, y]);
  await tab.mouse.move(at.x, at.y);
  await tab.mouse.click(at.x, at.y, { delay: 50, ...how });
}

async function type(tab, text) {
  await tab.keyboard.type(text, { delay: 5 });
  await tab.keyboard.press('Enter');
}

async function start(p, name) {
  const { tab } = p;
  const box = await p.box({ name, limits: { memory: '512m' } });
  await p.open(box, 'desktop');
  await tab.click('cay-desktop-screen button:has-text("Start the desktop")');
  await isIn(tab);
  await until('its first picture', async () => (await colours(tab)) > 5);
  return box;
}

export async function a_desktop_draws_and_types(p) {
  const { tab } = p;
  const asked = [];
  const note = (r) => asked.push(new URL(r.url()).pathname);
  tab.on('request', note);
  const first = await p.box({ name: 'no-desktop' });
  await p.terminal(first);
  check(!asked.some((u) => /novnc|\/desktop\./.test(u)), `nothing of it is fetched before it is wanted: ${asked}`);
  await p.destroy(first);
  const box = await start(p, 'desktop-test');
  tab.off('request', note);
  check(asked.includes('/npm/novnc/core/rfb.js') && asked.includes('/desktop.js'), 'what draws it is fetched');
  await click(tab, TERMINAL);
  await type(tab, 'echo "Green $((6*7))" > typed.txt');
  await until('what was typed', async () => (await runIn(p, box, 'cat typed.txt 2>/dev/null; true')) === 'Green 42\n');
  // A screen's keyboard has no keys, only texts.
  await tab.focus('.desk-keys');
  await tab.keyboard.insertText('echo Größe Ω > touched.txtx');
  await tab.keyboard.press('Backspace');
  await tab.keyboard.press('Enter');
  await until('what was touched', async () => (await runIn(p, box, 'cat touched.txt 2>/dev/null; true')) === 'Größe Ω\n');
  await click(tab, TERMINAL);
  await type(tab, 'clear; ls --color=always -l /usr');
  await look(tab, 'desktop');
  // Its clipboard: from this side, pasted with the middle button; and what is marked there. A program asks for a text when it likes.
  await click(tab, TERMINAL);
  await type(tab, 'clear');
  await tab.click('button[aria-label="Clipboard"]');
  await tab.fill('.desk-text textarea', 'touch pasted-here');
  await tab.locator('.desk-text textarea').blur();
  await tab.click('button[aria-label="Clipboard"]');
  await click(tab, TERMINAL, { button: 'middle' });
  await until('what was pasted', async () => { await tab.keyboard.press('Enter'); return (await runIn(p, box, 'ls')).includes('pasted-here'); });
  await type(tab, 'clear; echo marked-word');
  await until('what was marked', async () => {
    await click(tab, { x: 100, y: 70 }, { clickCount: 3 });
    return tab.evaluate(() => document.querySelector('.desk-text textarea').value.includes('marked-word'));
  });
  // Keys get out again.
  await tab.keyboard.press('Shift+F6');
  check(await tab.evaluate(() => document.activeElement.getAttribute('aria-label') === 'Size'), 'Shift F6 leaves the desktop');
  await p.destroy(box);
}

export async function a_desktop_is_sized_looked_at_and_stopped(p) {
  const { tab } = p;
  const box = await start(p, 'desktop-size');
  const before = await desktop(tab, box);
  check(before.width === 1280 && before.height === 800, `to look at it changes nothing: ${JSON.stringify(before)}`);
  await tab.selectOption('select[aria-label="Size"]', 'resize');
  const now = await until('another size', async () => { const d = await desktop(tab, box); return d.width !== 1280 && d; });
  const wide = await tab.evaluate(() => document.querySelector('.desk-screen').clientWidth);
  check(Math.abs(now.width - wide) <= 1, `it is as wide as the pane (${wide}): ${JSON.stringify(now)}`);
  await tab.selectOption('select[aria-label="Size"]', 'fit');
  await click(tab, TERMINAL);
  await tab.check('.desk-check input');
  await type(tab, 'touch never');
  await tab.uncheck('.desk-check input');
  await click(tab, TERMINAL);
  await type(tab, 'touch always');
  await until('what was typed', async () => (await runIn(p, box, 'ls')).includes('always'));
  check(!(await runIn(p, box, 'ls')).includes('never'), 'who only looks types nothing');
  await tab.click('button[aria-label="Full screen"]');
  await until('the full screen', () => tab.evaluate(() => document.fullscreenElement?.className === 'desk-whole'));
  await tab.evaluate(() => document.exitFullscreen());
  // While somebody else holds a button, what one does is left out, and one is told so.
  const other = await p.another(p.owner, 'exec');
  await other.open(box, 'desktop');
  await isIn(other.tab);
  await until('the other to have it', async () => {
    await click(other.tab, TERMINAL);
    return other.tab.evaluate(() => !document.querySelector('.desk-bar').textContent.includes('Somebody else'));
  });
  await other.tab.mouse.down();
  await until('the word that it is taken', async () => {
    await click(tab, TERMINAL);
    return tab.evaluate(() => document.querySelector('.desk-bar').textContent.includes('Somebody else is using it'));
  });
  await other.tab.mouse.up();
  await other.leave();
  await until('the turn to come back', async () => {
    await click(tab, TERMINAL);
    return tab.evaluate(() => !document.querySelector('.desk-bar').textContent.includes('Somebody else'));
  });
  // Whoever may only read looks, and is offered no more.
  const reader = await p.another(p.owner, 'read');
  await reader.open(box, 'desktop');
  await isIn(reader.tab);
  check(await reader.tab.isDisabled('.desk-check input') && await reader.tab.isHidden('button[aria-label="Stop the desktop"]'), 'a reader only looks');
  await until('the same picture', async () => (await colours(reader.tab)) > 5);
  await tab.click('button[aria-label="Stop the desktop"]');
  await tab.waitForSelector('cay-desktop-screen:has-text("No desktop runs")');
  await reader.tab.waitForSelector('cay-desktop-screen:has-text("read access")');
  await reader.leave();
  await tab.goto(`${BASE}/#/sandboxes`);
  await p.destroy(box);
}

/** Alone: it takes the others' connections, too. */
export async function a_desktop_comes_back(p) {
  const { tab } = p;
  const box = await start(p, 'desktop-back');
  await p.help('kill_front');
  await until('its loss', async () => (await state(tab)) !== 'connected');
  await isIn(tab);
  await until('its picture', async () => (await colours(tab)) > 5);
  await click(tab, TERMINAL);
  await type(tab, 'touch after');
  await until('what was typed', async () => (await runIn(p, box, 'ls')).includes('after'));
  await p.destroy(box);
}
