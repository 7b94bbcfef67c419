import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import fc from "fast-check";
import { failureCause, fingerprint } from "../../lib/analysis/failure_groups.ts";
import { CAUSES } from "../lib/analysis/failure_messages.ts";
import { groupedFailures } from "../lib/analysis/grouped_failures.ts";
import { plainCause } from "./causes/plain_cause.ts";
import { plainGroups } from "./failure_groups.ts";

const PARTS = (
  "200 404 503 299 418 100 7 42 1,024 3.14 1e-5 12ab3 -17 +4 0x1f 0xdeadbeef deadbeef1 12345678 " +
  "9fceb02d0ae598e95dc970b74767f19372d61af8 6f1c9a52-0d3e-4c1b-9a77-3a5f0f6f7c11 " +
  "2026-03-14 2026/03/14 2026-03-14T09:26:53.589Z 09:26:53 20260314T092653Z Sat, Mar 14 GMT UTC " +
  "+01:00 5ms 30s 1m30.5s ms seconds \xb5s 10.0.3.17 :5432 ::1 [::1]:80 fe80::1 a::b std::io " +
  "http HTTP/1.1 https:// status statusCode status_code response code exit exited with errno " +
  "os error signal SQLSTATE ORA-00942 E0382 TS2345 int32 utf-8 sha256 x86_64 s3 " +
  "/tmp /tmp/ /var/folders/zz/T/ /private/tmp C:\\Users\\ci\\AppData\\Local\\Temp D:/Temp " +
  "pytest-0/ config.json tmp5x9q_2ab \\a ' \" ` tok_9f8s7d6f5a4s a1b2c3d4 checkout " +
  "abcdefghijklmnopqrst1 a1b2c3 x8k2p items matches boxes GB bytes 1st 2nd AM pm and PT1.5S " +
  "March Saturday Dec 12:26 fe11:2 Coupon@4e50df2e got expected want but was to equal is not == != < > ( ) " +
  "[ ] { } , . : ; = # - _ / @ $ e E x T Z é 😀 \t"
).split(" ");

const joined = (...parts: fc.Arbitrary<string>[]) => fc.tuple(...parts).map((all) => all.join(""));
const oneOf = (list: string) => fc.constantFrom(...list.split(" "));
const characters = (from: string, minLength: number, maxLength: number) =>
  fc.string({ unit: fc.constantFrom(...from), minLength, maxLength });

const status = fc.integer({ min: 199, max: 511 }).map(String);
const gapWords = fc.array(
  oneOf(
    "actual be but code deeply equal error expected got instead is not of received returned " +
      "status than to vs want was rows",
  ),
  { maxLength: 7 },
).map((words) => [" ", ...words.map((word) => `${word} `)].join(""));
const quote = oneOf("' \" `");

/** Texts close to the edges of the rules. */
const EDGES = [
  joined(status, gapWords, status),
  joined(
    oneOf("exit exited return_code errorcode errno signal SQLSTATE HRESULT <Response status-code"),
    oneOf(": = # -1 0x ("),
    characters("12aZ", 1, 12),
  ),
  joined(
    oneOf("' step Step v1 V2 x x. a1 API"),
    oneOf("2 12 1234 v1beta1 1B beta2 _"),
    oneOf("Confirm ConfirmButton confirm Order2V3Line .Order B XY Z9 12ab3"),
    oneOf("' 1 12345678 Q"),
  ),
  joined(
    oneOf("closed ended failed finished Finished"),
    fc.constantFrom(" with ", " with", " "),
    oneOf("code status Code: SQLCODE=-"),
    fc.constantFrom(" 137", " E12", ":", "=803"),
  ),
  joined(
    oneOf("int uint float f i u utf utf- sha sha- md base aarch amd arm x86_ x ipv http/ oauth s"),
    oneOf("1 2 3 4 5 6 8 16 32 64 86 128 256 384 512"),
  ),
  joined(
    oneOf("2026-03-14 2026/03/14 2026-03/14 12026-03-14"),
    fc.constantFrom("T", " ", ""),
    oneOf("09:26 09:26:53 9:26"),
    oneOf("Z .5 ,58 .5Z +01:00 +0100 .5x"),
  ),
  joined(
    oneOf("Mon Sat, Fri"),
    fc.constantFrom(" ", ""),
    fc.constantFrom("3 Mar", "14 Dec", "Nov 7", "Feb 28,"),
    fc.constantFrom(" 2026", " 09:26:53 2026", " 2026 09:26:53 GMT", ", 2026", ""),
  ),
  joined(
    oneOf("/tmp /var/tmp /var/folders /dev/shm /private/tmp c:/temp C:\\Windows\\Temp /opt/tmp"),
    fc.array(
      joined(oneOf("/ \\"), oneOf("a a1 a.txt a-b.tar.gz x.1 ~ .")),
      { maxLength: 4 },
    ).map((all) => all.join("")),
  ),
  joined(
    oneOf("Sat Saturday, Mon Tues,"),
    fc.constantFrom(" ", ""),
    fc.constantFrom("March 14", "Dec  3", "14/Mar", "3-Sept", "June 7,", "31 May"),
    fc.constantFrom(" 2026", "/2026:", "-26", ", 2026 at ", ", 2026, ", " "),
    fc.constantFrom("", "9:26:53 AM", "19:26:53", "9:26\u202fPM", "9:26", "09:26:53 CEST 2026"),
  ),
  joined(
    fc.constantFrom("-", "P1D", "P", ""),
    fc.constantFrom("T1H2M", "T-3.5S", "T1", "T"),
    fc.constantFrom("", "3S", " s"),
  ),
  joined(
    oneOf("1 2.5 3e-5 -4 1,000"),
    fc.constantFrom("", " "),
    oneOf("s m hours kB GiB bytes items classes boxes matches is"),
    fc.constantFrom("", " ", ", ", " and ", ", and "),
    oneOf("1 30 5s"),
    fc.constantFrom("", " seconds", "ms"),
  ),
  joined(
    fc.constantFrom("web-", "a1-", "-", "", "_"),
    characters("x8k2pA0e", 4, 7),
    fc.constantFrom("", "-", "-x8k2p", "_"),
  ),
  joined(
    fc.constantFrom('"web-', "web-", "{a.b-", "-", "_-"),
    characters("bcd2e", 7, 11),
    fc.constantFrom("-x8k2p", "-bdgkz", "-bdgk"),
    fc.constantFrom("", '"', "}", "-"),
  ),
  joined(
    oneOf("datetime.datetime( datetime( xdatetime( timedelta( datetime.timedelta("),
    oneOf("2026 days=1 seconds=-3 weeks=1"),
    fc.constantFrom(
      "",
      ", 3",
      ", 3, 14",
      ", 3, 14, 9, 26, 53, 589, 7",
      ", seconds=3",
      ", x=1, y=2, z=3",
    ),
  ),
  joined(
    oneOf("{ [ \" '"),
    characters("a1B.-", 6, 24),
    oneOf("} ] \" '"),
  ),
  fc.array(characters("a1f", 1, 3), { minLength: 5, maxLength: 9 }).map((all) => all.join(":")),
  joined(quote, characters("a1B.-", 6, 24), quote),
  joined(quote, characters("ab1", 18, 22), quote),
  joined(
    oneOf("10.0.3.17 1.2.3 1.2.3.4.5 999.1.1.1 [::1] [fe80::1] [1:2] ::1 a1::b2"),
    oneOf(":80 . x"),
  ),
  joined(fc.constantFrom("", " ", "_", "0x", "a@", "$@", "-"), characters("abcdef0", 6, 10)),
  joined(
    oneOf("1 12 1.5 1,500 1,50"),
    fc.constantFrom("", " "),
    oneOf("ns us \xb5s ms s m h d sec secs minute minutes hrs days dayss S MS 30s"),
  ),
  joined(
    fc.constantFrom("", " ", "(", "a", "=", ","),
    oneOf("+ - --"),
    oneOf("1 1e5 1e-05 1.2.3e4 1ex"),
  ),
];

const fragment = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...PARTS) },
  { weight: 6, arbitrary: fc.oneof(...EDGES) },
  { weight: 3, arbitrary: fc.constant(" ") },
  { weight: 1, arbitrary: fc.string({ maxLength: 3 }) },
  { weight: 1, arbitrary: fc.nat().map(String) },
  { weight: 1, arbitrary: fc.constantFrom(...CAUSES.flat()) },
);
const message = fc.array(fragment, { maxLength: 8 }).map((parts) => parts.join(""));
const spaced = fc.array(fragment, { maxLength: 8 }).map((parts) => parts.join(" "));

describe("failure groups", () => {
  it("have the causes of a slow reading of the rules", () => {
    for (const known of CAUSES.flat()) assert.equal(failureCause(known, ""), plainCause(known));
    for (let number = 95; number < 605; number++) {
      const text = `expected ${number}, got 200; 404 != ${number}; status ${number}`;
      assert.equal(failureCause(text, ""), plainCause(text));
    }
    fc.assert(
      fc.property(fc.oneof(message, spaced), (text) => {
        // Without a message the first line of the body counts, and this body has none.
        assert.equal(text === "" ? "" : failureCause(text, ""), plainCause(text));
      }),
      { numRuns: 3_000, seed: 1 },
    );
  });

  it("are those of a slow grouping", () => {
    const ids = Array.from({ length: 41 }, (_, test) => `t${(test * 7) % 41}`);
    const attempt = fc.record({
      fingerprint: fc.nat({ max: 70 }).map((no) => no < 10 ? fingerprint("") : String(no)),
      test: fc.nat({ max: 40 }),
      branch: fc.constantFrom("", "main", "release/1", "Main"),
      recordedAt: fc.nat({ max: 5 }),
      isDisruption: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(attempt, { maxLength: 300, size: "max" }), (attempts) => {
        const sorted = attempts.toSorted((a, b) => a.recordedAt - b.recordedAt)
          .map((attempt, position) => ({ ...attempt, position, testId: ids[attempt.test]! }));
        assert.deepEqual(groupedFailures(sorted.toReversed(), ids), plainGroups(sorted));
      }),
      { numRuns: 80, seed: 1 },
    );
  });
});
