/**
 * Random histories of an organization. Names, times and versions come from small pools, so that
 * everything collides with everything.
 */
import fc from "fast-check";
import type { Conclusion } from "../../lib/report/result.ts";
import { INCLUDES } from "./response_bodies.ts";
import type { Operator, Sort } from "./oracle.ts";
import {
  BRANCH_PATTERNS,
  BRANCHES,
  BUILD_URLS,
  COMMITS,
  ENVIRONMENT_PATTERNS,
  ENVIRONMENTS,
  FIRST_SET_UP,
  MESSAGES,
  REPOSITORIES,
  REPOSITORY_URLS,
  SYMBOLIC_COMMITS,
  TAGS,
  TESTS,
  TEXTS,
  TREES,
} from "./pools.ts";
import { POLICY_EXAMPLES } from "./policy_examples.ts";
import type { OrganizationParameter, Scope } from "./requests.ts";
import type {
  Attempt,
  Change,
  ConcurrentSteps,
  History,
  Query,
  Step,
  TermStep,
  UploadStep,
} from "./steps.ts";

const DAY = 86_400;

/** Windows that histories have, in seconds: it is one value, and not a constant. */
export const WINDOWS: readonly number[] = [14 * DAY, 3 * DAY];

const conclusion = fc.oneof(
  { weight: 4, arbitrary: fc.constant<Conclusion>("passing") },
  { weight: 3, arbitrary: fc.constant<Conclusion>("failure") },
  { weight: 2, arbitrary: fc.constant<Conclusion>("error") },
  { weight: 1, arbitrary: fc.constant<Conclusion>("skipped") },
  { weight: 1, arbitrary: fc.constant<Conclusion>("unknown") },
);

const attempt: fc.Arbitrary<Attempt> = fc.record({
  // The first few tests are the most frequent, so that they collect a history.
  test: fc.oneof(
    { weight: 3, arbitrary: fc.nat(3) },
    { weight: 1, arbitrary: fc.nat(TESTS.length - 1) },
    { weight: 1, arbitrary: fc.integer({ min: FIRST_SET_UP, max: TESTS.length - 1 }) },
  ),
  conclusion,
  durationMicroseconds: fc.constantFrom(0, 1, 999, 1000, 1500, 250_000, 5_000_000_000),
  message: fc.constantFrom(...MESSAGES),
  times: fc.oneof(
    { weight: 24, arbitrary: fc.constant(1) },
    { weight: 2, arbitrary: fc.integer({ min: 2, max: 13 }) },
    { weight: 3, arbitrary: fc.integer({ min: 30, max: 50 }) },
  ),
});

const at: fc.Arbitrary<UploadStep["at"]> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      before: fc.constant<"now">("now"),
      seconds: fc.constantFrom(0, 0, 1, 2, 3600, DAY, 5 * DAY, -1, -DAY, 60 * DAY, 30 * 365 * DAY),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      before: fc.constant<"edge">("edge"),
      seconds: fc.constantFrom(0, 0, 1, -1, -DAY),
    }),
  },
);

const coverage = fc.option(
  fc.constantFrom(
    { coveredLineCount: 0, lineCount: 10 },
    { coveredLineCount: 10, lineCount: 10 },
    { coveredLineCount: 1, lineCount: 3 },
    { coveredLineCount: 1, lineCount: 100_000 },
    { coveredLineCount: 99_999, lineCount: 100_000 },
    { coveredLineCount: 1399, lineCount: 2000 },
    { coveredLineCount: 7, lineCount: 8 },
    { coveredLineCount: 5_000_000_000, lineCount: 6_000_000_000 },
  ),
  { freq: 2 },
);

const upload: fc.Arbitrary<UploadStep> = fc.record({
  repository: fc.oneof(
    { weight: 3, arbitrary: fc.constant(0) },
    { weight: 1, arbitrary: fc.nat(REPOSITORIES.length - 1) },
  ),
  at,
  commit: fc.oneof(
    { weight: 5, arbitrary: fc.constantFrom(...COMMITS) },
    { weight: 1, arbitrary: fc.constantFrom(...SYMBOLIC_COMMITS) },
  ),
  tree: fc.option(fc.constantFrom(...TREES), { freq: 2 }),
  branch: fc.option(fc.constantFrom(...BRANCHES), { freq: 4 }),
  environment: fc.constantFrom(...ENVIRONMENTS),
  job: fc.constantFrom("", "test"),
  workflow: fc.constantFrom("", "", "", "CI"),
  shard: fc.constantFrom("", "", "1/2", "2/2"),
  attempt: fc.constantFrom("", "", "1", "2"),
  buildUrl: fc.constantFrom(...BUILD_URLS),
  tags: fc.subarray(TAGS, { maxLength: 2 }),
  testTags: fc.oneof(
    { weight: 3, arbitrary: fc.constant<UploadStep["testTags"]>([]) },
    {
      weight: 1,
      arbitrary: fc.uniqueArray(
        fc.record({
          test: fc.nat(TESTS.length - 1),
          tags: fc.subarray([...TAGS, "owner:@acme/web"], { minLength: 1, maxLength: 2 }),
        }),
        { selector: ({ test }) => test, minLength: 1, maxLength: 3 },
      ),
    },
  ),
  attempts: fc.array(attempt, { maxLength: 6 }),
  ambiguous: fc.oneof(
    { weight: 9, arbitrary: fc.constant<number[]>([]) },
    { weight: 1, arbitrary: fc.constant<number[]>([0]) },
  ),
  crowd: fc.oneof(
    { weight: 30, arbitrary: fc.constant(0) },
    { weight: 1, arbitrary: fc.constant(150) },
    { weight: 3, arbitrary: fc.constantFrom(18, 25) },
  ),
  crowdFails: fc.constantFrom(0, 3, 5, 6),
  coverage,
  repositoryUrl: fc.option(fc.constantFrom(...REPOSITORY_URLS), { freq: 2 }),
  hasKey: fc.oneof(
    { weight: 5, arbitrary: fc.constant(false) },
    { weight: 1, arbitrary: fc.constant(true) },
  ),
});

const term: fc.Arbitrary<TermStep> = fc.oneof(
  fc.record({
    kind: fc.constantFrom<"first-seen" | "last-seen">("first-seen", "last-seen"),
    operator: fc.constantFrom<Operator>("", "<", "<=", ">", ">="),
    of: fc.nat(11),
    days: fc.constantFrom(0, 0, -1, 1),
  }),
  fc.record({
    kind: fc.constant<"tags">("tags"),
    tags: fc.subarray([...TAGS.map((tag) => tag.toUpperCase()), "none"], { minLength: 1 }),
  }),
  fc.record({ kind: fc.constant<"text">("text"), text: fc.constantFrom(...TEXTS) }),
);

const query: fc.Arbitrary<Query> = fc.record({
  repository: fc.nat(REPOSITORIES.length - 1),
  sort: fc.constantFrom<Sort>("disruptivenessRatio", "recency"),
  terms: fc.array(term, { maxLength: 2 }),
  limit: fc.constantFrom(1, 2, 3, 100),
  branches: fc.oneof(
    { weight: 3, arbitrary: fc.constant<string[]>([]) },
    { weight: 1, arbitrary: fc.subarray(BRANCH_PATTERNS, { minLength: 1, maxLength: 2 }) },
  ),
  environments: fc.oneof(
    { weight: 4, arbitrary: fc.constant<string[]>([]) },
    { weight: 1, arbitrary: fc.subarray(ENVIRONMENT_PATTERNS, { minLength: 1, maxLength: 2 }) },
  ),
  status: fc.constantFrom(
    "all",
    "all",
    "failed",
    "failure",
    "error",
    "skipped",
    "passed",
    "unknown",
  ),
  of: fc.nat(11),
  include: fc.subarray([...INCLUDES, "unknown", "Tags", ""]),
  view: fc.constantFrom<Query["view"]>(
    {},
    { quarantine: "false" },
    { quarantined: "false" },
    { quarantine: "0" },
    { quarantine: "", quarantined: "false" },
    { quarantine: "false", quarantined: "true" },
    { quarantine: "False" },
  ),
  scope: fc.constantFrom<Scope>(
    "all",
    "name",
    "owner/name",
    "id",
    "id and name",
    "id and bare name",
    "id and other name",
  ),
  organization: fc.oneof(
    { weight: 3, arbitrary: fc.constant<OrganizationParameter>("none") },
    { weight: 2, arbitrary: fc.constantFrom<OrganizationParameter>("own", "upper", "other") },
  ),
  upperCase: fc.boolean(),
});

/** The clock is set or moved. */
const clockStep: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant<"set clock to">("set clock to"),
      to: fc.oneof(
        { weight: 4, arbitrary: fc.constant<"submission">("submission") },
        { weight: 1, arbitrary: fc.constant<"token">("token") },
        { weight: 2, arbitrary: fc.constant<"quarantine">("quarantine") },
      ),
      of: fc.nat(11),
      past: fc.constantFrom(-1, 0, 0, 1, 1),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant<"move clock">("move clock"),
      seconds: fc.constantFrom(-1, 1, -3600, -DAY, -15 * DAY, 15 * DAY),
    }),
  },
);

/** Steps that may also run while requests are sent. */
const eventSteps: fc.WeightedArbitrary<Step>[] = [
  { weight: 32, arbitrary: fc.record({ kind: fc.constant<"upload">("upload"), upload }) },
  {
    weight: 10,
    arbitrary: fc.record({
      kind: fc.constant<"repeat">("repeat"),
      of: fc.nat(11),
      changes: fc.oneof(
        fc.constant<Change[]>([]),
        fc.constant<Change[]>(["buildUrl", "outcomes"]),
        fc.constant<Change[]>(["buildUrl", "tags"]),
        fc.subarray<Change>([
          "recordedAt",
          "commit",
          "buildUrl",
          "tree",
          "branch",
          "environment",
          "tags",
          "testTags",
          "coverage",
          "outcomes",
        ], { maxLength: 3 }),
      ),
      upload,
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant<"show processing">("show processing"),
      key: fc.nat(1),
      upload,
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant<"finish processing">("finish processing"),
      of: fc.nat(3),
      fails: fc.boolean(),
      upload,
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant<"delete">("delete"), of: fc.nat(11) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant<"delete and upload">("delete and upload"),
      of: fc.nat(11),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant<"quarantine">("quarantine"),
      test: fc.nat(7),
      by: fc.constantFrom<string | null>(null, "ana@example.com", "Jörg"),
      type: fc.constantFrom<"manual" | "automatic">("manual", "automatic"),
      reason: fc.constantFrom<string | null>(null, "slow", "größer"),
      owner: fc.constantFrom<string | null>(null, null, "@web"),
      expiresIn: fc.constantFrom<number | null>(null, 1, 3600, DAY, 14 * DAY),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant<"release">("release"), test: fc.nat(7) }) },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant<"apply policy">("apply policy"),
      repository: fc.constantFrom(0, 0, 0, 1),
      policy: fc.record({
        disruptions: fc.constantFrom(1, 1, 1, 2),
        codeVersions: fc.constantFrom(1, 1, 1, 2),
        minResults: fc.constantFrom(1, 2, 2, 3),
        maxTests: fc.constantFrom(1, 2, 10),
        releasePasses: fc.constantFrom(1, 2, 30),
        releaseAfter: fc.constantFrom(1, 3600, DAY),
        expires: fc.constantFrom(1, DAY, 30 * DAY),
      }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant<"rename">("rename"),
      repository: fc.nat(REPOSITORIES.length - 1),
      name: fc.constantFrom("moved/Web", "moved/else", "Über/größe"),
    }),
  },
  { weight: 5, arbitrary: clockStep },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant<"token">("token"),
      expiresIn: fc.constantFrom(null, 0, 1, DAY),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant<"revoke">("revoke"), of: fc.nat(3) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant<"delete repository">("delete repository"),
      repository: fc.oneof(
        { weight: 2, arbitrary: fc.constant(0) },
        { weight: 1, arbitrary: fc.nat(REPOSITORIES.length - 1) },
      ),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant<"recreate">("recreate"),
      of: fc.constantFrom(0, 0, 0, 1, 2),
      tags: fc.subarray(TAGS, { maxLength: 2 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant<"create repository">("create repository"),
      repository: fc.nat(REPOSITORIES.length - 1),
      sameNumber: fc.boolean(),
    }),
  },
];

/** Mostly none, so that a request often reaches its last statement before the next step. */
const pauses = fc.array(fc.constantFrom(0, 0, 1, 1, 2), { minLength: 1, maxLength: 7 });

const concurrent: fc.Arbitrary<ConcurrentSteps> = fc.record({
  kind: fc.constant<"concurrent">("concurrent"),
  steps: fc.array(fc.oneof(...eventSteps), { minLength: 1, maxLength: 6 }),
  pauses,
  first: fc.nat(21),
});

const pruning: fc.Arbitrary<ConcurrentSteps> = fc.record({
  kind: fc.constant<"concurrent">("concurrent"),
  steps: fc.tuple(fc.record({
    kind: fc.constant<"prune">("prune"),
    seconds: fc.constantFrom(0, 0, 1, DAY),
  })),
  pauses,
  first: fc.nat(21),
});

const step: fc.Arbitrary<Step | ConcurrentSteps> = fc.oneof(
  ...eventSteps,
  { weight: 8, arbitrary: concurrent },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant<"parallel">("parallel"),
      uploads: fc.array(upload, { minLength: 2, maxLength: 3 }),
      sameVersion: fc.boolean(),
      deletes: fc.option(fc.nat(11), { freq: 2 }),
      keeps: fc.boolean(),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant<"wait">("wait"),
      seconds: fc.constantFrom(1, 3600, DAY, 13 * DAY),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant<"wait for edge">("wait for edge"),
      of: fc.nat(11),
      past: fc.constantFrom(0, 1),
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant<"query">("query"), query }) },
);

/** Random histories, mostly with a window of 14 days. */
export const history: fc.Arbitrary<History> = fc.record({
  windowSeconds: fc.constantFrom(WINDOWS[0]!, WINDOWS[0]!, WINDOWS[0]!, WINDOWS[1]!),
  steps: fc.array(step, { minLength: 3, maxLength: 24 }),
  queriesAfterEachStep: fc.boolean(),
  ending: fc.option(fc.record({ clock: clockStep, pruning }), { freq: 2 }),
  queries: fc.array(query, { minLength: 1, maxLength: 4 }),
  texts: fc.subarray(TEXTS, { maxLength: 4 }),
});

/** A query of the examples. */
const QUERY: Query = {
  repository: 0,
  sort: "recency",
  terms: [],
  limit: 100,
  branches: [],
  environments: [],
  status: "all",
  of: 0,
  include: [],
  view: {},
  scope: "all",
  organization: "none",
  upperCase: false,
};

const BROKEN = uploadOf({ test: 0, negatives: 1, passes: 1, seconds: 60 });

const ERROR: Attempt = {
  test: 0,
  conclusion: "error",
  durationMicroseconds: 1,
  message: MESSAGES[0]!,
  times: 1,
};

const PASS: Attempt = { ...ERROR, conclusion: "passing" };
const SKIP: Attempt = { ...ERROR, conclusion: "skipped" };

/** Histories that random search finds too rarely; run before the random ones. */
export const EXAMPLES: readonly History[] = [
  ...POLICY_EXAMPLES,
  // 20 of 41 is more than 19 of 39 by less than a thousandth, and the smaller one is the later. In a search, % is no
  // wildcard and the case of Greek letters is ignored.
  {
    ...exampleOf(
      uploadOf({ test: 0, negatives: 20, passes: 21, seconds: 3600 }),
      uploadOf({ test: 1, negatives: 19, passes: 20, seconds: 0 }),
    ),
    texts: ["οδος", "%"],
  },
  // A tree that is written like a commit is other code, and a symbolic commit identifies none.
  exampleOf(
    { ...uploadOf({ test: 0, negatives: 1, passes: 0, seconds: 3600 }), commit: TREES[0]! },
    {
      ...uploadOf({ test: 0, negatives: 0, passes: 1, seconds: 0 }),
      commit: COMMITS[1]!,
      tree: TREES[0]!,
    },
  ),
  exampleOf(
    { ...uploadOf({ test: 0, negatives: 1, passes: 0, seconds: 3600 }), commit: "HEAD" },
    { ...uploadOf({ test: 0, negatives: 0, passes: 1, seconds: 0 }), commit: "HEAD" },
  ),
  // A set-up that failed passed where tests of its file ran and none of its set-ups stands; a set-up alone,
  // skipped tests and those of another class are none.
  exampleOf(
    { ...uploadOf({ test: FIRST_SET_UP, negatives: 1, passes: 0, seconds: 7200 }), job: "test" },
    { ...uploadOf({ test: 0, negatives: 0, passes: 1, seconds: 3600 }), job: "test" },
    { ...uploadOf({ test: 0, negatives: 1, passes: 0, seconds: 0 }), job: "test" },
  ),
  ...[{ test: FIRST_SET_UP + 1 }, { test: 0, conclusion: "skipped" as const }, { test: 8 }].map(
    (other) =>
      exampleOf(
        uploadOf({ test: FIRST_SET_UP, negatives: 1, passes: 0, seconds: 3600 }),
        {
          ...uploadOf({ test: other.test, negatives: 0, passes: 1, seconds: 0 }),
          attempts: [{ ...PASS, ...other }],
        },
      ),
  ),
  ...[FIRST_SET_UP + 1, FIRST_SET_UP].map((listed) =>
    exampleOf(
      uploadOf({ test: FIRST_SET_UP, negatives: 1, passes: 0, seconds: 3600 }),
      {
        ...uploadOf({ test: 0, negatives: 0, passes: 1, seconds: 0 }),
        attempts: [PASS, { ...PASS, test: listed, conclusion: "skipped" }],
      },
    )
  ),
  // Of a class, of a suite, in another shard, and without the pass once its submission is deleted.
  {
    ...exampleOf(
      uploadOf({ test: FIRST_SET_UP + 2, negatives: 1, passes: 0, seconds: 3600 }),
      uploadOf({ test: 8, negatives: 0, passes: 1, seconds: 0 }),
      uploadOf({ test: FIRST_SET_UP + 3, negatives: 1, passes: 0, seconds: 60 }),
      { ...uploadOf({ test: 2, negatives: 0, passes: 1, seconds: 30 }), crowd: 18 },
      {
        ...uploadOf({ test: FIRST_SET_UP, negatives: 1, passes: 0, seconds: 20 }),
        ...{ job: "test", shard: "1/2" },
      },
      {
        ...uploadOf({ test: 0, negatives: 0, passes: 1, seconds: 10 }),
        ...{ job: "test", shard: "2/2" },
      },
    ),
  },
  {
    ...exampleOf(),
    steps: [
      {
        kind: "upload",
        upload: uploadOf({ test: FIRST_SET_UP, negatives: 1, passes: 0, seconds: 3600 }),
      },
      { kind: "upload", upload: uploadOf({ test: 0, negatives: 0, passes: 1, seconds: 0 }) },
      { kind: "delete", of: 1 },
    ],
    queriesAfterEachStep: true,
  },
  // A deleted repository is not listed.
  {
    ...exampleOf(uploadOf({ test: 0, negatives: 1, passes: 1, seconds: 0 })),
    steps: [
      { kind: "upload", upload: uploadOf({ test: 0, negatives: 1, passes: 1, seconds: 0 }) },
      { kind: "delete repository", repository: 0 },
    ],
  },
  // The first and the latest disruption are on other branches than the one that is requested, the latest on one of
  // the same name but for case, and so is the latest pass, or the only one. The first has a cause of its own and is
  // older than the window.
  ...[0, 1].map((passes): History => ({
    ...exampleOf(
      {
        ...uploadOf({ test: 0, negatives: 3, passes: 0, seconds: 15 * DAY }),
        branch: BRANCHES[2]!,
      },
      { ...uploadOf({ test: 0, negatives: 1, passes, seconds: 3600 }), branch: BRANCHES[0]! },
      { ...uploadOf({ test: 0, negatives: 1, passes: 1, seconds: 0 }), branch: BRANCHES[1]! },
    ),
    queries: [{ ...QUERY, branches: [BRANCHES[0]!] }],
  })),
  // A failed archive is listed, a quarantine ends, the case of a name changes, and all is pruned; failures and
  // errors are one status and two conclusions, a skip is no pass, % is no wildcard, and an unknown environment
  // matches no pattern.
  {
    ...exampleOf(),
    steps: [
      {
        kind: "upload",
        upload: { ...BROKEN, branch: "main", attempts: [...BROKEN.attempts, ERROR, SKIP] },
      },
      { kind: "show processing", key: 0, upload: BROKEN },
      { kind: "finish processing", of: 0, fails: true, upload: BROKEN },
      {
        kind: "quarantine",
        test: 0,
        by: null,
        type: "manual",
        reason: null,
        owner: null,
        // After the upload has left the window.
        expiresIn: 15 * DAY,
      },
      { kind: "rename", repository: 0, name: "ACME/web" },
    ],
    queriesAfterEachStep: true,
    ending: {
      clock: { kind: "move clock", seconds: 15 * DAY },
      pruning: {
        kind: "concurrent",
        steps: [{ kind: "prune", seconds: 0 }],
        pauses: [0],
        first: 0,
      },
    },
    queries: [
      { ...QUERY, status: "failed", limit: 1 },
      { ...QUERY, status: "failure" },
      { ...QUERY, status: "passed" },
      { ...QUERY, branches: ["m%"] },
      { ...QUERY, environments: ["*"] },
    ],
  },
];

function exampleOf(...uploads: UploadStep[]): History {
  return {
    windowSeconds: WINDOWS[0]!,
    steps: uploads.map((upload) => ({ kind: "upload", upload })),
    queriesAfterEachStep: false,
    ending: null,
    queries: [],
    texts: [],
  };
}

function uploadOf({ test, negatives, passes, seconds }: {
  test: number;
  negatives: number;
  passes: number;
  seconds: number;
}): UploadStep {
  const attempt = { test, durationMicroseconds: 1, message: MESSAGES[0]! };
  return {
    repository: 0,
    at: { before: "now", seconds },
    commit: COMMITS[0]!,
    tree: null,
    branch: null,
    environment: "",
    job: "",
    buildUrl: BUILD_URLS[0]!,
    tags: [],
    testTags: [],
    attempts: [
      { ...attempt, conclusion: "failure", times: negatives },
      { ...attempt, conclusion: "passing", times: passes },
    ],
    crowd: 0,
    crowdFails: 0,
    coverage: null,
    repositoryUrl: null,
    hasKey: false,
  };
}
