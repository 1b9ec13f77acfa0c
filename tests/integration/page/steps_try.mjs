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

const RICH = `
class Box:
    def __init__(self, **kinds): self.kinds = kinds
    def __repr__(self): return 'a box'
    def _repr_mimebundle_(self, include=None, exclude=None): return self.kinds
red = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=='
display(Box(**{'image/png': __import__('base64').b64decode(red)}))
display(Box(**{'image/svg+xml': '<svg xmlns="http://www.w3.org/2000/svg" width="20" height="20"><script>parent.hacked = 1</script><circle r="9"/></svg>'}))
display(Box(**{'text/html': '<b id="bold">bold</b><script>top.hacked = 1</script><img src="x" onerror="top.hacked = 1">'}))
class DataFrame:
    columns = ['name', 'value']
    index = [0, 1]
    def head(self, n): return self
    def to_dict(self, how): return [{'name': '<i>a</i>', 'value': 1}, {'name': 'b', 'value': 2.5}]
    def __len__(self): return 2
display(DataFrame())
class Figure: # as one of matplotlib
    def savefig(self, out, **how): out.write(__import__('base64').b64decode(red))
    axes = [type('Axes', (), dict(containers=[], collections=[], patches=[], get_title=lambda s: 'T', get_xlabel=lambda s: 'time', get_ylabel=lambda s: '',
        get_lines=lambda s: [type('L', (), dict(get_xdata=lambda s: [1, 2], get_ydata=lambda s: [3, 4.5], get_label=lambda s: 'a'))()]))()]
Figure.__module__ = 'matplotlib.figure'
display(Figure())
x + 1`;

export async function a_notebook_keeps_variables_and_draws_results(p) {
  const { tab } = p;
  await p.go('try');
  await tab.click('#notebook');
  const cell = (n) => tab.locator('.cell').nth(n);
  await cell(0).locator('textarea').fill('x = 41\nprint("<b>live</b>")');
  await tab.keyboard.press('Shift+Enter');
  await tab.waitForSelector('.cell .output:has-text("<b>live</b>")');
  await tab.waitForSelector('.cell .count:has-text("[1]")');
  const box = await tab.evaluate(() => document.querySelector('.notebook a').textContent);
  await cell(1).locator('textarea').fill(RICH);
  await cell(1).locator('button:has-text("Run")').click();
  await tab.waitForSelector('.cell .count:has-text("[2]")');
  await until('all that is drawn', async () => (await cell(1).locator('.result').count()) === 6);
  check(await tab.evaluate(() => [...document.querySelectorAll('.cell .result img')].map((i) => i.complete && i.naturalWidth > 0).join()) === 'true,true,true', 'the pictures');
  await cell(1).frameLocator('iframe').locator('#bold').waitFor();
  await cell(1).locator('summary').click();
  const cells = (await cell(1).locator('td').allTextContents()).join();
  check(cells === '<i>a</i>,1,b,2.5,T,a,1,3,T,a,2,4.5', `the table and the numbers of the chart, as text: ${cells}`);
  check((await cell(1).locator('.result-text').textContent()) === '42', 'the last value');
  check(await tab.evaluate(() => window.hacked === undefined), 'nothing of a result runs in the page');
  await look(tab, 'a notebook');
  // An error, an interrupt, another language, and a restart.
  await tab.click('.notebook button:has-text("Add cell")');
  await cell(2).locator('textarea').fill('1/0');
  await tab.keyboard.press('Control+Enter');
  await tab.waitForSelector('.cell .problem:has-text("ZeroDivisionError")');
  await cell(2).locator('textarea').fill('import time\nprint("begun", flush=True)\ntime.sleep(600)');
  await tab.keyboard.press('Control+Enter');
  await cell(2).locator('.output:has-text("begun")').waitFor();
  await cell(2).locator('button:has-text("Interrupt")').click();
  await tab.waitForSelector('.cell .problem:has-text("KeyboardInterrupt")');
  await tab.click('.notebook button:has-text("Restart")');
  await until('the numbers are gone', async () => (await tab.locator('.cell .count:has-text("[2]")').count()) === 0);
  await cell(2).locator('textarea').fill('x');
  await tab.keyboard.press('Control+Enter');
  await tab.waitForSelector('.cell .problem:has-text("NameError")');
  await cell(2).locator('select').selectOption('bash');
  await cell(2).locator('textarea').fill('echo in $0');
  await tab.keyboard.press('Control+Enter');
  await cell(2).locator('.output:has-text("in ")').waitFor();
  // It stays when one looks elsewhere, and its sandbox can be destroyed there.
  await p.go('metrics');
  await p.go('try');
  check((await tab.locator('.cell').count()) === 3, 'the cells are there when one comes back');
  await p.destroy(box);
  await cell(0).locator('button:has-text("Run")').click();
  await tab.waitForSelector('.cell .problem');
  await tab.waitForSelector('.notebook :text("Its sandbox is gone")');
  await cell(0).locator('button:has-text("Run")').click();
  await tab.waitForSelector('.cell .output:has-text("<b>live</b>")');
  await p.destroy(await tab.evaluate(() => document.querySelector('.notebook a').textContent));
  await tab.click('#notebook');
  await tab.waitForSelector('#message');
}
