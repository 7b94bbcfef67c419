/** Tells the service and the model of it the same, and compares what both say to that. */
import { isDeepStrictEqual } from "node:util";
import { type Action, BEGINNING } from "./actions.ts";
import type { TestsPage } from "./answers.ts";
import {
  addQuarantine,
  addRepository,
  addUpload,
  deleteRepository,
  deleteSubmission,
  emptyState,
  indexOfName,
  type PlainUpload,
  removeQuarantine,
  repeatedBy,
  repositoryAt,
  type State,
} from "./model.ts";
import { Oracle } from "./oracle.ts";
import { REPOSITORIES } from "./pools.ts";
import { forgetPrunedTests } from "./pruning.ts";
import { type Answer, pathOf, type Question } from "./questions.ts";
import type { Organization, Taken } from "./service.ts";
import type { History, Look } from "./steps.ts";

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

/** All on one page. */
export const WHOLE: TestsPage = { sort: "disruptivenessRatio", terms: [], limit: 100, offset: 0 };

/** What was told so far, to both; who asks as well is a subclass. */
export abstract class Telling {
  readonly state: State;
  readonly windowSeconds: number;
  readonly uploads: PlainUpload[] = [];
  readonly actions: Action[] = [];
  /** Ids by what was uploaded: what comes back after its deletion must get the same one. */
  readonly #ids = new Map<string, string>();
  clock = BEGINNING;
  #turn = 0;

  constructor(
    readonly history: History,
    readonly organization: Organization,
    name: string,
  ) {
    this.state = emptyState(name);
    this.windowSeconds = history.windowSeconds;
  }

  protected abstract look(look: Look): Promise<void>;

  /** Begins with nothing but repositories and tokens. */
  async begin(): Promise<void> {
    await this.organization.setClock(this.clock);
    for (const [index, repository] of REPOSITORIES.entries()) {
      const creation = { ...repository, createdAt: this.clock };
      const repositoryId = await this.organization.createRepository(index, creation);
      addRepository(this.state, { ...repository, repositoryId });
    }
    // One to be revoked, one that is only valid when the clock is set back.
    for (const expiresAt of [null, this.clock]) {
      await this.perform({ kind: "token", expiresAt });
    }
  }

  /** Does one thing. */
  async perform(action: Action): Promise<void> {
    switch (action.kind) {
      case "upload":
        return await this.#upload(action);
      case "delete":
        this.expect("delete", true, await this.organization.deleteSubmission(action.key));
        this.expect("delete again", false, await this.organization.deleteSubmission(action.key));
        return deleteSubmission(this.state, action.key);
      case "quarantine": {
        const { quarantine } = action;
        const isNew = !this.state.quarantines.some((other) => other.testId === quarantine.testId);
        this.expect("quarantine", isNew, await this.organization.addQuarantine(quarantine));
        return addQuarantine(this.state, quarantine);
      }
      case "release":
        this.expect("release", true, await this.organization.removeQuarantine(action.testId));
        return removeQuarantine(this.state, action.testId);
      case "rename": {
        const other = indexOfName(this.state, action);
        const isFree = other < 0 || other === action.repository;
        const renamed = await this.organization.renameRepository(action.repository, action);
        this.expect("rename", isFree, renamed);
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
        this.expect("revoke", !token.isRevoked, revoked);
        token.isRevoked = true;
        return;
      }
      case "drop":
        this.expect("drop", true, await this.organization.deleteRepository(action.repository));
        return deleteRepository(this.state, action.repository);
      case "found": {
        const { owner, name, repositoryId } = repositoryAt(this.state, action.repository);
        const given = await this.organization.createRepository(action.repository, {
          owner,
          name,
          createdAt: this.clock,
          ...action.sameNumber && { repositoryId },
        });
        if (action.sameNumber) this.expect("number", repositoryId, given);
        return addRepository(this.state, { owner, name, repositoryId: given }, action.repository);
      }
      case "prune": {
        const there = [...REPOSITORIES.keys()].filter((index) =>
          repositoryAt(this.state, index).isThere
        );
        for (const index of there) await this.organization.prune(index, action.cutoff);
        return forgetPrunedTests(this.oracle(), action.cutoff);
      }
      case "meanwhile":
        throw new Error("what happens while requests run is taken step by step");
      case "look":
        return await this.look(action.look);
    }
  }

  async #upload({ uploads, deletes }: Action & { kind: "upload" }): Promise<void> {
    // Those who read meanwhile may see any state in between, and must leave nothing stale behind.
    const readers = uploads.length < 2
      ? []
      : [this.answer({ kind: "tests", repository: 0, page: WHOLE })];
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
    this.expect("duplicate", repeated !== undefined, taken.duplicate);
    if (repeated) {
      this.expect("id and key of the duplicate", [repeated.id, repeated.key], [
        taken.id,
        taken.key,
      ]);
    } else {
      this.#expectNewId(upload, taken);
    }
    addUpload(this.state, upload, taken);
    this.uploads.push(upload);
    this.expect("number of results", upload.results.length, taken.testResultCount);
    if (!alone) return;
    const oracle = this.oracle();
    const disruptions = oracle.testsOf([upload.repository]).flatMap((test) =>
      oracle.disruptionsOf(test).filter((row) => row.submission.id === taken.id)
    );
    this.expect("number of disruptions", disruptions.length, taken.disruptionCount);
  }

  #expectNewId(upload: PlainUpload, { id, key }: Taken): void {
    const { owner, name } = repositoryAt(this.state, upload.repository);
    this.expect("key", upload.key ?? `${owner}/${name}/${id}`, key);
    const seconds = upload.recordedAt.toString(16).padStart(8, "0");
    this.expect("begin of the id", seconds, /^[0-9a-f]{24}$/.exec(id)?.[0].slice(0, 8));
    this.expect("new id", true, this.state.submissions.every((other) => other.id !== id));
    const { recordedAt, commit, buildUrl, results } = upload;
    const repository = repositoryAt(this.state, upload.repository).idPrefix;
    const uploaded = JSON.stringify(
      upload.key === null
        ? [repository, recordedAt, commit, buildUrl, results]
        : [repository, recordedAt, upload.key],
    );
    this.expect("id after a re-import", this.#ids.get(uploaded) ?? id, id);
    this.#ids.set(uploaded, id);
  }

  /** One server after the other, each sometimes with the entity tags of what was answered before. */
  protected answer(question: Question, { upperCase = false, token = 0 } = {}): Promise<Answer> {
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

  protected oracle(): Oracle {
    return new Oracle(this.state, this.clock, this.windowSeconds);
  }

  protected expect(asked: string, expected: unknown, actual: unknown): void {
    if (isDeepStrictEqual(actual, expected)) return;
    const at = `at ${new Date(this.clock * 1000).toISOString()}`;
    throw new Disagreement([...this.actions], `${asked} ${at}`, expected, actual);
  }
}
