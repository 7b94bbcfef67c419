/** Runs a history against the service and the oracle, and compares all responses. */
import { type Action, actionsOf, requestsOf } from "./actions.ts";
import { INCLUDES, type TestsPage } from "./response_bodies.ts";
import { runConcurrently } from "./concurrent_history.ts";
import { isValidToken } from "./model.ts";
import { REPOSITORIES, TESTS } from "./pools.ts";
import { type ApiRequest, pagesOf, pathOf, responseOf, UNAUTHORIZED } from "./requests.ts";
import type { LoggedEvent } from "./quarantines.ts";
import type { Organization } from "./service.ts";
import type { ConcurrentSteps, History, Query, Step } from "./steps.ts";
import { DifferentialRunner, Disagreement, WHOLE } from "./differential_runner.ts";

/**
 * Runs one history.
 *
 * @param name name of the organization, which must be empty
 * @returns number of compared responses
 * @throws {Disagreement} at the first response that differs
 */
export async function runHistory(
  history: History,
  { organization, name }: { organization: Organization; name: string },
): Promise<number> {
  const run = new Run(history, organization, name);
  try {
    await run.begin();
    // What follows must find all that it needs, and nothing more.
    const half = Math.floor(history.steps.length / 2);
    const isMovedEarly = history.ending === null || history.steps.length % 2 === 1;
    for (const [index, step] of history.steps.entries()) {
      await run.take(step);
      if (isMovedEarly && index === half) await run.move();
    }
    await run.compareEverything();
    if (history.ending) {
      await run.take(history.ending.clock, { quietly: true });
      await run.take(history.ending.pruning);
      await run.compareEverything();
      // What was pruned has left only what outlives it.
      await run.move();
      await run.compareEverything();
    }
  } catch (error) {
    if (error instanceof Disagreement) throw error;
    const text = error instanceof Error ? error.stack : String(error);
    throw new Disagreement([...run.actions], "any request", "no error", text);
  }
  return run.compared;
}

class Run extends DifferentialRunner {
  compared = 0;

  /** Performs a step, and compares some responses unless `quietly`. */
  async take(
    step: Step | ConcurrentSteps,
    { quietly = !this.history.queriesAfterEachStep } = {},
  ): Promise<void> {
    if (step.kind === "concurrent") return await this.#concurrent(step);
    for (const action of actionsOf(step, this)) {
      this.actions.push(action);
      await this.perform(action);
      if (!quietly) await this.compareBriefly();
    }
  }

  /** Exports the organization, and imports it in its own place. */
  async move(): Promise<void> {
    const action: Action = { kind: "move" };
    this.actions.push(action);
    await this.perform(action);
  }

  /** Performs steps while requests run, and compares some responses afterwards. */
  async #concurrent(step: ConcurrentSteps): Promise<void> {
    const { compared, mismatch } = await runConcurrently(step, this);
    this.compared += compared;
    if (mismatch) {
      const { request, expected, actual } = mismatch;
      throw new Disagreement([...this.actions], request, expected, actual);
    }
    for (let server = 0; server < this.organization.servers; server++) await this.compareBriefly();
  }

  /** The responses that the service is most likely to cache. */
  async compareBriefly(): Promise<void> {
    await this.#compare([...this.#views(), ...this.#overview(0)]);
    for (const token of this.state.tokens.keys()) {
      const [apiRequest] = this.#overview(1);
      const isValid = isValidToken(this.state, token, this.clock);
      const expected = isValid ? responseOf(apiRequest!, this.oracle()) : UNAUTHORIZED;
      const actual = await this.apiResponse(apiRequest!, { token });
      this.expect(`with token ${token}: ${pathOf(apiRequest!, this.state)}`, expected, actual);
    }
  }

  /** Compares all responses, now and after the window has moved. */
  async compareEverything(): Promise<void> {
    await this.#compareAllOfNow();
    // To the last second of the oldest submission in the window, and one second further.
    const inWindow = REPOSITORIES.flatMap((_, index) => this.oracle().submissionsInWindow(index));
    const times = inWindow.map((submission) => submission.recordedAt);
    for (const past of times.length > 0 ? [0, 1] : []) {
      await this.#waitUntil(Math.min(...times) + this.windowSeconds + past);
      for (const index of REPOSITORIES.keys()) await this.#compare(this.#overview(index));
    }
    // The same for the next end of a quarantine entry.
    const ends = this.state.quarantines.map(({ expiresAt }) => expiresAt ?? 0);
    const end = Math.min(...ends.filter((end) => end > this.clock));
    for (const past of end < Infinity ? [-1, 0] : []) {
      await this.#waitUntil(end + past);
      // Each has a cache of its own, with the response of the second before.
      for (let server = 0; server < this.organization.servers; server++) {
        await this.#compare(this.#views());
      }
      await this.#compareLog();
    }
  }

  async #waitUntil(until: number): Promise<void> {
    const action: Action = { kind: "wait", until: Math.max(this.clock, until) };
    this.actions.push(action);
    await this.perform(action);
  }

  async #compareLog(): Promise<void> {
    const sorted = (events: LoggedEvent[]) =>
      events.map((event) => JSON.stringify(Object.entries(event).sort())).sort();
    const actual = await this.organization.quarantineLog(this.clock);
    this.expect("quarantine log", sorted(this.oracle().quarantineLog()), sorted(actual));
  }

  async #compareAllOfNow(): Promise<void> {
    await this.#compare([{ kind: "organizations" }, { kind: "repositories" }]);
    for (const index of REPOSITORIES.keys()) {
      await this.#compare([
        ...this.#overview(index),
        { kind: "tests", repository: index, page: { ...WHOLE, sort: "recency" } },
        { kind: "coverage badge", repository: index },
        { kind: "failures", repository: index },
        { kind: "durations", repository: index, list: { by: "test", limit: 100, offset: 0 } },
      ]);
    }
    await this.#compare(this.#views());
    await this.#compareLog();
    for (const test of this.state.tests) {
      // A sample of the additional tests is enough.
      if (!TESTS.some(({ name }) => name === test.name) && !test.name.endsWith("7")) continue;
      await this.#compare([{ kind: "results", test }, { kind: "test", test }]);
    }
    for (const query of this.history.queries) await this.query(query);
    for (const text of this.history.texts) {
      const page: TestsPage = { ...WHOLE, terms: [{ kind: "text", text }] };
      await this.#compare([{ kind: "tests", repository: 0, page }]);
    }
  }

  /** Both views of the inventory. */
  #views(): ApiRequest[] {
    return [{}, { quarantine: "false" }].map((view) => (
      { kind: "inventory", repository: 0, scope: "all", include: [...INCLUDES], view, page: WHOLE }
    ));
  }

  #overview(repository: number): ApiRequest[] {
    return [
      { kind: "tests", repository, page: WHOLE },
      { kind: "submissions", repository, limit: 100, after: null },
      { kind: "flakiness badge", repository },
    ];
  }

  protected override async query(query: Query): Promise<void> {
    for (const apiRequest of requestsOf(query, this.state)) {
      await this.#compare([...pagesOf(apiRequest, this.oracle())], query.upperCase);
    }
  }

  async #compare(apiRequests: ApiRequest[], upperCase = false): Promise<void> {
    for (const apiRequest of apiRequests) {
      const path = pathOf(apiRequest, this.state, upperCase);
      const actual = await this.apiResponse(apiRequest, { upperCase });
      this.compared++;
      this.expect(`GET ${path}`, responseOf(apiRequest, this.oracle()), actual);
    }
  }
}
