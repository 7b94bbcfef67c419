import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import { createLog, errorFields, type LogLevel } from "../../../lib/base/log.ts";

function linesOf(level?: LogLevel) {
  const lines: string[] = [];
  const log = createLog({
    write: (line) => lines.push(line),
    now: () => 1_790_000_000,
    ...(level && { level }),
  });
  return { log, lines };
}

describe("the log", () => {
  it("writes one line per event, with quotes where a reader could be misled", () => {
    const { log, lines } = linesOf();
    log.info("request", {
      path: "/api",
      status: 204,
      note: 'a "b"\nc',
      empty: "",
      gone: undefined,
    });
    assert.deepEqual(lines, [
      '2026-09-21T14:13:20Z info request path=/api status=204 note="a \\"b\\"\\nc" empty=""',
    ]);
  });

  it("writes JSON for programs, one object a line, with milliseconds", () => {
    const lines: string[] = [];
    const log = createLog({
      write: (line) => lines.push(line),
      now: () => 1_790_000_000.25,
      format: "json",
    });
    log.warn("request", {
      route: "/api",
      status: 204,
      note: 'a "b"\nc\u2028\u{1f600}',
      none: null,
      gone: undefined,
      is: true,
    });
    assert.equal(lines.length, 1);
    assert.ok(!lines[0]!.includes("\n"));
    assert.deepEqual(JSON.parse(lines[0]!), {
      time: "2026-09-21T14:13:20.250Z",
      level: "warn",
      message: "request",
      route: "/api",
      status: 204,
      note: 'a "b"\nc\u2028\u{1f600}',
      none: null,
      is: true,
    });
  });

  it("drops messages below its level", () => {
    const { log, lines } = linesOf("warn");
    log.info("b");
    log.warn("c");
    log.error("d");
    assert.deepEqual(lines.map((line) => line.split(" ")[2]), ["c", "d"]);
  });

  it("redacts text that resembles a token", () => {
    const { log, lines } = linesOf();
    log.info("x", { path: `/tk_${"0aF".repeat(20)}0000`, other: `/${"0a".repeat(20)}/tests` });
    assert.deepEqual(lines, [
      '2026-09-21T14:13:20Z info x path="/[redacted]" other="/[redacted]/tests"',
    ]);
    log.info("y", {
      id: `id_${"0a".repeat(20)}_${"0B".repeat(20)}`,
      short: "tk_0a",
      sent: [`up_${"0a".repeat(32)}`, `bd_${"0a".repeat(32)}`].join(),
      hash: "0a".repeat(32),
    });
    assert.equal(
      lines[1],
      '2026-09-21T14:13:20Z info y id="id_[redacted]_[redacted]" short=tk_0a ' +
        `sent="[redacted],[redacted]" hash=${"0a".repeat(32)}`,
    );
  });

  it("includes all details of an error", () => {
    const error = Object.assign(new RangeError("too far", { cause: new Error("the wind") }), {
      code: "E1",
    });
    const fields = errorFields(error);
    assert.equal(fields.error, "RangeError: too far");
    assert.equal(fields.code, "E1");
    assert.match(String(fields.stack), /log_test\.ts/);
    assert.match(String(fields.cause), /the wind/);
    assert.deepEqual(errorFields("thrown text"), { error: "thrown text" });
  });
});
