/**
 * What random histories consist of. A step that refers to an earlier one does so by number, so that a
 * history stays valid while it is made smaller.
 */
import type { Conclusion } from "../../lib/report/result.ts";
import type { Operator, Sort } from "./oracle.ts";
import type { Scope } from "./questions.ts";

/** One entry of a report, as often as `times` says. */
export interface Attempt {
  /** Index in the pool of tests. */
  test: number;
  conclusion: Conclusion;
  durationMicroseconds: number;
  message: string;
  times: number;
}

export interface UploadStep {
  repository: number;
  /** Seconds before the clock (negative: after it), or after the edge of the window. */
  at: { before: "now" | "edge"; seconds: number };
  commit: string;
  tree: string | null;
  buildUrl: string;
  tags: string[];
  /** Tags of single tests, each by its index in the pool. */
  testTags: { test: number; tags: string[] }[];
  attempts: Attempt[];
  /** Passing tests that run besides, too many for one byte. */
  crowd: number;
  coverage: { coveredLineCount: number; lineCount: number } | null;
  /** True for an upload that comes under a key of its own. */
  hasKey: boolean;
}

/** A term of `q`; days are told by a submission and the distance from its day. */
export type TermStep =
  | { kind: "first-seen" | "last-seen"; operator: Operator; of: number; days: number }
  | { kind: "tags"; tags: string[] }
  | { kind: "text"; text: string };

/** One way to ask. */
export interface Look {
  repository: number;
  sort: Sort;
  terms: TermStep[];
  limit: number;
  include: string[];
  view: { quarantine?: string; quarantined?: string };
  scope: Scope;
  upperCase: boolean;
}

/** What an upload that repeats an earlier one has different; `outcomes`: who failed, passes. */
export type Change =
  | "recordedAt"
  | "commit"
  | "buildUrl"
  | "tree"
  | "tags"
  | "testTags"
  | "coverage"
  | "outcomes";

export type Step =
  | { kind: "upload"; upload: UploadStep }
  | { kind: "again"; of: number; changes: Change[]; upload: UploadStep }
  /**
   * At the same moment, and a submission deleted meanwhile when `deletes` is a number, whose tests
   * the first upload has but for one when `keeps` is true.
   */
  | {
    kind: "together";
    uploads: UploadStep[];
    sameVersion: boolean;
    deletes: number | null;
    keeps: boolean;
  }
  | { kind: "delete"; of: number }
  /** Deleted, and uploaded again. */
  | { kind: "return"; of: number }
  | { kind: "quarantine"; test: number; by: string | null; type: "manual" | "automatic" }
  | { kind: "release"; test: number }
  | { kind: "rename"; repository: number; name: string }
  /** Time goes by. */
  | { kind: "wait"; seconds: number }
  /** Until a submission is just inside the window (0), or just out of it (1). */
  | { kind: "wait for edge"; of: number; past: number }
  /** The clock is set to about that moment, wherever it is: back as well. */
  | { kind: "turn"; to: "submission" | "token"; of: number; past: number }
  /** The clock is set by so much. */
  | { kind: "jump"; seconds: number }
  | { kind: "token"; expiresIn: number | null }
  | { kind: "revoke"; of: number }
  /**
   * The repository of an upload is deleted, created under the number that it had, and gets the same
   * upload with other tags.
   */
  | { kind: "anew"; of: number; tags: string[] }
  /** A repository is deleted with all that it holds. */
  | { kind: "drop"; repository: number }
  /** One that was deleted is there again, under the number that it had or under a new one. */
  | { kind: "found"; repository: number; sameNumber: boolean }
  /** What is older than the window by more than so much is pruned; nothing but looking comes after. */
  | { kind: "prune"; seconds: number }
  | { kind: "look"; look: Look };

/** Steps that are taken while requests run. */
export interface Meanwhile {
  kind: "meanwhile";
  steps: Step[];
  /**
   * How long each statement of a server that dawdles waits, in turn: until so many more steps are
   * done, 0 for not at all.
   */
  pauses: number[];
  /** Which question is asked first. */
  first: number;
}

export interface History {
  windowSeconds: number;
  steps: (Step | Meanwhile)[];
  /** Asked after every step as well, so that every answer is one that could have been kept. */
  nosy: boolean;
  /**
   * What is done at the end, before everything is asked once more; `null` for nothing. The clock is
   * set first: what fell out of the window by then may be gone before anybody looked.
   */
  last: { clock: Step; pruning: Meanwhile } | null;
  /** Asked at the end. */
  looks: Look[];
  /** Each is looked for at the end. */
  texts: string[];
}
