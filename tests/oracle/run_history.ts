/** Tells a history to the service and to the oracle, and compares all that they answer. */
import { type Action, actionsOf, questionsOf } from "./actions.ts";
import { INCLUDES, type TestsPage } from "./answers.ts";
import { takeMeanwhile } from "./concurrent_history.ts";
import { isValidToken } from "./model.ts";
import { REPOSITORIES, TESTS } from "./pools.ts";
import { answerOf, pagesOf, pathOf, type Question, UNAUTHORIZED } from "./questions.ts";
import type { Organization } from "./service.ts";
import type { History, Look, Meanwhile, Step } from "./steps.ts";
import { Disagreement, Telling, WHOLE } from "./differential_runner.ts";

/**
 * Runs one history.
 *
 * @param name the organization's: nothing else may be in it
 * @returns how many answers were compared
 * @throws {Disagreement} at the first answer that differs
 */
export async function runHistory(
  history: History,
  { organization, name }: { organization: Organization; name: string },
): Promise<number> {
  const run = new Run(history, organization, name);
  try {
    await run.begin();
    for (const step of history.steps) await run.take(step);
    await run.compareEverything();
    if (history.last) {
      await run.take(history.last.clock, { quietly: true });
      await run.take(history.last.pruning);
      await run.compareEverything();
    }
  } catch (error) {
    if (error instanceof Disagreement) throw error;
    const told = error instanceof Error ? error.stack : String(error);
    throw new Disagreement([...run.actions], "anything", "no error", told);
  }
  return run.compared;
}

class Run extends Telling {
  compared = 0;

  /** Takes a step; nobody asks anything after it if it is taken quietly. */
  async take(step: Step | Meanwhile, { quietly = !this.history.nosy } = {}): Promise<void> {
    if (step.kind === "meanwhile") return await this.#meanwhile(step);
    for (const action of actionsOf(step, this)) {
      this.actions.push(action);
      await this.perform(action);
      if (!quietly) await this.compareBriefly();
    }
  }

  /** Steps that are taken while requests run, and how things are when all is done. */
  async #meanwhile(step: Meanwhile): Promise<void> {
    const { asked, wrong } = await takeMeanwhile(step, this);
    this.compared += asked;
    if (wrong) throw new Disagreement([...this.actions], wrong.asked, wrong.expected, wrong.actual);
    for (let server = 0; server < this.organization.servers; server++) await this.compareBriefly();
  }

  /** What is likely to be kept by the service from one request to the next. */
  async compareBriefly(): Promise<void> {
    const scope = "all";
    for (const view of [{}, { quarantine: "false" }]) {
      const inventory = { kind: "inventory", scope, repository: 0, view, page: WHOLE } as const;
      await this.#compare([{ ...inventory, include: [...INCLUDES] }]);
    }
    await this.#compare(this.#overview(0));
    for (const token of this.state.tokens.keys()) {
      const [question] = this.#overview(1);
      const isValid = isValidToken(this.state, token, this.clock);
      const expected = isValid ? answerOf(question!, this.oracle()) : UNAUTHORIZED;
      const actual = await this.answer(question!, { token });
      this.expect(`with token ${token}: ${pathOf(question!, this.state)}`, expected, actual);
    }
  }

  /** Everything that can be asked, now and when the window has moved on. */
  async compareEverything(): Promise<void> {
    await this.#compareAllOfNow();
    // To the last second at which the oldest submission of the window is in it, and one further.
    const inWindow = REPOSITORIES.flatMap((_, index) => this.oracle().submissionsInWindow(index));
    const times = inWindow.map((submission) => submission.recordedAt);
    if (times.length === 0) return;
    for (const past of [0, 1]) {
      this.clock = Math.max(this.clock, Math.min(...times) + this.windowSeconds + past);
      const action: Action = { kind: "wait", until: this.clock };
      this.actions.push(action);
      await this.perform(action);
      for (const index of REPOSITORIES.keys()) await this.#compare(this.#overview(index));
    }
  }

  async #compareAllOfNow(): Promise<void> {
    for (const index of REPOSITORIES.keys()) {
      await this.#compare([
        ...this.#overview(index),
        { kind: "tests", repository: index, page: { ...WHOLE, sort: "recency" } },
        { kind: "coverage badge", repository: index },
      ]);
    }
    for (const view of [{}, { quarantine: "false" }]) {
      const include = [...INCLUDES];
      await this.#compare([
        { kind: "inventory", repository: 0, scope: "all", include, view, page: WHOLE },
      ]);
    }
    for (const test of this.state.tests) {
      // One of a crowd tells as much as all of them.
      if (!TESTS.some(({ name }) => name === test.name) && !test.name.endsWith("7")) continue;
      await this.#compare([{ kind: "results", test }]);
    }
    for (const look of this.history.looks) await this.look(look);
    for (const text of this.history.texts) {
      const page: TestsPage = { ...WHOLE, terms: [{ kind: "text", text }] };
      await this.#compare([{ kind: "tests", repository: 0, page }]);
    }
  }

  #overview(repository: number): Question[] {
    return [
      { kind: "tests", repository, page: WHOLE },
      { kind: "submissions", repository, limit: 100, after: null },
      { kind: "flakiness badge", repository },
    ];
  }

  protected override async look(look: Look): Promise<void> {
    for (const question of questionsOf(look, this.state)) {
      await this.#compare([...pagesOf(question, this.oracle())], look.upperCase);
    }
  }

  async #compare(questions: Question[], upperCase = false): Promise<void> {
    for (const question of questions) {
      const path = pathOf(question, this.state, upperCase);
      const actual = await this.answer(question, { upperCase });
      this.compared++;
      this.expect(`GET ${path}`, answerOf(question, this.oracle()), actual);
    }
  }
}
