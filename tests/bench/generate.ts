/**
 * Data to measure on, made by the program's own processing from seeded random results.
 */
import type { Database } from "../../db/connect.ts";
import { processSubmission } from "../../db/process_submission.ts";
import { findOrCreateRepository, type Repository } from "../../db/repositories.ts";
import { SubmissionBuilder } from "../../lib/analysis/submission_content.ts";
import type { TestResult } from "../../lib/report/result.ts";
import { Random } from "./random.ts";

/** What a repository's history looks like. */
export interface HistoryShape {
  seed: number;
  /** Tests that the repository has. */
  testCount: number;
  /** Builds, spread evenly over the days. */
  buildCount: number;
  /** Tests that each build runs; fewer than there are means shards that take turns. */
  testsPerBuild: number;
  /** Tests that are disruptive, and disruptions of all of them together. */
  disruptiveTestCount: number;
  disruptionCount: number;
  /** Last second of the history, since 1970, and how many days it goes back. */
  until: number;
  days: number;
}

const SECONDS_PER_DAY = 86_400;
// A test's own time varies from run to run by about this much (standard deviation of the log).
const DURATION_SPREAD = 0.25;
const SKIPPED_SHARE = 0.01;
// Failures of tests that are simply broken: no disruptions.
const BROKEN_SHARE = 0.000_2;

const REASONS = [
  "Timeout of 5000 ms exceeded while waiting for the element to become visible",
  "expected 3 rows in table orders, but found 2 (transaction 7f3a not yet committed)",
  "AssertionError: expected status 200 to equal 503, response body was empty",
  "java.net.SocketTimeoutException: Read timed out after 30000 ms at inventory-service:8443",
  "Error: connect ECONNREFUSED 127.0.0.1:5432 at TCPConnectWrap.afterConnect",
];

/** Creates a repository and its history; `onBuild` hears how many results were stored so far. */
export async function generateRepository(
  sql: Database["sql"],
  { organization, owner, name, shape, onBuild }: {
    organization: { organizationId: number; name: string };
    owner: string;
    name: string;
    shape: HistoryShape;
    onBuild?: (resultCount: number) => void;
  },
): Promise<{ repository: Repository; resultCount: number }> {
  const createdAt = shape.until - shape.days * SECONDS_PER_DAY;
  const { repository } = await findOrCreateRepository(sql, {
    organization,
    owner,
    name,
    createdAt,
  });
  let resultCount = 0;
  for (const build of builds(shape)) {
    const content = new SubmissionBuilder();
    for (const result of build.results) content.add(result);
    const processed = await processSubmission(sql, {
      repositoryId: repository.repositoryId,
      commitOid: build.commitOid,
      treeOid: build.treeOid,
      branch: "main",
      buildUrl: `https://ci.example.com/${owner}/${name}/runs/${build.number}`,
      tags: [],
      recordedAt: build.recordedAt,
      uploadedAt: build.recordedAt,
      reportDigest: build.commitOid,
      content: content.finish(),
      coverage: build.number % 10 === 0 ? { coveredLineCount: 8_412, lineCount: 10_000 } : null,
    });
    resultCount += processed.testResultCount;
    onBuild?.(resultCount);
  }
  return { repository, resultCount };
}

/** One CI run of a history. */
export interface Build {
  number: number;
  commitOid: string;
  treeOid: string;
  /** Seconds since 1970. */
  recordedAt: number;
  /** Made while they are taken, so that no build is held in memory. */
  results: Iterable<TestResult>;
}

/** The builds of a history, oldest first. */
export function* builds(shape: HistoryShape): Generator<Build> {
  const random = new Random(shape.seed);
  const typicalMs = Array.from({ length: shape.testCount }, () => Math.exp(3 + random.normal()));
  // Flaky tests are spread over all of them, so that every shard has its share.
  const flakyEvery = Math.max(1, Math.floor(shape.testCount / shape.disruptiveTestCount));
  const begin = shape.until - shape.days * SECONDS_PER_DAY + 60;
  const step = (shape.until - begin) / shape.buildCount;
  let disrupted = 0;
  for (let number = 0; number < shape.buildCount; number++) {
    const first = (number * shape.testsPerBuild) % shape.testCount;
    const due = Math.round(((number + 1) * shape.disruptionCount) / shape.buildCount);
    yield {
      number,
      commitOid: random.hex(40),
      treeOid: random.hex(40),
      recordedAt: Math.floor(begin + number * step),
      results: results(shape, {
        random,
        typicalMs,
        first,
        flakyEvery,
        disruptions: due - disrupted,
      }),
    };
    disrupted = due;
  }
}

function* results(
  shape: HistoryShape,
  { random, typicalMs, first, flakyEvery, disruptions }: {
    random: Random;
    typicalMs: number[];
    first: number;
    flakyEvery: number;
    disruptions: number;
  },
): Generator<TestResult> {
  const flakyHere = Math.max(1, Math.floor(shape.testsPerBuild / flakyEvery));
  const offset = random.below(flakyHere);
  for (let place = 0; place < shape.testsPerBuild; place++) {
    const test = (first + place) % shape.testCount;
    const attempt: TestResult = {
      ...identity(test),
      conclusion: "passing",
      durationMicroseconds:
        Math.round(typicalMs[test]! * Math.exp(DURATION_SPREAD * random.normal())) * 1_000,
      message: "",
    };
    const flakyIndex = test % flakyEvery === 0 ? Math.floor(place / flakyEvery) : -1;
    // Where there are more disruptions than flaky tests in this build, some fail several times.
    const failures = flakyIndex < 0 ? 0 : Math.floor(disruptions / flakyHere) +
      ((flakyIndex + offset) % flakyHere < disruptions % flakyHere ? 1 : 0);
    for (let failed = 0; failed < failures; failed++) {
      yield { ...attempt, conclusion: "failure", message: REASONS[random.below(REASONS.length)]! };
    }
    const chance = failures > 0 ? 1 : random.next();
    if (chance < SKIPPED_SHARE) {
      yield { ...attempt, conclusion: "skipped", durationMicroseconds: 0 };
    } else if (chance < SKIPPED_SHARE + BROKEN_SHARE) {
      yield { ...attempt, conclusion: "error", message: REASONS[random.below(REASONS.length)]! };
    } else yield attempt;
  }
}

function identity(test: number) {
  const group = Math.floor(test / 25);
  return {
    suite: `checkout.${group % 40}.Suite${group}`,
    class: `com.example.shop.checkout.Suite${group}Test`,
    name: `handles case ${test} of the order when the customer changes the address`,
    file: `src/test/java/com/example/shop/checkout/Suite${group}Test.java`,
  };
}
