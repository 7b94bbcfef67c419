import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import fc from "fast-check";
import { failureCause, fingerprint, groupFailures } from "../../lib/analysis/failure_groups.ts";
import { CAUSES } from "../lib/analysis/failure_messages.ts";
import { plainCause, plainGroups } from "./failure_groups.ts";

const PARTS = (
  "200 404 503 299 418 100 7 42 1,024 3.14 1e-5 12ab3 -17 +4 0x1f 0xdeadbeef deadbeef1 12345678 " +
  "9fceb02d0ae598e95dc970b74767f19372d61af8 6f1c9a52-0d3e-4c1b-9a77-3a5f0f6f7c11 " +
  "2026-03-14 2026/03/14 2026-03-14T09:26:53.589Z 09:26:53 20260314T092653Z Sat, Mar 14 GMT UTC " +
  "+01:00 5ms 30s 1m30.5s ms seconds \xb5s 10.0.3.17 :5432 ::1 [::1]:80 fe80::1 a::b std::io " +
  "http HTTP/1.1 https:// status statusCode status_code response code exit exited with errno " +
  "os error signal SQLSTATE ORA-00942 E0382 TS2345 int32 utf-8 sha256 x86_64 s3 " +
  "/tmp /tmp/ /var/folders/zz/T/ /private/tmp C:\\Users\\ci\\AppData\\Local\\Temp D:/Temp " +
  "pytest-0/ config.json tmp5x9q_2ab \\a ' \" ` tok_9f8s7d6f5a4s a1b2c3d4 checkout " +
  "abcdefghijklmnopqrst1 Coupon@4e50df2e got expected want but was to equal is not == != < > ( ) " +
  "[ ] { } , . : ; = # - _ / @ $ e E x T Z é 😀 \t"
).split(" ");

const fragment = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...PARTS) },
  { weight: 3, arbitrary: fc.constant(" ") },
  { weight: 1, arbitrary: fc.string({ maxLength: 3 }) },
  { weight: 1, arbitrary: fc.nat().map(String) },
  { weight: 1, arbitrary: fc.constantFrom(...CAUSES.flat()) },
);
const message = fc.array(fragment, { maxLength: 12 }).map((parts) => parts.join(""));
const spaced = fc.array(fragment, { maxLength: 12 }).map((parts) => parts.join(" "));

describe("failure groups", () => {
  it("have the causes of a slow reading of the rules", () => {
    for (const known of CAUSES.flat()) assert.equal(failureCause(known, ""), plainCause(known));
    fc.assert(
      fc.property(fc.oneof(message, spaced), (text) => {
        // Without a message the first line of the body counts, and this body has none.
        assert.equal(text === "" ? "" : failureCause(text, ""), plainCause(text));
      }),
      { numRuns: 2_000, seed: 1 },
    );
  });

  it("are those of a slow grouping", () => {
    const attempt = fc.record({
      cause: fc.nat({ max: 70 }).map((number) =>
        `cause ${Math.floor(Math.sqrt(number))} ${number}`
      ),
      testId: fc.nat({ max: 40 }).map((number) => `t${number}`),
      branch: fc.constantFrom("", "main", "release/1", "Main"),
      recordedAt: fc.nat({ max: 5 }),
      isDisruption: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(attempt, { maxLength: 300, size: "max" }), (attempts) => {
        attempts.sort((a, b) => a.recordedAt - b.recordedAt);
        assert.deepEqual(groupFailures(attempts), plainGroups(attempts, fingerprint));
      }),
      { numRuns: 200, seed: 1 },
    );
  });
});
