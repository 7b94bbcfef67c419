/** What a history is told to and asked of: the real program, or a stand-in. */
import type { PlainQuarantine, PlainUpload } from "./model.ts";
import type { Answer, Question } from "./questions.ts";

/** What became of an upload. */
export interface Taken {
  id: string;
  key: string;
  duplicate: boolean;
  testResultCount: number;
  /** Disruptions in the submission, as of now. */
  disruptionCount: number;
}

/** A moment at which questions are asked. */
export interface Moment {
  /** Seconds since 1970. */
  now: number;
  windowSeconds: number;
}

/** How a question is asked. */
export interface Asking {
  path: string;
  windowSeconds: number;
  /** Index of the token; the first one unless given. */
  token?: number;
  /** Which of those that serve is asked: any number. */
  through: number;
  /** Whether to tell the entity tags of all earlier answers to the same. */
  isConditional: boolean;
}

/** One organization of the service; repositories and tokens go by their index. */
export interface Organization {
  /** How many serve it, each with what it keeps. */
  readonly servers: number;
  /** Sets the clock of all who serve. */
  setClock(now: number): Promise<void>;
  /**
   * Takes the place of a repository that was deleted when the index is that of one. Returns the
   * numeric identifier: the one that is asked for, else the next one.
   */
  createRepository(
    index: number,
    repository: { owner: string; name: string; createdAt: number; repositoryId?: number },
  ): Promise<number>;
  /** Returns false when the name is taken. */
  renameRepository(repository: number, name: { owner: string; name: string }): Promise<boolean>;
  /** Returns false when it is gone already. */
  deleteRepository(repository: number): Promise<boolean>;
  upload(upload: PlainUpload, uploadedAt: number): Promise<Taken>;
  /** Returns false when there is no such submission. */
  deleteSubmission(key: string): Promise<boolean>;
  /** Returns false when the test is quarantined already. */
  addQuarantine(quarantine: PlainQuarantine): Promise<boolean>;
  removeQuarantine(testId: string): Promise<boolean>;
  /** Prunes what was recorded before a moment, in seconds since 1970. */
  prune(repository: number, cutoff: number): Promise<void>;
  createToken(expiresAt: number | null): Promise<void>;
  /** Returns false when it was revoked before. */
  revokeToken(index: number, revokedAt: number): Promise<boolean>;
  ask(question: Question, asking: Asking): Promise<Answer>;
  /** Waited for after statements of those who dawdle; `null`: nobody does. */
  setGate(gate: (() => Promise<void>) | null): void;
}
