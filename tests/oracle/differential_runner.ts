/** Applies every action to the service and to the model, and compares their outcomes. */
import { isDeepStrictEqual } from "node:util";
import { type Action, BEGINNING } from "./actions.ts";
import type { TestsPage } from "./response_bodies.ts";
import {
  addRepository,
  addUpload,
  deleteRepository,
  deleteSubmission,
  emptyState,
  identityOf,
  idOfArchive,
  indexOfName,
  type PlainUpload,
  removeUnprocessed,
  repeatedBy,
  repositoryAt,
  showFailed,
  showProcessing,
  type State,
} from "./model.ts";
import { Oracle } from "./oracle.ts";
import { REPOSITORIES } from "./pools.ts";
import { prune } from "./pruning.ts";
import { recordPolicy } from "./policy_rules.ts";
import { addQuarantine, releaseRepository, removeQuarantine } from "./quarantines.ts";
import { type ApiRequest, type ApiResponse, pathOf } from "./requests.ts";
import type { Organization, UploadOutcome } from "./service.ts";
import type { History, Query } from "./steps.ts";

/** The service and the oracle disagree. */
export class Disagreement extends Error {
  override name = "Disagreement";

  constructor(
    /** All actions so far, in order. */
    readonly actions: readonly Action[],
    /** The request or action whose outcome differs. */
    readonly request: string,
    readonly expected: unknown,
    readonly actual: unknown,
  ) {
    super(`${request}: the service and the definitions disagree`);
  }
}

/** A whole list on one page. */
export const WHOLE: TestsPage = { sort: "disruptivenessRatio", terms: [], limit: 100, offset: 0 };

/** Applies actions to both; a subclass sends the requests. */
export abstract class DifferentialRunner {
  readonly state: State;
  readonly windowSeconds: number;
  readonly uploads: PlainUpload[] = [];
  readonly actions: Action[] = [];
  /** Ids by upload: an upload that returns after its deletion must get the same id. */
  readonly #ids = new Map<string, string>();
  clock = BEGINNING;
  #turn = 0;

  constructor(
    readonly history: History,
    readonly organization: Organization,
    name: string,
  ) {
    this.state = emptyState(name, organization.organizationId);
    this.windowSeconds = history.windowSeconds;
  }

  protected abstract query(query: Query): Promise<void>;

  /** Creates the repositories and tokens that every history begins with. */
  async begin(): Promise<void> {
    await this.organization.setClock(this.clock);
    for (const [index, repository] of REPOSITORIES.entries()) {
      const creation = { ...repository, createdAt: this.clock };
      const repositoryId = await this.organization.createRepository(index, creation);
      addRepository(this.state, { ...repository, repositoryId });
    }
    // One to be revoked, one that is valid only when the clock is set back.
    for (const expiresAt of [null, this.clock]) {
      await this.perform({ kind: "token", expiresAt });
    }
  }

  /** Applies one action. */
  async perform(action: Action): Promise<void> {
    switch (action.kind) {
      case "upload":
        return await this.#upload(action);
      case "delete":
        this.expect("delete", true, await this.organization.deleteSubmission(action.key));
        this.expect("delete again", false, await this.organization.deleteSubmission(action.key));
        return deleteSubmission(this.state, action.key);
      case "quarantine": {
        const outcome = await this.organization.addQuarantine(action.quarantine);
        return this.expect("quarantine", addQuarantine(this.state, action.quarantine), outcome);
      }
      case "release": {
        const outcome = await this.organization.removeQuarantine(action.testId, this.clock);
        const isRemoved = removeQuarantine(this.state, action.testId, this.clock);
        return this.expect("release", isRemoved, outcome);
      }
      case "apply policy": {
        const changes = await this.organization.applyPolicy(action, this.clock, this.windowSeconds);
        const ids = (wanted: string) =>
          changes.filter(({ action }) => action === wanted).map(({ testId }) => testId).sort();
        const outcome = { entering: ids("enter"), leaving: ids("leave") };
        this.expect(
          "policy",
          this.oracle().rules(action.policy).outcome(action.repository),
          outcome,
        );
        return recordPolicy(this.oracle(), action, changes);
      }
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
      case "delete repository":
        await this.organization.deleteRepository(action.repository, this.clock);
        releaseRepository(this.state, action.repository, this.clock);
        return deleteRepository(this.state, action.repository);
      case "create repository": {
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
        return prune(this.oracle(), action.cutoff);
      }
      case "show processing":
        await this.organization.showProcessing(action.upload, this.clock);
        return showProcessing(this.state, action.upload);
      case "show failed":
        await this.organization.showFailed(action);
        return showFailed(this.state, action);
      case "move":
        return await this.organization.move();
      case "concurrent":
        throw new Error("concurrent steps are performed one by one");
      case "query":
        return await this.query(action.query);
    }
  }

  async #upload({ uploads, deletes }: Action & { kind: "upload" }): Promise<void> {
    // Concurrent readers may see any state in between, and must leave nothing stale in a cache.
    const readers = uploads.length < 2
      ? []
      : [this.apiResponse({ kind: "tests", repository: 0, page: WHOLE })];
    const [taken] = await Promise.all([
      Promise.all(uploads.map((upload) => this.organization.upload(upload, this.clock))),
      deletes === null ? true : this.organization.deleteSubmission(deletes),
      ...readers,
    ]);
    if (deletes !== null) deleteSubmission(this.state, deletes);
    // Of two identical uploads the later one is reported as a duplicate.
    const outcomes = uploads.map((upload, index) => ({ upload, taken: taken[index]! }))
      .sort((a, b) => Number(a.taken.duplicate) - Number(b.taken.duplicate));
    for (const { upload, taken } of outcomes) this.#addUpload(upload, taken, uploads.length === 1);
  }

  #addUpload(upload: PlainUpload, taken: UploadOutcome, alone: boolean): void {
    removeUnprocessed(this.state, upload);
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

  #expectNewId(upload: PlainUpload, { id, key }: UploadOutcome): void {
    const { owner, name } = repositoryAt(this.state, upload.repository);
    this.expect("key", upload.key ?? `${owner}/${name}/${id}`, key);
    const seconds = upload.recordedAt.toString(16).padStart(8, "0");
    this.expect("first digits of the id", seconds, /^[0-9a-f]{24}$/.exec(id)?.[0].slice(0, 8));
    this.expect("new id", true, this.state.submissions.every((other) => other.id !== id));
    if (upload.key !== null) {
      const { repository, recordedAt } = upload;
      const expected = idOfArchive(this.state, { repository, recordedAt, key: upload.key });
      this.expect("id of the archive", expected, id);
    }
    const { recordedAt } = upload;
    const repository = repositoryAt(this.state, upload.repository).idPrefix;
    const uploaded = JSON.stringify(
      upload.key === null
        ? [repository, recordedAt, identityOf(upload)]
        : [repository, recordedAt, upload.key],
    );
    this.expect("id after a re-import", this.#ids.get(uploaded) ?? id, id);
    this.#ids.set(uploaded, id);
  }

  /** Sends requests to the servers in turn, every second time with the entity tags of earlier responses. */
  protected apiResponse(
    apiRequest: ApiRequest,
    { upperCase = false, token = 0 } = {},
  ): Promise<ApiResponse> {
    const path = pathOf(apiRequest, this.state, upperCase);
    const through = this.#turn++;
    return this.organization.send(apiRequest, {
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

  protected expect(request: string, expected: unknown, actual: unknown): void {
    if (isDeepStrictEqual(actual, expected)) return;
    const at = `at ${new Date(this.clock * 1000).toISOString()}`;
    throw new Disagreement([...this.actions], `${request} ${at}`, expected, actual);
  }
}
