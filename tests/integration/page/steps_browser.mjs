// SPDX-License-Identifier: Apache-2.0
// The pane "Browser": drawn, taken over, clicked and typed into, handed back; beside it what pages print and ask; a link for others; recordings.
import { BASE, check, look, openTab, until } from './page.mjs';

const PAGE = `data:text/html,<title>Zero</title><style>body{margin:0;font:20px sans-serif;background:rgb(230,240,250)}h1{margin:20px}</style>
<body onmousedown="document.title='hit '+event.clientX+' '+event.clientY;document.body.style.background='rgb(250,245,225)'"><h1>A page in a sandbox</h1><p style="margin:20px"><input id=i style="font-size:20px;width:300px" placeholder="Type here">
<button>Buy</button></p><script>console.log('printed by the page')</script>`;
const state = (tab) => tab.evaluate(() => document.querySelector('cay-live-screen')?.dataset.state);
const shown = (tab) => tab.evaluate(() => document.querySelector('.live-tab.here')?.textContent);

/** How many colours the canvas has. */
const colours = (tab) => tab.evaluate(() => {
  const canvas = document.querySelector('.live-stage canvas');
  const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
  return new Set(new Uint32Array(data.buffer)).size;
});

/** Points are the page's, whatever the canvas is scaled to. */
async function click(tab, x, y) {
  const r = await tab.evaluate(() => {
    const b = document.querySelector('.live-stage canvas').getBoundingClientRect();
    return { left: b.left, top: b.top, width: b.width };
  });
  await tab.mouse.click(r.left + (x + 0.5) * r.width / 1280, r.top + (y + 0.5) * r.width / 1280, { delay: 30 });
}

const near = (title, x, y) => { const [, a, b] = /^hit (\d+) (\d+)/.exec(title || '') || []; return Math.abs(a - x) <= 3 && Math.abs(b - y) <= 3; };

async function start(p, name) {
  const { tab } = p;
  const box = (await p.help('make', { fields: { name, limits: { memory: '1g', pids: 512 } } }))[0];
  await p.open(box, 'browser');
  await tab.click('cay-browser button:has-text("Start the browser")');
  await until('the browser', async () => (await state(tab)) === 'connected');
  await p.help('act', { box, action: 'navigate', fields: { url: PAGE } });
  await until('the page', async () => (await shown(tab)) === 'Zero' && (await colours(tab)) > 5);
  return box;
}

export async function a_browser_is_looked_at_and_taken_over(p) {
  const { tab } = p;
  const box = await start(p, 'browser-test');
  const value = async (expression) => (await p.help('act', { box, action: 'evaluate', fields: { expression } })).value;
  await click(tab, 500, 400);
  check((await shown(tab)) === 'Zero', 'who has not taken over only looks');
  await p.help('act', { box, action: 'click', fields: { x: 640, y: 200 } });
  await until("the agent's pointer, where it is", () => tab.evaluate(() => {
    const [dot, canvas] = ['.live-dot', '.live-stage canvas'].map((s) => document.querySelector(s).getBoundingClientRect());
    const [x, y] = [dot.left + dot.width / 2 - canvas.left, dot.top + dot.height / 2 - canvas.top];
    return dot.width > 0 && Math.abs(x - canvas.width / 2) < 4 && Math.abs(y - canvas.height / 4) < 4;
  }));
  await tab.click('button:has-text("Take over")');
  await tab.waitForSelector('button:has-text("Hand back")');
  await click(tab, 500, 400);
  await until('the click', async () => near(await shown(tab), 500, 400));
  check((await p.help('refused', { box, action: 'click', fields: { x: 1, y: 1 } })) === 409, 'the agent waits meanwhile');
  await click(tab, 150, 100);
  await tab.keyboard.type('Grass');
  await tab.keyboard.press('Backspace');
  await until('what was typed', async () => (await value("document.getElementById('i').value")) === 'Gras');
  await tab.click('.live-side button:has-text("Console")');
  await until('what the page printed', () => tab.evaluate(() => document.querySelector('.live-list').textContent.includes('printed by the page')));
  await look(tab, 'browser');
  await tab.click('.live-side button:has-text("Network")');
  await until('what it asked for', () => tab.evaluate(() => document.querySelector('.live-list').textContent.includes('GET data:text/html')));
  await tab.fill('input[aria-label="Address"]', 'file:///etc/passwd');
  await tab.keyboard.press('Enter');
  await until('why not', () => tab.evaluate(() => document.querySelector('.live-note').textContent.includes('only addresses of http and https')));
  await tab.locator('.live-stage canvas').focus();
  await tab.keyboard.press('Shift+F6');
  check(await tab.evaluate(() => document.activeElement.textContent === 'Hand back'), 'Shift F6 leaves the browser');
  await tab.click('button:has-text("Hand back")');
  await tab.waitForSelector('button:has-text("Take over")');
  check((await p.help('refused', { box, action: 'click', fields: { x: 700, y: 500 } })) === 200, 'the agent goes on');
  // Whoever may only read looks.
  const reader = await p.another(p.owner, 'read');
  await reader.open(box, 'browser');
  await until('the same picture', async () => (await state(reader.tab)) === 'connected' && (await colours(reader.tab)) > 5);
  check(await reader.tab.isHidden('button:has-text("Take over")'), 'a reader only looks');
  await reader.leave();
  // A link: without signing in, in a browser that knows nobody.
  const link = (await p.help('live_link', { box, view_only: false })).page_url;
  const guest = await openTab(p.browser);
  await guest.goto(link);
  await until('the guest to see it', async () => (await state(guest)) === 'connected' && (await colours(guest)) > 5);
  check(!guest.url().includes('token'), 'the token is not left in the address');
  await guest.click('button:has-text("Take over")');
  await guest.waitForSelector('button:has-text("Hand back")');
  await tab.waitForSelector('.live-bar:has-text("Somebody else has taken over")');
  await click(guest, 300, 500);
  await until("the guest's click", async () => near(await shown(tab), 300, 500));
  await look(guest, 'browser_link');
  check(guest.faults.length === 0, guest.faults.join('\n'));
  await guest.context().close();
  await until('the turn to be free', () => tab.evaluate(() => !document.querySelector('.live-bar').textContent.includes('Somebody else')));
  await tab.click('button[aria-label="Stop the browser"]');
  await tab.waitForSelector('cay-browser:has-text("No browser runs")');
  await tab.goto(`${BASE}/#/sandboxes`);
  await p.destroy(box);
}

function showsTheClick() {
  const c = document.querySelector('.live-stage canvas');
  const [r, g, b] = c.getContext('2d').getImageData(c.width - 50, c.height - 50, 1, 1).data;
  return r > 240 && g > 235 && b > 200 && b < 240;
}

export async function a_recording_is_played(p) {
  const { tab } = p;
  const box = await start(p, 'browser-record');
  await tab.click('.live-side button:has-text("Record")');
  await tab.waitForSelector('button:has-text("Stop recording")');
  for (const colour of ['red', 'lime', 'blue']) {
    await p.help('act', { box, action: 'evaluate', fields: { expression: `document.body.style.background = '${colour}'` } });
    await tab.waitForTimeout(400); // so that each is a frame of its own
  }
  await p.help('act', { box, action: 'click', fields: { x: 640, y: 400 } });
  await until('what the click made of it', () => tab.evaluate(showsTheClick));
  await tab.waitForTimeout(400); // a frame less than 100 ms after the last one comes then
  await tab.click('button:has-text("Stop recording")');
  await tab.click('.live-side button:has-text("Recordings")');
  await tab.click('.live-records button:has-text("Play")');
  await until('the first frame', () => tab.evaluate(() => document.querySelector('.live-stage canvas')?.dataset.frame === '0'));
  await tab.selectOption('select[aria-label="Speed"]', '8');
  await tab.click('.live-play .bar button.primary');
  await until('its end', () => tab.evaluate(() => { const b = document.querySelector('.live-play input[type=range]'); return b.value === b.max; }));
  await until('the last frame', () => tab.evaluate(showsTheClick));
  await look(tab, 'browser_recording', { phone: false });
  await tab.click('button:has-text("Back to the list")');
  await tab.click('button[aria-label="Remove the recording"]');
  await tab.click('dialog button:has-text("Remove")');
  await tab.waitForSelector('cay-browser:has-text("No recordings")');
  await tab.goto(`${BASE}/#/sandboxes`);
  await p.destroy(box);
}
