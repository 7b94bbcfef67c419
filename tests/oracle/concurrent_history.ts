/**
 * Performs steps one after the other while requests run. Every response must be correct at one moment
 * between the start and the end of its request.
 */
import { isDeepStrictEqual } from "node:util";
import { setTimeout as sleep } from "node:timers/promises";
import { type Action, actionsOf, type Context } from "./actions.ts";
import { INCLUDES } from "./response_bodies.ts";
import type { ConcurrentSteps } from "./steps.ts";
import { isValidToken, type State } from "./model.ts";
import { Oracle } from "./oracle.ts";
import { type ApiRequest, type ApiResponse, pathOf, responseTo, UNAUTHORIZED } from "./requests.ts";
import type { Organization } from "./service.ts";

/** Most requests of one reader: later ones see nothing new. */
const MAX_REQUESTS = 10;

/**
 * The server of each reader, and by how many requests it is ahead: one server gets equal and different
 * requests at the same time. The second server is the delayed one.
 */
const READERS = [
  { server: 0, ahead: 0 },
  { server: 1, ahead: 0 },
  { server: 2, ahead: 0 },
  { server: 0, ahead: 1 },
  { server: 1, ahead: 0 },
  { server: 1, ahead: 1 },
];

/** Head start of the requests before each action. */
const START_MS = 3;

/** The context of the steps. */
interface ConcurrentContext extends Context {
  organization: Organization;
  /** All actions so far. */
  actions: Action[];
  perform(action: Action): Promise<void>;
}

/** The state from the end of one action to the end of the next. */
interface Phase {
  state: State;
  clock: number;
}

/** One request with the first and the last phase that it may have seen. */
interface Seen {
  apiRequest: ApiRequest;
  path: string;
  token: number;
  server: number;
  apiResponse: ApiResponse;
  first: number;
  last: number;
}

/** A response that was correct at no moment of its request. */
interface Mismatch {
  request: string;
  expected: unknown;
  actual: unknown;
}

/** Performs the steps; `compared` is the number of compared responses. */
export async function runConcurrently(
  step: ConcurrentSteps,
  context: ConcurrentContext,
): Promise<{ compared: number; mismatch: Mismatch | null }> {
  const { organization, windowSeconds } = context;
  const phases: Phase[] = [phaseOf(context)];
  let begun = 0;
  let isDone = false;
  let pause = 0;
  let ended = Promise.withResolvers<void>();
  const wake = () => {
    ended.resolve();
    ended = Promise.withResolvers();
  };
  organization.setGate(async () => {
    const until = phases.length + step.pauses[pause++ % step.pauses.length]!;
    while (phases.length < until && !isDone) await ended.promise;
  });

  const read = async ({ server, ahead }: typeof READERS[number]) => {
    const seen: Seen[] = [];
    for (let number = 0; number < MAX_REQUESTS && !isDone; number++) {
      const first = phases.length - 1;
      const { state } = phases[first]!;
      const apiRequests = requestsAbout(state);
      const apiRequest =
        apiRequests[(step.first + Math.floor((number + ahead) / 2)) % apiRequests.length]!;
      const path = pathOf(apiRequest, state);
      // Mostly the first, which stays valid; there are at least two others.
      const token = Math.max(0, (3 * ahead + number) % 5 - 2);
      const apiResponse = await organization.send(apiRequest, {
        path,
        windowSeconds,
        token,
        through: server,
        isConditional: number % 2 === 1,
      });
      seen.push({ apiRequest, path, token, server, apiResponse, first, last: begun });
    }
    return seen;
  };
  const readers = Promise.allSettled(READERS.map(read));

  const actions: Action[] = [];
  context.actions.push({ kind: "concurrent", actions });
  try {
    for (const one of step.steps) {
      for (const action of actionsOf(one, context)) {
        await sleep(START_MS);
        actions.push(action);
        begun++;
        await context.perform(action);
        phases.push(phaseOf(context));
        wake();
      }
    }
  } finally {
    isDone = true;
    wake();
    await readers;
    organization.setGate(null);
  }
  let compared = 0;
  for (const outcome of await readers) {
    if (outcome.status === "rejected") throw outcome.reason;
    for (const seen of outcome.value) {
      compared++;
      const mismatch = check(seen, phases, windowSeconds);
      if (mismatch) return { compared, mismatch };
    }
  }
  return { compared, mismatch: null };
}

function phaseOf({ state, clock }: ConcurrentContext): Phase {
  return { state: structuredClone(state), clock };
}

function requestsAbout(state: State): ApiRequest[] {
  const repository = 0;
  const page = { sort: "disruptivenessRatio", terms: [], limit: 100, offset: 0 } as const;
  const inventory = { kind: "inventory", repository, scope: "all", page: { ...page, terms: [] } };
  const include = [...INCLUDES];
  return [
    { kind: "tests", repository, page: { ...page, terms: [] } },
    { kind: "submissions", repository, limit: 100, after: null },
    { ...inventory, include, view: { quarantine: "false" } } as ApiRequest,
    { ...inventory, include, view: {} } as ApiRequest,
    { kind: "repositories" },
    { kind: "flakiness badge", repository },
    { kind: "coverage badge", repository },
    ...state.tests.slice(0, 3).flatMap((test): ApiRequest[] => [
      { kind: "results", test },
      { kind: "test", test },
      { kind: "runs", test, conclusion: "all", limit: 100, before: 0, after: null },
      { kind: "failures of test", test },
    ]),
    { kind: "failures", repository },
    ...state.submissions.slice(0, 2).map(({ id, ...submission }): ApiRequest => ({
      kind: "attempts",
      repository: submission.repository,
      submissionId: id,
      status: "all",
      limit: 100,
      offset: 0,
    })),
  ];
}

/** The mismatch of a response, `null` when it was correct at some moment of its request. */
function check(seen: Seen, phases: readonly Phase[], windowSeconds: number): Mismatch | null {
  const { apiRequest, path, token, server, apiResponse, first, last } = seen;
  const possible = phases.slice(first, last + 1).reverse();
  const requestState = phases[first]!.state;
  const expected: ApiResponse[] = [];
  // The service reads the clock and the data one after the other.
  for (const { state } of possible) {
    for (const { clock } of possible) {
      const right = isValidToken(state, token, clock)
        ? responseTo(apiRequest, requestState, new Oracle(state, clock, windowSeconds))
        : UNAUTHORIZED;
      if (isDeepStrictEqual(apiResponse, right)) return null;
      expected.push(right);
    }
  }
  // A token may be revoked after its check and before the data is read.
  const wasValid = possible.some(({ clock }) =>
    possible.some(({ state }) => isValidToken(state, token, clock))
  );
  if (wasValid) {
    for (const { state } of possible) {
      for (const { clock } of possible) {
        const right = responseTo(apiRequest, requestState, new Oracle(state, clock, windowSeconds));
        if (isDeepStrictEqual(apiResponse, right)) return null;
      }
    }
  }
  return {
    request: `GET ${path} of server ${server} with token ${token}, ` +
      `between action ${first} and action ${last} of the last concurrent ones`,
    expected: expected[0],
    actual: apiResponse,
  };
}
