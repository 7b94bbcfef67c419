/**
 * The steps of random histories. A step refers to earlier ones by number, so that a history stays
 * valid while it is shrunk.
 */
import type { Conclusion } from "../../lib/report/result.ts";
import type { Operator, Sort } from "./oracle.ts";
import type { PlainPolicy } from "./policy_rules.ts";
import type { OrganizationParameter, Scope } from "./requests.ts";

/** One result of a report, repeated `times` times. */
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
  branch: string | null;
  environment: string;
  job: string;
  workflow?: string;
  shard?: string;
  attempt?: string;
  buildUrl: string;
  tags: string[];
  /** Tags of single tests, each by its index in the pool. */
  testTags: { test: number; tags: string[] }[];
  attempts: Attempt[];
  /** Tests, by their index in the pool, that stand for several tests of one name. */
  ambiguous?: number[];
  /** Number of additional tests: more than fit into one byte, or enough for a broken environment. */
  crowd: number;
  /** How many of them fail. */
  crowdFails: number;
  coverage: { coveredLineCount: number; lineCount: number } | null;
  repositoryUrl: string | null;
  /** True for an upload with an archive key. */
  hasKey: boolean;
}

/** A term of `q`; a day is given relative to that of a submission. */
export type TermStep =
  | { kind: "first-seen" | "last-seen"; operator: Operator; of: number; days: number }
  | { kind: "tags"; tags: string[] }
  | { kind: "text"; text: string };

/** Parameters of one round of requests. */
export interface Query {
  repository: number;
  sort: Sort;
  terms: TermStep[];
  limit: number;
  /** Patterns, none for all submissions. */
  branches: string[];
  environments: string[];
  /** Of attempts. */
  status: string;
  /** The submission and the test whose attempts are listed. */
  of: number;
  include: string[];
  view: { quarantine?: string; quarantined?: string };
  scope: Scope;
  organization: OrganizationParameter;
  upperCase: boolean;
}

/** What a repeated upload changes; `outcomes`: negative results pass, and the other way round. */
export type Change =
  | "recordedAt"
  | "commit"
  | "buildUrl"
  | "tree"
  | "branch"
  | "environment"
  | "tags"
  | "testTags"
  | "coverage"
  | "outcomes";

interface QuarantineStep {
  kind: "quarantine";
  test: number;
  by: string | null;
  type: "manual" | "automatic";
  reason: string | null;
  owner: string | null;
  /** Seconds until its end, `null` for none. */
  expiresIn: number | null;
}

export type Step =
  | { kind: "upload"; upload: UploadStep }
  | { kind: "repeat"; of: number; changes: Change[]; upload: UploadStep }
  /**
   * Uploads at the same time. `deletes`: a submission that is deleted at that time as well; with
   * `keeps` the first upload has its results but one.
   */
  | {
    kind: "parallel";
    uploads: UploadStep[];
    sameVersion: boolean;
    deletes: number | null;
    keeps: boolean;
  }
  | { kind: "delete"; of: number }
  /** A submission is deleted and uploaded again. */
  | { kind: "delete and upload"; of: number }
  | QuarantineStep
  | { kind: "release"; test: number }
  | { kind: "apply policy"; repository: number; policy: PlainPolicy }
  | { kind: "rename"; repository: number; name: string }
  /** Time passes. */
  | { kind: "wait"; seconds: number }
  /** Until a submission is just inside the window (0), or just outside (1). */
  | { kind: "wait for edge"; of: number; past: number }
  /** The clock is set, forward or back, to the edge of a submission, or the end of something. */
  | { kind: "set clock to"; to: "submission" | "token" | "quarantine"; of: number; past: number }
  /** The clock is moved forward or back. */
  | { kind: "move clock"; seconds: number }
  | { kind: "token"; expiresIn: number | null }
  | { kind: "revoke"; of: number }
  /**
   * The repository of an upload is deleted and created again with the same number, and gets the
   * same upload with other tags.
   */
  | { kind: "recreate"; of: number; tags: string[] }
  /** A repository is deleted with all its data. */
  | { kind: "delete repository"; repository: number }
  /** A deleted repository is created again, with its earlier number or a new one. */
  | { kind: "create repository"; repository: number; sameNumber: boolean }
  /** Data older than the window by `seconds` is pruned; only requests follow. */
  | { kind: "prune"; seconds: number }
  /** An archive is listed as processing. Few keys, so that archives are retried. */
  | { kind: "show processing"; key: number; upload: UploadStep }
  /** Processing of a listed archive ends: with the results of `upload`, or not. */
  | { kind: "finish processing"; of: number; fails: boolean; upload: UploadStep }
  | { kind: "query"; query: Query };

/** Steps that run while requests are sent. */
export interface ConcurrentSteps {
  kind: "concurrent";
  steps: Step[];
  /** How many more steps each statement of the delayed server waits for, in turn; 0 for none. */
  pauses: number[];
  /** Index of the first request. */
  first: number;
}

export interface History {
  windowSeconds: number;
  steps: (Step | ConcurrentSteps)[];
  /** Requests after every step as well, so that every response can be cached. */
  queriesAfterEachStep: boolean;
  /**
   * The end, followed by all requests once more. The clock is set before pruning, so that data
   * leaves the window and is pruned without a request in between.
   */
  ending: { clock: Step; pruning: ConcurrentSteps } | null;
  /** Compared at the end. */
  queries: Query[];
  /** Searched for at the end. */
  texts: string[];
}
