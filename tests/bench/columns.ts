/**
 * Columns of results whose tests are known beforehand: the same as the program makes of a report
 * (a test compares them), without hashing every name again for each of thousands of builds.
 */
import { createHash } from "node:crypto";
import { encodeDurations, ExceptionWriter } from "../../lib/analysis/columns.ts";
import {
  BodyTable,
  type NegativeResult,
  type SubmissionContent,
} from "../../lib/analysis/submission_content.ts";
import { testHash, type TestIdentity } from "../../lib/base/identity.ts";
import { isNegative } from "../../lib/report/result.ts";
import type { Attempt, Shard } from "./generate.ts";

/** What all builds of one shard have in common. */
interface TestList {
  testHashes: Float64Array;
  listHash: string;
  /** Numbers of the tests, in the order of the hashes. */
  tests: number[];
  /** Place in that order, by the number of the test less the first of the shard. */
  places: Uint32Array;
}

/** Makes the columns of submissions of one repository. */
export class Columns {
  #identities: TestIdentity[];
  #hashes: Float64Array;
  #lists = new Map<number, TestList>();

  constructor(identities: TestIdentity[]) {
    this.#identities = identities;
    this.#hashes = Float64Array.from(identities, testHash);
  }

  /** The columns of a build's attempts, which must cover every test of the shard. */
  of(shard: Shard, attempts: Iterable<Attempt>): SubmissionContent {
    const { testHashes, listHash, tests, places } = this.#list(shard);
    const count = tests.length;
    const durations = new Float64Array(count);
    const positive = new Uint16Array(count);
    const negative = new Uint16Array(count);
    const skipped = new Uint16Array(count);
    const negatives: NegativeResult[] = [];
    const bodies = new BodyTable();
    let resultCount = 0;
    for (const { test, conclusion, durationMicroseconds, message, body } of attempts) {
      const place = places[test - shard.first]!;
      durations[place] = durations[place]! + durationMicroseconds;
      const side = conclusion === "passing"
        ? positive
        : conclusion === "skipped"
        ? skipped
        : negative;
      side[place] = side[place]! + 1;
      if (isNegative(conclusion)) {
        negatives.push({
          testHash: this.#hashes[test]!,
          resultNo: resultCount,
          conclusion,
          message,
          bodyNo: bodies.add(body),
        });
      }
      resultCount++;
    }
    const exceptions = new ExceptionWriter();
    for (let place = 0; place < count; place++) {
      exceptions.add(place, {
        positive: positive[place]!,
        negative: negative[place]!,
        skipped: skipped[place]!,
        unknown: 0,
      });
    }
    return {
      resultCount,
      testHashes,
      listHash,
      identityAt: (index) => this.#identities[tests[index]!]!,
      ...encodeDurations(durations),
      exceptions: exceptions.finish(),
      negatives,
      bodies: bodies.bodies,
    };
  }

  #list({ first, end }: Shard): TestList {
    const known = this.#lists.get(first);
    if (known) return known;
    const tests = Array.from({ length: end - first }, (_, index) => first + index)
      .sort((a, b) => this.#hashes[a]! - this.#hashes[b]!);
    const places = new Uint32Array(tests.length);
    tests.forEach((test, place) => places[test - first] = place);
    const testHashes = Float64Array.from(tests, (test) => this.#hashes[test]!);
    const listHash = createHash("sha256").update(new Uint8Array(testHashes.buffer)).digest("hex");
    const list = { testHashes, listHash, tests, places };
    this.#lists.set(first, list);
    return list;
  }
}
