// SPDX-License-Identifier: Apache-2.0
// node --import ./patience.mjs: the conformance tool gives some requests half a second, which a busy machine may need to start one process.
// Here such a deadline begins again when it finds a request without the beginning of its answer, a bounded number of times; those of many
// seconds, which nothing that works ever meets, are longer, and so are those that it reckons by the clock.
let unanswered = 0;
const ask = globalThis.fetch;
globalThis.fetch = async (...words) => {
  unanswered++;
  try {
    return await ask(...words);
  } finally {
    unanswered--;
  }
};

const set = globalThis.setTimeout;
const patient = (f, ms, ...rest) => {
  if (ms >= 5000) return set(f, 4 * ms, ...rest);
  let more = String(f).includes("abort()") ? Math.ceil(20000 / ms) : 0;
  const timer = set(() => (unanswered > 0 && more-- > 0 ? timer.refresh() : f(...rest)), ms);
  return timer;
};
globalThis.setTimeout = Object.defineProperties(patient, Object.getOwnPropertyDescriptors(set));

const timeout = AbortSignal.timeout;
AbortSignal.timeout = (ms) => timeout.call(AbortSignal, Math.max(ms, 20000));

const clock = Date.now;
const begun = clock();
Date.now = () => begun + Math.floor((clock() - begun) / 4);
