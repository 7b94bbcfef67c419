/** The requests of a history, and the responses that the oracle expects. */
import {
  type Badge,
  coverageBadge,
  durations,
  type DurationsPage,
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
} from "./response_bodies.ts";
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
export type ApiRequest = Subject & { organization?: OrganizationParameter };

type Subject =
  | { kind: "organizations" }
  | { kind: "repositories" }
  | {
    kind: "submissions";
    repository: number;
    limit: number;
    after: string | null;
    branches?: readonly string[];
    environments?: readonly string[];
  }
  | { kind: "tests"; repository: number; page: TestsPage }
  | {
    kind: "durations";
    repository: number;
    list: DurationsPage;
    branches?: readonly string[];
    environments?: readonly string[];
  }
  | {
    kind: "verdicts";
    repository: number;
    tests: readonly TestIdentity[];
    /** The base branches; without any, the one of the repository. */
    base: readonly string[];
    job: string;
    environment: string;
  }
  | { kind: "results"; test: KnownTest }
  | { kind: "test"; test: KnownTest }
  | {
    kind: "failures of test";
    test: KnownTest;
    branches?: readonly string[];
    environments?: readonly string[];
  }
  | {
    kind: "runs";
    test: KnownTest;
    conclusion: string;
    limit: number;
    /** Attempts on the pages before, and the cursor after them. */
    before: number;
    after: string | null;
    branches?: readonly string[];
    environments?: readonly string[];
  }
  | {
    kind: "failures";
    repository: number;
    branches?: readonly string[];
    environments?: readonly string[];
  }
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
export type ApiResponse =
  | { status: number; json: Json }
  | { status: number; badge: Badge }
  | { status: number; errors: string[] };

/** The response to an unknown resource. */
export const NOT_FOUND: ApiResponse = { status: 404, json: { message: "Not Found" } };

/** The response without a valid token. */
export const UNAUTHORIZED: ApiResponse = { status: 401, json: "" };

/** The branches that a request selects, none for all submissions. */
function branchesOf(apiRequest: ApiRequest): readonly string[] {
  if ("branches" in apiRequest) return apiRequest.branches ?? [];
  return ("page" in apiRequest && apiRequest.page.branches) || [];
}

/** The environments that a request selects, none for all submissions. */
function environmentsOf(apiRequest: ApiRequest): readonly string[] {
  if ("environments" in apiRequest) return apiRequest.environments ?? [];
  return ("page" in apiRequest && apiRequest.page.environments) || [];
}

/** The definitions for the submissions that a request selects. */
function selectedBy(apiRequest: ApiRequest, oracle: Oracle): Oracle {
  return oracle.onBranches(branchesOf(apiRequest), environmentsOf(apiRequest));
}

/** Sets the parameters that select submissions. */
function setFilter(query: URLSearchParams, apiRequest: ApiRequest): void {
  const branches = branchesOf(apiRequest);
  if (branches.length > 0) query.set("branch", branches.join(","));
  const environments = environmentsOf(apiRequest);
  if (environments.length > 0) query.set("environment", environments.join(","));
}

/** The expected response to a request with a valid token. */
export function responseOf(apiRequest: ApiRequest, all: Oracle): ApiResponse {
  const apiResponse = responseInOrganization(apiRequest, selectedBy(apiRequest, all));
  return apiRequest.organization === "other" && apiResponse.status === 200
    ? NOT_FOUND
    : apiResponse;
}

function responseInOrganization(apiRequest: ApiRequest, oracle: Oracle): ApiResponse {
  const { state } = oracle;
  if (apiRequest.kind === "organizations") return { status: 200, json: organizations(oracle) };
  if (apiRequest.kind === "repositories") return { status: 200, json: repositories(oracle) };
  if ("test" in apiRequest) {
    const test = state.tests.find(({ id }) => id === apiRequest.test.id);
    return test ? { status: 200, json: responseAbout(test, apiRequest, oracle) } : NOT_FOUND;
  }
  if (apiRequest.kind === "inventory" && !/id|owner/.test(apiRequest.scope)) {
    return inventoryResponse(apiRequest, oracle);
  }
  const repository = requestedRepository(apiRequest, state);
  if (repository < 0) return NOT_FOUND;
  switch (apiRequest.kind) {
    case "submissions":
      return { status: 200, json: submissionsPage(oracle, repository, apiRequest) };
    case "tests":
      return { status: 200, json: testsPage(oracle, repository, apiRequest.page) };
    case "durations":
      return { status: 200, json: durations(oracle, repository, apiRequest.list) };
    case "verdicts":
      return { status: 200, json: verdicts(oracle, repository, apiRequest) };
    case "attempts":
      return attemptsResponse({ ...apiRequest, repository }, oracle);
    case "failures": {
      const tests = oracle.testsOf([repository]);
      return { status: 200, json: failureGroups(oracle, tests, { withTests: true }) };
    }
    case "inventory":
      return inventoryResponse({ ...apiRequest, repository }, oracle);
    case "flakiness badge":
      return { status: 200, badge: flakinessBadge(oracle, repository) };
    case "coverage badge":
      return { status: 200, badge: coverageBadge(oracle, repository) };
  }
}

function responseAbout(
  test: KnownTest,
  apiRequest: Extract<ApiRequest, { test: KnownTest }>,
  oracle: Oracle,
): Json {
  switch (apiRequest.kind) {
    case "test":
      return testDetails(oracle, test);
    case "results":
      return testResults(oracle, test);
    case "runs":
      return testRuns(oracle, test, { ...apiRequest, status: apiRequest.conclusion });
    case "failures of test":
      return failureGroups(oracle, [test], { withTests: false });
  }
}

function attemptsResponse(
  { repository, ...apiRequest }: ApiRequest & { kind: "attempts" },
  oracle: Oracle,
): ApiResponse {
  const submission = oracle.storedSubmission(repository, apiRequest.submissionId);
  return submission
    ? { status: 200, json: submissionTests(oracle, submission, apiRequest) }
    : NOT_FOUND;
}

/** By number or by name: another repository may have taken the name of a deleted one. */
function requestedRepository(
  apiRequest: Extract<ApiRequest, { repository: number }>,
  state: State,
): number {
  const requested = repositoryAt(state, apiRequest.repository);
  const isByNumber = apiRequest.kind === "inventory" && apiRequest.scope.startsWith("id");
  if (!isByNumber) return indexOfName(state, requested);
  return requested.isThere ? apiRequest.repository : -1;
}

function inventoryResponse(
  apiRequest: ApiRequest & { kind: "inventory" },
  oracle: Oracle,
): ApiResponse {
  const { quarantine, quarantined } = apiRequest.view;
  const view = quarantine ?? quarantined ?? "true";
  if (apiRequest.scope === "id and other name") return { status: 400, errors: ["repository_id"] };
  let repositories = [apiRequest.repository];
  if (apiRequest.scope === "all") repositories = [...oracle.state.repositories.keys()];
  if (apiRequest.scope === "name") {
    const { name } = repositoryAt(oracle.state, apiRequest.repository);
    repositories = repositoriesNamed(oracle, name);
    if (repositories.length > 1) return { status: 400, errors: ["repository"] };
    if (repositories.length === 0) return NOT_FOUND;
  }
  const include = INCLUDES.filter((name) => apiRequest.include.includes(name));
  return {
    status: 200,
    json: inventoryPage(oracle, repositories, {
      ...apiRequest.page,
      quarantined: view !== "false",
      include: include as Include[],
    }),
  };
}

/** The expected response to a request whose path was formatted in the state `requested`. */
export function responseTo(apiRequest: ApiRequest, requested: State, oracle: Oracle): ApiResponse {
  if (
    !("repository" in apiRequest) || (apiRequest.kind === "inventory" && apiRequest.scope === "all")
  ) {
    return responseOf(apiRequest, oracle);
  }
  const repository = indexOfName(oracle.state, repositoryAt(requested, apiRequest.repository));
  return repository < 0 ? NOT_FOUND : responseOf({ ...apiRequest, repository }, oracle);
}

/**
 * The path and query of a request.
 *
 * @param upperCase names in capitals: names are found regardless of case
 */
export function pathOf(apiRequest: ApiRequest, state: State, upperCase = false): string {
  const path = pathInOrganization(apiRequest, state, upperCase);
  const { organization = "none" } = apiRequest;
  if (organization === "none") return path;
  const other = organization === "other" ? 1 : 0;
  const id = organizationUuid(state.organizationId + other);
  const spelled = organization === "upper" ? id.toUpperCase() : id;
  return `${path}${path.includes("?") ? "&" : "?"}organization_id=${spelled}`;
}

function pathInOrganization(apiRequest: ApiRequest, state: State, upperCase: boolean): string {
  if (apiRequest.kind === "organizations" || apiRequest.kind === "repositories") {
    return `/api/me/${apiRequest.kind}`;
  }
  if ("test" in apiRequest) {
    return pathAbout(apiRequest, upperCase);
  }
  const { owner, name, repositoryId } = repositoryAt(state, apiRequest.repository);
  const spelled = (text: string) => upperCase ? capitals(text) : text;
  const both = spelled(`${owner}/${name}`);
  const folder = [owner, name].map((part) => encodeURIComponent(spelled(part))).join("/");
  const query = new URLSearchParams();
  setFilter(query, apiRequest);
  switch (apiRequest.kind) {
    case "submissions":
      query.set("limit", String(apiRequest.limit));
      if (apiRequest.after !== null) query.set("after", btoa(`id:${apiRequest.after}`));
      return `/api/repos/${folder}/submissions?${query}`;
    case "attempts": {
      query.set("limit", String(apiRequest.limit));
      query.set("status", apiRequest.status);
      if (apiRequest.offset > 0) query.set("after", btoa(`offset:${apiRequest.offset}`));
      const id = apiRequest.submissionId;
      return `/api/repos/${folder}/submissions/${upperCase ? id.toUpperCase() : id}/tests?${query}`;
    }
    case "failures":
      return `/api/repos/${folder}/failures?${query}`;
    case "durations":
      query.set("by", apiRequest.list.by);
      query.set("limit", String(apiRequest.list.limit));
      if (apiRequest.list.offset > 0) query.set("after", btoa(`offset:${apiRequest.list.offset}`));
      return `/api/repos/${folder}/durations?${query}`;
    case "tests":
      setPage(query, apiRequest.page);
      return `/api/repos/${folder}/tests?${query}`;
    case "verdicts":
      query.set("tests", apiRequest.tests.map((test) => spelled(shortTestId(test))).join(","));
      if (apiRequest.base.length > 0) query.set("base", apiRequest.base.join(","));
      query.set("run_job", apiRequest.job);
      query.set("run_environment", apiRequest.environment);
      return `/api/repos/${folder}/verdicts?${query}`;
    case "inventory":
      if (apiRequest.scope === "name") query.set("repository", spelled(name));
      if (apiRequest.scope === "owner/name") query.set("repository", both);
      if (apiRequest.scope.startsWith("id")) query.set("repository_id", String(repositoryId));
      if (apiRequest.scope === "id and name") query.set("repository", both);
      if (apiRequest.scope === "id and bare name") query.set("repository", spelled(name));
      if (apiRequest.scope === "id and other name") {
        const other = repositoryAt(state, otherThan(apiRequest.repository));
        query.set("repository", `${other.owner}/${other.name}`);
      }
      for (const [parameter, value] of Object.entries(apiRequest.view)) query.set(parameter, value);
      if (apiRequest.include.length > 0) query.set("include", apiRequest.include.join(","));
      setPage(query, apiRequest.page);
      return `/api/v1/flaky/tests?${query}`;
    case "flakiness badge":
      query.set("repository", both);
      return `/api/v1/flaky/badges?${query}`;
    case "coverage badge":
      query.set("repository", both);
      return `/api/v1/coverage/badges?${query}`;
  }
}

function pathAbout(
  apiRequest: Extract<ApiRequest, { test: KnownTest }>,
  upperCase: boolean,
): string {
  const { id } = apiRequest.test;
  const path = `/api/tests/${upperCase ? id.toUpperCase() : id}`;
  if (apiRequest.kind === "test") return path;
  if (apiRequest.kind === "results") return `${path}/results`;
  const query = new URLSearchParams();
  setFilter(query, apiRequest);
  if (apiRequest.kind === "failures of test") return `${path}/failures?${query}`;
  query.set("limit", String(apiRequest.limit));
  query.set("conclusion", apiRequest.conclusion);
  if (apiRequest.after !== null) query.set("after", apiRequest.after);
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
export function* pagesOf(apiRequest: ApiRequest, oracle: Oracle): Generator<ApiRequest> {
  yield apiRequest;
  if (apiRequest.kind === "submissions") {
    const all = selectedBy(apiRequest, oracle).submissionsInWindow(apiRequest.repository);
    for (let at = apiRequest.limit; at < all.length; at += apiRequest.limit) {
      yield { ...apiRequest, after: all[at - 1]!.id };
    }
  }
  if (apiRequest.kind === "runs") {
    const selected = selectedBy(apiRequest, oracle);
    const test = selected.state.tests.find(({ id }) => id === apiRequest.test.id);
    const all = test ? selected.runs(test, apiRequest.conclusion) : [];
    const { limit } = apiRequest;
    for (let before = limit; before < all.length; before += limit) {
      yield { ...apiRequest, before, after: runCursor(selected, all[before - 1]!) };
    }
  }
  if (apiRequest.kind === "attempts") {
    const apiResponse = responseOf(apiRequest, oracle);
    const count = "json" in apiResponse ? (apiResponse.json as { count: number }).count : 0;
    const { limit } = apiRequest;
    for (let offset = limit; offset < count; offset += limit) yield { ...apiRequest, offset };
  }
  if (apiRequest.kind === "durations") {
    const apiResponse = responseOf(apiRequest, oracle);
    const count = "json" in apiResponse ? (apiResponse.json as { count: number }).count : 0;
    const { list } = apiRequest;
    for (let offset = list.limit; offset < count; offset += list.limit) {
      yield { ...apiRequest, list: { ...list, offset } };
    }
  }
  if (apiRequest.kind === "tests" || apiRequest.kind === "inventory") {
    const { page } = apiRequest;
    const apiResponse = responseOf(apiRequest, oracle);
    const count = "json" in apiResponse ? (apiResponse.json as { count: number }).count : 0;
    for (let offset = page.limit; offset < count; offset += page.limit) {
      yield { ...apiRequest, page: { ...page, offset } };
    }
  }
}
