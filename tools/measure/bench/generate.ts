/** Random histories of test results, the same for the same seed. */
import type { TestIdentity } from "../../../lib/base/identity.ts";
import type { Conclusion, TestResult } from "../../../lib/report/result.ts";
import { type Failure, failures } from "./failures.ts";
import { Random } from "./random.ts";

/** What a repository's history looks like. */
export interface HistoryShape {
  seed: number;
  /** Tests that the repository has. */
  testCount: number;
  /** Builds, spread evenly over the time; one more than another runs the next shard. */
  buildCount: number;
  /** Into how many parts, of nearly the same size, the tests are cut; each build runs one. */
  shardCount: number;
  /** Tests that are disruptive, and disruptions of all of them together. */
  disruptiveTestCount: number;
  disruptionCount: number;
  /** Share of the results that are failures without a disruption; 0.02 % unless given. */
  brokenShare?: number;
  /** First and last second of the history, since 1970. */
  from: number;
  until: number;
}

/** One CI run of a history. */
export interface Build {
  number: number;
  /** 40 hex digits. */
  commitOid: string;
  /** 40 hex digits. */
  treeOid: string;
  /** Seconds since 1970. */
  recordedAt: number;
  /** The tests that it runs, as a part of all of them: from the first up to but not including. */
  shard: Shard;
  /** In the order of a report. Made while they are taken, so that no build is held in memory. */
  attempts: Iterable<Attempt>;
}

/** Some neighbours among the tests of a repository. */
export interface Shard {
  first: number;
  end: number;
}

/** One result, as short as can be. */
export interface Attempt {
  /** Number of the test among all of its repository. */
  test: number;
  conclusion: Conclusion;
  /** Whole milliseconds, as most test runners tell them. */
  durationMicroseconds: number;
  message: string;
  body: string;
}

// A test's own time varies from run to run by about this much (standard deviation of the log).
const DURATION_SPREAD = 0.25;
const SKIPPED_SHARE = 0.01;
// Failures of tests that are simply broken: no disruptions.
const BROKEN_SHARE = 0.000_2;
const TESTS_PER_CLASS = 25;

/** The builds of a history, oldest first. Take the attempts of each before the next build. */
export function* builds(shape: HistoryShape): Generator<Build> {
  const random = new Random(shape.seed);
  // Of their own seed, so that other texts leave the rest of the history as it is.
  const texts = failures(shape.seed);
  const typicalMs = Array.from({ length: shape.testCount }, () => Math.exp(3 + random.normal()));
  const step = (shape.until - shape.from) / shape.buildCount;
  let disrupted = 0;
  for (let number = 0; number < shape.buildCount; number++) {
    const due = Math.round(((number + 1) * shape.disruptionCount) / shape.buildCount);
    const shard = shardOf(shape, number);
    yield {
      number,
      commitOid: random.hex(40),
      treeOid: random.hex(40),
      recordedAt: Math.floor(shape.from + number * step),
      shard,
      attempts: attempts(shard, {
        random,
        texts,
        typicalMs,
        flakyEvery: flakyEvery(shape),
        disruptions: due - disrupted,
        brokenShare: shape.brokenShare ?? BROKEN_SHARE,
      }),
    };
    disrupted = due;
  }
}

// Flaky tests are spread over all of them, so that every shard has its share.
function flakyEvery({ testCount, disruptiveTestCount }: HistoryShape): number {
  return Math.max(1, Math.floor(testCount / disruptiveTestCount));
}

/** Shards begin at a flaky test, and are the same every time that it is their turn. */
function shardOf(shape: HistoryShape, buildNumber: number): Shard {
  const every = flakyEvery(shape);
  const groups = Math.ceil(shape.testCount / every);
  const place = buildNumber % shape.shardCount;
  const edge = (shard: number) =>
    Math.min(shape.testCount, Math.floor((shard * groups) / shape.shardCount) * every);
  return { first: edge(place), end: edge(place + 1) };
}

function* attempts(
  { first, end }: Shard,
  { random, texts, typicalMs, flakyEvery, disruptions, brokenShare }: {
    random: Random;
    texts: Generator<Failure, never>;
    typicalMs: number[];
    flakyEvery: number;
    disruptions: number;
    brokenShare: number;
  },
): Generator<Attempt> {
  const flakyHere = Math.max(1, Math.ceil((end - first) / flakyEvery));
  const offset = random.below(flakyHere);
  for (let test = first; test < end; test++) {
    const attempt: Attempt = {
      test,
      conclusion: "passing",
      durationMicroseconds:
        Math.round(typicalMs[test]! * Math.exp(DURATION_SPREAD * random.normal())) * 1_000,
      message: "",
      body: "",
    };
    const place = test - first;
    // Where there are more disruptions than flaky tests in this build, some fail several times.
    const failures = place % flakyEvery > 0 ? 0 : Math.floor(disruptions / flakyHere) +
      ((place / flakyEvery + offset) % flakyHere < disruptions % flakyHere ? 1 : 0);
    for (let failed = 0; failed < failures; failed++) {
      yield { ...attempt, conclusion: "failure", ...texts.next().value };
    }
    const chance = failures > 0 ? 1 : random.next();
    if (chance < SKIPPED_SHARE) {
      yield { ...attempt, conclusion: "skipped", durationMicroseconds: 0 };
    } else if (chance < SKIPPED_SHARE + brokenShare) {
      yield { ...attempt, conclusion: "error", ...texts.next().value };
    } else yield attempt;
  }
}

/** What the tests of a repository are called: as long as real names are. */
export function identities(testCount: number): TestIdentity[] {
  return Array.from({ length: testCount }, (_, test) => {
    const group = Math.floor(test / TESTS_PER_CLASS);
    return {
      suite: `checkout.${group % 40}.Suite${group}`,
      class: `com.example.shop.checkout.Suite${group}Test`,
      name: `handles case ${test} of the order when the customer changes the address`,
      file: `src/test/java/com/example/shop/checkout/Suite${group}Test.java`,
    };
  });
}

/** An attempt as a report tells it. */
export function asResult(
  { test, conclusion, durationMicroseconds, message, body }: Attempt,
  tests: TestIdentity[],
): TestResult {
  return { ...tests[test]!, conclusion, durationMicroseconds, message, body };
}
