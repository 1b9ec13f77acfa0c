// SPDX-License-Identifier: Apache-2.0
// Runs the steps: those of different people beside each other, those that measure or break something alone at the end. A step gets its person
// with a signed-in tab, and leaves it so; a step that fails costs the person the tab, not the others.
import readline from 'node:readline';
import { checkFaults, openBrowser, Person, showFailure } from './page.mjs';
import * as browsers from './steps_browser.mjs';
import * as create from './steps_create.mjs';
import * as desktop from './steps_desktop.mjs';
import * as files from './steps_files.mjs';
import * as heavy from './steps_heavy.mjs';
import * as keyboard from './steps_keyboard.mjs';
import * as list from './steps_list.mjs';
import * as machines from './steps_machines.mjs';
import * as others from './steps_others.mjs';
import * as sandbox from './steps_sandbox.mjs';
import * as signIn from './steps_sign_in.mjs';
import * as terminal from './steps_terminal.mjs';
import * as time from './steps_time.mjs';
import * as tryIt from './steps_try.mjs';
import { pictures } from './pictures.mjs';
import { real_builds } from './steps_builds.mjs';

const waiting = new Map();
readline.createInterface({ input: process.stdin }).on('line', (line) => {
  const [number, answer, problem] = JSON.parse(line);
  const { resolve, reject } = waiting.get(number);
  waiting.delete(number);
  if (problem) reject(new Error(problem));
  else resolve(answer);
});

let asked = 0;
/** What test_page.py does for the steps. */
function help(what, args) {
  asked += 1;
  process.stdout.write(`ask ${JSON.stringify([asked, what, args])}\n`);
  return new Promise((resolve, reject) => { waiting.set(asked, { resolve, reject }); });
}

const { activity_processes_ports_charts, a_refusal_that_passes, news_do_not_wait_for_a_broken_list, ...inside } = sandbox;
const beside = { activity_processes_ports_charts, a_refusal_that_passes, news_do_not_wait_for_a_broken_list };
const { a_desktop_comes_back, ...desk } = desktop;
const LANES = [{ owner: 'ada', steps: { ...list, ...create, ...inside } }, { owner: 'ben', steps: { ...signIn, ...keyboard, ...others, ...beside } },
  { owner: 'cyd', steps: { ...files, ...tryIt, ...desk, ...browsers, ...machines } }, { owner: 'cleo', steps: { ...terminal, ...time } }];

const wanted = process.argv.slice(2);
const browser = await openBrowser();
let failed = 0;

async function run({ owner, steps }) {
  const chosen = Object.entries(steps).filter(([name]) => !wanted.length || wanted.includes(name));
  if (!chosen.length) return;
  let person = await new Person(browser, help, owner).signIn();
  for (const [name, step] of chosen) {
    const from = performance.now();
    try {
      await step(person);
      checkFaults(person.tab);
      console.log(`ok ${name} (${Math.round(performance.now() - from)} ms)`);
    } catch (e) {
      failed += 1;
      console.log(`FAILED ${name}: ${e.stack.split('\n').slice(0, 12).join('\n')}`);
      await showFailure(person.tab, name);
      await person.tab.context().close().catch(() => {});
      person = await new Person(browser, help, owner).signIn();
    }
  }
  await person.tab.context().close();
}

try {
  const { makeMany, front_dies_and_page_recovers, ...measuring } = heavy;
  if (wanted.includes('real_builds')) await run({ owner: 'builder', steps: { real_builds } }); // with a Docker: docker/test_images.py
  if (wanted.includes('pictures')) await run({ owner: 'default', steps: { pictures } });
  await run({ owner: 'default', steps: { front_dies_and_page_recovers, a_desktop_comes_back } });
  await Promise.all([!wanted.length || wanted.includes('two_hundred_sandboxes_stay_smooth') ? makeMany(help) : null, ...LANES.map(run)]);
  await run({ owner: 'default', steps: measuring });
} finally {
  await browser.close();
}
process.exit(failed ? 1 : 0);
