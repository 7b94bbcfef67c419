/** Looks up quarantined tests while the tests run, and verdicts on the failed tests afterwards. */
import * as v from "valibot";
import { type ApiClient, ApiError, createApiClient } from "../../api_client/client.ts";
import type { Environment } from "../../base/config.ts";
import { shortTestId, type TestIdentity } from "../../base/identity.ts";
import {
  formatRepositoryName,
  parseRepositoryName,
  type RepositoryName,
} from "../../base/repository_name.ts";
import { VERSION } from "../../base/version.ts";
import { identityKey, QUARANTINED_TEST, type QuarantinedTest } from "../../gate/rule.ts";
import { SERVICE_VERDICT, type ServiceVerdict } from "../../gate/summary.ts";
import type { CliIo } from "../io.ts";
import { Failure } from "../../base/failure.ts";
import { readOrigin, runGit } from "../../intake/ci/git.ts";
import { detectCiJob } from "../../intake/ci/mod.ts";
import { readApiAccess } from "../settings.ts";
import { onSignals } from "./run_command.ts";
import { errorMessage } from "../../base/error.ts";

/** For all requests while the tests run, and again for all afterwards; includes retries. */
const TIMEOUT_MS = 10_000;

// When the tests passed, the exit code does not depend on the response.
const PASSED_TIMEOUT_MS = 2_000;

interface TestRun {
  exitCode: number;
  failed: readonly TestIdentity[];
}

/**
 * The repository of `--repo`, the CI job or the checkout around the current folder, `null` when unknown,
 * and the root folder of the checkout, to make paths in reports relative as `upload` does.
 */
export async function findCheckout(
  { environment, git = runGit }: Pick<CliIo, "environment" | "git">,
  given: RepositoryName | undefined,
): Promise<{ repository: RepositoryName | null; folder: string }> {
  const folder = await git(["rev-parse", "--show-toplevel"]);
  if (given) return { repository: given, folder };
  const job = await detectCiJob(environment, git);
  const name = (job ?? await readOrigin(git)).repository;
  try {
    return { repository: parseRepositoryName(name), folder };
  } catch {
    return { repository: null, folder };
  }
}

/**
 * Requests the quarantined tests, without waiting for the response.
 *
 * @returns `finish` waits for it, retries if that failed, then requests the verdicts on failed tests: both
 * by `identityKey`, `null` when not requested or failed; `problem` says why a request failed, and `signal`
 * names one that was received while waiting. `close` cancels the requests in progress.
 */
export function startLookup(
  checkout: ReturnType<typeof findCheckout>,
  { environment, base }: { environment: Environment; base: string },
) {
  const cancel = new AbortController();
  const service = connect(checkout, environment);
  const list = async (signal: AbortSignal) => {
    const { api, repository } = await service;
    return await loadQuarantined(api, repository, signal);
  };
  const timeout = AbortSignal.timeout(TIMEOUT_MS);
  const first = settled(
    list(AbortSignal.any([cancel.signal, timeout])).catch((error) => {
      throw timeout.aborted ? timeoutError(TIMEOUT_MS) : error;
    }),
  );

  async function request({ exitCode, failed }: TestRun) {
    let { value: quarantined, problem } = await first;
    if (!quarantined && exitCode !== 0) {
      ({ value: quarantined, problem } = await settled(list(cancel.signal)));
    }
    if (!quarantined || failed.length === 0) return { quarantined, verdicts: null, problem };
    const { api, repository } = await service;
    const { value: verdicts, problem: verdictsProblem } = await settled(
      loadVerdicts(api, { repository, tests: failed, base }, cancel.signal),
    );
    return { quarantined, verdicts, problem: verdictsProblem };
  }

  return {
    async finish(run: TestRun) {
      let signal = null as string | null;
      const stopListening = onSignals((name) => {
        signal = name;
        cancel.abort(new ApiError(`The gate was stopped by ${name}.`));
      });
      const timeoutMs = run.exitCode === 0 ? PASSED_TIMEOUT_MS : TIMEOUT_MS;
      const timer = setTimeout(() => cancel.abort(timeoutError(timeoutMs)), timeoutMs);
      try {
        return { ...await request(run), signal };
      } finally {
        clearTimeout(timer);
        stopListening();
      }
    },
    close: () => cancel.abort(),
  };
}

async function connect(
  checkout: ReturnType<typeof findCheckout>,
  environment: Environment,
): Promise<{ api: ApiClient; repository: RepositoryName }> {
  const access = readApiAccess(environment);
  const { repository } = await checkout;
  if (!repository) throw new Failure("the repository is unknown: expected --repo OWNER/NAME");
  const api = createApiClient({ ...access, userAgent: `test-analytics-gate/${VERSION}` });
  return { api, repository };
}

function timeoutError(timeoutMs: number): ApiError {
  return new ApiError(`The service did not answer within ${timeoutMs / 1000} seconds.`);
}

/** The value of requests, or the error message. */
async function settled<T>(
  requests: Promise<T>,
): Promise<{ value: T; problem: null } | { value: null; problem: string }> {
  try {
    return { value: await requests, problem: null };
  } catch (error) {
    if (error instanceof ApiError) return { value: null, problem: error.problem };
    return { value: null, problem: errorMessage(error) };
  }
}

const PAGE_SIZE = 100;

const QUARANTINE_PAGE = v.object({
  count: v.number(),
  tests: v.array(QUARANTINED_TEST),
  metadata: v.object({ after: v.nullable(v.string()) }),
});

/**
 * All quarantined tests of a repository, by {@linkcode identityKey}.
 *
 * @throws {ApiError} also when the list changed while its pages were read
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
          include: "quarantine_expires_at,quarantine_owner",
          limit: PAGE_SIZE,
          after: after ?? undefined,
        },
        notFound: unknownRepository(repository),
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

const VERDICT_LIST = v.object({ tests: v.array(SERVICE_VERDICT) });

/** The verdicts on tests, by {@linkcode identityKey}; tests unknown to the service are missing. */
async function loadVerdicts(
  api: ApiClient,
  { repository, tests, base }: {
    repository: RepositoryName;
    tests: readonly TestIdentity[];
    base: string;
  },
  signal: AbortSignal,
): Promise<Map<string, ServiceVerdict>> {
  const found = new Map<string, ServiceVerdict>();
  for (let start = 0; start < tests.length; start += PAGE_SIZE) {
    const page = await api(
      {
        path: ["api", "repos", repository.owner, repository.name, "verdicts"],
        query: {
          tests: tests.slice(start, start + PAGE_SIZE).map(shortTestId).join(","),
          base,
        },
        notFound: unknownRepository(repository),
      },
      VERDICT_LIST,
      signal,
    );
    for (const test of page.tests) found.set(identityKey(test), test);
  }
  return found;
}

function unknownRepository(repository: RepositoryName): string {
  return `Repository ${
    formatRepositoryName(repository)
  } is unknown to the service: check --repo, or upload a report of it.`;
}
