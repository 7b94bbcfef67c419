/**
 * An in-memory stand-in for the program that responds from an oracle. Wrong definitions show whether
 * the comparison notices a mistake.
 */
import { createHash } from "node:crypto";
import { submissionId } from "../../lib/base/identity.ts";
import {
  addRepository,
  addUpload,
  deleteRepository,
  deleteSubmission,
  emptyState,
  identityOf,
  idOfArchive,
  indexOfName,
  isValidToken,
  repeatedBy,
  repositoryAt,
  showFailed,
  showProcessing,
} from "./model.ts";
import { Oracle } from "./oracle.ts";
import { prune } from "./pruning.ts";
import { type PolicyOutcome, recordPolicy } from "./policy_rules.ts";
import {
  addQuarantine,
  type LoggedEvent,
  releaseRepository,
  removeQuarantine,
} from "./quarantines.ts";
import { type ApiRequest, type ApiResponse, responseOf, UNAUTHORIZED } from "./requests.ts";
import type { Organization, SendOptions } from "./service.ts";

/** The oracle, or one with a definition replaced. */
export type OracleClass = new (...parameters: ConstructorParameters<typeof Oracle>) => Oracle;

/** An organization in memory, which can also respond by other definitions. */
interface InMemoryOrganization extends Organization {
  sendWith(Definitions: OracleClass, apiRequest: ApiRequest, options: SendOptions): ApiResponse;
  /** What a policy would change, and the owners of the entries. */
  policyWith(
    Definitions: OracleClass,
    ...parameters: Parameters<Organization["applyPolicy"]>
  ): PolicyOutcome & { owners: (string | null)[] };
  logWith(Definitions: OracleClass, now: number): LoggedEvent[];
}

/** An organization in memory. */
export function inMemoryOrganization(name: string): InMemoryOrganization {
  const state = emptyState(name);
  let clock = 0;
  const sendWith: InMemoryOrganization["sendWith"] = (Definitions, apiRequest, options) =>
    isValidToken(state, options.token ?? 0, clock)
      ? responseOf(apiRequest, new Definitions(state, clock, options.windowSeconds))
      : UNAUTHORIZED;
  const policyWith: InMemoryOrganization["policyWith"] = (
    Definitions,
    { repository, policy },
    now,
    windowSeconds,
  ) => {
    const rules = new Definitions(state, now, windowSeconds).rules(policy);
    const outcome = rules.outcome(repository);
    const tests = state.tests.filter(({ id }) => outcome.entering.includes(id));
    return { ...outcome, owners: tests.map((test) => rules.ownerOf(test)) };
  };
  const logWith: InMemoryOrganization["logWith"] = (Definitions, now) =>
    new Definitions(state, now, 0).quarantineLog();
  return {
    organizationId: state.organizationId,
    servers: 1,
    setClock(now) {
      clock = now;
      return Promise.resolve();
    },
    setGate() {},
    createRepository(index, { owner, name, repositoryId: wanted }) {
      const next = 1 + Math.max(0, ...state.repositories.map((one) => one.repositoryId));
      const repositoryId = wanted ?? next;
      addRepository(state, { owner, name, repositoryId }, index);
      return Promise.resolve(repositoryId);
    },
    renameRepository(index, { owner, name }) {
      const other = indexOfName(state, { owner, name });
      const taken = other >= 0 && other !== index;
      if (!taken) Object.assign(repositoryAt(state, index), { owner, name });
      return Promise.resolve(!taken);
    },
    deleteRepository(index, now) {
      releaseRepository(state, index, now);
      deleteRepository(state, index);
      return Promise.resolve();
    },
    upload(upload) {
      const { repository, results, recordedAt } = upload;
      const { owner, name, idPrefix } = repositoryAt(state, repository);
      const repeated = repeatedBy(state, upload);
      const identity = `${idPrefix} ${identityOf(upload)}`;
      const digest = createHash("sha256").update(identity).digest("hex");
      const id = repeated?.id ??
        (upload.key === null
          ? submissionId(recordedAt, [digest])
          : idOfArchive(state, { repository, recordedAt, key: upload.key }));
      const key = repeated?.key ?? upload.key ?? `${owner}/${name}/${id}`;
      addUpload(state, upload, { id, key });
      const oracle = new Oracle(state, 0, 0);
      const disruptions = oracle.testsOf([repository]).flatMap((test) =>
        oracle.disruptionsOf(test)
      );
      return Promise.resolve({
        id,
        key,
        duplicate: repeated !== undefined,
        testResultCount: results.length,
        disruptionCount: disruptions.filter((row) => row.submission.id === id).length,
      });
    },
    showProcessing(archive) {
      showProcessing(state, archive);
      return Promise.resolve();
    },
    showFailed(archive) {
      showFailed(state, archive);
      return Promise.resolve();
    },
    deleteSubmission(key) {
      const found = state.submissions.some((submission) => submission.key === key);
      deleteSubmission(state, key);
      return Promise.resolve(found);
    },
    addQuarantine: (quarantine) => Promise.resolve(addQuarantine(state, quarantine)),
    removeQuarantine: (id, now) => Promise.resolve(removeQuarantine(state, id, now)),
    applyPolicy(action, now, windowSeconds) {
      const { entering, leaving } = policyWith(Oracle, action, now, windowSeconds);
      const changes = [
        ...leaving.map((testId) => ({ testId, action: "leave" as const, reason: "calm" })),
        ...entering.map((testId) => ({ testId, action: "enter" as const, reason: "flaky" })),
      ];
      recordPolicy(new Oracle(state, now, windowSeconds), action, changes);
      return Promise.resolve(changes);
    },
    quarantineLog: (now) => Promise.resolve(logWith(Oracle, now)),
    prune(_repository, cutoff) {
      prune(new Oracle(state, 0, 0), cutoff);
      return Promise.resolve();
    },
    createToken(expiresAt) {
      state.tokens.push({ expiresAt, isRevoked: false });
      return Promise.resolve();
    },
    revokeToken(index) {
      const token = state.tokens[index]!;
      const revoked = !token.isRevoked;
      token.isRevoked = true;
      return Promise.resolve(revoked);
    },
    move: () => Promise.resolve(),
    send: (apiRequest, options) => Promise.resolve(sendWith(Oracle, apiRequest, options)),
    sendWith,
    policyWith,
    logWith,
  };
}
