/** Histories about the quarantine policy that random search finds too rarely. */
import type { Conclusion } from "../../lib/report/result.ts";
import { BUILD_URLS, COMMITS } from "./pools.ts";
import type { PlainPolicy } from "./policy_rules.ts";
import type { Attempt, History, Step, UploadStep } from "./steps.ts";

const DAY = 86_400;

const CONCLUSIONS: Record<string, Conclusion> = { p: "passing", f: "failure", s: "skipped" };

/** Results as letters, of the first tests of the pool: p passed, f failed, s was skipped. */
function upload(
  tests: string[],
  more: Partial<UploadStep> = {},
): Step & { kind: "upload" } {
  const attempts = tests.flatMap((letters, test) =>
    [...letters].map((letter): Attempt => ({
      test,
      conclusion: CONCLUSIONS[letter]!,
      durationMicroseconds: 1,
      message: "",
      times: 1,
    }))
  );
  return {
    kind: "upload",
    upload: {
      repository: 0,
      at: { before: "now", seconds: 3600 },
      commit: COMMITS[0]!,
      tree: null,
      branch: null,
      environment: "",
      job: "",
      buildUrl: BUILD_URLS[0]!,
      tags: [],
      testTags: [],
      attempts,
      crowd: 0,
      crowdFails: 0,
      coverage: null,
      repositoryUrl: null,
      hasKey: false,
      ...more,
    },
  };
}

/** Uploads of one test to a branch, a second apart. Their times differ, or they were one. */
function runs(count: number, letters: string, branch: string): Step[] {
  return Array.from({ length: count }, (_, index) => {
    const step = upload([letters], { ...ago(3_000 - index), branch });
    const attempts = step.upload.attempts.map((one) => ({
      ...one,
      durationMicroseconds: 2 + index,
    }));
    return { kind: "upload", upload: { ...step.upload, attempts } };
  });
}

/** A disruption at each of two code versions. */
function versions(first: string | null, second: string | null): Step[] {
  return [
    upload(["fppp"], { ...ago(3_000), branch: first }),
    upload(["fppp"], { ...ago(2_000), branch: second, commit: COMMITS[1]! }),
  ];
}

function apply(policy: Partial<PlainPolicy> = {}): Step {
  return {
    kind: "apply policy",
    repository: 0,
    policy: {
      disruptions: 1,
      codeVersions: 1,
      minResults: 1,
      maxTests: 10,
      releasePasses: 30,
      releaseAfter: DAY,
      expires: DAY,
      ...policy,
    },
  };
}

function quarantine(expiresIn: number | null): Step {
  const entry = { test: 0, by: null, reason: null, owner: null, expiresIn };
  return { kind: "quarantine", type: "manual", ...entry };
}

function history(...steps: Step[]): History {
  return {
    windowSeconds: 14 * DAY,
    steps,
    queriesAfterEachStep: false,
    ending: null,
    queries: [],
    texts: [],
  };
}

const ago = (seconds: number) => ({ at: { before: "now", seconds } as const });

export const POLICY_EXAMPLES: readonly History[] = [
  // More than a fifth failed, and exactly a fifth, of tests and of results.
  history(upload(["fp"], { crowd: 25, crowdFails: 6 }), apply()),
  history(upload(["fp"], { crowd: 19, crowdFails: 3 }), apply()),
  history(upload(["fp"], { crowd: 18, crowdFails: 3 }), apply()),
  // Half of its results passed, and fewer.
  history(upload(["fp", "ffp"]), apply({ minResults: 2 })),
  // One uninterrupted stretch of failures, and two.
  history(upload(["ppffpp", "ppfpfp"]), apply()),
  // Only the last 20 results count.
  history(upload([`fpppp${"f".repeat(11)}${"p".repeat(8)}`]), apply()),
  // On the base branch it failed at last in each of five runs; in four; on another branch; at first.
  history(...runs(5, "pf", "main"), upload(["pppp"], ago(60)), apply({ minResults: 2 })),
  history(...runs(4, "pf", "main"), apply({ minResults: 2 })),
  history(...runs(5, "pf", "release/1"), apply({ minResults: 2 })),
  history(...runs(5, "fp", "main"), apply({ minResults: 2 })),
  history(upload(["fp"], { branch: "main" }), ...runs(5, "pf", "main"), apply({ minResults: 2 })),
  // A report had several tests of its name.
  history(upload(["fp", "fp"], { ambiguous: [0] }), apply()),
  history(upload(["fp"]), upload(["p", "p"], { ...ago(60), ambiguous: [0] }), apply()),
  history(
    upload(["p"], { at: { before: "edge", seconds: -1 }, ambiguous: [0] }),
    upload(["fp"]),
    apply(),
  ),
  // A skip is no result.
  history(upload(["fpps"]), apply({ minResults: 4 })),
  history(upload(["fpps"]), apply({ minResults: 3 })),
  // What was before the release does not count, what was after does.
  history(
    upload(["fp"]),
    apply(),
    { kind: "release", test: 0 },
    apply(),
    { kind: "wait", seconds: 60 },
    upload(["fp"], { ...ago(0), commit: COMMITS[1]! }),
    apply(),
  ),
  // The same for the end of a manual entry, but not of an automatic one.
  history(
    upload(["fp"]),
    quarantine(10),
    { kind: "wait", seconds: 10 },
    apply(),
    upload(["fp"], { ...ago(0), commit: COMMITS[1]! }),
    apply(),
  ),
  history(
    upload(["fp"]),
    apply({ expires: 10 }),
    { kind: "wait", seconds: 10 },
    apply(),
    upload(["fp"], { ...ago(0), commit: COMMITS[1]! }),
    apply(),
  ),
  // Two code versions of a change, of the base branch, of two changes, of unknown branches, and of a
  // branch that is the base branch only because it has most builds.
  ...[["release/1", "release/1"], ["main", "main"], ["release/1", "größe"], [null, null]].map((
    [first, second],
  ) =>
    history(
      upload(["p"], { ...ago(7_200), branch: "main" }),
      ...versions(first!, second!),
      apply({ codeVersions: 2 }),
    )
  ),
  history(...versions("release/1", "release/1"), apply({ codeVersions: 2 })),
  // The same after its release by the policy: one change, the base branch, two changes.
  ...[["release/1", "release/1"], ["main", "main"], ["release/1", "größe"]].map((
    [first, second],
  ) =>
    history(
      upload(["fppp"], { branch: "main" }),
      apply({ expires: 60 * DAY }),
      { kind: "wait", seconds: DAY },
      apply({ releasePasses: 1, minResults: 9 }),
      { kind: "wait", seconds: 7_200 },
      ...versions(first!, second!),
      apply({ disruptions: 9 }),
    )
  ),
  // It passed often, but not for long; then for long.
  history(
    upload(["fp"]),
    apply({ releasePasses: 1 }),
    { kind: "wait", seconds: DAY - 3600 - 1 },
    apply({ releasePasses: 1 }),
    { kind: "wait", seconds: 1 },
    apply({ releasePasses: 1 }),
  ),
  // It is silent for long, then it passes; its failure is older than the window.
  history(
    upload(["fppf"]),
    apply({ expires: 60 * DAY }),
    { kind: "wait", seconds: 20 * DAY },
    apply({ releasePasses: 2 }),
    upload(["pp"], ago(DAY)),
    apply({ releasePasses: 2 }),
  ),
  // A person quarantined it.
  history(
    upload(["fp"], ago(2 * DAY)),
    quarantine(null),
    apply({ releasePasses: 1, releaseAfter: 1 }),
  ),
  // It is released before its end.
  history(
    upload(["fp"]),
    quarantine(100),
    { kind: "release", test: 0 },
    { kind: "wait", seconds: 200 },
  ),
  // A place for one of two.
  history(upload(["fp", "fpfp"]), apply({ maxTests: 1 })),
  history(upload(["fpfp", "fp"]), apply({ maxTests: 1 }), apply({ maxTests: 2 })),
  // The owners of its file.
  history(
    upload(["fp"], {
      testTags: [{ test: 0, tags: ["smoke", "owner:@acme/web", "owner:@acme/app"] }],
    }),
    apply(),
  ),
];
