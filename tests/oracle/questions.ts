/** The requests of a history, and the responses that the oracle expects. */
import {
  type Badge,
  coverageBadge,
  failureGroups,
  flakinessBadge,
  type Include,
  INCLUDES,
  inventoryPage,
  type Json,
  organizations,
  repositories,
  repositoriesNamed,
  runCursor,
  submissionsPage,
  submissionTests,
  testDetails,
  testResults,
  testRuns,
  type TestsPage,
  testsPage,
  verdicts,
} from "./answers.ts";
import { organizationUuid, shortTestId, type TestIdentity } from "../../lib/base/identity.ts";
import { otherThan } from "./actions.ts";
import { indexOfName, type KnownTest, repositoryAt, type State } from "./model.ts";
import type { Oracle, Term } from "./oracle.ts";

/** How a request names the repository of the inventory. */
export type Scope =
  | "all"
  | "name"
  | "owner/name"
  | "id"
  | "id and name"
  /** The bare name may fit several repositories: the id decides. */
  | "id and bare name"
  /** The id of one repository, the name of another. */
  | "id and other name";

/** How a request names the organization in `organization_id`. */
export type OrganizationParameter = "none" | "own" | "upper" | "other";

/** A request. */
export type Question = Subject & { organization?: OrganizationParameter };

type Subject =
  | { kind: "organizations" }
  | { kind: "repositories" }
  | {
    kind: "submissions";
    repository: number;
    limit: number;
    after: string | null;
    branches?: readonly string[];
  }
  | { kind: "tests"; repository: number; page: TestsPage }
  | {
    kind: "verdicts";
    repository: number;
    tests: readonly TestIdentity[];
    /** The default without any. */
    base: readonly string[];
  }
  | { kind: "results"; test: KnownTest }
  | { kind: "test"; test: KnownTest }
  | { kind: "failures of test"; test: KnownTest; branches?: readonly string[] }
  | {
    kind: "runs";
    test: KnownTest;
    conclusion: string;
    limit: number;
    /** Attempts on the pages before, and the cursor after them. */
    before: number;
    after: string | null;
    branches?: readonly string[];
  }
  | { kind: "failures"; repository: number; branches?: readonly string[] }
  | {
    kind: "attempts";
    repository: number;
    submissionId: string;
    status: string;
    limit: number;
    offset: number;
  }
  | {
    kind: "inventory";
    repository: number;
    scope: Scope;
    /** The parameters that select the view; `{}` for none. */
    view: { quarantine?: string; quarantined?: string };
    /** With names that mean nothing, too. */
    include: string[];
    page: TestsPage;
  }
  | { kind: "flakiness badge" | "coverage badge"; repository: number };

/** The compared part of a response. `errors` are the names of the wrong parameters. */
export type Answer =
  | { status: number; json: Json }
  | { status: number; badge: Badge }
  | { status: number; errors: string[] };

/** The response to an unknown resource. */
export const NOT_FOUND: Answer = { status: 404, json: { message: "Not Found" } };

/** The response without a valid token. */
export const UNAUTHORIZED: Answer = { status: 401, json: "" };

/** The branches that a request selects, none for all submissions. */
function branchesOf(question: Question): readonly string[] {
  if ("branches" in question) return question.branches ?? [];
  return ("page" in question && question.page.branches) || [];
}

/** The expected response to a request with a valid token. */
export function answerOf(question: Question, all: Oracle): Answer {
  const answer = answerInOrganization(question, all.onBranches(branchesOf(question)));
  return question.organization === "other" && answer.status === 200 ? NOT_FOUND : answer;
}

function answerInOrganization(question: Question, oracle: Oracle): Answer {
  const { state } = oracle;
  if (question.kind === "organizations") return { status: 200, json: organizations(oracle) };
  if (question.kind === "repositories") return { status: 200, json: repositories(oracle) };
  if ("test" in question) {
    const test = state.tests.find(({ id }) => id === question.test.id);
    return test ? { status: 200, json: answerAbout(test, question, oracle) } : NOT_FOUND;
  }
  if (question.kind === "inventory" && !/id|owner/.test(question.scope)) {
    return inventoryAnswer(question, oracle);
  }
  const repository = repositoryAskedFor(question, state);
  if (repository < 0) return NOT_FOUND;
  switch (question.kind) {
    case "submissions":
      return { status: 200, json: submissionsPage(oracle, repository, question) };
    case "tests":
      return { status: 200, json: testsPage(oracle, repository, question.page) };
    case "verdicts": {
      const base = question.base.length > 0 ? question.base : ["main"];
      return { status: 200, json: verdicts(oracle, repository, { ...question, base }) };
    }
    case "attempts":
      return attemptsAnswer({ ...question, repository }, oracle);
    case "failures": {
      const tests = oracle.testsOf([repository]);
      return { status: 200, json: failureGroups(oracle, tests, { withTests: true }) };
    }
    case "inventory":
      return inventoryAnswer({ ...question, repository }, oracle);
    case "flakiness badge":
      return { status: 200, badge: flakinessBadge(oracle, repository) };
    case "coverage badge":
      return { status: 200, badge: coverageBadge(oracle, repository) };
  }
}

function answerAbout(
  test: KnownTest,
  question: Extract<Question, { test: KnownTest }>,
  oracle: Oracle,
): Json {
  switch (question.kind) {
    case "test":
      return testDetails(oracle, test);
    case "results":
      return testResults(oracle, test);
    case "runs":
      return testRuns(oracle, test, { ...question, status: question.conclusion });
    case "failures of test":
      return failureGroups(oracle, [test], { withTests: false });
  }
}

function attemptsAnswer(
  { repository, ...question }: Question & { kind: "attempts" },
  oracle: Oracle,
): Answer {
  const submission = oracle.storedSubmission(repository, question.submissionId);
  return submission
    ? { status: 200, json: submissionTests(oracle, submission, question) }
    : NOT_FOUND;
}

/** By number or by name: another repository may have taken the name of a deleted one. */
function repositoryAskedFor(
  question: Extract<Question, { repository: number }>,
  state: State,
): number {
  const requested = repositoryAt(state, question.repository);
  const isByNumber = question.kind === "inventory" && question.scope.startsWith("id");
  if (!isByNumber) return indexOfName(state, requested);
  return requested.isThere ? question.repository : -1;
}

function inventoryAnswer(question: Question & { kind: "inventory" }, oracle: Oracle): Answer {
  const { quarantine, quarantined } = question.view;
  const view = quarantine ?? quarantined ?? "true";
  if (question.scope === "id and other name") return { status: 400, errors: ["repository_id"] };
  let repositories = [question.repository];
  if (question.scope === "all") repositories = [...oracle.state.repositories.keys()];
  if (question.scope === "name") {
    const { name } = repositoryAt(oracle.state, question.repository);
    repositories = repositoriesNamed(oracle, name);
    if (repositories.length > 1) return { status: 400, errors: ["repository"] };
    if (repositories.length === 0) return NOT_FOUND;
  }
  const include = INCLUDES.filter((name) => question.include.includes(name));
  return {
    status: 200,
    json: inventoryPage(oracle, repositories, {
      ...question.page,
      quarantined: view !== "false",
      include: include as Include[],
    }),
  };
}

/** The expected response to a request whose path was formatted in the state `requested`. */
export function answerTo(question: Question, requested: State, oracle: Oracle): Answer {
  if (!("repository" in question) || (question.kind === "inventory" && question.scope === "all")) {
    return answerOf(question, oracle);
  }
  const repository = indexOfName(oracle.state, repositoryAt(requested, question.repository));
  return repository < 0 ? NOT_FOUND : answerOf({ ...question, repository }, oracle);
}

/**
 * The path and query of a request.
 *
 * @param upperCase names in capitals: names are found regardless of case
 */
export function pathOf(question: Question, state: State, upperCase = false): string {
  const path = pathInOrganization(question, state, upperCase);
  const { organization = "none" } = question;
  if (organization === "none") return path;
  const other = organization === "other" ? 1 : 0;
  const id = organizationUuid(state.organizationId + other);
  const spelled = organization === "upper" ? id.toUpperCase() : id;
  return `${path}${path.includes("?") ? "&" : "?"}organization_id=${spelled}`;
}

function pathInOrganization(question: Question, state: State, upperCase: boolean): string {
  if (question.kind === "organizations" || question.kind === "repositories") {
    return `/api/me/${question.kind}`;
  }
  if ("test" in question) {
    return pathAbout(question, upperCase);
  }
  const { owner, name, repositoryId } = repositoryAt(state, question.repository);
  const spelled = (text: string) => upperCase ? capitals(text) : text;
  const both = spelled(`${owner}/${name}`);
  const folder = [owner, name].map((part) => encodeURIComponent(spelled(part))).join("/");
  const query = new URLSearchParams();
  const branches = branchesOf(question);
  if (branches.length > 0) query.set("branch", branches.join(","));
  switch (question.kind) {
    case "submissions":
      query.set("limit", String(question.limit));
      if (question.after !== null) query.set("after", btoa(`id:${question.after}`));
      return `/api/repos/${folder}/submissions?${query}`;
    case "attempts": {
      query.set("limit", String(question.limit));
      query.set("status", question.status);
      if (question.offset > 0) query.set("after", btoa(`offset:${question.offset}`));
      const id = question.submissionId;
      return `/api/repos/${folder}/submissions/${upperCase ? id.toUpperCase() : id}/tests?${query}`;
    }
    case "failures":
      return `/api/repos/${folder}/failures?${query}`;
    case "tests":
      setPage(query, question.page);
      return `/api/repos/${folder}/tests?${query}`;
    case "verdicts":
      query.set("tests", question.tests.map((test) => spelled(shortTestId(test))).join(","));
      if (question.base.length > 0) query.set("base", question.base.join(","));
      return `/api/repos/${folder}/verdicts?${query}`;
    case "inventory":
      if (question.scope === "name") query.set("repository", spelled(name));
      if (question.scope === "owner/name") query.set("repository", both);
      if (question.scope.startsWith("id")) query.set("repository_id", String(repositoryId));
      if (question.scope === "id and name") query.set("repository", both);
      if (question.scope === "id and bare name") query.set("repository", spelled(name));
      if (question.scope === "id and other name") {
        const other = repositoryAt(state, otherThan(question.repository));
        query.set("repository", `${other.owner}/${other.name}`);
      }
      for (const [parameter, value] of Object.entries(question.view)) query.set(parameter, value);
      if (question.include.length > 0) query.set("include", question.include.join(","));
      setPage(query, question.page);
      return `/api/v1/flaky/tests?${query}`;
    case "flakiness badge":
      query.set("repository", both);
      return `/api/v1/flaky/badges?${query}`;
    case "coverage badge":
      query.set("repository", both);
      return `/api/v1/coverage/badges?${query}`;
  }
}

function pathAbout(question: Extract<Question, { test: KnownTest }>, upperCase: boolean): string {
  const { id } = question.test;
  const path = `/api/tests/${upperCase ? id.toUpperCase() : id}`;
  if (question.kind === "test") return path;
  if (question.kind === "results") return `${path}/results`;
  const query = new URLSearchParams();
  const branches = branchesOf(question);
  if (branches.length > 0) query.set("branch", branches.join(","));
  if (question.kind === "failures of test") return `${path}/failures?${query}`;
  query.set("limit", String(question.limit));
  query.set("conclusion", question.conclusion);
  if (question.after !== null) query.set("after", question.after);
  return `${path}/runs?${query}`;
}

/** Upper case, except letters without a single capital such as ß. */
function capitals(text: string): string {
  return [...text].map((letter) => {
    const capital = letter.toUpperCase();
    return capital.toLowerCase() === letter.toLowerCase() ? capital : letter;
  }).join("");
}

function setPage(query: URLSearchParams, page: TestsPage): void {
  query.set("limit", String(page.limit));
  query.set("sort", page.sort);
  if (page.offset > 0) query.set("after", btoa(`offset:${page.offset}`));
  if (page.terms.length > 0) query.set("q", page.terms.map(textOf).join(" "));
}

/** Formats a term of `q`. */
export function textOf(term: Term): string {
  if (term.kind === "text") return term.text;
  if (term.kind === "tags") return `tags:${term.tags.join(",")}`;
  return `${term.kind}:${term.operator}${term.day}`;
}

/** The request and those of the pages after it. */
export function* pagesOf(question: Question, oracle: Oracle): Generator<Question> {
  yield question;
  if (question.kind === "submissions") {
    const all = oracle.onBranches(branchesOf(question)).submissionsInWindow(question.repository);
    for (let at = question.limit; at < all.length; at += question.limit) {
      yield { ...question, after: all[at - 1]!.id };
    }
  }
  if (question.kind === "runs") {
    const selected = oracle.onBranches(branchesOf(question));
    const test = selected.state.tests.find(({ id }) => id === question.test.id);
    const all = test ? selected.runs(test, question.conclusion) : [];
    const { limit } = question;
    for (let before = limit; before < all.length; before += limit) {
      yield { ...question, before, after: runCursor(selected, all[before - 1]!) };
    }
  }
  if (question.kind === "attempts") {
    const answer = answerOf(question, oracle);
    const count = "json" in answer ? (answer.json as { count: number }).count : 0;
    const { limit } = question;
    for (let offset = limit; offset < count; offset += limit) yield { ...question, offset };
  }
  if (question.kind === "tests" || question.kind === "inventory") {
    const { page } = question;
    const answer = answerOf(question, oracle);
    const count = "json" in answer ? (answer.json as { count: number }).count : 0;
    for (let offset = page.limit; offset < count; offset += page.limit) {
      yield { ...question, page: { ...page, offset } };
    }
  }
}
