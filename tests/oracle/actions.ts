/** From the steps of a random history to what is done, given what was done before. */
import type { TestResult } from "../../lib/report/result.ts";
import type { Change, History, Look, Step, UploadStep } from "./steps.ts";
import {
  indexOfName,
  type PlainQuarantine,
  type PlainUpload,
  repositoryAt,
  type State,
} from "./model.ts";
import { timestamp } from "./oracle.ts";
import type { Term } from "./oracle.ts";
import { TESTS } from "./pools.ts";
import type { Question } from "./questions.ts";

export type Action =
  | { kind: "upload"; uploads: PlainUpload[]; deletes: string | null }
  | { kind: "delete"; key: string }
  | { kind: "quarantine"; quarantine: PlainQuarantine }
  | { kind: "release"; testId: string }
  | { kind: "rename"; repository: number; owner: string; name: string }
  | { kind: "wait"; until: number }
  | { kind: "token"; expiresAt: number | null }
  | { kind: "revoke"; token: number }
  | { kind: "drop"; repository: number }
  | { kind: "found"; repository: number; sameNumber: boolean }
  | { kind: "prune"; cutoff: number }
  | { kind: "look"; look: Look }
  /** Done one after the other while requests run. */
  | { kind: "meanwhile"; actions: Action[] };

/** The moment at which every history begins; not at midnight. */
export const BEGINNING = Date.parse("2026-03-15T17:20:05Z") / 1000;

/** The clock goes back to here at most: uploads are recorded 30 years before it, and not before 1970. */
const EARLIEST = BEGINNING - 90 * 86_400;

/** As many tell as much as more would. */
const MAX_TOKENS = 4;

/** What an action is made from. */
export interface Circumstances {
  state: State;
  clock: number;
  windowSeconds: History["windowSeconds"];
  /** Every upload so far, in order, with those that were repetitions. */
  uploads: readonly PlainUpload[];
}

/** The actions of a step, none when it refers to what is not there. */
export function actionsOf(step: Step, circumstances: Circumstances): Action[] {
  if (step.kind === "return") {
    const submission = pick(circumstances.state.submissions, step.of);
    if (!submission) return [];
    const { id: _, key, ...upload } = submission;
    return [
      { kind: "delete", key },
      { kind: "upload", uploads: [{ ...upload, key: null }], deletes: null },
    ];
  }
  if (step.kind === "anew") {
    const upload = pick(circumstances.uploads, step.of);
    if (!upload || !repositoryAt(circumstances.state, upload.repository).isThere) return [];
    const { repository } = upload;
    return [
      { kind: "drop", repository },
      { kind: "found", repository, sameNumber: true },
      { kind: "upload", uploads: [{ ...upload, tags: step.tags }], deletes: null },
    ];
  }
  const action = actionOf(step, circumstances);
  if (!action) return [];
  // An upload creates the repository that it is for.
  const first = action.kind === "upload" ? action.uploads : [];
  const missing = new Set(
    first.map(({ repository }) => repository)
      .filter((index) => !repositoryAt(circumstances.state, index).isThere),
  );
  const founded = [...missing].flatMap((repository) =>
    found({ repository, sameNumber: false }, circumstances)
  );
  // Its name may have gone to another one.
  if (founded.length < missing.size) return [];
  return [...founded, action];
}

function found(
  wanted: { repository: number; sameNumber: boolean },
  { state }: Circumstances,
): Action[] {
  const { isThere, ...name } = repositoryAt(state, wanted.repository);
  if (isThere || indexOfName(state, name) >= 0) return [];
  return [{ kind: "found", ...wanted }];
}

function actionOf(
  step: Exclude<Step, { kind: "return" | "anew" }>,
  circumstances: Circumstances,
): Action | null {
  const { state, clock, uploads } = circumstances;
  switch (step.kind) {
    case "upload":
      return { kind: "upload", uploads: [plainUpload(step.upload, circumstances)], deletes: null };
    case "again": {
      const earlier = pick(uploads, step.of);
      if (!earlier) return null;
      const other = plainUpload(step.upload, circumstances);
      return { kind: "upload", uploads: [changed(earlier, step.changes, other)], deletes: null };
    }
    case "together":
      return together(step, circumstances);
    case "delete": {
      const submission = pick(state.submissions, step.of);
      return submission ? { kind: "delete", key: submission.key } : null;
    }
    case "quarantine": {
      const test = pick(state.tests, step.test);
      if (!test) return null;
      const { by, type } = step;
      const { repository, id } = test;
      return { kind: "quarantine", quarantine: { repository, testId: id, at: clock, by, type } };
    }
    case "release": {
      const quarantine = pick(state.quarantines, step.test);
      return quarantine ? { kind: "release", testId: quarantine.testId } : null;
    }
    case "rename": {
      if (!repositoryAt(state, step.repository).isThere) return null;
      const [owner = "", name = ""] = step.name.split("/");
      return { kind: "rename", repository: step.repository, owner, name };
    }
    case "wait":
      return { kind: "wait", until: clock + step.seconds };
    case "wait for edge": {
      const submission = pick(state.submissions, step.of);
      if (!submission) return null;
      const until = submission.recordedAt + circumstances.windowSeconds + step.past;
      return until > clock ? { kind: "wait", until } : null;
    }
    case "turn": {
      const submission = pick(state.submissions, step.of);
      const edge = step.to === "submission"
        ? submission && submission.recordedAt + circumstances.windowSeconds
        : pick(state.tokens, step.of)?.expiresAt;
      if (edge === undefined || edge === null || edge < EARLIEST) return null;
      return { kind: "wait", until: edge + step.past };
    }
    case "jump":
      return { kind: "wait", until: Math.max(EARLIEST, clock + step.seconds) };
    case "token": {
      if (state.tokens.length >= MAX_TOKENS) return null;
      const { expiresIn } = step;
      return { kind: "token", expiresAt: expiresIn === null ? null : clock + expiresIn };
    }
    case "revoke": {
      // The first one stays, to ask with.
      const others = state.tokens.length - 1;
      return others > 0 ? { kind: "revoke", token: 1 + step.of % others } : null;
    }
    case "drop":
      return repositoryAt(state, step.repository).isThere
        ? { kind: "drop", repository: step.repository }
        : null;
    case "found":
      return found(step, circumstances)[0] ?? null;
    case "prune":
      return { kind: "prune", cutoff: clock - circumstances.windowSeconds - step.seconds };
    case "look":
      return { kind: "look", look: step.look };
  }
}

function together(step: Step & { kind: "together" }, circumstances: Circumstances): Action {
  const uploads = step.uploads.map((upload, index) => plainUpload(upload, circumstances, index));
  const [first, ...others] = uploads;
  for (const other of others) {
    if (step.sameVersion) {
      other.repository = first!.repository;
      other.commit = first!.commit;
      other.tree = first!.tree;
    }
    // Which of two reports was uploaded later would be a matter of chance.
    other.coverage = null;
  }
  const { state } = circumstances;
  const submission = step.deletes === null ? undefined : pick(state.submissions, step.deletes);
  if (submission && step.keeps && submission.repository === first!.repository) {
    first!.results = submission.results.slice(1);
  }
  // What is uploaded while it is deleted may come before or after: not a question for a test.
  const disputed = submission &&
    uploads.some((upload) =>
      upload.repository === submission.repository && upload.commit === submission.commit &&
      upload.buildUrl === submission.buildUrl
    );
  return { kind: "upload", uploads, deletes: submission && !disputed ? submission.key : null };
}

function plainUpload(step: UploadStep, circumstances: Circumstances, index = 0): PlainUpload {
  const { clock, windowSeconds, uploads } = circumstances;
  const edge = clock - windowSeconds;
  const recordedAt = step.at.before === "now" ? clock - step.at.seconds : edge + step.at.seconds;
  return {
    repository: step.repository,
    recordedAt,
    commit: step.commit,
    tree: step.tree,
    buildUrl: step.buildUrl,
    tags: [...step.tags],
    testTags: step.testTags.map(({ test, tags }) => ({ test: TESTS[test]!, tags })),
    results: resultsOf(step),
    coverage: step.coverage,
    key: step.hasKey ? `archives/${uploads.length + index}.gz` : null,
  };
}

function resultsOf(step: UploadStep): TestResult[] {
  const results: TestResult[] = [];
  for (const { test, conclusion, durationMicroseconds, message, times } of step.attempts) {
    const negative = conclusion === "failure" || conclusion === "error";
    for (let time = 0; time < times; time++) {
      // Of several alike each says which it is, so that their order shows.
      const told = times > 1 ? `${message.slice(0, 900)} #${time}`.trim() : message;
      const result = { ...TESTS[test]!, conclusion, durationMicroseconds };
      results.push({ ...result, message: negative ? told : "" });
    }
  }
  for (let number = 0; number < step.crowd; number++) {
    results.splice(Math.min(1, results.length), 0, {
      suite: "crowd",
      class: "",
      name: `test ${number}`,
      file: "",
      conclusion: "passing",
      durationMicroseconds: number * 1000,
      message: "",
    });
  }
  return results;
}

function changed(earlier: PlainUpload, changes: Change[], other: PlainUpload): PlainUpload {
  // The same archive again, unless something is different.
  let upload: PlainUpload = changes.length === 0 ? earlier : { ...earlier, key: null };
  for (const change of changes) {
    if (change === "outcomes") upload = { ...upload, results: upload.results.map(turned) };
    else upload = { ...upload, [change]: other[change] };
  }
  return upload;
}

/** The result that would have made the test nondeterministic. */
function turned(result: TestResult): TestResult {
  if (result.conclusion === "passing") {
    return { ...result, conclusion: "failure", message: "turned" };
  }
  const negative = result.conclusion === "failure" || result.conclusion === "error";
  return negative ? { ...result, conclusion: "passing", message: "" } : result;
}

/** The questions of a look, given what is there. */
export function questionsOf(look: Look, state: State): Question[] {
  const { repository, sort, limit, include, view, scope } = look;
  const terms = look.terms.flatMap((term): Term[] => {
    if (term.kind === "text" || term.kind === "tags") return [term];
    const submission = pick(state.submissions, term.of);
    if (!submission) return [];
    const day = timestamp(submission.recordedAt + term.days * 86_400).slice(0, 10);
    return [{ kind: term.kind, operator: term.operator, day }];
  });
  const page = { sort, terms, limit, offset: 0 };
  return [
    { kind: "submissions", repository, limit, after: null },
    { kind: "tests", repository, page },
    { kind: "inventory", repository, scope, view, include, page },
  ];
}

function pick<T>(list: readonly T[], number: number): T | undefined {
  return list.length === 0 ? undefined : list[number % list.length];
}
