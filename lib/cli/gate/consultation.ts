/** The gate's requests to the service: made while the tests run, and again when they failed. */
import { type ApiClient, createApiClient } from "../../api_client/client.ts";
import { ApiError } from "../../api_client/errors.ts";
import type { Environment } from "../../base/config.ts";
import type { TestIdentity } from "../../base/identity.ts";
import type { RepositoryName } from "../../base/repository_name.ts";
import { VERSION } from "../../base/version.ts";
import type { QuarantinedTest } from "../../gate/rule.ts";
import type { ServiceVerdict } from "../../gate/summary.ts";
import { readApiAccess } from "../api_access.ts";
import { Failure } from "../errors.ts";
import type { Checkout } from "./checkout.ts";
import { onSignals } from "./run_command.ts";
import { loadQuarantined, loadVerdicts } from "./service.ts";

/** For all requests before the tests end, and for all after it. Retries are included. */
const DEADLINE_MS = 10_000;

// Tests that passed need no answer to exit with 0.
const PASSED_DEADLINE_MS = 2_000;

/** The service's answers. */
export interface Answers {
  /** By `identityKey`; `null` when it did not tell. */
  quarantined: ReadonlyMap<string, QuarantinedTest> | null;
  /** On failed tests, by `identityKey`; `null` when it did not tell. */
  verdicts: ReadonlyMap<string, ServiceVerdict> | null;
  /** Why it did not tell something, `null` when it told everything. */
  problem: string | null;
  /** A signal that came meanwhile, `null` when none came. */
  signal: string | null;
}

/** Requests that are under way. */
export interface Consultation {
  /** Waits for the answers, asks again for what failed, and for verdicts on failed tests. */
  finish(run: { exitCode: number; failed: readonly TestIdentity[] }): Promise<Answers>;
  /** Cancels what is under way. */
  close(): void;
}

/** Requests the quarantined tests, without waiting for them. */
export function startConsultation(
  checkout: Promise<Checkout>,
  { environment, base }: { environment: Environment; base: string },
): Consultation {
  const cancel = new AbortController();
  const service = connect(checkout, environment);
  const list = async (signal: AbortSignal) => {
    const { api, repository } = await service;
    return await loadQuarantined(api, repository, signal);
  };
  const first = settled(within(DEADLINE_MS, cancel, list));

  async function ask(
    { exitCode, failed }: { exitCode: number; failed: readonly TestIdentity[] },
  ): Promise<Omit<Answers, "signal">> {
    let { value: quarantined, problem } = await first;
    if (!quarantined && exitCode !== 0) {
      ({ value: quarantined, problem } = await settled(list(cancel.signal)));
    }
    if (!quarantined || failed.length === 0) return { quarantined, verdicts: null, problem };
    const { api, repository } = await service;
    const { value: verdicts, problem: withoutVerdicts } = await settled(
      loadVerdicts(api, { repository, tests: failed, base }, cancel.signal),
    );
    return { quarantined, verdicts, problem: withoutVerdicts };
  }

  return {
    async finish(run) {
      let signal: string | null = null;
      const stopListening = onSignals((name) => {
        signal = name;
        cancel.abort(new ApiError(`The gate was stopped by ${name}.`));
      });
      const deadlineMs = run.exitCode === 0 ? PASSED_DEADLINE_MS : DEADLINE_MS;
      const timer = setTimeout(() => cancel.abort(noAnswer(deadlineMs)), deadlineMs);
      try {
        return { ...await ask(run), signal };
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

/** Runs requests until a deadline, or until they are cancelled. */
async function within<T>(
  deadlineMs: number,
  cancel: AbortController,
  run: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const deadline = new AbortController();
  const timer = setTimeout(() => deadline.abort(noAnswer(deadlineMs)), deadlineMs);
  try {
    return await run(AbortSignal.any([cancel.signal, deadline.signal]));
  } finally {
    clearTimeout(timer);
  }
}

function noAnswer(deadlineMs: number): ApiError {
  return new ApiError(`The service did not answer within ${deadlineMs / 1000} seconds.`);
}

/** The value of requests, or why there is none. */
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
