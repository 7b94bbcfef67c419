/** Looks up quarantined tests while the tests run, and verdicts on the failed tests afterwards. */
import { type ApiClient, ApiError, createApiClient } from "../../api_client/client.ts";
import type { Environment } from "../../base/config.ts";
import type { TestIdentity } from "../../base/identity.ts";
import type { RepositoryName } from "../../base/repository_name.ts";
import { VERSION } from "../../base/version.ts";
import { readApiAccess } from "../settings.ts";
import { Failure } from "../errors.ts";
import type { Checkout } from "./checkout.ts";
import { onSignals } from "./run_command.ts";
import { loadQuarantined, loadVerdicts } from "./requests.ts";

/** For all requests while the tests run, and again for all afterwards; includes retries. */
const TIMEOUT_MS = 10_000;

// When the tests passed, the exit code does not depend on the response.
const PASSED_TIMEOUT_MS = 2_000;

interface TestRun {
  exitCode: number;
  failed: readonly TestIdentity[];
}

/**
 * Requests the quarantined tests, without waiting for the response.
 *
 * @returns `finish` waits for it, retries if that failed, then requests the verdicts on failed tests: both
 * by `identityKey`, `null` when not requested or failed; `problem` says why a request failed, and `signal`
 * names one that was received while waiting. `close` cancels the requests in progress.
 */
export function startLookup(
  checkout: Promise<Checkout>,
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
  checkout: Promise<Checkout>,
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
    return { value: null, problem: error instanceof Error ? error.message : String(error) };
  }
}
