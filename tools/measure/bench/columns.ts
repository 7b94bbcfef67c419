/**
 * Columns of results whose tests are known beforehand: the same as the program makes of a report
 * (a test compares them), without hashing every name again for each of thousands of builds.
 */
import { createHash } from "node:crypto";
import { ATTEMPT_KINDS, encodeResults, kindOf } from "../../../lib/analysis/columns.ts";
import { TextCollector } from "../../../lib/analysis/failure_texts.ts";
import { NegativeCollector } from "../../../lib/analysis/negatives.ts";
import type { SubmissionContent } from "../../../lib/analysis/submission_content.ts";
import { testHash, type TestIdentity } from "../../../lib/base/identity.ts";
import { isNegative } from "../../../lib/report/result.ts";
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
    const testIndexes: number[] = [];
    const kinds: number[] = [];
    const durations: number[] = [];
    const negatives = new NegativeCollector();
    const texts = new TextCollector();
    for (const attempt of attempts) {
      const { test, conclusion, durationMicroseconds } = attempt;
      const resultNo = testIndexes.push(places[test - shard.first]!) - 1;
      kinds.push(ATTEMPT_KINDS.indexOf(kindOf(conclusion)));
      durations.push(durationMicroseconds);
      if (isNegative(conclusion)) {
        negatives.push({
          testHash: this.#hashes[test]!,
          resultNo,
          conclusion,
          textNo: texts.add(attempt),
        });
      }
    }
    return {
      resultCount: testIndexes.length,
      testHashes,
      listHash,
      identityAt: (index) => this.#identities[tests[index]!]!,
      ambiguousTestHashes: [],
      overheads: [],
      ...encodeResults(tests.length, {
        testIndexes: Uint32Array.from(testIndexes),
        kinds: Uint8Array.from(kinds),
        durations: Float64Array.from(durations),
      }),
      negatives: negatives.finish(),
      texts: texts.finish(),
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
