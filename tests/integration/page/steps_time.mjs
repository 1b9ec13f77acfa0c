// SPDX-License-Identifier: Apache-2.0
// The time line of a sandbox: steps with what they changed, back to one, a branch of one; recorded terminals are played.
import { check, look, until } from './page.mjs';

export async function a_time_line(p) {
  const { tab } = p;
  const box = await p.box({ name: 'time-test', checkpoint: true });
  await p.help('run', { box, command: "mkdir -p src && printf 'print(1)\\n' > src/app.py" });
  await p.help('run', { box, command: "printf 'print(2)\\n' > src/app.py; echo notes > README.md" });
  await p.open(box, 'timeline');
  await tab.waitForSelector('.steps li[data-step="2"]');
  check((await tab.locator('.steps > li').count()) >= 2, 'a step before each command');
  // What the first command did is between its step and the next.
  await tab.click('button[aria-label="Changes since step 1"]');
  await tab.waitForSelector('[data-step="1"] .changes li.added:has-text("src")');
  await tab.click('button[aria-label="Changes since step 2"]');
  await tab.waitForSelector('[data-step="2"] .changes li.changed:has-text("src/app.py")');
  await tab.waitForSelector('[data-step="2"] .changes li.added:has-text("README.md")');
  await look(tab, 'time_line');
  // A branch of a step.
  await tab.click('button[aria-label="Fork step 2"]');
  await tab.click('dialog button[type=submit]');
  await tab.waitForSelector('.note:has-text("1 sandbox was made")');
  // Back: the files are what they were, and those of before are a step.
  await tab.click('button[aria-label="Undo to step 2"]');
  await tab.click('dialog button[type=submit]');
  await tab.waitForSelector('.note:has-text("The files are those of step 2")');
  await tab.waitForSelector('.steps li.made:has-text("undo to step 2")');
  check((await p.help('run', { box, command: 'cat src/app.py; ls' })).stdout === 'print(1)\nsrc\n', 'they are back');
  for (const b of await p.help('boxes')) await p.destroy(b);
}

export async function a_recorded_terminal(p) {
  const { tab } = p;
  const box = await p.box({ name: 'cast-test', record: true });
  await p.help('tty', { box, command: "printf '\\033[1;32mhello\\033[0m from the past\\r\\n'; sleep 0.3; printf 'second line\\r\\n'; sleep 0.3; echo end" });
  await p.open(box, 'timeline');
  await tab.click('.casts .play');
  await tab.waitForSelector('dialog.player .xterm-rows:has-text("hello from the past")');
  await until('its end', async () => (await tab.locator('dialog.player .toggle:has-text("Play")').count()) === 1);
  await tab.waitForSelector('dialog.player .xterm-rows:has-text("end")'); // drawn in a frame of the terminal's own
  await look(tab, 'player', { phone: false });
  // Any place, at any speed.
  await tab.locator('dialog.player input[type=range]').fill('0');
  await until('the begin', async () => !(await tab.locator('dialog.player .xterm-rows').textContent()).includes('end'));
  await tab.selectOption('dialog.player select', '16');
  await tab.click('dialog.player .toggle');
  await tab.waitForSelector('dialog.player .xterm-rows:has-text("end")');
  await tab.keyboard.press('Escape');
  await tab.locator('dialog.player').waitFor({ state: 'detached' });
  const [download] = await Promise.all([tab.waitForEvent('download'), tab.click('.casts a')]);
  check(download.suggestedFilename().endsWith('.cast'), 'it can be kept');
  await p.destroy(box);
}
