// SPDX-License-Identifier: Apache-2.0
// What measures the page, or breaks the daemon under it: alone, one after another.
import { check, forgetLongest, longest, look, screen, until } from './page.mjs';

const LONG_MS = 1000; // nothing may hold the page's thread, or its frames, for longer
const TRIES = 3; // what the page does itself comes back each time; what the machine does beside it does not
const MOST = 8; // with those in which the machine itself stood still, which say nothing
const MANY = 'many'; // the owner of two hundred
const COUNT = 200;
let many = [];

/** Two hundred are made while others test. */
export async function makeMany(help) {
  many = await help('make', { owner: MANY, count: COUNT, fields: { own_user_only: true, project_name: 'many' } });
}

/** How long this program, which only waits, was held: that is the machine, not the page. */
function watchMachine() {
  let last = performance.now();
  let held = 0;
  const timer = setInterval(() => { const now = performance.now(); held = Math.max(held, now - last); last = now; }, 20);
  return () => { clearInterval(timer); return held; };
}

async function smoothly(tab, what, act) {
  let clear = 0;
  for (let i = 1; ; i++) {
    await forgetLongest(tab);
    const machine = watchMachine();
    await act(i);
    const { task, frame } = await longest(tab);
    clear += machine() < LONG_MS / 2;
    console.log(`  ${what}: longest task ${Math.round(task)} ms, longest frame ${Math.round(frame)} ms`);
    if (task < LONG_MS && frame < LONG_MS) return;
    check(clear < TRIES && i < MOST, `nothing held the page for ${LONG_MS} ms with ${what} (task ${task}, frame ${frame})`);
  }
}

export async function front_dies_and_page_recovers(p) {
  const { tab } = p;
  const box = await p.box({ name: 'survivor' });
  await p.terminal(box);
  await p.shell('BEFORE=still; for i in 1 2 3 4 5 6; do sleep 0.5; echo line$i; done', /line1/);
  await p.help('kill_front');
  await until('every line, once', async () => /line6/.test(await screen(tab)));
  const s = await screen(tab);
  for (let i = 1; i <= 6; i++) check(s.split(`\nline${i}`).length === 2, `line${i} is there once`);
  await p.shell('echo $BEFORE-here', /still-here/);
  await p.go('sandboxes');
  await tab.waitForSelector('.box:has-text("survivor")');
  const more = await p.box({ name: 'afterwards' });
  await tab.waitForSelector('.box:has-text("afterwards")');
  await p.destroy(box, more);
}

export async function much_output_does_not_freeze(p) {
  const { tab } = p;
  const box = await p.box({ name: 'flood' });
  await p.terminal(box);
  // That the page sees what holds it, before it is believed that nothing does.
  await tab.evaluate(() => { setTimeout(() => { const t = performance.now(); while (performance.now() - t < 300); }); });
  await until('a long task seen', async () => { const l = await longest(tab); return l.task >= 250 && l.frame >= 250; });
  await smoothly(tab, '50 MB of output', async (i) => {
    await p.shell(`yes 'fifty megabytes of this' | head -c 50000000; echo; echo flo''od-over-${i}`, new RegExp(`flood-over-${i}`));
    check((await tab.evaluate(() => document.querySelector('cay-terminal').cursor)) > i * 50000000, 'all of it came');
  });
  await p.destroy(box);
}

export async function two_hundred_sandboxes_stay_smooth(p) {
  const other = await p.another(MANY);
  const { tab } = other;
  await smoothly(tab, '200 sandboxes', async (n) => {
    const left = COUNT - 20 * (n - 1);
    await other.go('templates');
    await tab.waitForSelector('.template');
    await forgetLongest(tab);
    await other.go('sandboxes');
    await until(`${left} rows`, async () => (await tab.locator('.box').count()) === left);
    for (let i = 0; i < 10; i++) await tab.mouse.wheel(0, 900);
    await tab.fill('input[type=search]', many[COUNT - 7]);
    await until('one of them', async () => (await tab.locator('.box').count()) === 1);
    await tab.fill('input[type=search]', '');
    await other.destroy(...many.slice(COUNT - left, COUNT - left + 20));
    try {
      await until('twenty fewer', async () => (await tab.locator('.box').count()) === left - 20);
    } catch (e) {
      const list = await tab.evaluate(async () => {
        const all = (await (await fetch('/api/sandboxes?limit=500')).json()).sandboxes.map((b) => `${b.sandbox_id} ${b.status}`);
        const rows = [...document.querySelectorAll('.box')].map((r) => r.dataset.id);
        const events = (await (await fetch('/api/events?newest_first=true&limit=3')).json()).events;
        return { all: all.length, rows: rows.length, extra: rows.filter((id) => !all.some((b) => b.startsWith(id))), events: events.map((x) => `${x.seq} ${x.type} ${x.sandbox_id}`) };
      });
      throw new Error(`${e.message}: ${JSON.stringify(list)}`);
    }
  });
  await look(tab, 'many', { phone: false });
  await other.leave();
}
