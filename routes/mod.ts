// Tests: tests/routes/contract_test.ts
/** The route table, from which the router, OpenAPI and the documentation are generated, and its server. */
import { WINDOW_SECONDS } from "../lib/base/time.ts";
import type { App, Context } from "../lib/http/request/context.ts";
import { createDispatcher } from "../lib/http/request/dispatch.ts";
import type { Endpoint, Route } from "../lib/http/request/route.ts";
import {
  limitRequests,
  listen,
  type ListenOptions,
  type RunningServer,
} from "../lib/http/server/server.ts";
import { organizations, repositories } from "./account.ts";
import { coverageBadgeRoute, flakyBadge } from "./badges.ts";
import { conclusions } from "./conclusions.ts";
import { durations, slowTests } from "./durations.ts";
import { repositoryFailures, testFailures, testGroups } from "./failures.ts";
import { buildPage } from "./pages/build.ts";
import { buildOfRunPage } from "./pages/build_of_run.ts";
import { buildsPage } from "./pages/builds.ts";
import { flakyTestsPage } from "./pages/flaky_tests.ts";
import {
  coveragePage,
  homePage,
  repositoriesPage,
  repositoryByNamePage,
} from "./pages/repositories.ts";
import { guideFiles, guidePages } from "./pages/guides.ts";
import { ownerPage, ownersPage } from "./pages/owners.ts";
import { ownTokens, revocation } from "./pages/own_tokens.ts";
import { bulkQuarantining } from "./pages/bulk_quarantine.ts";
import { quarantining, releasing } from "./pages/quarantine_forms.ts";
import { repositoryPage } from "./pages/repository.ts";
import { searchPage } from "./pages/search.ts";
import { slowTestsPage } from "./pages/slow_tests.ts";
import { testPage } from "./pages/test.ts";
import { testsPage } from "./pages/tests.ts";
import { documentation, health, tokenCheck } from "./service.ts";
import { buildOfSubmission, submissions, submissionTests } from "./submissions.ts";
import { disruptiveTests, flakyTests } from "./flaky_tests.ts";
import { testEvidenceRoute } from "./test_evidence.ts";
import { testStates } from "./test_states.ts";
import { testDetails, testResults, testRuns } from "./tests.ts";
import { verdicts } from "./verdicts.ts";

/** All routes, in the order of the documentation. */
export const routes: readonly Route[] = [
  health,
  tokenCheck,
  organizations,
  repositories,
  submissions,
  submissionTests,
  buildOfSubmission,
  disruptiveTests,
  repositoryFailures,
  testGroups,
  durations,
  slowTests,
  testStates,
  verdicts,
  conclusions,
  testDetails,
  testResults,
  testRuns,
  testEvidenceRoute,
  testFailures,
  flakyTests,
  flakyBadge,
  coverageBadgeRoute,
  ...documentation,
];

/** The pages for browsers, which the documentation does not list. */
export const pages: readonly Endpoint[] = [
  homePage,
  repositoriesPage,
  repositoryByNamePage,
  repositoryPage,
  slowTestsPage,
  flakyTestsPage,
  testsPage,
  testPage,
  ownersPage,
  ownerPage,
  buildPage,
  buildOfRunPage,
  buildsPage,
  coveragePage,
  searchPage,
  ...guidePages,
];

/** What people who are signed in do on the pages of a service that can write. */
const actions: readonly Endpoint[] = [
  quarantining,
  releasing,
  bulkQuarantining,
  ownTokens,
  revocation,
];

/** Further endpoints, which may call the app that they are part of. */
type MoreEndpoints = (app: App) => readonly Endpoint[];

/** Creates the app of the API and the pages. */
export function createApp(context: Context, more: MoreEndpoints = () => []): App {
  const app: App = (request, peer) => dispatch(request, peer);
  const hasActions = context.signIn && context.writableSql;
  const dispatch = createDispatcher(
    [...routes, ...pages, ...hasActions ? actions : [], ...guideFiles, ...more(app)],
    context,
  );
  return dispatch;
}

/** Dependencies of the handlers, where to listen, and limits. */
export type ServeOptions =
  & Partial<Context>
  & Pick<Context, "sql" | "log">
  & ListenOptions
  & { more?: MoreEndpoints };

/** Serves the HTTP API until it is shut down. @throws errors of `Deno.serve` */
export function serve(options: ServeOptions): RunningServer {
  const app = createApp({ windowSeconds: WINDOW_SECONDS, ...options }, options.more);
  return listen(limitRequests(app, options), options);
}
