/** Formats a disagreement: the actions, the request, and the values that differ. */
import type { TestIdentity } from "../../lib/base/identity.ts";
import type { TestResult } from "../../lib/report/result.ts";
import type { Action } from "./actions.ts";
import { timestamp } from "./oracle.ts";
import { REPOSITORIES, TESTS } from "./pools.ts";
import { isSameTest, type PlainUpload } from "./model.ts";
import type { Disagreement } from "./differential_runner.ts";

/** Most differences that are listed. */
const MAX_DIFFERENCES = 20;

/** The report of a disagreement, in several lines. */
export function describeDisagreement(disagreement: Disagreement): string {
  const { actions, request, expected, actual } = disagreement;
  const differences = differencesOf(expected, actual, "");
  return [
    "Actions:",
    ...actions.flatMap(describeAction).map((line) => `  ${line}`),
    "Request:",
    `  ${request}`,
    "Differences:",
    ...differences.slice(0, MAX_DIFFERENCES).map((line) => `  ${line}`),
    ...(differences.length > MAX_DIFFERENCES
      ? [`  and ${differences.length - MAX_DIFFERENCES} more`]
      : []),
  ].join("\n");
}

function describeAction(action: Action): string[] {
  switch (action.kind) {
    case "upload": {
      const lines = action.uploads.map(describeUpload);
      if (action.deletes !== null) lines.push(`delete  ${action.deletes}`);
      return lines.length === 1
        ? lines
        : ["at the same time:", ...lines.map((line) => `  ${line}`)];
    }
    case "delete":
      return [`delete  ${action.key}`];
    case "quarantine": {
      const { testId, at, repository: _, ...entry } = action.quarantine;
      return [`quarantine  ${testId} at ${timestamp(at)} ${JSON.stringify(entry)}`];
    }
    case "release":
      return [`release  ${action.testId}`];
    case "apply policy": {
      const policy = JSON.stringify(action.policy);
      return [`apply policy  ${repositoryName(action.repository)} ${policy}`];
    }
    case "rename":
      return [`rename  ${repositoryName(action.repository)} to ${action.owner}/${action.name}`];
    case "wait":
      return [`set clock to ${timestamp(action.until)}`];
    case "token":
      return [
        `token  expires ${action.expiresAt === null ? "never" : timestamp(action.expiresAt)}`,
      ];
    case "revoke":
      return [`revoke  token ${action.token}`];
    case "delete repository":
      return [`delete  ${repositoryName(action.repository)} with all its data`];
    case "create repository": {
      const number = action.sameNumber ? "its earlier number" : "a new number";
      return [`create  ${repositoryName(action.repository)} with ${number}`];
    }
    case "prune":
      return [`prune  data older than ${timestamp(action.cutoff)}`];
    case "move":
      return ["export, delete and import the organization"];
    case "concurrent": {
      const lines = action.actions.flatMap(describeAction);
      return ["while requests run:", ...lines.map((line) => `  ${line}`)];
    }
    case "show processing":
      return [describeUpload(action.upload).replace("upload", "show processing")];
    case "show failed":
      return [`show failed  ${repositoryName(action.repository)} key ${action.key}`];
    case "query":
      return [`query  ${JSON.stringify(action.query)}`];
  }
}

function describeUpload(upload: PlainUpload): string {
  const { tags, testTags, coverage, key } = upload;
  return [
    "upload",
    repositoryName(upload.repository).padEnd(20),
    timestamp(upload.recordedAt),
    `commit ${upload.commit.slice(0, 6)}`,
    `tree ${upload.tree?.slice(0, 2) ?? "--"}`,
    `branch ${upload.branch ?? "--"}`,
    ...(upload.environment === "" ? [] : [`environment ${upload.environment}`]),
    ...(upload.job === "" ? [] : [`job ${upload.job}`]),
    ...(upload.workflow ? [`workflow ${upload.workflow}`] : []),
    ...(upload.shard ? [`shard ${upload.shard}`] : []),
    ...(upload.attempt ? [`attempt ${upload.attempt}`] : []),
    (upload.buildUrl || "no build URL").padEnd(20),
    ...(tags.length > 0 ? [`tags ${tags.join(",")}`] : []),
    ...testTags.map(({ test, tags }) => `tags of t${indexOf(test)} ${tags.join(",")}`),
    ...(coverage ? [`coverage ${coverage.coveredLineCount}/${coverage.lineCount}`] : []),
    ...(key === null ? [] : [`key ${key}`]),
    `results ${describeResults(upload.results)}`,
  ].join("  ");
}

/** Such as `t0 passing, t0 failure "boom" 1500us x3`: tests by their index in the pool. */
function describeResults(results: TestResult[]): string {
  const counted: { text: string; times: number }[] = [];
  for (const result of results) {
    const index = indexOf(result);
    const test = index < 0 ? result.suite : `t${index}`;
    const message = result.message === "" ? "" : ` ${JSON.stringify(result.message.slice(0, 20))}`;
    const text = index < 0
      ? `${test} ${result.conclusion}`
      : `${test} ${result.conclusion}${message} ${result.durationMicroseconds}us`;
    const last = counted.at(-1);
    if (last?.text === text) last.times++;
    else counted.push({ text, times: 1 });
  }
  return counted.map(({ text, times }) => times > 1 ? `${text} x${times}` : text).join(", ") ||
    "none";
}

function indexOf(test: TestIdentity): number {
  return TESTS.findIndex((other) => isSameTest(other, test));
}

function repositoryName(index: number): string {
  const { owner, name } = REPOSITORIES[index]!;
  return `${owner}/${name}`;
}

function differencesOf(expected: unknown, actual: unknown, path: string): string[] {
  if (isContainer(expected) && isContainer(actual)) {
    const keys = new Set([...Object.keys(expected), ...Object.keys(actual)]);
    return [...keys].flatMap((key) =>
      differencesOf(Reflect.get(expected, key), Reflect.get(actual, key), `${path}.${key}`)
    );
  }
  if (Object.is(expected, actual)) return [];
  return [`${path || "response"}: expected ${show(expected)}, got ${show(actual)}`];
}

function isContainer(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

function show(value: unknown): string {
  if (value === undefined) return "nothing";
  return typeof value === "string" && value.includes("\n") ? value : JSON.stringify(value);
}
