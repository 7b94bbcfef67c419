/**
 * Looks up quarantined tests before the tests run and after them, and then the verdicts on the failed ones.
 * An entry that was added while the tests ran counts; if the service is away afterwards, what it said before
 * does.
 */
import * as v from "valibot";
import {
  type ApiClient,
  ApiError,
  createApiClient,
  repositoryNotFound,
} from "../../api_client/client.ts";
import { type CiRun, runQuery } from "../../api_client/run_query.ts";
import type { Environment } from "../../base/config.ts";
import { MORE_CAUSES } from "../../analysis/failure_causes.ts";
import { isMassFailure } from "../../analysis/test_counts.ts";
import { shortTestId, type TestIdentity } from "../../base/identity.ts";
import {
  formatRepositoryName,
  isSameRepository,
  parseRepositoryName,
  type RepositoryName,
} from "../../base/repository_name.ts";
import { VERSION } from "../../base/version.ts";
import type { MassFailure } from "../../evidence/evidence.ts";
import type { CauseCount } from "../../evidence/mass_failure.ts";
import type { FinalAttempts } from "../../gate/final_attempts.ts";
import type { TestPlace } from "../../gate/whole_run.ts";
import {
  type EarlierRuns,
  type FailedTest,
  identityKey,
  QUARANTINED_TEST,
  type QuarantinedTest,
} from "../../gate/rule.ts";
import {
  MASS_FAILURE_RUN,
  type MassFailureRun,
  SERVICE_VERDICT,
  type ServiceVerdict,
} from "../../gate/summary.ts";
import type { CliIo } from "../io.ts";
import { Failure } from "../../base/failure.ts";
import { presentReports } from "../../report/report_files.ts";
import { runGit, treeOf } from "../../intake/checkout/git.ts";
import { describeCheckout, detectCiJob } from "../../intake/checkout/mod.ts";
import { readApiAccess } from "../settings.ts";
import { onSignals } from "./run_command.ts";
import { errorMessage, valueOr } from "../../base/error.ts";

/** For all requests while the tests run, and again for all afterwards; includes retries. */
export const LOOKUP_TIMEOUT_MS = 10_000;

// When the tests passed, the exit code does not depend on the response.
const PASSED_TIMEOUT_MS = 2_000;

interface TestRun {
  exitCode: number;
  failed: readonly FailedTest[];
  attempts: Pick<FinalAttempts, "counts" | "causeCounts" | "firstTest">;
}

interface Checkout {
  /** `null` when unknown. */
  repository: RepositoryName | null;
  /** The root folder. */
  folder: string;
  run: CiRun;
}

/**
 * The repository of `--repo`, the CI job or the checkout around the current folder, the root
 * folder of the checkout, to make paths in reports relative as `upload` does, and the run in CI.
 */
export async function findCheckout(
  { environment, git = runGit }: Pick<CliIo, "environment" | "git">,
  given: RepositoryName | undefined,
  { reports = [], note }: {
    /** Arguments that name the reports. */
    reports?: readonly string[];
    /** Called when the code is not that of `HEAD`. */
    note?: (text: string) => void;
  } = {},
): Promise<Checkout> {
  const folder = await git(["rev-parse", "--show-toplevel"]);
  const found = await detectCiJob(environment, git) ??
    await describeCheckout(git, {
      environment,
      results: await presentReports(reports),
      ...note && { note },
    });
  const { job, workflow, shard, attempt, buildUrl, commit, branch } = found;
  const run = {
    job,
    workflow,
    environment: found.environment,
    shard,
    attempt,
    buildUrl,
    commit,
    tree: found.tree || await treeOf(commit, git),
    branch,
    queueBase: found.queueBase,
    // A job may have results of another repository. With the number of a pull request, the run is of no base branch.
    pullNumber: found.isOfPull && (!given || isSameRepository(given, found.repository))
      ? found.pullNumber
      : "",
  };
  const repository = given ?? valueOr(() => parseRepositoryName(found.repository), null);
  return { repository, folder, run };
}

/** What the service knew before the tests ran. */
interface KnownBefore {
  /** By {@linkcode identityKey}. */
  quarantined: Map<string, QuarantinedTest>;
  earlier: EarlierRuns | null;
}

/**
 * Requests the quarantined tests, without waiting for the response.
 *
 * @returns `finish` requests them again after a command, otherwise waits for them and retries if that failed,
 * then requests the verdicts on failed tests: both by `identityKey`, `null` when not requested or failed;
 * `problem` says why a request failed, and `signal` names one that was received while waiting. `close`
 * cancels the requests in progress.
 */
export function startLookup(
  checkout: ReturnType<typeof findCheckout>,
  { environment, base, run: given, hasCommand = false, timeoutMs = LOOKUP_TIMEOUT_MS }: {
    environment: Environment;
    /** `""`: the base branch of the repository. */
    base: string;
    /** Overrides what the CI job says. */
    run: Partial<CiRun>;
    /** Whether a command runs the tests in between. */
    hasCommand?: boolean;
    timeoutMs?: number;
  },
) {
  const cancel = new AbortController();
  const requests = createRequests(connect(checkout, environment), { base, given });
  const timeout = AbortSignal.timeout(timeoutMs);
  const before = settled(
    loadBefore(requests, hasCommand, AbortSignal.any([cancel.signal, timeout])).catch((error) => {
      throw timeout.aborted ? timeoutError(timeoutMs) : error;
    }),
  );
  const lookup = { requests, before, hasCommand, signal: cancel.signal };
  return {
    async finish(run: TestRun) {
      let signal = null as string | null;
      const stopListening = onSignals((name) => {
        signal = name;
        cancel.abort(new ApiError(`The gate was stopped by ${name}.`));
      });
      const limitMs = run.exitCode === 0 ? PASSED_TIMEOUT_MS : timeoutMs;
      const timer = setTimeout(() => cancel.abort(timeoutError(limitMs)), limitMs);
      try {
        return { ...await loadAfterwards(run, lookup), signal };
      } finally {
        clearTimeout(timer);
        stopListening();
      }
    },
    close: () => cancel.abort(),
  };
}

async function loadBefore(
  { list, verdictsOn }: Requests,
  hasCommand: boolean,
  signal: AbortSignal,
): Promise<KnownBefore> {
  const quarantined = await list(signal);
  if (!hasCommand || quarantined.size === 0) return { quarantined, earlier: null };
  // Without it only their causes are missing.
  const verdicts = await settled(verdictsOn([...quarantined.values()], null, signal));
  return { quarantined, earlier: verdicts.value?.earlier ?? null };
}

interface RunningLookup {
  requests: Requests;
  before: Promise<Settled<KnownBefore>>;
  hasCommand: boolean;
  signal: AbortSignal;
}

async function loadAfterwards({ exitCode, failed, attempts }: TestRun, lookup: RunningLookup) {
  const { requests, hasCommand, signal } = lookup;
  const latest = await listAfterwards(exitCode, lookup);
  const before = latest.value ? null : (await lookup.before).value;
  const quarantined = latest.value ?? before?.quarantined ?? null;
  const found = { quarantined, earlier: before?.earlier ?? null, problem: latest.problem };
  // Where nothing failed, it is still to be said whether the run was whole. The question needs a test, perhaps one that
  // does not exist.
  const judged = failed.length > 0 ? failed : [attempts.firstTest ?? NO_TEST];
  if (!quarantined || before) return { ...found, verdicts: null };
  const { value: verdicts, problem } = await settled(
    requests.verdictsOn(judged, attempts, signal),
  );
  if (verdicts) {
    addAliases(quarantined, verdicts);
    return { quarantined, verdicts, earlier: verdicts.earlier, problem };
  }
  if (failed.length === 0) return { ...found, verdicts };
  const earlier = hasCommand ? (await lookup.before).value?.earlier ?? null : null;
  return { quarantined, verdicts, earlier, problem };
}

/** The quarantined tests after the tests ran; for tests that passed, the earlier answer is enough. */
async function listAfterwards(
  exitCode: number,
  { requests, before, hasCommand, signal }: RunningLookup,
): Promise<Settled<Map<string, QuarantinedTest>>> {
  if (!hasCommand || exitCode === 0) {
    const { value, problem } = await before;
    if (value) return { value: value.quarantined, problem: null };
    if (exitCode === 0) return { value, problem };
  }
  return await settled(requests.list(signal));
}

/** Stands for no test: the service answers for the job all the same. */
const NO_TEST: TestIdentity = { suite: "", class: "", name: "", file: "" };

type Requests = ReturnType<typeof createRequests>;

/** The requests for quarantined tests and for verdicts, once the service is known. */
function createRequests(
  service: Promise<Service>,
  { base, given }: { base: string; given: Partial<CiRun> },
) {
  return {
    async list(signal: AbortSignal) {
      const { api, repository } = await service;
      return await loadQuarantined(api, repository, signal);
    },
    async verdictsOn(
      tests: readonly GivenTest[],
      attempts: TestRun["attempts"] | null,
      signal: AbortSignal,
    ) {
      const { api, repository, run } = await service;
      const query = { repository, tests, attempts, base, run: runAsGiven(run, given) };
      return await loadVerdicts(api, query, signal);
    },
  };
}

interface Service {
  api: ApiClient;
  repository: RepositoryName;
  run: CiRun;
}

async function connect(
  checkout: ReturnType<typeof findCheckout>,
  environment: Environment,
): Promise<Service> {
  const access = readApiAccess(environment);
  const { repository, run } = await checkout;
  if (!repository) throw new Failure("the repository is unknown: expected --repo OWNER/NAME");
  const api = createApiClient({ ...access, userAgent: `test-analytics-gate/${VERSION}` });
  return { api, repository, run };
}

function timeoutError(timeoutMs: number): ApiError {
  return new ApiError(`The service did not answer within ${timeoutMs / 1000} seconds.`);
}

type Settled<T> = { value: T; problem: null } | { value: null; problem: string };

/** The value of requests, or the error message. */
async function settled<T>(requests: Promise<T>): Promise<Settled<T>> {
  try {
    return { value: await requests, problem: null };
  } catch (error) {
    if (error instanceof ApiError) return { value: null, problem: error.problem };
    return { value: null, problem: errorMessage(error) };
  }
}

const PAGE_SIZE = 100;

/** Digits of an id that are the same in every repository. */
const SHORT_ID_DIGITS = 13;

const QUARANTINE_PAGE = v.object({
  count: v.number(),
  tests: v.array(QUARANTINED_TEST),
  metadata: v.object({ after: v.nullable(v.string()) }),
});

/**
 * All quarantined tests of a repository, by {@linkcode identityKey}.
 *
 * @throws {ApiError} if the list changed while its pages were read, too
 */
async function loadQuarantined(
  api: ApiClient,
  repository: RepositoryName,
  signal: AbortSignal,
): Promise<Map<string, QuarantinedTest>> {
  const found = new Map<string, QuarantinedTest>();
  let after: string | null = null;
  for (;;) {
    const { count, tests, metadata }: v.InferOutput<typeof QUARANTINE_PAGE> = await api(
      {
        path: ["api", "v1", "flaky", "tests"],
        query: {
          repository: formatRepositoryName(repository),
          quarantine: true,
          include: "quarantine_expires_at,quarantine_owner,quarantine_environment",
          limit: PAGE_SIZE,
          after: after ?? undefined,
        },
        notFound: repositoryNotFound(repository),
      },
      QUARANTINE_PAGE,
      signal,
    );
    for (const test of tests) found.set(identityKey(test), test);
    if (metadata.after === null && found.size === count) return found;
    if (metadata.after === null || tests.length === 0) {
      throw new ApiError("The list of quarantined tests changed while it was read.");
    }
    after = metadata.after;
  }
}

const VERDICT_LIST = v.object({
  tests: v.array(SERVICE_VERDICT),
  // A service of an earlier version has neither.
  base_branch: v.optional(v.string(), "the base branch"),
  mass_failure: v.nullish(v.picklist(["outage", "together"])),
  expected_test_count: v.nullable(v.number()),
  base_test_counts: v.array(v.number()),
  expected_skipped_count: v.nullable(v.number()),
  // A service of an earlier version does not know them.
  expected_files: v.nullish(v.array(v.object({
    file: v.string(),
    class: v.string(),
    suite: v.optional(v.string(), ""),
  }))),
  outage: v.nullable(v.object({ runs: v.array(MASS_FAILURE_RUN) })),
});

/** The tests that the service knows with a file are quarantined without one, too. */
function addAliases(quarantined: Map<string, QuarantinedTest>, { tests }: Verdicts): void {
  for (const [key, test] of tests) {
    const entry = quarantined.get(identityKey(test));
    if (entry) quarantined.set(key, entry);
  }
}

/** What the service says about a run. */
export interface Verdicts {
  /**
   * By {@linkcode identityKey}; new failures are missing. The service may know a test of the reports, which
   * has no file there, with one.
   */
  tests: Map<string, ServiceVerdict>;
  earlier: EarlierRuns;
  /** Other runs of the last two hours in which many tests failed. */
  otherMassFailures: MassFailureRun[];
  /** What kind of run this is, in which many tests failed. */
  massFailure: MassFailure | null;
  /** The base branch; `""` where no upload names its branch. */
  base: string;
}

/** The tree that CI names belongs to its commit. */
function runAsGiven(run: CiRun, given: Partial<CiRun>): CiRun {
  const isOther = given.commit !== undefined && given.commit !== run.commit;
  return { ...run, ...isOther && { tree: "" }, ...given };
}

/** The most frequent causes of a run, as the API takes them. */
function formatCauses(counts: readonly CauseCount[]): string {
  return counts.filter(({ causes }) => causes.length > 0)
    .toSorted((a, b) => b.testCount - a.testCount).slice(0, PAGE_SIZE)
    .map(({ causes, testCount }) => `${causes.slice(0, MAX_CAUSES).join(".")}*${testCount}`).join(
      ",",
    );
}

/** Of one test; an address has room for 8 kB. */
const MAX_CAUSES = 5;

/** A test that verdicts are requested on; without a cause it need not have failed. */
type GivenTest = TestIdentity & Partial<FailedTest>;

/** A test, as the API takes it. */
function formatTest(test: GivenTest): string {
  const { fingerprint, otherFingerprints = [] } = test;
  const causes = [...fingerprint === undefined ? [] : [fingerprint], ...otherFingerprints];
  // That some are left out must not make it a failure of which all causes were seen.
  if (causes.length > MAX_CAUSES) causes.splice(MAX_CAUSES - 1, Infinity, MORE_CAUSES);
  const facts = [...causes, ...test.hasPassed ? ["passed"] : []];
  return `${shortTestId(test)}:${facts.join(".")}`;
}

/** The verdicts on tests, and what the service knows of earlier runs. */
async function loadVerdicts(
  api: ApiClient,
  { repository, tests, attempts, base, run }: {
    repository: RepositoryName;
    tests: readonly GivenTest[];
    /** `null` before the tests have run. */
    attempts: TestRun["attempts"] | null;
    base: string;
    run: CiRun;
  },
  signal: AbortSignal,
): Promise<Verdicts> {
  const found = new Map<string, ServiceVerdict>();
  let expectedPlaces: TestPlace[] | null = null;
  let last: v.InferOutput<typeof VERDICT_LIST>;
  for (let start = 0; start < tests.length; start += PAGE_SIZE) {
    const page = tests.slice(start, start + PAGE_SIZE);
    last = await api(
      {
        path: ["api", "repos", repository.owner, repository.name, "verdicts"],
        query: {
          tests: page.map(formatTest).join(","),
          base: base || undefined,
          ...runQuery(run),
          ...attempts && {
            run_test_count: attempts.counts.ran,
            run_failed_test_count: attempts.counts.failed,
            run_causes: isMassFailure(attempts.counts)
              ? formatCauses(attempts.causeCounts)
              : undefined,
          },
          // Of the same job on all pages.
          expected_files: start === 0 ? "true" : undefined,
        },
        notFound: repositoryNotFound(repository),
      },
      VERDICT_LIST,
      signal,
    );
    expectedPlaces ??= last.expected_files ?? null;
    // In the order of the question; a service of an earlier version leaves out new failures.
    const answered = last.tests;
    const byId = new Map(answered.map((test) => [test.id.slice(-SHORT_ID_DIGITS), test]));
    for (const [index, test] of page.entries()) {
      const verdict = answered.length === page.length
        ? answered[index]
        : byId.get(shortTestId(test));
      if (verdict) found.set(identityKey(test), verdict);
    }
  }
  return {
    tests: found,
    earlier: {
      causes: new Map(found.entries().map(([key, { causes }]) => [key, causes])),
      expectedTestCount: last!.expected_test_count,
      baseTestCounts: last!.base_test_counts,
      expectedSkippedCount: last!.expected_skipped_count,
      expectedPlaces,
    },
    // An upload of this run may be among them.
    otherMassFailures:
      last!.outage?.runs.filter(({ build_url: url, branch }) =>
        (run.buildUrl === "" || url !== run.buildUrl) &&
        (run.branch === "" || branch !== run.branch)
      ) ?? [],
    massFailure: last!.mass_failure ?? null,
    base: last!.base_branch,
  };
}
