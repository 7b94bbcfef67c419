/** The interface of a history to the service: the real program, or a stand-in. */
import type { PlainUpload } from "./model.ts";
import type { PlainPolicy } from "./policy_rules.ts";
import type { LoggedEvent, PlainQuarantine } from "./quarantines.ts";
import type { ApiRequest, ApiResponse } from "./requests.ts";

/** The outcome of an upload. */
export interface UploadOutcome {
  id: string;
  key: string;
  duplicate: boolean;
  testResultCount: number;
  /** Disruptions in the submission, as of now. */
  disruptionCount: number;
}

/** A test that entered or left the quarantine by a policy. */
export interface PolicyChange {
  testId: string;
  action: "enter" | "leave";
  reason: string;
}

/** How a request is sent. */
export interface SendOptions {
  path: string;
  windowSeconds: number;
  /** Index of the token; the first one unless given. */
  token?: number;
  /** Number of the server, modulo their count. */
  through: number;
  /** Whether to send the entity tags of all earlier responses to the same request. */
  isConditional: boolean;
}

/** One organization; repositories and tokens are named by their index. */
export interface Organization {
  /** Its number in the service. */
  readonly organizationId: number;
  /** Number of servers, each with caches of its own. */
  readonly servers: number;
  /** Sets the clock of all servers. */
  setClock(now: number): Promise<void>;
  /**
   * Replaces the deleted repository of the same index, if any. Returns the numeric identifier: the
   * given one, else the next one.
   */
  createRepository(
    index: number,
    repository: { owner: string; name: string; createdAt: number; repositoryId?: number },
  ): Promise<number>;
  /** Returns false when the name is taken. */
  renameRepository(repository: number, name: { owner: string; name: string }): Promise<boolean>;
  /** Returns false when it is already deleted. */
  deleteRepository(repository: number, now: number): Promise<void>;
  upload(upload: PlainUpload, uploadedAt: number): Promise<UploadOutcome>;
  /** Lists an archive as processing. */
  showProcessing(archive: PlainUpload & { key: string }, uploadedAt: number): Promise<void>;
  /** Marks a listed archive as failed. */
  showFailed(archive: { repository: number; key: string }): Promise<void>;
  /** Returns false when there is no such submission. */
  deleteSubmission(key: string): Promise<boolean>;
  addQuarantine(quarantine: PlainQuarantine): Promise<"added" | "changed" | "unchanged">;
  /** Returns false when the test is not quarantined. */
  removeQuarantine(testId: string, now: number): Promise<boolean>;
  /** Returns the tests that entered or left, with the reasons. */
  applyPolicy(
    action: { repository: number; policy: PlainPolicy },
    now: number,
    windowSeconds: number,
  ): Promise<PolicyChange[]>;
  /** All changes and ends of quarantine entries, in any order. */
  quarantineLog(now: number): Promise<LoggedEvent[]>;
  /** Prunes what was recorded before a moment, in seconds since 1970. */
  prune(repository: number, cutoff: number): Promise<void>;
  createToken(expiresAt: number | null): Promise<void>;
  /** Returns false when it was revoked before. */
  revokeToken(index: number, revokedAt: number): Promise<boolean>;
  /** Exports the organization, deletes it, and imports the export: nothing about it may change. */
  move(): Promise<void>;
  send(apiRequest: ApiRequest, options: SendOptions): Promise<ApiResponse>;
  /** Awaited after each statement of the delayed server; `null` for no delay. */
  setGate(gate: (() => Promise<void>) | null): void;
}
