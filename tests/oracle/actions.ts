/** Turns the steps of a random history into actions, given the state so far. */
import type { TestResult } from "../../lib/report/result.ts";
import type { Change, History, Query, Step, UploadStep } from "./steps.ts";
import { indexOfName, type PlainUpload, repositoryAt, type State } from "./model.ts";
import { timestamp } from "./oracle.ts";
import type { Term } from "./oracle.ts";
import { REPOSITORIES, TESTS } from "./pools.ts";
import type { PlainPolicy } from "./policy_rules.ts";
import type { PlainQuarantine } from "./quarantines.ts";
import type { ApiRequest } from "./requests.ts";

export type Action =
  | { kind: "upload"; uploads: PlainUpload[]; deletes: string | null }
  | { kind: "delete"; key: string }
  | { kind: "quarantine"; quarantine: PlainQuarantine }
  | { kind: "release"; testId: string }
  | { kind: "apply policy"; repository: number; policy: PlainPolicy }
  | { kind: "rename"; repository: number; owner: string; name: string }
  | { kind: "wait"; until: number }
  | { kind: "token"; expiresAt: number | null }
  | { kind: "revoke"; token: number }
  | { kind: "delete repository"; repository: number }
  | { kind: "create repository"; repository: number; sameNumber: boolean }
  | { kind: "prune"; cutoff: number }
  | { kind: "show processing"; upload: PlainUpload & { key: string } }
  | { kind: "show failed"; repository: number; key: string }
  | { kind: "move" }
  | { kind: "query"; query: Query }
  /** One after the other while requests run. */
  | { kind: "concurrent"; actions: Action[] };

/** A token or a quarantine entry. */
type Ending = { expiresAt: number | null };

/** The moment at which every history begins; not at midnight. */
export const BEGINNING = Date.parse("2026-03-15T17:20:05Z") / 1000;

/** The earliest clock: uploads are recorded up to 30 years before it, and not before 1970. */
const EARLIEST = BEGINNING - 90 * 86_400;

/** Every token is tried after most steps, so a few are enough. */
const MAX_TOKENS = 4;

/** The input of an action. */
export interface Context {
  state: State;
  clock: number;
  windowSeconds: History["windowSeconds"];
  /** Every upload so far, in order, repetitions included. */
  uploads: readonly PlainUpload[];
}

/** The actions of a step; none when it refers to something that does not exist. */
export function actionsOf(step: Step, context: Context): Action[] {
  if (step.kind === "delete and upload") {
    const submission = pick(context.state.submissions, step.of);
    if (!submission) return [];
    const { id: _, status: __, key, ...upload } = submission;
    return [
      { kind: "delete", key },
      { kind: "upload", uploads: [{ ...upload, key: null }], deletes: null },
    ];
  }
  if (step.kind === "recreate") {
    const upload = pick(context.uploads, step.of);
    if (!upload || !repositoryAt(context.state, upload.repository).isThere) return [];
    const { repository } = upload;
    return [
      { kind: "delete repository", repository },
      { kind: "create repository", repository, sameNumber: true },
      { kind: "upload", uploads: [{ ...upload, tags: step.tags }], deletes: null },
    ];
  }
  const action = actionOf(step, context);
  if (!action) return [];
  // An upload creates the repository that it is for.
  const uploads = action.kind === "upload"
    ? action.uploads
    : action.kind === "show processing"
    ? [action.upload]
    : [];
  const missing = new Set(
    uploads.map(({ repository }) => repository)
      .filter((index) => !repositoryAt(context.state, index).isThere),
  );
  const created = [...missing].flatMap((repository) =>
    createAgain({ repository, sameNumber: false }, context)
  );
  // Another repository may have taken its name.
  if (created.length < missing.size) return [];
  return [...created, action];
}

function createAgain(
  wanted: { repository: number; sameNumber: boolean },
  { state }: Context,
): Action[] {
  const { isThere, ...name } = repositoryAt(state, wanted.repository);
  if (isThere || indexOfName(state, name) >= 0) return [];
  return [{ kind: "create repository", ...wanted }];
}

function actionOf(
  step: Exclude<Step, { kind: "delete and upload" | "recreate" }>,
  context: Context,
): Action | null {
  const { state, clock, uploads } = context;
  switch (step.kind) {
    case "upload":
      return { kind: "upload", uploads: [plainUpload(step.upload, context)], deletes: null };
    case "repeat": {
      const earlier = pick(uploads, step.of);
      if (!earlier) return null;
      const other = plainUpload(step.upload, context);
      return { kind: "upload", uploads: [changed(earlier, step.changes, other)], deletes: null };
    }
    case "parallel":
      return parallelUploads(step, context);
    case "delete": {
      const submission = pick(state.submissions, step.of);
      return submission ? { kind: "delete", key: submission.key } : null;
    }
    case "quarantine": {
      const test = pick(state.tests, step.test);
      if (!test) return null;
      const { kind: _, test: __, expiresIn, ...entry } = step;
      const expiresAt = expiresIn === null ? null : clock + expiresIn;
      const { repository, id: testId } = test;
      const quarantine = { ...entry, repository, testId, at: clock, expiresAt };
      return { kind: "quarantine", quarantine };
    }
    case "release": {
      const quarantine = pick(state.quarantines, step.test);
      return quarantine ? { kind: "release", testId: quarantine.testId } : null;
    }
    case "apply policy":
      return repositoryAt(state, step.repository).isThere ? step : null;
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
      const until = submission.recordedAt + context.windowSeconds + step.past;
      return until > clock ? { kind: "wait", until } : null;
    }
    case "set clock to": {
      const submission = pick(state.submissions, step.of);
      const edge = step.to === "submission"
        ? submission && submission.recordedAt + context.windowSeconds
        : pick<Ending>(step.to === "token" ? state.tokens : state.quarantines, step.of)?.expiresAt;
      if (edge === undefined || edge === null || edge < EARLIEST) return null;
      return { kind: "wait", until: edge + step.past };
    }
    case "move clock":
      return { kind: "wait", until: Math.max(EARLIEST, clock + step.seconds) };
    case "token": {
      if (state.tokens.length >= MAX_TOKENS) return null;
      const { expiresIn } = step;
      return { kind: "token", expiresAt: expiresIn === null ? null : clock + expiresIn };
    }
    case "revoke": {
      // The first one stays valid, for the other requests.
      const others = state.tokens.length - 1;
      return others > 0 ? { kind: "revoke", token: 1 + step.of % others } : null;
    }
    case "delete repository":
      return repositoryAt(state, step.repository).isThere
        ? { kind: "delete repository", repository: step.repository }
        : null;
    case "create repository":
      return createAgain(step, context)[0] ?? null;
    case "prune":
      return { kind: "prune", cutoff: clock - context.windowSeconds - step.seconds };
    case "show processing": {
      const { repository } = step.upload;
      const key = `inbox/${repository}/${step.key}.gz`;
      const upload = { ...plainUpload(step.upload, context), key, results: [], coverage: null };
      return { kind: "show processing", upload };
    }
    case "finish processing": {
      const processing = state.submissions.filter(({ status }) => status === "processing");
      const submission = pick(processing, step.of);
      if (!submission) return null;
      const { id: _, status: __, ...shown } = submission;
      const { repository, key } = shown;
      if (step.fails) return { kind: "show failed", repository, key };
      const { results, coverage } = plainUpload(step.upload, context);
      return { kind: "upload", uploads: [{ ...shown, results, coverage }], deletes: null };
    }
    case "query":
      return { kind: "query", query: step.query };
  }
}

function parallelUploads(step: Step & { kind: "parallel" }, context: Context): Action {
  const uploads = step.uploads.map((upload, index) => plainUpload(upload, context, index));
  const [first, ...others] = uploads;
  for (const other of others) {
    if (step.sameVersion) {
      other.repository = first!.repository;
      other.commit = first!.commit;
      other.tree = first!.tree;
      other.environment = first!.environment;
    }
    // Which of two coverage reports is the later upload would be random.
    other.coverage = null;
    // The same is true of the page of the repository.
    other.repositoryUrl = null;
  }
  const { state } = context;
  const submission = step.deletes === null ? undefined : pick(state.submissions, step.deletes);
  if (submission && step.keeps && submission.repository === first!.repository) {
    first!.results = submission.results.slice(1);
  }
  // An upload and the deletion of the same submission may happen in either order.
  const disputed = submission &&
    uploads.some((upload) =>
      upload.repository === submission.repository && upload.commit === submission.commit &&
      upload.buildUrl === submission.buildUrl
    );
  return { kind: "upload", uploads, deletes: submission && !disputed ? submission.key : null };
}

function plainUpload(step: UploadStep, context: Context, index = 0): PlainUpload {
  const { clock, windowSeconds, uploads } = context;
  const edge = clock - windowSeconds;
  const recordedAt = step.at.before === "now" ? clock - step.at.seconds : edge + step.at.seconds;
  return {
    repository: step.repository,
    recordedAt,
    commit: step.commit,
    tree: step.tree,
    branch: step.branch,
    environment: step.environment,
    job: step.job,
    workflow: step.workflow ?? "",
    shard: step.shard ?? "",
    attempt: step.attempt ?? "",
    buildUrl: step.buildUrl,
    tags: [...step.tags],
    testTags: step.testTags.map(({ test, tags }) => ({ test: TESTS[test]!, tags })),
    results: resultsOf(step),
    ambiguous: (step.ambiguous ?? []).map((test) => TESTS[test]!),
    coverage: step.coverage,
    repositoryUrl: step.repositoryUrl,
    key: step.hasKey ? `archives/${uploads.length + index}.gz` : null,
  };
}

function resultsOf(step: UploadStep): TestResult[] {
  const results: TestResult[] = [];
  for (const { test, conclusion, durationMicroseconds, message, times } of step.attempts) {
    const negative = conclusion === "failure" || conclusion === "error";
    for (let time = 0; time < times; time++) {
      // Numbered, so that their order is visible.
      const numbered = times > 1 ? `${message.slice(0, 900)} #${time}`.trim() : message;
      const text = negative
        ? { message: numbered, body: bodyOf(numbered, durationMicroseconds) }
        : { message: "", body: "" };
      const others = durationMicroseconds % 3 === 1 ? ["no receipt", "total 7 is not 8"] : [];
      results.push({
        ...TESTS[test]!,
        conclusion,
        durationMicroseconds,
        ...text,
        ...negative && others.length > 0 && { otherMessages: others },
      });
    }
  }
  for (let number = 0; number < step.crowd; number++) {
    results.splice(Math.min(1, results.length), 0, {
      suite: "crowd",
      class: "",
      name: `test ${number}`,
      file: "",
      conclusion: number < step.crowdFails ? "failure" : "passing",
      durationMicroseconds: number * 1000,
      message: "",
      body: "",
    });
  }
  return results;
}

/** A cause and its trace, with line numbers that vary; some failures have none. */
function bodyOf(message: string, number: number): string {
  if (number % 4 === 0) return "";
  const cause = message || "the cart is empty";
  return `${cause}\n    at step (src/checkout.ts:${number % 50})\n    at run (src/main.ts:9)`;
}

function changed(earlier: PlainUpload, changes: Change[], other: PlainUpload): PlainUpload {
  // Without changes it is the same archive again.
  let upload: PlainUpload = changes.length === 0 ? earlier : { ...earlier, key: null };
  for (const change of changes) {
    if (change === "outcomes") upload = { ...upload, results: upload.results.map(inverted) };
    else upload = { ...upload, [change]: other[change] };
  }
  return upload;
}

/** The opposite result, which makes the test nondeterministic. */
function inverted(result: TestResult): TestResult {
  if (result.conclusion === "passing") {
    return { ...result, conclusion: "failure", message: "inverted" };
  }
  const negative = result.conclusion === "failure" || result.conclusion === "error";
  return negative ? { ...result, conclusion: "passing", message: "", body: "" } : result;
}

const DURATION_UNITS = ["file", "class", "test"] as const;

/** The requests of a query step. */
export function requestsOf(query: Query, state: State): ApiRequest[] {
  const { repository, sort, limit, include, view, branches, environments } = query;
  const terms = query.terms.flatMap((term): Term[] => {
    if (term.kind === "text" || term.kind === "tags") return [term];
    const submission = pick(state.submissions, term.of);
    if (!submission) return [];
    const day = timestamp(submission.recordedAt + term.days * 86_400).slice(0, 10);
    return [{ kind: term.kind, operator: term.operator, day }];
  });
  const page = { sort, terms, limit, offset: 0, branches, environments };
  // Which of two errors is reported for a repository that is gone is left open.
  const isKnown = [repository, otherThan(repository)].every((index) =>
    repositoryAt(state, index).isThere
  );
  const scope = query.scope.startsWith("id and") && !isKnown ? "id" : query.scope;
  const { status } = query;
  const submission = pick(state.submissions, query.of);
  const test = pick(state.tests, query.of);
  const apiRequests: ApiRequest[] = [
    ...submission
      ? [{
        kind: "attempts" as const,
        repository: submission.repository,
        submissionId: submission.id,
        status,
        limit,
        offset: 0,
      }]
      : [],
    ...test
      ? [
        {
          kind: "runs" as const,
          test,
          conclusion: status,
          limit,
          before: 0,
          after: null,
          branches,
          environments,
        },
        { kind: "failures of test" as const, test, branches, environments },
      ]
      : [],
    { kind: "failures", repository, branches, environments },
    { kind: "submissions", repository, limit, after: null, branches, environments },
    { kind: "tests", repository, page },
    ...DURATION_UNITS.map((by) => (
      {
        kind: "durations" as const,
        repository,
        branches,
        environments,
        list: { by, limit, offset: 0 },
      }
    )),
    { kind: "verdicts", repository, tests: TESTS, base: branches, job: "test", environment: "" },
    { kind: "inventory", repository, scope, view, include, page },
    { kind: "organizations" },
    { kind: "repositories" },
  ];
  return apiRequests.map((apiRequest) => ({ ...apiRequest, organization: query.organization }));
}

/** Another repository than the given one. */
export function otherThan(repository: number): number {
  return (repository + 1) % REPOSITORIES.length;
}

function pick<T>(list: readonly T[], number: number): T | undefined {
  return list.length === 0 ? undefined : list[number % list.length];
}
