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

/** One organization of the service; repositories go by their index. */
export interface Organization {
  /** Returns the numeric identifier. */
  createRepository(name: { owner: string; name: string }): Promise<number>;
  /** Returns false when the name is taken. */
  renameRepository(repository: number, name: { owner: string; name: string }): Promise<boolean>;
  upload(upload: PlainUpload, uploadedAt: number): Promise<Taken>;
  /** Returns false when there is no such submission. */
  deleteSubmission(key: string): Promise<boolean>;
  /** Returns false when the test is quarantined already. */
  addQuarantine(quarantine: PlainQuarantine): Promise<boolean>;
  removeQuarantine(testId: string): Promise<boolean>;
  ask(question: Question, path: string, moment: Moment): Promise<Answer>;
}
