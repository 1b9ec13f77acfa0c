// SPDX-License-Identifier: Apache-2.0
// Pictures for the documentation: a daemon with some life in it. Not a test: test_page.py pictures, which takes two minutes.
import { look, until } from './page.mjs';

const WAVES = 'python3 -c "import math, time\nwhile True:\n    busy = 0.5 + 0.45 * math.sin(time.time() / 4); end = time.time() + busy / 5\n    while time.time() < end: pass\n    time.sleep((1 - busy) / 5)"';
const GROWS = 'python3 -c "import time\nx = []\nwhile True:\n    x.append(bytearray(1500000)); time.sleep(0.3)\n    if len(x) > 60: x = []"';
const TALKS = 'cd /tmp; head -c 400000 /dev/zero > much; python3 -m http.server 8000 >/dev/null 2>&1 & sleep 1; while :; do python3 -c "import urllib.request; urllib.request.urlopen(\'http://127.0.0.1:8000/much\').read()"; sleep 0.2; done';
const BOXES = [['review-1482', 'python'], ['scratch', 'shell'], ['docs-preview', 'node'], ['data-import', 'python'], ['api-tests', 'python']];

export async function pictures(p) {
  const { tab } = p;
  const made = {};
  for (const [name, template] of BOXES) made[name] = await p.box({ name, template, timeout: '2h' });
  await p.help('start', { box: made['api-tests'], command: WAVES });
  await p.help('start', { box: made['data-import'], command: GROWS });
  await p.help('start', { box: made['docs-preview'], command: TALKS });
  await p.go('sandboxes');
  await tab.waitForSelector('.box:has-text("scratch") .spark:not([hidden])');
  await tab.locator('.box:has-text("scratch") [data-verb=stop]').click();
  await tab.click('dialog button[type=submit]');
  await tab.locator('.box:has-text("review-1482") [data-verb=pause]').click();
  await tab.waitForTimeout(62000); // curves
  await look(tab, 'docs_sandboxes');
  await p.terminal(made['docs-preview'], 'charts');
  await p.shell('PS1="\\[\\e[36m\\]sandbox\\[\\e[0m\\]:\\w\\$ "; clear', /sandbox:/);
  await p.shell('python3 -c "import sys; print(sys.version)"; ls -l --color=always /; curl -m 2 https://example.org', /Could not resolve host[^$]*\$/);
  await tab.waitForTimeout(12000);
  await look(tab, 'docs_sandbox');
  for (let i = 0; i < 60; i++) await p.help('run', { box: made['api-tests'], command: 'true' });
  await p.go('metrics');
  await until('figures', async () => / ms$/.test(await tab.textContent('cay-metrics [data-of=exec_start-p99]')));
  await tab.waitForTimeout(8000);
  await look(tab, 'docs_metrics');
  await p.go('templates');
  await tab.waitForSelector('.template');
  await look(tab, 'docs_templates');
  await p.go('try');
  await tab.fill('#message', 'Please run this:\n\n```python\nimport platform\nfor i in range(3):\n    print(i, platform.machine())\nprint(1 / 0)\n```\n');
  await tab.keyboard.press('Control+Enter');
  await tab.waitForSelector('.run .after:has-text("has been destroyed")');
  await look(tab, 'docs_try');
  await tab.click('#split');
  await look(tab, 'docs_try_split');
  await tab.click('#split');
  await p.destroy(...Object.values(made));
}
