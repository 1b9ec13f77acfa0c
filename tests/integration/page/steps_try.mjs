// SPDX-License-Identifier: Apache-2.0
// Try it: every block, what is true after Stop, the conversation over a reload, the sandbox that ran it, code beside its output.
import { check, look, until } from './page.mjs';

/** There is nothing to clear where nothing was said. */
async function clear(tab) {
  await tab.waitForSelector('#message');
  if (await tab.locator('.turn').count()) await tab.click('cay-try button:has-text("Clear")');
  check(!(await tab.isVisible('cay-try button:has-text("Clear")')), 'nothing is left to clear');
}

async function send(tab, text) {
  await tab.fill('#message', text);
  await tab.keyboard.press('Control+Enter');
}

export async function every_block_runs_and_the_conversation_stays(p) {
  const { tab } = p;
  await p.go('try');
  await clear(tab);
  await send(tab, 'Please run these:\n\n```python\nprint("first", 1 + 1)\n```\n\nand then\n\n```python\nprint("second", 2 + 2)\n```\n');
  await tab.waitForSelector('.run:has-text("Block 1 of 2") .output:has-text("first 2")');
  await tab.waitForSelector('.run:has-text("Block 2 of 2") .output:has-text("second 4")');
  await until('both ends', async () => (await tab.locator('.run .after:has-text("has been destroyed")').count()) === 2);
  await p.go('metrics');
  await tab.waitForSelector('cay-metrics');
  await p.go('try');
  check((await tab.locator('.turn.run').count()) === 2, 'it is there when one comes back');
  await tab.reload();
  await tab.waitForSelector('.turn.you:has-text("Please run these")');
  await tab.waitForSelector('.run .output:has-text("second 4")');
  await clear(tab);
  check((await tab.locator('.turn').count()) === 0, 'and goes when it is cleared');
}

export async function after_stop_it_says_what_is_true(p) {
  const { tab } = p;
  await p.go('try');
  await clear(tab);
  await send(tab, 'Run this:\n\n```python\nimport time\nprint("begun", flush=True)\ntime.sleep(600)\n```\n');
  await tab.waitForSelector('.run .output:has-text("begun")');
  await tab.waitForSelector('.run a:has-text("Open this sandbox")');
  await tab.click('.run button:has-text("Stop")');
  await tab.waitForSelector('.verdict .state:has-text("stopped")');
  await tab.waitForSelector('.run .after:has-text("has been destroyed")');
  check(!(await tab.textContent('.verdict')).includes('not run'), 'it did run');
  const left = await tab.evaluate(() => fetch('/api/sandboxes').then((r) => r.json()).then((a) => a.sandboxes.length));
  check(left === 0, `no sandbox is left: ${left}`);
  // Kept, it can be opened.
  await tab.check('#keep-sandbox');
  await send(tab, 'Run this:\n\n```python\nopen("made.txt", "w").write("x")\n```\n');
  await tab.waitForSelector('.run .after:has-text("It is kept")');
  await tab.click('.run .after:has-text("It is kept") a');
  await tab.waitForSelector('.files li:has-text("made.txt")');
  const box = await tab.getAttribute('cay-sandbox', 'sandbox');
  check((await tab.evaluate((id) => fetch(`/api/sandboxes/${id}`).then((r) => r.json()), box)).idle_limit_ms > 0, 'it has an end');
  await p.destroy(box);
}

/** Document 001: a button beside Send; code on the left, its output, live, on the right. */
export async function split_screen(p) {
  const { tab } = p;
  await p.go('try');
  await clear(tab);
  await tab.click('#split');
  check((await tab.getAttribute('#split', 'aria-pressed')) === 'true', 'it is on');
  await send(tab, 'Please run this:\n\n```python\nimport time\nfor i in range(40):\n    print("line", i, flush=True)\n    time.sleep(0.1)\n```\n');
  await tab.waitForSelector('.outputs .output:has-text("line 3")');
  check((await tab.locator('.outputs button:has-text("Stop")').count()) === 1, 'while it runs');
  const at = await tab.evaluate(() => ({ code: document.querySelector('.turn.you').getBoundingClientRect(), out: document.querySelector('.outputs').getBoundingClientRect() }));
  check(at.code.right <= at.out.left && Math.abs(at.code.top - at.out.top) < 400, 'beside each other');
  await tab.waitForSelector('.outputs .verdict .state:has-text("exit 0")');
  await tab.waitForSelector('.outputs .after:has-text("has been destroyed")');
  await look(tab, 'try_split');
  await tab.reload();
  await tab.waitForSelector('.outputs .output:has-text("line 39")');
  await tab.click('#split');
  await tab.waitForSelector('.chat .run .output:has-text("line 39")');
  check(await tab.locator('.outputs').isHidden(), 'one column again');
  await clear(tab);
}
