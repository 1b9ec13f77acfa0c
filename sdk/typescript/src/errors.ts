// SPDX-License-Identifier: Apache-2.0
// Errors: a class for each code of the API, one for a daemon that did not answer, one for a command that failed.
import type * as t from "./generated/types.js";

export type ErrorCode = t.Error["error"]["code"];

export interface ErrorFacts {
  status?: number | undefined;
  field?: string | null | undefined;
  requestId?: string | undefined;
  first?: string | undefined;
  confirm?: string | undefined;
  reason?: string | undefined;
  advice?: string | undefined;
  cause?: unknown;
}

/** Every error that this library makes. */
export class CayError extends Error {
  override name = "CayError";
  /** The daemon's word for it ("not_found", "limit" …), or "connection" or "command". */
  readonly code: string;
  /** HTTP status; 0: there was no answer. */
  readonly status: number;
  /** The argument that was wrong. */
  readonly field: string | null;
  /** The id of the request in the daemon's log. */
  readonly requestId: string;
  /** Of a repeated single-use id: what the first request made. */
  readonly first: string | undefined;
  /** Of a template that asks first: the token with which to repeat the request when a person agreed. */
  readonly confirm: string | undefined;
  /** Why exactly, where the code leaves it open: "paused", "too_many_commands". */
  readonly reason: string | undefined;
  /** What to do. */
  readonly advice: string;
  /** True if the request was sent before, and no answer came: the first one may have done what was asked. */
  repeated = false;

  constructor(code: string, message: string, facts: ErrorFacts = {}) {
    super(message, facts.cause === undefined ? undefined : { cause: facts.cause });
    this.code = code;
    this.status = facts.status ?? 0;
    this.field = facts.field ?? null;
    this.requestId = facts.requestId ?? "";
    this.first = facts.first;
    this.confirm = facts.confirm;
    this.reason = facts.reason;
    this.advice = facts.advice ?? "";
  }
}

export class InvalidError extends CayError { override name = "InvalidError"; }
export class NotFoundError extends CayError { override name = "NotFoundError"; }
export class ExistsError extends CayError { override name = "ExistsError"; }
export class DeniedError extends CayError { override name = "DeniedError"; }
export class ConflictError extends CayError { override name = "ConflictError"; }
export class LimitError extends CayError { override name = "LimitError"; }
export class UnsupportedError extends CayError { override name = "UnsupportedError"; }
export class UnavailableError extends CayError { override name = "UnavailableError"; }
export class TimeoutError extends CayError { override name = "TimeoutError"; }
export class NoSpaceError extends CayError { override name = "NoSpaceError"; }
export class InternalError extends CayError { override name = "InternalError"; }
export class DamagedError extends CayError { override name = "DamagedError"; }
export class UnauthenticatedError extends CayError { override name = "UnauthenticatedError"; }
export class MethodNotAllowedError extends CayError { override name = "MethodNotAllowedError"; }
export class TooLargeError extends CayError { override name = "TooLargeError"; }
export class WrongHostError extends CayError { override name = "WrongHostError"; }
export class ConfirmError extends CayError { override name = "ConfirmError"; }
/** The daemon could not be reached, or the connection broke. `cause` is what the system said. */
export class ConnectionLostError extends CayError { override name = "ConnectionLostError"; }

type Row = [new (code: string, message: string, facts?: ErrorFacts) => CayError, string];

/** Each code has a class and a line of advice; the compiler misses a row that a new code lacks. */
const ROWS: Record<ErrorCode, Row> = {
  invalid: [InvalidError, "correct the field that the error names"],
  not_found: [NotFoundError, "check the id or name, and that it belongs to the owner of this token"],
  exists: [ExistsError, "use what exists, or another name"],
  denied: [DeniedError, "use a token or key with a wider scope, or a template that allows this"],
  conflict: [ConflictError, "look at the state of the thing, and try again when it allows this"],
  limit: [LimitError, "wait and try again, or destroy sandboxes that are not needed"],
  unsupported: [UnsupportedError, "leave out what this machine or engine cannot do"],
  unavailable: [UnavailableError, "wait and try again"],
  timeout: [TimeoutError, "try again, with a longer time"],
  no_space: [NoSpaceError, "remove something from the daemon's disk"],
  internal: [InternalError, "look for the request id in the daemon's log"],
  damaged: [DamagedError, "what was stored is lost; make it anew"],
  unauthenticated: [UnauthenticatedError, "give a valid token or API key ('cay token' prints a token)"],
  method_not_allowed: [MethodNotAllowedError, "this daemon has another version than the SDK"],
  too_large: [TooLargeError, "send less at once"],
  wrong_host: [WrongHostError, "add this host name to the daemon's trusted_hosts"],
  confirm: [ConfirmError, "ask a person, then repeat the request with the token in 'confirm'"],
};

function member(of: unknown, name: string): unknown {
  return typeof of === "object" && of !== null ? (of as Record<string, unknown>)[name] : undefined;
}

function text(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** An error of the class that belongs to its code. */
export function makeError(code: string, message: string, facts: ErrorFacts = {}): CayError {
  const row = Object.hasOwn(ROWS, code) ? ROWS[code as ErrorCode] : undefined;
  if (!row) return new CayError(code, message, facts);
  return new row[0](code, message, { ...facts, advice: facts.advice ?? row[1] });
}

/** The error that an answer of the daemon tells; also for answers of something else (a proxy). */
export function errorOfAnswer(status: number, body: string): CayError {
  let error: unknown;
  try {
    error = member(JSON.parse(body), "error");
  } catch {
    error = undefined;
  }
  const code = text(member(error, "code"));
  if (code === undefined) {
    const from: [number, string][] = [[401, "unauthenticated"], [403, "denied"], [404, "not_found"], [429, "limit"], [502, "unavailable"], [503, "unavailable"], [504, "timeout"]];
    const guess = from.find(([s]) => s === status)?.[1] ?? (status >= 500 ? "internal" : "invalid");
    return makeError(guess, `HTTP ${status}, not from a Cay daemon: ${body.slice(0, 200).trim() || "no text"}`, { status });
  }
  return makeError(code, text(member(error, "message")) ?? code, {
    status,
    field: text(member(error, "field")) ?? null,
    requestId: text(member(error, "request_id")),
    first: text(member(error, "first")),
    confirm: text(member(error, "confirm")),
    reason: text(member(error, "reason")),
  });
}

/** No answer, or a connection that broke. */
export function connectionError(what: string, cause: unknown): ConnectionLostError {
  const why = cause instanceof Error ? (member(cause, "cause") instanceof Error ? (cause.cause as Error).message : cause.message) : String(cause);
  return new ConnectionLostError("connection", why ? `${what}: ${why}` : what, {
    cause,
    advice: "check that the daemon runs, and CAY_URL, CAY_DATA or the url option",
  });
}
