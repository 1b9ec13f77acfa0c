// SPDX-License-Identifier: Apache-2.0
// What a result is like (sdk/suite/README.md).
const show = (v) => JSON.stringify(v)?.slice(0, 600) ?? String(v);
const isObject = (v) => v !== null && typeof v === "object" && !Array.isArray(v);
const kindOf = (v) => (v === null || v === undefined ? "null" : Array.isArray(v) ? "list" : typeof v);

function holds(value, wanted) {
  try {
    isLike(value, wanted);
    return true;
  } catch {
    return false;
  }
}

/** Lengths of texts are counted in characters, as Python counts them. */
const lengthOf = (v) => (typeof v === "string" ? [...v].length : v?.length);
const contains = (v, x) => (typeof v === "string" ? v.includes(x) : Array.isArray(v) && v.some((item) => holds(item, x)));

const TESTS = {
  $any: (v) => v !== null && v !== undefined,
  $type: (v, x) => kindOf(v) === x,
  $contains: contains,
  $not_contains: (v, x) => !contains(v, x),
  $match: (v, x) => typeof v === "string" && new RegExp(x, "u").test(v),
  $least: (v, x) => typeof v === "number" && v >= x,
  $most: (v, x) => typeof v === "number" && v <= x,
  $length: (v, x) => holds(lengthOf(v), x),
  $each: (v, x) => Array.isArray(v) && v.every((item) => holds(item, x)),
};

/** Throws unless it is. */
export function isLike(value, wanted, at = "result") {
  const fail = () => {
    throw new Error(`${at} is ${show(value)}, not like ${show(wanted)}`);
  };
  if (isObject(wanted)) {
    const keys = Object.keys(wanted);
    if (keys.length === 1 && keys[0].startsWith("$")) {
      const test = TESTS[keys[0]];
      if (!test) throw new Error(`unknown test ${keys[0]}`);
      if (!test(value, wanted[keys[0]])) fail();
      return;
    }
    if (!isObject(value)) fail();
    for (const k of keys) isLike(value[k], wanted[k], `${at}.${k}`);
    return;
  }
  if (Array.isArray(wanted)) {
    if (!Array.isArray(value) || value.length !== wanted.length) fail();
    wanted.forEach((w, i) => isLike(value[i], w, `${at}.${i}`));
    return;
  }
  if ((value ?? null) !== wanted) fail();
}
