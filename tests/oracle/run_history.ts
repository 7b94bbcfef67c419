/** Tells a history to the service and to the oracle, and compares all that they answer. */
import { isDeepStrictEqual } from "node:util";
import { type Action, actionsOf, BEGINNING, questionsOf } from "./actions.ts";
import { INCLUDES, type TestsPage } from "./answers.ts";
import type { History, Look, Meanwhile } from "./history.ts";
import { takeMeanwhile } from "./meanwhile.ts";
import {
  addQuarantine,
  addRepository,
  addUpload,
  deleteRepository,
  deleteSubmission,
  emptyState,
  indexOfName,
  isValidToken,
  type PlainUpload,
  removeQuarantine,
  repeatedBy,
  repositoryAt,
  type State,
} from "./model.ts";
import { Oracle } from "./oracle.ts";
import { REPOSITORIES, TESTS } from "./pools.ts";
import {
  type Answer,
  answerOf,
  pagesOf,
  pathOf,
  type Question,
  UNAUTHORIZED,
} from "./questions.ts";
import type { Organization, Taken } from "./service.ts";

/** The service and the oracle do not agree. */
export class Disagreement extends Error {
  override name = "Disagreement";

  constructor(
    /** What the two were told, in order. */
    readonly actions: readonly Action[],
    readonly asked: string,
    readonly expected: unknown,
    readonly actual: unknown,
  ) {
    super(`${asked}: the service does not answer what the definitions say`);
  }
}

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
    for (const step of history.steps) {
      if (step.kind === "meanwhile") {
        await run.meanwhile(step);
        continue;
      }
      for (const action of actionsOf(step, run)) {
        run.actions.push(action);
        await run.perform(action);
        if (history.nosy) await run.compareBriefly();
      }
    }
    await run.compareEverything();
  } catch (error) {
    if (error instanceof Disagreement) throw error;
    const told = error instanceof Error ? error.stack : String(error);
    throw new Disagreement([...run.actions], "anything", "no error", told);
  }
  return run.compared;
}

class Run {
  readonly state: State;
  readonly windowSeconds: number;
  readonly uploads: PlainUpload[] = [];
  readonly actions: Action[] = [];
  /** Ids by what was uploaded: what comes back after its deletion must get the same one. */
  readonly #ids = new Map<string, string>();
  clock = BEGINNING;
  compared = 0;
  #turn = 0;

  constructor(
    readonly history: History,
    readonly organization: Organization,
    name: string,
  ) {
    this.state = emptyState(name);
    this.windowSeconds = history.windowSeconds;
  }

  async begin(): Promise<void> {
    await this.organization.setClock(this.clock);
    for (const [index, repository] of REPOSITORIES.entries()) {
      const creation = { ...repository, createdAt: this.clock };
      const repositoryId = await this.organization.createRepository(index, creation);
      addRepository(this.state, { ...repository, repositoryId });
    }
  }

  /** Steps that are taken while requests run, and how things are when all is done. */
  async meanwhile(step: Meanwhile): Promise<void> {
    const { asked, wrong } = await takeMeanwhile(step, this);
    this.compared += asked;
    if (wrong) throw new Disagreement([...this.actions], wrong.asked, wrong.expected, wrong.actual);
    for (let server = 0; server < this.organization.servers; server++) await this.compareBriefly();
  }

  async perform(action: Action): Promise<void> {
    switch (action.kind) {
      case "upload":
        return await this.#upload(action);
      case "delete":
        this.#expect("delete", true, await this.organization.deleteSubmission(action.key));
        this.#expect("delete again", false, await this.organization.deleteSubmission(action.key));
        return deleteSubmission(this.state, action.key);
      case "quarantine": {
        const { quarantine } = action;
        const isNew = !this.state.quarantines.some((other) => other.testId === quarantine.testId);
        this.#expect("quarantine", isNew, await this.organization.addQuarantine(quarantine));
        return addQuarantine(this.state, quarantine);
      }
      case "release":
        this.#expect("release", true, await this.organization.removeQuarantine(action.testId));
        return removeQuarantine(this.state, action.testId);
      case "rename": {
        const other = indexOfName(this.state, action);
        const isFree = other < 0 || other === action.repository;
        const renamed = await this.organization.renameRepository(action.repository, action);
        this.#expect("rename", isFree, renamed);
        const { owner, name } = action;
        if (isFree) Object.assign(repositoryAt(this.state, action.repository), { owner, name });
        return;
      }
      case "wait":
        await this.organization.setClock(action.until);
        this.clock = action.until;
        return;
      case "token":
        await this.organization.createToken(action.expiresAt);
        this.state.tokens.push({ expiresAt: action.expiresAt, isRevoked: false });
        return;
      case "revoke": {
        const token = this.state.tokens[action.token]!;
        const revoked = await this.organization.revokeToken(action.token, this.clock);
        this.#expect("revoke", !token.isRevoked, revoked);
        token.isRevoked = true;
        return;
      }
      case "drop":
        this.#expect("drop", true, await this.organization.deleteRepository(action.repository));
        return deleteRepository(this.state, action.repository);
      case "found": {
        const { owner, name, repositoryId } = repositoryAt(this.state, action.repository);
        const given = await this.organization.createRepository(action.repository, {
          owner,
          name,
          createdAt: this.clock,
          ...action.sameNumber && { repositoryId },
        });
        if (action.sameNumber) this.#expect("number", repositoryId, given);
        return addRepository(this.state, { owner, name, repositoryId: given }, action.repository);
      }
      case "meanwhile":
        throw new Error("what happens while requests run is taken step by step");
      case "look":
        return await this.#compareLook(action.look);
    }
  }

  async #upload({ uploads, deletes }: Action & { kind: "upload" }): Promise<void> {
    // Those who read meanwhile may see any state in between, and must leave nothing stale behind.
    const readers = uploads.length < 2 ? [] : [this.#answer(this.#overview(0)[0]!)];
    const [taken] = await Promise.all([
      Promise.all(uploads.map((upload) => this.organization.upload(upload, this.clock))),
      deletes === null ? true : this.organization.deleteSubmission(deletes),
      ...readers,
    ]);
    if (deletes !== null) deleteSubmission(this.state, deletes);
    // Of two that are the same one came first, and the other one says that it is a duplicate.
    const outcomes = uploads.map((upload, index) => ({ upload, taken: taken[index]! }))
      .sort((a, b) => Number(a.taken.duplicate) - Number(b.taken.duplicate));
    for (const { upload, taken } of outcomes) this.#takeUp(upload, taken, uploads.length === 1);
  }

  #takeUp(upload: PlainUpload, taken: Taken, alone: boolean): void {
    const repeated = repeatedBy(this.state, upload);
    this.#expect("duplicate", repeated !== undefined, taken.duplicate);
    if (repeated) {
      this.#expect("id and key of the duplicate", [repeated.id, repeated.key], [
        taken.id,
        taken.key,
      ]);
    } else {
      this.#expectNewId(upload, taken);
    }
    addUpload(this.state, upload, taken);
    this.uploads.push(upload);
    this.#expect("number of results", upload.results.length, taken.testResultCount);
    if (!alone) return;
    const oracle = this.#oracle();
    const disruptions = oracle.testsOf([upload.repository]).flatMap((test) =>
      oracle.disruptionsOf(test).filter((row) => row.submission.id === taken.id)
    );
    this.#expect("number of disruptions", disruptions.length, taken.disruptionCount);
  }

  #expectNewId(upload: PlainUpload, { id, key }: Taken): void {
    const { owner, name } = repositoryAt(this.state, upload.repository);
    this.#expect("key", upload.key ?? `${owner}/${name}/${id}`, key);
    const seconds = upload.recordedAt.toString(16).padStart(8, "0");
    this.#expect("begin of the id", seconds, /^[0-9a-f]{24}$/.exec(id)?.[0].slice(0, 8));
    this.#expect("new id", true, this.state.submissions.every((other) => other.id !== id));
    if (upload.buildUrl === "" && upload.key === null) return;
    const { recordedAt, commit, buildUrl, results } = upload;
    const repository = repositoryAt(this.state, upload.repository).idPrefix;
    const uploaded = JSON.stringify(
      upload.key === null
        ? [repository, recordedAt, commit, buildUrl, results]
        : [repository, recordedAt, upload.key],
    );
    this.#expect("id after a re-import", this.#ids.get(uploaded) ?? id, id);
    this.#ids.set(uploaded, id);
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
      const expected = isValid ? answerOf(question!, this.#oracle()) : UNAUTHORIZED;
      const actual = await this.#answer(question!, { token });
      this.#expect(`with token ${token}: ${pathOf(question!, this.state)}`, expected, actual);
    }
  }

  /** Everything that can be asked, now and when the window has moved on. */
  async compareEverything(): Promise<void> {
    await this.#compareAllOfNow();
    // To the last second at which the oldest submission of the window is in it, and one further.
    const inWindow = REPOSITORIES.flatMap((_, index) => this.#oracle().submissionsInWindow(index));
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
    for (const look of this.history.looks) await this.#compareLook(look);
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

  async #compareLook(look: Look): Promise<void> {
    for (const question of questionsOf(look, this.state)) {
      await this.#compare([...pagesOf(question, this.#oracle())], look.upperCase);
    }
  }

  async #compare(questions: Question[], upperCase = false): Promise<void> {
    for (const question of questions) {
      const path = pathOf(question, this.state, upperCase);
      const actual = await this.#answer(question, { upperCase });
      this.compared++;
      this.#expect(`GET ${path}`, answerOf(question, this.#oracle()), actual);
    }
  }

  /** One server after the other, each sometimes with the entity tags of what was answered before. */
  #answer(question: Question, { upperCase = false, token = 0 } = {}): Promise<Answer> {
    const path = pathOf(question, this.state, upperCase);
    const through = this.#turn++;
    return this.organization.ask(question, {
      path,
      windowSeconds: this.windowSeconds,
      token,
      through,
      isConditional: Math.floor(through / this.organization.servers) % 2 === 1,
    });
  }

  #oracle(): Oracle {
    return new Oracle(this.state, this.clock, this.windowSeconds);
  }

  #expect(asked: string, expected: unknown, actual: unknown): void {
    if (isDeepStrictEqual(actual, expected)) return;
    const at = `at ${new Date(this.clock * 1000).toISOString()}`;
    throw new Disagreement([...this.actions], `${asked} ${at}`, expected, actual);
  }
}

/** All on one page. */
const WHOLE: TestsPage = { sort: "disruptivenessRatio", terms: [], limit: 100, offset: 0 };
