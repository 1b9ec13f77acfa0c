// SPDX-License-Identifier: Apache-2.0
// Bodies: whole, with a maximum; and as lines of JSON. A body that stays silent for too long counts as cut: the daemon says at
// least a space every 15 s.
import { ConnectionLostError, connectionError } from "./errors.js";
import { concat, toBytes, type Answer, type StreamEvent } from "./wire.js";

export const ANSWER_MAX = 64 * 1024 * 1024;
const LINE_MAX = 16 * 1024 * 1024;
export const SILENCE_MS = 60_000;

/** The parts of a body; rejects when none comes for a while, and closes the answer at the end, whatever it is. */
export async function* parts(answer: Answer, silenceMs = SILENCE_MS): AsyncGenerator<Uint8Array> {
  const source = answer.body[Symbol.asyncIterator]();
  try {
    for (;;) {
      let timer: ReturnType<typeof setTimeout> | undefined;
      const silence = new Promise<never>((_, reject) => {
        timer = setTimeout(() => reject(connectionError(`nothing came for ${silenceMs / 1000} s`, undefined)), silenceMs);
      });
      let next: IteratorResult<Uint8Array>;
      try {
        next = await Promise.race([source.next(), silence]);
      } catch (e) {
        throw e instanceof ConnectionLostError ? e : connectionError("the connection broke", e);
      } finally {
        clearTimeout(timer);
      }
      if (next.done) return;
      yield next.value;
    }
  } finally {
    answer.close();
  }
}

export async function readAll(answer: Answer, max = ANSWER_MAX): Promise<Uint8Array> {
  const all: Uint8Array[] = [];
  let size = 0;
  for await (const part of parts(answer)) {
    size += part.length;
    if (size > max) throw connectionError(`the answer is larger than ${max} bytes`, undefined);
    all.push(part);
  }
  return concat(all);
}

export async function readText(answer: Answer): Promise<string> {
  return new TextDecoder().decode(await readAll(answer));
}

/**
 * The beginning of an event with output, cut somewhere in its bytes: what arrived of them is an event too. Without this a
 * connection that is always cut after less than one event would never get on.
 */
export function salvage(line: string): StreamEvent | null {
  const head = /^\{"event":"(stdout|stderr)","cursor":(\d+),"next":\d+,"(text|base64)":"/.exec(line);
  if (!head) return null;
  const [begin, event, cursor, kind] = head as unknown as [string, string, string, "text" | "base64"];
  const rest = line.slice(begin.length);
  if (kind === "base64") {
    const base64 = /^[A-Za-z0-9+/]*/.exec(rest)?.[0] ?? "";
    const whole = base64.slice(0, base64.length - (base64.length % 4));
    return whole ? { event, cursor: Number(cursor), next: Number(cursor) + (whole.length / 4) * 3, base64: whole } : null;
  }
  // Whole characters and whole escapes only; half of a pair of surrogates is left for the next try.
  const body = /^(?:[^"\\]|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*/.exec(rest)?.[0] ?? "";
  const text = (JSON.parse(`"${body}"`) as string).replace(/[\ud800-\udbff]$/, "");
  return text ? { event, cursor: Number(cursor), next: Number(cursor) + toBytes(text).length, text } : null;
}

function parse(line: string): StreamEvent {
  try {
    return JSON.parse(line) as StreamEvent;
  } catch (e) {
    throw connectionError("a line of the stream is not JSON", e);
  }
}

/** The events of a stream of NDJSON. Of a last line without its end, only bytes of output count. */
export async function* events(answer: Answer): AsyncGenerator<StreamEvent> {
  const decoder = new TextDecoder();
  let rest = "";
  try {
    for await (const part of parts(answer)) {
      rest += decoder.decode(part, { stream: true });
      let from = 0;
      for (let end = rest.indexOf("\n", from); end >= 0; end = rest.indexOf("\n", from)) {
        const line = rest.slice(from, end).trim();
        from = end + 1;
        if (line !== "") yield parse(line);
      }
      rest = rest.slice(from);
      if (rest.length > LINE_MAX) throw connectionError("a line of the stream is too long", undefined);
    }
  } catch (e) {
    const found = e instanceof ConnectionLostError ? salvage(rest) : null;
    if (found) yield found;
    throw e;
  }
}
